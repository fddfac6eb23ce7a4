"""The end of a run: clients and servers are ended and their files collected, step by step."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from contract.stages import PHASE_LIMIT_SECONDS, Stage
from contract.waiting import limited
from harness.collection.collect import (
    collect_server,
    collect_worker,
    decode_clients,
    decode_server_logs,
    decode_servers,
)
from harness.story.run import Run

_HEAL_SECONDS = _WORKLOAD_SECONDS = 60
_CLOSE_SECONDS = 40
"""For the observer, that it ends and prints where it hangs."""


class Steps:
    """Steps that are all carried out, also after a failure.

    Attributes:
        problems: one line for each failed step.
    """

    def __init__(self) -> None:
        """Start without problems."""
        self.problems: list[str] = []

    def take(self, what: str, step: Callable[[], object]) -> None:
        """Carry out a step; record its exception."""
        try:
            step()
        except Exception as error:  # noqa: BLE001 - the other steps are carried out
            first_line = str(error).strip().partition("\n")[0]
            self.problems.append(f"could not {what}: {type(error).__name__}: {first_line}")


def end_and_collect(run: Run) -> list[str]:
    """End all clients and servers, and collect their files; returns the problems.

    Histories come first: without them a run can't be judged. Servers end by SIGKILL, so that no
    shutdown changes their files. Then the observer decodes their replicas. What hangs takes no
    time from the rest: all together waits as long as the stage may take, and each part less.
    """
    ends = time.monotonic() + PHASE_LIMIT_SECONDS[Stage.COLLECTING]
    with limited(PHASE_LIMIT_SECONDS[Stage.COLLECTING]):
        return _ended_and_collected(run, lambda: ends - time.monotonic())


def _ended_and_collected(run: Run, left: Callable[[], float]) -> list[str]:
    """`left`: how many seconds the stage has yet."""
    steps = Steps()
    workers = list(run.consumers.workers.values())
    observer, tables = run.observer.worker, run.folder.tables
    run.phases.enter(Stage.COLLECTING, "clients and servers end, files are collected")
    with limited(_HEAL_SECONDS):
        steps.take("heal the faults", run.heal)
    with limited(_WORKLOAD_SECONDS):
        steps.take("end the workload", run.workload.end)
    with ThreadPoolExecutor(len(workers)) as pool:
        for worker in workers:
            pool.submit(steps.take, f"close worker {worker.worker}", worker.finish)
    for worker in workers:
        steps.take(f"collect worker {worker.worker}", partial(collect_worker, run.folder, worker))
    for server in run.kafka.topology.server_ids:
        steps.take(f"kill server {server}", partial(run.kafka.kill_if_running, server))
    steps.take("end the driver's history", run.end_history)
    for server in run.kafka.topology.server_ids:
        steps.take(
            f"collect server {server}", partial(collect_server, run.folder, run.kafka, server)
        )
    with limited(left() - _CLOSE_SECONDS):
        steps.take("decode the replicas", partial(decode_servers, run.folder, observer))
    steps.take("close the observer", observer.finish)
    steps.take("collect the observer", partial(collect_worker, run.folder, observer))
    steps.take("decode the histories", partial(decode_clients, run.folder, tables))
    steps.take("decode the servers' logs", partial(decode_server_logs, run.folder, tables))
    return steps.problems
