"""Carry out the remaining runs of a night, one by one."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cluster.kafka.own_jars import resolve
from contract.errors import NodeError, UsageError
from contract.nights import PlannedRun, RunStatus
from harness.invocation import Session
from harness.nightly.state import HeldNight
from harness.nightly.suite import choice_of
from harness.session.catalog import find_scenarios
from harness.session.ducktape_session import run_ducktape
from harness.session.node_root import node_root

RUNS = "runs"


@dataclass(frozen=True)
class Ended:
    """The end of a run: a folder that can be judged, or an error; both if a part is missing."""

    folder: Path | None
    exit_code: int | None = None
    error: str | None = None


Execute = Callable[[PlannedRun, Path], Ended]
"""Carries out a planned run below an empty folder."""


def run_remaining(
    night: HeldNight,
    execute: Execute,
    *,
    on_start: Callable[[PlannedRun], None],
    on_end: Callable[[PlannedRun], None],
) -> None:
    """Carry out all remaining runs in order; each is recorded before the next one begins.

    An interrupted run starts again in an empty folder. An exception of `execute` ends the night
    here, and the next invocation continues with the same run.
    """
    for run in night.remaining:
        folder = night.path / RUNS / run.id
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        night.update(msgspec.structs.replace(run, status=RunStatus.RUNNING))
        on_start(run)
        began = time.monotonic()
        ended = execute(run, folder)
        done = msgspec.structs.replace(
            run,
            status=RunStatus.DONE,
            folder=None if ended.folder is None else str(ended.folder.relative_to(night.path)),
            exit_code=ended.exit_code,
            error=ended.error,
            seconds=round(time.monotonic() - began, 1),
        )
        night.update(done)
        on_end(done)


def execute_in_ducktape(
    run: PlannedRun,
    folder: Path,
    *,
    results: Path,
    session: Session,
    on_phase: Callable[[str], None],
) -> Ended:
    """Run one scenario as `fencepost run` does; a failed start is recorded, not raised.

    Args:
        run: the planned run.
        folder: the folder of ducktape's session.
        results: the folder whose `.nodes` the nodes use, so that the next session removes leftovers
            of a kill.
        session: of the night; seed and Kafka version are the run's.
        on_phase: called with each phase.

    Raises:
        UsageError: own jars have changed since the run was planned.
    """
    build = resolve(choice_of(run))
    if build.note != run.build:
        raise UsageError(
            f"the jars of {run.id} have changed since the night began: they were {run.build}, and "
            f"are {build.note}. Start another one with --fresh"
        )
    mine = msgspec.structs.replace(session, seed=run.seed, kafka=run.kafka, build=build)
    try:
        with node_root(results) as root:
            ended = run_ducktape(
                find_scenarios([run.scenario]),
                mine,
                results=folder,
                root=root,
                on_phase=on_phase,
                parameters=run.parameters,
            )
    except (NodeError, UsageError) as error:
        return Ended(folder=None, error=str(error))
    missing = "; ".join(ended.dropped) or None
    return Ended(folder=ended.folder, exit_code=ended.exit_code, error=missing)
