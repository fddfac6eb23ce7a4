"""Programs that a bench measures: run cold, and of an earlier revision."""

import resource
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile

import psutil

from contract.errors import FencepostError, UsageError

ROOT = Path(__file__).resolve().parents[1]
_SAMPLED_SECONDS = 0.2
_REPORTED_CHARACTERS = 2000


@dataclass(frozen=True)
class Cost:
    """The time and memory of a process and its children.

    Attributes:
        seconds: from its start to its end.
        cpu_seconds: on all cores, of the process and its children. What a child takes after the
            last sample is missing if nothing waits for its end.
        peak_bytes: the largest sum of resident memory that was sampled.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Usage:
    """The resident memory and the CPU time of a process."""

    resident_bytes: int
    cpu_seconds: float


class ProcessFailedError(FencepostError):
    """A measured program did not end well."""


def run_measured(
    argv: list[str],
    *,
    on_line: Callable[[str], None],
    environment: Mapping[str, str],
    folder: Path = ROOT,
) -> Cost:
    """Run a program to its end.

    Args:
        argv: its command line.
        on_line: gets each line of its standard output.
        environment: all of its environment.
        folder: where it runs.

    Raises:
        ProcessFailedError: it failed; with the end of its standard error.
    """
    began, before = time.monotonic(), _ended_children_seconds()
    with TemporaryFile() as errors:
        process = subprocess.Popen(
            argv,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=dict(environment),
            cwd=folder,
        )
        sampled = _Sampled(process.pid)
        try:
            for line in process.stdout or ():
                on_line(line.rstrip())
            code = process.wait()
        finally:
            process.kill()
            sampled.end()
        seconds = time.monotonic() - began
        if code:
            errors.seek(0)
            reported = errors.read().decode(errors="replace")[-_REPORTED_CHARACTERS:]
            raise ProcessFailedError(f"{' '.join(argv)} exited {code}:\n{reported}")
    reaped_seconds = _ended_children_seconds() - before
    return Cost(seconds, max(reaped_seconds, sampled.cpu_seconds), sampled.peak_bytes)


def _ended_children_seconds() -> float:
    """Return the CPU time of this process's children that ended, and of the children of these."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class _Sampled:
    """Samples what a process and its children use, until it is ended."""

    def __init__(self, pid: int) -> None:
        self.peak_bytes = 0
        self.cpu_seconds = 0.0
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample, args=(pid,), daemon=True)
        self._sampler.start()

    def end(self) -> None:
        self._ended.set()
        self._sampler.join()

    def _sample(self, pid: int) -> None:
        before: dict[int, Usage] = {}
        # Linux adds a child's time to its parent's only if that waits for the end of the child.
        taken: dict[int, float] = {}
        while not self._ended.wait(_SAMPLED_SECONDS):
            now = usage_of(pid)
            # A process that was forked just now still has its parent's memory, counted twice.
            lasting = sum(used.resident_bytes for process, used in now.items() if process in before)
            self.peak_bytes = max(self.peak_bytes, lasting)
            taken |= {process: used.cpu_seconds for process, used in now.items()}
            self.cpu_seconds = sum(taken.values())
            before = now


def usage_of(pid: int) -> dict[int, Usage]:
    """Return what a process and its children use, by id; those that have ended are left out."""
    usage = {}
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for child in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess), child.oneshot():
                times = child.cpu_times()
                usage[child.pid] = Usage(child.memory_info().rss, times.user + times.system)
    return usage


FENCEPOST = (sys.executable, "-c", "from harness.cli import main; main()")
"""The command line of any revision. Python imports the packages of the folder where it runs."""


class Revision:
    """The files of a revision. This environment's interpreter runs them."""

    def __init__(self, name: str, folder: Path) -> None:
        """Write the files of a revision into a new folder.

        Raises:
            UsageError: git knows no such revision.
        """
        self.commit = _git("rev-parse", "--short", f"{name}^{{commit}}").decode().strip()
        self.folder = folder
        with tarfile.open(fileobj=BytesIO(_git("archive", self.commit))) as files:
            files.extractall(folder, filter="data")


def _git(*arguments: str) -> bytes:
    ended = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)
    if ended.returncode:
        raise UsageError(f"git {' '.join(arguments)}: {ended.stderr.decode().strip()}")
    return ended.stdout
