"""A run of the tool in a process of its own, the moments of it, and what it leaves behind."""

import enum
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import psutil

from bench.torture.attempt import ROOT, TRACEBACK
from bench.torture.copies import digests
from contract.errors import FencepostError
from contract.manifest import MANIFEST_FILE
from contract.run_folder import NODES_FOLDER, files_named
from contract.waiting import wait_until
from harness.session.node_root import sweep

RUN_SECONDS = 240
_END_SECONDS = 60
_STAGE = re.compile(r'"stage":"([a-z ]+)"')


class Moment(enum.StrEnum):
    """Parts of a run, in their order."""

    STARTING = "starting"
    STORY = "story"
    COLLECTING = "collecting"
    ANALYSIS = "analysis"


LASTS_SECONDS = {
    Moment.STARTING: 10.0,
    Moment.STORY: 12.0,
    Moment.COLLECTING: 5.0,
    Moment.ANALYSIS: 8.0,
}
"""The latest time after the beginning of a part at which a run is disturbed."""


class Running:
    """`fencepost` with a results folder of its own, as a process group of its own.

    Attributes:
        process: the first process.
        results: the folder for its results.
    """

    def __init__(self, results: Path, *words: str) -> None:
        """Start it.

        Args:
            results: it may exist.
            words: the command and its options, but for `--results`.
        """
        self.results = results
        results.mkdir(parents=True, exist_ok=True)
        self._said = results.parent / f"{results.name}-{time.time_ns()}.txt"
        # A shell lets what it starts in the background ignore interrupts, and so do its children.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with self._said.open("wb") as output:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "harness", *words, "--results", str(results)],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    env={**os.environ, "COLUMNS": "200"},
                )
        finally:
            signal.signal(signal.SIGINT, before)
        self._known: dict[int, psutil.Process] = {}

    @property
    def said(self) -> str:
        """Its output so far."""
        return self._said.read_text(errors="replace")

    @property
    def is_collected(self) -> bool:
        """Whether all that it had to collect was collected."""
        return bool(files_named(self.results, MANIFEST_FILE))

    def processes(self) -> list[psutil.Process]:
        """Its processes that run now; they are remembered, to be looked for at the end."""
        try:
            root = psutil.Process(self.process.pid)
            found = [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []
        self._known.update({one.pid: one for one in found})
        return found

    def reaches(self, moment: Moment) -> bool:
        """Wait until a part of the run has begun; False if the run ended before."""

        def has_begun() -> bool:
            return self.process.poll() is not None or self._moment() >= list(Moment).index(moment)

        wait_until(has_begun, what=f"the moment {moment}", timeout_seconds=RUN_SECONDS)
        return self.process.poll() is None

    def _moment(self) -> int:
        # The process of the analysis starts before all is collected, and waits.
        if any("analysis" in words(one) for one in self.processes()) and self.is_collected:
            return list(Moment).index(Moment.ANALYSIS)
        stages = [
            stage
            for history in files_named(self.results, "driver.jsonl")
            for stage in _STAGE.findall(history.read_text(errors="replace"))
        ]
        if not stages or stages[-1] == "starting":
            return list(Moment).index(Moment.STARTING)
        last = Moment.COLLECTING if stages[-1] == "collecting" else Moment.STORY
        return list(Moment).index(last)

    def lasts(self, seconds: float) -> bool:
        """Wait for a time; False if the run ended within it."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return True
        return False

    def signal_all(self, number: int) -> None:
        """Send a signal to its process group, as a terminal does."""
        self.processes()
        os.killpg(self.process.pid, number)

    def end(self) -> str:
        """Wait for its end; what is wrong with it, or with what it leaves."""
        self.processes()
        if self.lasts(RUN_SECONDS):
            self.processes()
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            return f"it did not end within {RUN_SECONDS} s"
        if TRACEBACK in self.said:
            return "a traceback on the terminal"
        try:
            wait_until(
                lambda: not self._left(),
                what="the end of all its processes",
                timeout_seconds=_END_SECONDS,
            )
        except FencepostError:
            return f"processes are left: {', '.join(self._left())}"[:300]
        sweep(self.results)
        nodes = list(self.results.glob(f"**/{NODES_FOLDER}/session-*"))
        return f"node folders are left: {len(nodes)}" if nodes else ""

    def _left(self) -> list[str]:
        """Its processes that run yet: those remembered, and all that name its folder."""
        left = {pid: one for pid, one in self._known.items() if one.is_running()}
        for one in psutil.process_iter(["cmdline"]):
            if any(str(self.results) in word for word in one.info["cmdline"] or []):
                left[one.pid] = one
        return [
            f"{pid} {words(one)[:40]}"
            for pid, one in left.items()
            if _is_alive(one) and pid != os.getpid()
        ]


def words(process: psutil.Process) -> str:
    """Describe a process in a few words without folders; empty if it has ended."""
    try:
        command = process.cmdline() or [process.name()]
    except psutil.Error:
        return ""
    named = [word for word in command[1:] if word.startswith(_OURS)]
    main = named[-1:] if Path(command[0]).name.startswith(("python", "java")) else []
    return " ".join([Path(command[0]).name, *main])[:80]


_OURS = ("harness", "cluster.nodes", "analysis", "kafka.Kafka", "org.apache.spark.deploy")


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def put_finished(results: Path, dice: Random) -> Callable[[], str]:
    """Put another session's finished run into a results folder.

    Returns:
        a call that returns what changed in it: empty if it is as it was.
    """
    session = results / "2020-01-01--001" / "Finished" / "test_finished" / "1"
    (session / "report").mkdir(parents=True)
    for name in ("run.json", "report/verdict.json", "report/index.html"):
        (session / name).write_bytes(dice.randbytes(1000))
    before = digests(session)
    return lambda: "" if digests(session) == before else "a finished run was changed"
