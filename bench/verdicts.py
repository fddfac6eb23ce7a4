"""Verdicts of runs that a bench has collected: judged as `fencepost analyze` does, in one Spark."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

import analysis
import contract
from contract.errors import AnalysisError
from contract.run_folder import RunFolder
from contract.verdicts import Verdict
from harness.commands.judging import analyse_in_own_process


def verdicts_of(runs: Iterable[RunFolder], *, engine: str = "auto") -> list[Verdict]:
    """Return the verdicts of runs; those that the present code has not judged are judged now.

    Args:
        runs: that were collected.
        engine: of `fencepost analyze`; with another one than `auto`, all are judged.

    Raises:
        AnalysisError: one can't be judged.
    """
    of_all = list(runs)
    due = [run for run in of_all if engine != "auto" or not _is_current(_file(run))]
    if due:
        paths = [run.path for run in due]
        status = analyse_in_own_process(paths, options=["--json", "--engine", engine], quiet=True)
        missing = [str(run.path) for run in of_all if not _file(run).is_file()]
        if missing:
            raise AnalysisError(f"the analysis ended with {status}, without {', '.join(missing)}")
    return [msgspec.json.decode(_file(run).read_bytes(), type=Verdict) for run in of_all]


def _file(run: RunFolder) -> Path:
    return run.report / "verdict.json"


def _is_current(file: Path) -> bool:
    """Whether a verdict is newer than the code that judges."""
    return file.is_file() and file.stat().st_mtime > _changed()


@cache
def _changed() -> float:
    roots = (Path(package.__path__[0]) for package in (analysis, contract))
    return max(file.stat().st_mtime for root in roots for file in root.rglob("*.py"))
