"""A scenario: one question to a real cluster, whose files are collected at its end."""

import inspect
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from ducktape.tests.test import Test
from ducktape.tests.test_context import TestContext

from cluster.kafka.lock import read_lock
from cluster.kafka.service import KafkaService
from cluster.kafka.topology import Topology
from cluster.nodes.tether import die_with_parent
from contract.checks import OF_COPIES, OF_EVERY_RUN, OF_GROUPS, OF_SEVERAL_READERS, Check
from contract.clients import Client, clients_of
from contract.errors import UsageError, WorkerError
from contract.events import WorkerStarted
from contract.manifest import write_manifest
from contract.randomness import generator
from contract.run_folder import (
    Expectation,
    GroupPlan,
    Plan,
    RunDescription,
    RunFolder,
    TopicPlan,
)
from contract.stages import Stage
from harness.clients.history import HistoryWriter
from harness.clients.kinds import client_version
from harness.clients.process import WorkerService
from harness.invocation import Session
from harness.story.consumers import Consumers, workers_for
from harness.story.ending import end_and_collect
from harness.story.phases import Phases
from harness.story.run import Run


def planned(
    checks: Sequence[Check], topics: Sequence[TopicPlan], groups: Sequence[GroupPlan]
) -> list[Check]:
    """A scenario's checks and those of every run, without what a run like this gives no case of."""
    without: set[Check] = set() if groups else set(OF_GROUPS)
    if all(topic.replication == 1 for topic in topics):
        without |= OF_COPIES
    of_every_run = [check for check in OF_EVERY_RUN if check not in without]
    readers = Counter(group.topic for group in groups)
    of_one_reader = set() if max(readers.values(), default=0) > 1 else OF_SEVERAL_READERS
    return [
        check for check in dict.fromkeys([*checks, *of_every_run]) if check not in of_one_reader
    ]


class Scenario(Test):  # type: ignore[misc]
    """Base of all scenarios: its module's docstring is the question, and the report's text.

    A subclass sets the shape of the cluster and the checks, and its test method tells the story
    within `with self.running(...) as run`.
    """

    topology: ClassVar[Topology]
    checks: ClassVar[Sequence[Check]]

    def __init__(self, test_context: Any) -> None:
        """Called by ducktape, once per test."""
        super().__init__(test_context)
        self.session = Session.from_globals(test_context.session_context.globals)
        self.random = generator(self.session.seed)

    @property
    def kafka_version(self) -> tuple[int, ...]:
        """Of the brokers, e.g. (4, 4, 0)."""
        return tuple(int(part) for part in self.session.kafka.split("."))

    @contextmanager
    def running(
        self,
        *,
        topics: Sequence[TopicPlan],
        groups: Sequence[GroupPlan] = (),
        expects: Sequence[Expectation] = (),
        topology: Topology | None = None,
        checks: Sequence[Check] = (),
    ) -> Iterator[Run]:
        """Start the cluster, yield the run, and collect everything, also after an exception.

        An error of the scenario is written to `run.json` and raised on. `topology` stands in for
        the scenario's own where its parameters change it, and `checks` are those that only they
        give something to judge.

        Raises:
            UsageError: a group's client can't be tested with this Kafka version.
        """
        die_with_parent()
        self._require_clients(groups)
        shape = topology or self.topology
        folder = RunFolder(Path(TestContext.results_dir(self.test_context, 0)))
        plan = self._plan(topics, groups, expects, checks)
        folder.write_plan(plan)
        description = self._describe(plan, shape)
        folder.write_run(description)
        history = _driver_history(folder)
        phases = Phases(history)
        problems: list[str] = []
        try:
            phases.enter(Stage.STARTING, "servers and clients")
            kafka = KafkaService(self.test_context, shape, version=self.session.kafka)
            workers = {kind: self._worker(kind.worker, kind.module) for kind in workers_for(groups)}
            observer = self._worker("observer", "harness.clients.observer_worker")
            run = Run(
                kafka=kafka,
                consumers=Consumers(workers, groups),
                observer=observer,
                folder=folder,
                history=history,
                phases=phases,
                plan=plan,
            )
            try:
                run.start()
                yield run
            finally:
                problems += end_and_collect(run)
        except BaseException as failure:
            problems.insert(0, "".join(traceback.format_exception_only(failure)).strip())
            raise
        finally:
            ended = time.time_ns() // 1000
            error = "; ".join(problems) or None
            folder.write_run(msgspec.structs.replace(description, ended_micros=ended, error=error))
            write_manifest(folder)
        if problems:
            raise WorkerError("; ".join(problems))

    def groups_here(self, groups: Sequence[GroupPlan]) -> list[GroupPlan]:
        """Return the groups whose clients support the Kafka version, in random order."""
        clients: list[Any] = clients_of(self.session.kafka)
        here = [group for group in groups if group.client in clients]
        return self.random.sample(here, len(here))

    def _worker(self, name: str, module: str) -> WorkerService:
        return WorkerService(self.test_context, worker=name, module=module)

    def _require_clients(self, groups: Sequence[GroupPlan]) -> None:
        testable = clients_of(self.session.kafka)
        if unknown := sorted({group.client for group in groups} - set(testable)):
            raise UsageError(
                f"Kafka {self.session.kafka} can't be tested with {', '.join(unknown)}; "
                f"it can with {', '.join(testable)}"
            )

    def _plan(
        self,
        topics: Sequence[TopicPlan],
        groups: Sequence[GroupPlan],
        expects: Sequence[Expectation],
        checks: Sequence[Check],
    ) -> Plan:
        return Plan(
            scenario=Path(inspect.getfile(type(self))).stem.removesuffix("_test"),
            question=inspect.cleandoc(inspect.getmodule(type(self)).__doc__ or ""),
            parameters=dict(self.test_context.injected_args or {}),
            topics=list(topics),
            groups=list(groups),
            checks=[str(check) for check in planned([*self.checks, *checks], topics, groups)],
            expects=list(expects),
        )

    def _describe(self, plan: Plan, shape: Topology) -> RunDescription:
        session = self.session
        return RunDescription(
            run_id=self.test_context.test_id,
            scenario=plan.scenario,
            seed=session.seed,
            kafka=session.kafka,
            cluster=session.cluster,
            clients={
                str(client): client_version(client, kafka=session.kafka)
                for client in sorted(
                    {Client.JAVA, *(Client(group.client) for group in plan.groups)}
                )
            },
            git_head=session.git_head,
            versions=session.versions,
            config={
                "brokers": shape.brokers,
                "controllers": shape.controller_ids,
                "settings": dict(shape.settings),
                "features": dict(shape.features),
            },
            command=session.command,
            rerun=session.rerun(plan.scenario, plan.parameters),
            started_micros=time.time_ns() // 1000,
            jars=read_lock(session.kafka).hashes,
        )


def _driver_history(folder: RunFolder) -> HistoryWriter:
    history = HistoryWriter(folder.history / "driver.jsonl")
    history.write(
        WorkerStarted,
        worker="driver",
        role="driver",
        node="driver",
        client="driver",
        client_version="",
        pid=0,
    )
    return history
