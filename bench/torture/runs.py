"""Whole runs under kills, on a full disk, and two at a time; what they leave behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import psutil

from bench.torture.attempt import TRACEBACK, Area, Attempt
from contract.errors import FencepostError
from contract.waiting import wait_until

KILLS = Area(
    "kills",
    "after a SIGKILL of any of its processes a run ends by itself, neither passes nor accuses, "
    "and leaves no process and no namespace",
    "`cluster.nodes.tether`, `contract.manifest`, the check `history_complete`",
)
FULL_DISK = Area(
    "full disk",
    "a run whose results do not fit ends with an error or undecided, and leaves no process",
    "`contract.program`",
)
TWO_AT_ONCE = Area(
    "two at once",
    "two runs with one results folder both pass",
    "session folders of their own, the lock of the node pool",
)
_SCENARIO = "baseline"
_RUN_SECONDS = 240
_END_SECONDS = 60
_LONGEST_BEFORE_KILL = 45.0
_ROOT = Path(__file__).resolve().parents[2]


def kills(place: Path, dice: Random, count: int) -> Iterator[Attempt]:
    """Run a scenario; kill one of its processes after a random time."""
    for number in range(count):
        folder = place / f"kill-{number}"
        before = _namespaces()
        harness = _started(folder)
        wait = dice.uniform(0.5, _LONGEST_BEFORE_KILL)
        killed = _kill_one(harness, wait, dice)
        problem = _end(harness, folder, before)
        if not problem and killed != _NOBODY and harness.returncode in (0, 1):
            problem = f"exit code {harness.returncode}"
        yield Attempt(KILLS.name, f"{killed}, {wait:.1f} s after the start", problem)


def full_disks(place: Path, sizes_mb: list[int]) -> Iterator[Attempt]:
    """Run a scenario with its results on a file system that is too small."""
    for size in sizes_mb:
        folder = place / f"disk-{size}"
        with _small_disk(folder, size) as is_mounted:
            if not is_mounted:
                continue
            before = _namespaces()
            harness = _started(folder)
            problem = _end(harness, folder, before)
        if not problem and harness.returncode == 1:
            problem = "exit code 1"
        yield Attempt(FULL_DISK.name, f"{size} MB: exit code {harness.returncode}", problem)


def two_at_once(place: Path) -> Iterator[Attempt]:
    """Start two runs with one results folder at the same time."""
    before = _namespaces()
    both = [_started(place / "both") for _ in range(2)]
    problems = [_end(one, place / "both", before, is_last=one is both[-1]) for one in both]
    codes = [one.returncode for one in both]
    problem = " ".join(filter(None, problems)) or ("" if codes == [0, 0] else f"exit codes {codes}")
    yield Attempt(TWO_AT_ONCE.name, "two runs of baseline", problem)


_NOBODY = "nobody was left to kill"


def _started(folder: Path) -> "subprocess.Popen[str]":
    folder.mkdir(parents=True, exist_ok=True)
    said = (folder.parent / f"{folder.name}-{time.time_ns()}.txt").open("w+")
    return subprocess.Popen(
        [sys.executable, "-m", "harness", "run", _SCENARIO, "--results", str(folder)],
        cwd=_ROOT,
        stdout=said,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )


def _kill_one(harness: "subprocess.Popen[str]", wait: float, dice: Random) -> str:
    """Kill a process of a run after a time; which one, in words."""
    try:
        harness.wait(wait)
    except subprocess.TimeoutExpired:
        root = psutil.Process(harness.pid)
        chosen = dice.choice([root, *root.children(recursive=True)])
        try:
            words = " ".join(chosen.cmdline()[:4]) or chosen.name()
            chosen.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            return _NOBODY
        return f"killed {_short(words)}"
    return _NOBODY


def _short(command: str) -> str:
    """A command without the folders of this machine."""
    return " ".join(Path(word).name if "/" in word else word for word in command.split())


def _end(
    harness: "subprocess.Popen[str]", folder: Path, before: set[str], *, is_last: bool = True
) -> str:
    """Wait for a run's end; what is wrong with it, or with what it leaves."""
    try:
        harness.wait(_RUN_SECONDS)
    except subprocess.TimeoutExpired:
        harness.kill()
        harness.wait()
        return f"it did not end within {_RUN_SECONDS} s"
    said = "".join(path.read_text() for path in folder.parent.glob(f"{folder.name}-*.txt"))
    if TRACEBACK in said:
        return "a traceback on the terminal"
    if not is_last:
        return ""
    try:
        wait_until(
            lambda: not _processes(folder), what="the end of all", timeout_seconds=_END_SECONDS
        )
        wait_until(
            lambda: _namespaces() <= before, what="no namespace", timeout_seconds=_END_SECONDS
        )
    except FencepostError as error:
        return f"{error} {_processes(folder)} {_namespaces() - before}"[:300]
    return ""


def _processes(folder: Path) -> list[str]:
    """Processes whose command names a run's folder."""
    return [
        str(process.info["pid"])
        for process in psutil.process_iter(["pid", "cmdline"])
        if any(str(folder) in word for word in process.info["cmdline"] or [])
    ]


def _namespaces() -> set[str]:
    """The network namespaces that processes have."""
    found = set()
    for process in psutil.pids():
        try:
            found.add(str(Path(f"/proc/{process}/ns/net").readlink()))
        except OSError:
            continue
    return found


@contextmanager
def _small_disk(folder: Path, size_mb: int) -> Iterator[bool]:
    """A file system of some megabytes at a folder; False where this machine does not allow it."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(folder)]
    is_mounted = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
