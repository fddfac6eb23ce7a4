"""One program run cold: how long it took, and how much memory it and its children held at most."""

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

_ROOT = Path(__file__).resolve().parents[1]
_SAMPLED_SECONDS = 0.2
_TOLD_CHARACTERS = 2000


@dataclass(frozen=True)
class Cost:
    """The time and memory of a process and its children.

    Attributes:
        seconds: from its start to its end.
        peak_bytes: the largest sum of resident memory that was sampled.
    """

    seconds: float
    peak_bytes: int


class ProcessFailedError(FencepostError):
    """A measured program did not end well."""


def run_measured(
    argv: list[str], *, on_line: Callable[[str], None], environment: Mapping[str, str]
) -> Cost:
    """Run a program to its end.

    Args:
        argv: its command line.
        on_line: gets each line of its standard output.
        environment: all of its environment.

    Raises:
        ProcessFailedError: it failed; with the end of its standard error.
    """
    began = time.monotonic()
    with TemporaryFile() as errors:
        process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=errors, text=True, env=dict(environment), cwd=_ROOT
        )
        memory = _Memory(process.pid)
        try:
            for line in process.stdout or ():
                on_line(line.rstrip())
            code = process.wait()
        finally:
            process.kill()
            peak_bytes = memory.peak_bytes()
        seconds = time.monotonic() - began
        if code:
            errors.seek(0)
            told = errors.read().decode(errors="replace")[-_TOLD_CHARACTERS:]
            raise ProcessFailedError(f"{' '.join(argv)} exited {code}:\n{told}")
    return Cost(seconds, peak_bytes)


class _Memory:
    """Samples the resident memory of a process and its children, until it is asked."""

    def __init__(self, pid: int) -> None:
        self._peak_bytes = 0
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample, args=(pid,), daemon=True)
        self._sampler.start()

    def peak_bytes(self) -> int:
        self._ended.set()
        self._sampler.join()
        return self._peak_bytes

    def _sample(self, pid: int) -> None:
        before: dict[int, int] = {}
        while not self._ended.wait(_SAMPLED_SECONDS):
            now = resident_bytes(pid)
            # A process that was forked just now still has its parent's memory, counted twice.
            lasting = sum(resident for one, resident in now.items() if one in before)
            self._peak_bytes = max(self._peak_bytes, lasting)
            before = now


def resident_bytes(pid: int) -> dict[int, int]:
    """Return the memory of a process and its children, by id, without those that have ended."""
    resident = {}
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                resident[one.pid] = one.memory_info().rss
    return resident
