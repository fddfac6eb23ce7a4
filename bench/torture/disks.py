"""Disks that are full or read-only: while a run goes on, and while one is judged again."""

import errno
import gc
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random

import msgspec

from bench.torture.attempt import ROOT, Area, Attempt, Setting
from bench.torture.copies import copy_run, digests, left_in
from bench.torture.running import Moment, Running
from bench.torture.runs import SCENARIO, judged_problem
from bench.traces import judged_of
from contract.errors import StorageError
from contract.run_folder import RunFolder, files_named
from contract.verdicts import RunVerdict, Verdict
from harness.commands.run import decode_again

FULL_DISK = Area(
    "full disk",
    "a run whose results do not fit ends with an error or undecided; what it left neither passes, "
    "unless all was collected, nor accuses; no process stays",
    "`contract.program`, `harness.story.scenario`",
)
_SIZES_MB = (1, 30)
_LARGE_MB = 1024
_BLOCK_BYTES = 1 << 20
_ACCUSED = 1


def full_disks(setting: Setting) -> Iterator[Attempt]:
    """Run a scenario on small file systems, and on one that is filled in each part of the run."""
    wanted: list[tuple[int, Moment | None]] = [(size, None) for size in _SIZES_MB]
    wanted += [(_LARGE_MB, moment) for moment in Moment]
    for size, moment in wanted:
        name = f"{size} MB" if moment is None else f"filled in {moment}"
        folder = setting.place / f"disk-{name.replace(' ', '-')}"
        with small_disk(folder, size) as refusal:
            if refusal:
                yield Attempt(FULL_DISK.name, name, skipped=f"no tmpfs can be mounted: {refusal}")
                continue
            yield _run_on(folder, name, moment)


def _run_on(folder: Path, name: str, moment: Moment | None) -> Attempt:
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
    return Attempt(FULL_DISK.name, tried, problem or judged_problem(run))


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


STORAGE = Area(
    "results that stay",
    "a run on a disk that is full or read-only keeps its tables and its report, and the reason is "
    "one sentence; analyses at once come to one verdict; a killed one loses nothing",
    "`analysis.judging`, `contract.locks.alone_in`, `contract.regular_files`",
)
_IN_AN_HOUR = 60
_DISK_MB = 256
_SLACK_MAX = 1_500_000
"""Bytes: more than a report and the decoded tables take."""
_AT_ONCE = 4
_KILLED_SECONDS = 6.0
_JUDGES = (
    "import sys; from pathlib import Path; from bench.traces import judged_of\n"
    "from contract.run_folder import RunFolder; from harness.commands.run import decode_again\n"
    "folder = RunFolder(Path(sys.argv[1])); decode_again(folder); judged_of(folder)\n"
)


def storage(setting: Setting) -> Iterator[Attempt]:
    """Judge copies of a judged run again, under each condition in turn."""
    judged = RunFolder(setting.place / "judged")
    copy_run(setting.elected, judged)
    decode_again(judged)
    judged_of(judged)
    with small_disk(setting.place / "disk", _DISK_MB) as refusal:
        for number in range(setting.count(_IN_AN_HOUR)):
            dice = setting.dice(STORAGE, number)
            kind = ("full", "full", "read-only", "killed", "at once", "full")[number % 6]
            place = setting.place / ("disk" if kind in ("full", "read-only") else "")
            if refusal and kind in ("full", "read-only"):
                yield Attempt(STORAGE.name, kind, skipped=f"no tmpfs can be mounted: {refusal}")
                continue
            copy = RunFolder(Path(shutil.copytree(judged.path, place / f"storage-{number}")))
            yield _judge_on(kind, copy, dice)
            shutil.rmtree(copy.path)


def _judge_on(kind: str, copy: RunFolder, dice: Random) -> Attempt:
    before = digests(copy.path)
    tried, problem = kind, ""
    try:
        match kind:
            case "full":
                slack = dice.randrange(_SLACK_MAX)
                tried = f"{slack:,} bytes are free"
                with _filled(copy.path.parent, slack):
                    problem = _problem(copy, before)
            case "read-only":
                with _read_only(copy.path.parent):
                    problem = _problem(copy, before, must_refuse=True)
            case "at once":
                with ThreadPoolExecutor(_AT_ONCE) as pool:
                    found = list(pool.map(_judged_again, [copy] * _AT_ONCE))
                problem = "; ".join(sorted({one for one in found if one}))
            case _:
                seconds = dice.uniform(0, _KILLED_SECONDS)
                tried = f"killed after {seconds:.1f} s"
                problem = _killed(copy, seconds) or _problem(copy, before)
    except Exception as error:  # noqa: BLE001 - what ends the analysis is what is looked for
        problem = f"{type(error).__name__}: {error}"[:200]
    return Attempt(STORAGE.name, tried, problem or left_in(copy) or _report_problem(copy))


def _problem(copy: RunFolder, before: dict[str, str], *, must_refuse: bool = False) -> str:
    """Judge again: either a whole new report, or the reason and all as it was."""
    error = _judged_again(copy)
    if not error:
        return "it was judged" if must_refuse else ""
    if "can't be written: " not in error:
        return error
    if error.count(". ") > 1 or "\n" in error:
        return f"more than a sentence and what to do: {error}"
    return "" if digests(copy.path) == before else "it was changed"


def _judged_again(copy: RunFolder) -> str:
    """Decode and judge; returns the error."""
    try:
        decode_again(copy)
    except StorageError as error:
        return str(error)
    return judged_of(copy).error or ""


def _report_problem(copy: RunFolder) -> str:
    """What is wrong with a report that stays: it must be whole, and no accusation."""
    try:
        content = (copy.report / "verdict.json").read_bytes()
        verdict = msgspec.json.decode(content, type=Verdict)
    except (OSError, msgspec.DecodeError) as error:
        return f"no verdict is left: {error}"
    if verdict.verdict is RunVerdict.FAIL or not (copy.report / "index.html").stat().st_size:
        return f"the report that is left says {verdict.verdict}"
    return ""


def _killed(copy: RunFolder, seconds: float) -> str:
    process = subprocess.Popen([sys.executable, "-c", _JUDGES, str(copy.path)], cwd=ROOT)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return _report_problem(copy)


@contextmanager
def _filled(disk: Path, slack: int) -> Iterator[None]:
    """Fill a file system until `slack` bytes are free."""
    filler = disk / "filler"
    free = shutil.disk_usage(disk).free
    with filler.open("wb") as content:
        content.write(b"\xff" * max(0, free - slack))
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def _read_only(disk: Path) -> Iterator[None]:
    # Files that an earlier attempt spilled and removed may be open.
    gc.collect()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
