"""Full disks: the file system of the results is too small, or becomes full in a part of the run."""

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.torture.attempt import Area, Attempt
from bench.torture.kills import SCENARIO, judged_problem
from bench.torture.running import Moment, Running
from bench.torture.setting import Setting
from contract.run_folder import files_named

AREA = Area(
    "full disk",
    "a run whose results do not fit ends with an error or undecided; what it left neither passes, "
    "unless all was collected, nor accuses; no process stays",
    "`contract.program`, `harness.story.ending`",
)
_SIZES_MB = (1, 30)
_LARGE_MB = 1024
_BLOCK_BYTES = 1 << 20
_ACCUSED = 1


def attempts(setting: Setting) -> Iterator[Attempt]:
    """Run a scenario on small file systems, and on one that is filled in each part of the run."""
    wanted: list[tuple[int, Moment | None]] = [(size, None) for size in _SIZES_MB]
    wanted += [(_LARGE_MB, moment) for moment in Moment]
    for size, moment in wanted:
        name = f"{size} MB" if moment is None else f"filled in {moment}"
        folder = setting.place / f"disk-{name.replace(' ', '-')}"
        with small_disk(folder, size) as refusal:
            if refusal:
                yield Attempt(AREA.name, name, skipped=f"no tmpfs can be mounted: {refusal}")
                continue
            yield _attempt(folder, name, moment)


def _attempt(folder: Path, name: str, moment: Moment | None) -> Attempt:
    run = Running(folder, "run", SCENARIO)
    if moment is not None and run.reaches(moment):
        _fill(folder / "filler")
    problem = run.end()
    code = run.process.returncode
    if not problem and code == _ACCUSED:
        problem = "exit code 1"
    if not problem and code == 0 and not files_named(folder, "verdict.json"):
        problem = "exit code 0 without a verdict"
    (folder / "filler").unlink(missing_ok=True)
    tried = f"{name}: exit code {code}"
    return Attempt(AREA.name, tried, problem or judged_problem(run))


def _fill(file: Path) -> None:
    """Write until nothing more fits, and go on in small pieces to the last byte."""
    with file.open("wb", buffering=0) as content:
        for size in (_BLOCK_BYTES, 1):
            try:
                while True:
                    content.write(b"\xff" * size)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


@contextmanager
def small_disk(folder: Path, size_mb: int) -> Iterator[str]:
    """A file system of some megabytes at a folder; gives why there is none, or an empty text."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, check=False, capture_output=True, text=True)
    try:
        yield (mounted.stderr.strip() or "mount failed") if mounted.returncode else ""
    finally:
        if not mounted.returncode:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
