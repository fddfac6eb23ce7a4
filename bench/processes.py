"""One program run cold: its time, and the CPU time and memory of it and its children."""

import resource
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

import psutil

from contract.errors import FencepostError

ROOT = Path(__file__).resolve().parents[1]
_SAMPLED_SECONDS = 0.2
_TOLD_CHARACTERS = 2000


@dataclass(frozen=True)
class Cost:
    """The time and memory of a process and its children.

    Attributes:
        seconds: from its start to its end.
        cpu_seconds: on all cores, of the process and its children. What a child that outlives it
            takes after the last sample is missing.
        peak_bytes: the largest sum of resident memory that was sampled.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Usage:
    """The resident memory of a process, and the CPU time of it and its children that ended."""

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
            told = errors.read().decode(errors="replace")[-_TOLD_CHARACTERS:]
            raise ProcessFailedError(f"{' '.join(argv)} exited {code}:\n{told}")
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
        while not self._ended.wait(_SAMPLED_SECONDS):
            now = usage_of(pid)
            # A process that was forked just now still has its parent's memory, counted twice.
            lasting = sum(used.resident_bytes for one, used in now.items() if one in before)
            self.peak_bytes = max(self.peak_bytes, lasting)
            self.cpu_seconds = max(self.cpu_seconds, sum(u.cpu_seconds for u in now.values()))
            before = now


def usage_of(pid: int) -> dict[int, Usage]:
    """Return what a process and its children use, by id, without those that have ended."""
    usage = {}
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess), one.oneshot():
                times = one.cpu_times()
                cpu_seconds = times.user + times.system
                cpu_seconds += times.children_user + times.children_system
                usage[one.pid] = Usage(one.memory_info().rss, cpu_seconds)
    return usage
