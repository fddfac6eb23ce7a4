"""What a damaged or changed run must not come to, and what a folder has before and after."""

import hashlib
from collections.abc import Callable
from pathlib import Path

from analysis.report.night_rows import Judged
from bench.traces import judged_of
from contract.errors import FencepostError
from contract.run_folder import RunFolder
from contract.verdicts import RunVerdict, Verdict

_HIDDEN = ".[jd]*-*"


def problem_of(judged: Judged, *, may_pass: bool = False) -> str:
    """What is wrong with the outcome of a damaged run, in words; empty if nothing is."""
    if judged.verdict is None:
        is_clear = judged.exit_code not in (0, FencepostError.exit_code)
        return "" if is_clear else str(judged.error)
    if judged.verdict.verdict is RunVerdict.FAIL:
        return "it was accused"
    if judged.verdict.verdict is RunVerdict.PASS and not may_pass:
        return "it passed"
    return ""


def unnamed(folder: RunFolder, is_named: Callable[[Verdict], bool]) -> str:
    """What is wrong with judging a damaged run in a folder, in words; empty if nothing is.

    `is_named`: whether its verdict names the damage.
    """
    try:
        judged = judged_of(folder)
    except Exception as error:  # noqa: BLE001 - what ends the analysis is what is looked for
        return f"{type(error).__name__}: {error}"[:200]
    if (problem := problem_of(judged)) or judged.verdict is None:
        return problem
    return left_in(folder) if is_named(judged.verdict) else "it was not named"


def digests(folder: Path) -> dict[str, str]:
    """The digest of each file at or below a folder, by its path; links are not followed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path.relative_to(folder))] = f"link to {path.readlink()}"
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path.relative_to(folder))] = content
    return found


def left_in(folder: RunFolder) -> str:
    """Name what an analysis left beside the report; empty if nothing is."""
    left = [path.name for path in folder.path.glob(_HIDDEN)]
    return f"{', '.join(left)} is left" if left else ""
