"""A run of the tool in a process group of its own, its moments, and what it leaves behind."""

import enum
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from analysis.tasks import Share, judge_here
from contract.errors import FencepostError
from contract.manifest import MANIFEST_FILE
from contract.run_folder import NODES_FOLDER, RunFolder, files_named, find_runs, has_runs
from contract.verdicts import RunVerdict
from contract.waiting import wait_until
from harness.commands.run import decode_again
from harness.session.node_root import sweep

ROOT = Path(__file__).resolve().parents[2]
HARNESS = (sys.executable, "-m", "harness")
RUN_SECONDS, END_SECONDS = 240, 60
STAGE = re.compile(r'"stage":"([a-z ]+)"')


class Moment(enum.Enum):
    """Parts of a run, in their order."""

    STARTING, STORY, COLLECTING, ANALYSIS = range(4)


class Running:
    """`fencepost run baseline` with a results folder of its own."""

    def __init__(self, results: Path, *options: str) -> None:
        self.results = results
        results.mkdir(parents=True, exist_ok=True)
        self._said = results.parent / f"{results.name}.txt"
        with self._said.open("wb") as output:
            self.process = subprocess.Popen(
                [*HARNESS, "run", "baseline", *options, "--results", str(results)],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "COLUMNS": "200"},
            )
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
        self._known.update({process.pid: process for process in found})
        return found

    def reaches(self, moment: Moment, *, seconds: float) -> bool:
        """Wait until some time after a part began; False if the run ended before."""
        wait_until(
            lambda: self.process.poll() is not None or self._moment().value >= moment.value,
            what=f"the moment {moment.name}",
            timeout_seconds=RUN_SECONDS,
        )
        return not self._ends_within(seconds)

    def _moment(self) -> Moment:
        # The process of the analysis starts before all is collected, and waits.
        if self.is_collected and any("analysis" in words(process) for process in self.processes()):
            return Moment.ANALYSIS
        stages = [
            stage
            for history in files_named(self.results, "driver.jsonl")
            for stage in STAGE.findall(history.read_text(errors="replace"))
        ]
        if not stages or stages[-1] == "starting":
            return Moment.STARTING
        return Moment.COLLECTING if stages[-1] == "collecting" else Moment.STORY

    def _ends_within(self, seconds: float) -> bool:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def signal_all(self, number: int) -> None:
        """Send a signal to its process group, as a terminal does."""
        self.processes()
        os.killpg(self.process.pid, number)

    def end(self) -> None:
        """Wait for its end, and see that it leaves no process and no traceback."""
        self.processes()
        if not self._ends_within(RUN_SECONDS):
            self.signal_all(signal.SIGKILL)
            raise AssertionError(f"it did not end within {RUN_SECONDS} s")
        assert "Traceback (most recent call last)" not in self.said, self.said
        wait_until(lambda: not self._remaining(), what="their end", timeout_seconds=END_SECONDS)
        sweep(self.results)
        assert not list(self.results.glob(f"**/{NODES_FOLDER}/session-*"))

    def _remaining(self) -> list[psutil.Process]:
        """Its processes that run yet: those remembered, and all that name its folder."""
        named = [
            process
            for process in psutil.process_iter(["cmdline"])
            if any(str(self.results) in word for word in process.info["cmdline"] or [])
        ]
        return [process for process in (*self._known.values(), *named) if words(process)]

    def judge_again(self) -> None:
        """See that what it left neither accuses nor, unless all was collected, passes."""
        for folder in find_runs(self.results) if has_runs(self.results) else ():
            judge_left(folder)


def judge_left(folder: RunFolder) -> None:
    assert decode_again(folder)
    judged = judge_here(Share(at_once=1), folder)
    if judged.verdict is None:
        assert judged.exit_code not in (0, FencepostError.exit_code), judged.error
        return
    assert judged.verdict.verdict is not RunVerdict.FAIL
    is_whole = (folder.path / MANIFEST_FILE).exists()
    assert judged.verdict.verdict is RunVerdict.UNDECIDED or is_whole


def words(process: psutil.Process) -> str:
    """The program of a process, and its module; empty if it has ended."""
    try:
        command = process.cmdline()
        if not command or process.status() == psutil.STATUS_ZOMBIE:
            return ""
    except psutil.Error:
        return ""
    ours = ("harness", "cluster.nodes", "analysis", "kafka.Kafka", "org.apache.spark.deploy")
    named = [word for word in command[1:] if word.startswith(ours)]
    return " ".join([Path(command[0]).name, *named[-1:]])
