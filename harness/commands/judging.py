"""The analysis as a process of its own, which shares only files with the harness."""

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from cluster.nodes.tether import tether_command
from contract.nights import read_known
from contract.packages import python
from contract.processes import Child, run_child
from contract.run_folder import STORE_FOLDER
from contract.terms import Stage
from harness.session.catalog import ScenarioFile

_COMMAND = tuple(python("analysis.__main__"))
_EARLY = "--early"
_WHAT = "the analysis"
_AFTER_FAULTS = (Stage.SETTLING, Stage.FINAL_READ, Stage.COLLECTING)


def options_of(
    *,
    is_verbose: bool = False,
    as_json: bool = False,
    results: Path | None = None,
    known: Path | None = None,
) -> tuple[str, ...]:
    """The options of the analysis that say what it prints, and what it writes.

    Args:
        is_verbose: it prints all.
        as_json: it prints JSON.
        results: the folder whose store receives all findings and verdicts.
        known: a file of known findings.

    Raises:
        UsageError: that file is invalid.
    """
    if known is not None:
        read_known(known)
    listed = [] if known is None else ["--known", str(known.absolute())]
    store = [] if results is None else ["--store", str(results.absolute() / STORE_FOLDER)]
    said = [*(["--verbose"] if is_verbose else []), *(["--json"] if as_json else [])]
    return (*said, *store, *listed)


def analyse_in_own_process(
    runs: Iterable[Path | str],
    *,
    options: Sequence[str] = (),
    master: str | None = None,
    conf: Iterable[str] = (),
    quiet: bool = False,
) -> int:
    """Run the analysis and return its exit status.

    It ends with this process, so that a killed night leaves no Spark process.

    Args:
        runs: folders of runs, sessions or nights, or URIs of those that are elsewhere.
        options: `options_of`.
        master: Spark's; None for this machine.
        conf: settings of Spark, as KEY=VALUE.
        quiet: whether what it prints is left out; its errors are not.

    Raises:
        AnalysisError: it was killed, or ended without a verdict.
    """
    command = [*_COMMAND, *options]
    if master is not None:
        command += ["--master", master]
    for setting in conf:
        command += ["--conf", setting]
    command += ["--", *map(str, runs)]
    return run_child(
        tether_command(command), what=_WHAT, stdout=subprocess.DEVNULL if quiet else None
    )


def count_stories(chosen: Iterable[ScenarioFile], parameters: Mapping[str, Any]) -> int:
    """The number of tests of scenarios, with one set of parameters, or all if that is empty."""
    return sum(1 if parameters else len(scenario.parameters or ({},)) for scenario in chosen)


class EarlyAnalysis(AbstractContextManager["EarlyAnalysis"]):
    """The analysis of a folder that is still being filled (docs/decisions/0019).

    Its process starts when the faults of the last story are healed. It opens Spark while the
    replicas settle and the files are collected, and waits for the folder. It runs during no fault:
    if a story goes on with another one, the process ends, and starts again afterwards. Where none
    has started, `judge` starts one.
    """

    def __init__(self, *, stories: int, options: Sequence[str] = ()) -> None:
        """`stories`: how many are yet to come. `options`: `options_of`."""
        self._to_collect = stories
        self._options = options
        self._child: Child | None = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process if it was not asked to judge."""
        self._end()

    def phase(self, phase: str) -> None:
        """Note that a phase begins, as `Phases` prints it."""
        stage = phase.partition(":")[0]
        if self._to_collect > 1 or stage not in _AFTER_FAULTS:
            self._end()
        elif self._child is None:
            command = tether_command([*_COMMAND, *self._options, _EARLY])
            self._child = Child(command, stdin=subprocess.PIPE)
        if stage == Stage.COLLECTING:
            self._to_collect -= 1

    def judge(self, folder: Path) -> int:
        """Judge a folder and return the exit status of the analysis.

        Raises:
            AnalysisError: it was killed, or ended without a verdict.
        """
        child = self._child
        if child is None or not _is_asked(child.process, folder):
            return analyse_in_own_process([folder], options=self._options)
        return child.finish(what=_WHAT)

    def _end(self) -> None:
        if self._child is not None:
            self._child.process.kill()
            self._child.process.communicate()
            self._child.end()
            self._child = None


def _is_asked(process: "subprocess.Popen[bytes]", folder: Path) -> bool:
    """Ask a process to judge a folder; False if it has ended."""
    if process.stdin is None or process.poll() is not None:
        return False
    try:
        with process.stdin as line:
            line.write(json.dumps(str(folder)).encode() + b"\n")
    except BrokenPipeError:
        return False
    return True
