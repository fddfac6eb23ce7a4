"""Links that lead from a run into another one: nothing is read or written through them."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from bench.torture.attempt import Area, Attempt
from bench.torture.folders import copy_run
from bench.torture.setting import Setting
from bench.torture.verdicts import digests, left_in
from bench.traces import judged_of
from contract.errors import RunFolderError
from contract.run_folder import RunFolder
from harness.commands.run import decode_again

AREA = Area(
    "links out of a run",
    "a run with a part that is a link to another run is refused with the link and its target; "
    "neither run is changed",
    "`RunFolder.require_own`",
)
_IN_AN_HOUR = 90
_FOLDERS = ("tables", "history", "clients", "brokers", "report")


def attempts(setting: Setting) -> Iterator[Attempt]:
    """Put a link in the place of a folder or file of a run, and judge the run."""
    other = RunFolder(setting.place / "linked-to")
    copy_run(setting.elected, other)
    judged_of(other)
    for number in range(setting.count(_IN_AN_HOUR)):
        dice = setting.dice(AREA, number)
        copy = RunFolder(setting.place / f"links-{number}")
        copy_run(setting.elected, copy)
        files = [path for path in sorted(copy.path.rglob("*")) if path.is_file()]
        is_folder = number % 4 == 0
        name = (
            Path(dice.choice(_FOLDERS)) if is_folder else dice.choice(files).relative_to(copy.path)
        )
        target = other.path / name
        link = copy.path / name
        if link.is_dir():
            shutil.rmtree(link)
        link.unlink(missing_ok=True)
        link.symlink_to(dice.choice([str(target), os.path.relpath(target, link.parent)]))
        if dice.random() < 1 / 2 and not is_folder:
            link.unlink()
            (link.parent / f"more-{link.name}").symlink_to(target)
        yield Attempt(AREA.name, f"{name} is a link", _problem(copy, other))
        shutil.rmtree(copy.path)


def _problem(copy: RunFolder, other: RunFolder) -> str:
    before = digests(copy.path), digests(other.path)
    try:
        decode_again(copy)
        judged = judged_of(copy)
    except Exception as error:  # noqa: BLE001 - what ends the analysis is what is looked for
        return f"{type(error).__name__}: {error}"[:200]
    if (digests(copy.path), digests(other.path)) != before:
        return "a run was changed"
    if judged.exit_code != RunFolderError.exit_code or "is a link to" not in str(judged.error):
        return str(judged.error or "it was judged")
    return left_in(copy)
