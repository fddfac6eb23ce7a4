"""A scenario: one question to a real cluster, whose files are collected at its end."""

import inspect
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import msgspec
from ducktape.mark.resource import cluster
from ducktape.tests.test import Test
from ducktape.tests.test_context import TestContext

from cluster.clients.versions import require_locked
from cluster.kafka.lock import read_lock
from cluster.kafka.service import KafkaService
from cluster.kafka.topology import Topology
from cluster.nodes.tether import die_with_parent
from cluster.refusal import refuse
from contract.errors import UsageError, WorkerError
from contract.events import WorkerStarted
from contract.locks import alone_in
from contract.manifest import write_manifest
from contract.run_folder import (
    Consequence,
    Expectation,
    GroupPlan,
    Plan,
    ProducerPlan,
    RunDescription,
    RunFolder,
    TopicPlan,
)
from contract.software import (
    ClassPath,
    Client,
    client_of,
    clients_of,
    is_guest,
    version_numbers,
    version_of,
    with_note,
    without_version,
)
from contract.terms import PHASE_LIMIT_SECONDS, Check, Stage
from contract.waiting import limit_waits
from harness.clients.history import HistoryWriter
from harness.clients.process import WorkerKind, WorkerService
from harness.collection.collect import (
    collect_server,
    collect_worker,
    decode_clients,
    decode_server_logs,
    decode_servers,
)
from harness.invocation import Session
from harness.story.changes import Changes
from harness.story.consumers import Consumers, spare_workers, workers_for
from harness.story.phases import Phases
from harness.story.run import Run
from harness.story.soundness import require_sound

_OBSERVER = WorkerKind("observer", "harness.clients.observer_worker")
_OBSERVERS = 1
_HEAL_SECONDS = _WORKLOAD_SECONDS = 60
_CLOSE_SECONDS = 40
"""For the observer, that it ends and prints where it hangs."""


class Scenario(Test):  # type: ignore[misc]
    """Base of all scenarios: its module's docstring is the question, and the report's text.

    A subclass sets the topology, the groups, the checks that its question is about, and the text of
    its answer (`contract.answers`), with what follows for an application; `producers` are those
    with settings or clients of their own; `spares` are, by client, workers that may replace killed
    ones. A test method is the scenario, in a block `with
    self.running(...) as run`. Each test method is marked with the number of nodes that it needs.
    """

    topology: ClassVar[Topology]
    groups: ClassVar[Sequence[GroupPlan]] = ()
    producers: ClassVar[Sequence[ProducerPlan]] = ()
    spares: ClassVar[Mapping[Client, int]] = {}
    must_judge: ClassVar[Sequence[Check]]
    answer: ClassVar[str] = ""
    follows: ClassVar[Consequence | None] = None
    session: Session
    random: Random

    def __init_subclass__(cls) -> None:
        """Ask ducktape for the nodes: servers, a worker of each kind, and the observer."""
        super().__init_subclass__()
        if not hasattr(cls, "topology"):
            return  # It is refused, with its line, unless others extend it.
        marked = cluster(num_nodes=cls.node_count())
        for name, function in vars(cls).items():
            if name.startswith("test_"):
                marked(function)

    @classmethod
    def node_count(cls) -> int:
        """Return the number of nodes that a test of this scenario needs."""
        workers = len(workers_for(cls.groups, cls.producers)) + sum(cls.spares.values())
        return cls.topology.node_count + workers + _OBSERVERS

    def __init__(self, test_context: Any) -> None:
        """Called by ducktape, once per test."""
        super().__init__(test_context)
        self.session = Session.from_globals(test_context.session_context.globals)
        self.random = Random(self.session.seed)

    @property
    def kafka_version(self) -> tuple[int, ...]:
        """Of the brokers, e.g. (4, 4, 0), also of 4.4.0-SNAPSHOT."""
        return version_numbers(self.session.kafka)

    @contextmanager
    def running(
        self,
        *,
        topics: Sequence[TopicPlan],
        groups: Sequence[GroupPlan] = (),
        producers: Sequence[ProducerPlan] | None = None,
        expects: Sequence[Expectation] = (),
        topology: Topology | None = None,
        must_judge: Sequence[Check] = (),
        starts_on: str | None = None,
    ) -> Iterator[Run]:
        """Start the cluster, yield the run, and collect everything, also after an exception.

        An error of the scenario is written to `run.json` and raised again. Without `producers`
        they are those of the class. Where the scenario's parameters need it, `topology` replaces
        its own, and `must_judge` are additional checks. All have what the command changes.
        `starts_on` is the locked Kafka version that servers start on, if it is not the run's.

        Raises:
            UsageError: a group's client can't be tested with this Kafka version, or the scenario
                names something unknown.
        """
        die_with_parent()
        groups = [self._in_version(group) for group in groups]
        own = self.producers if producers is None else producers
        producers = [self._of_version(producer) for producer in own]
        with _refusing():
            changes = Changes(
                self.session.builds.choice.changes,
                groups=groups,
                producers=producers,
                topics=topics,
            )
            groups, producers = changes.groups(groups), changes.producers(producers)
            topics, shape = changes.topics(topics), changes.topology(topology or self.topology)
            plan = self._plan(topics, groups, producers, expects, must_judge)
            self._require_clients(groups, producers)
            module = sys.modules[type(self).__module__]
            require_sound(plan, module, topology=shape, build=self.session.builds)
        folder = RunFolder(Path(TestContext.results_dir(self.test_context, 0)))
        folder.write_plan(plan)
        description = self._describe(plan, shape, starts_on)
        folder.write_run(description)
        history = _driver_history(folder)
        phases = Phases(history)
        problems: list[str] = []
        try:
            phases.enter(Stage.STARTING, "servers and clients")
            build = self.session.builds
            first = ClassPath(locked=starts_on) if starts_on else build.of_servers
            kafka = KafkaService(self.test_context, shape, version=build.kafka, classes=first)
            workers, spares = (
                {kind: self._worker(kind, build.of_clients) for kind in kinds}
                for kinds in (
                    workers_for(groups, producers),
                    spare_workers(groups, self.spares),
                )
            )
            observer = self._worker(_OBSERVER, build.of_observer)
            run = Run(
                kafka=kafka,
                consumers=Consumers(workers, groups, spares, changes=changes),
                observer=observer,
                folder=folder,
                history=history,
                phases=phases,
                plan=plan,
            )
            try:
                run.start()
                description = self._with_clients(description, run)
                folder.write_run(description)
                yield run
                description = self._with_clients(description, run)
            finally:
                with alone_in(folder.path):
                    problems += end_and_collect(run)
        except BaseException as failure:
            problems.insert(0, "".join(traceback.format_exception_only(failure)).strip())
            raise
        finally:
            phases.end()
            ended = time.time_ns() // 1000
            error = "; ".join(problems) or None
            folder.write_run(msgspec.structs.replace(description, ended_micros=ended, error=error))
            write_manifest(folder)
        if problems:
            raise WorkerError("; ".join(problems))

    @staticmethod
    def _with_clients(description: RunDescription, run: Run) -> RunDescription:
        """The description with the clients' versions; a story may have added groups."""
        return msgspec.structs.replace(description, clients=run.consumers.versions())

    def groups_here(self, groups: Sequence[GroupPlan]) -> list[GroupPlan]:
        """Return the groups whose clients support the Kafka version, in random order."""
        clients: list[Any] = [*self._testable(), Client.GUEST]
        here = [
            group
            for group in groups
            if all(without_version(client) in clients for client in group.clients)
        ]
        return self.random.sample(here, len(here))

    def _testable(self) -> list[Client]:
        return clients_of(self.session.kafka, java=self.session.builds.client)

    def _worker(self, kind: WorkerKind, classes: ClassPath) -> WorkerService:
        guests = {choice.named: choice for choice in self.session.builds.choice.guests}
        guest = guests.get(kind.client)
        return WorkerService(self.test_context, kind, classes=classes, guest=guest)

    def _in_version(self, group: GroupPlan) -> GroupPlan:
        """Return a group whose clients without a version have those that the command names."""
        others = {
            number: msgspec.structs.replace(other, client=self._name_of_client(other.client))
            for number, other in group.others.items()
        }
        return msgspec.structs.replace(
            group, client=self._name_of_client(group.client), others=others
        )

    def _of_version(self, producer: ProducerPlan) -> ProducerPlan:
        """Return a producer likewise."""
        return msgspec.structs.replace(producer, client=self._name_of_client(producer.client))

    def _name_of_client(self, client: str) -> str:
        named: dict[Any, str] = {
            client_of(choice): choice for choice in self.session.builds.choice.clients
        }
        return named.get(client, client)

    def _require_clients(
        self, groups: Sequence[GroupPlan], producers: Sequence[ProducerPlan]
    ) -> None:
        testable = self._testable()
        named = {client for group in groups for client in group.clients}
        named |= {producer.client for producer in producers}
        named -= self._guests(named)
        versions = {client for client in named if version_of(client)}
        if unused := sorted({*self.session.builds.choice.clients} - versions):
            raise UsageError(
                f"no group or producer of this scenario uses {', '.join(unused)}: --clients is for "
                "those whose client has no version of its own"
            )
        for version in sorted(versions):
            require_locked(version)
        if unknown := sorted(named - versions - set(testable)):
            on = with_note(self.session.kafka, self.session.builds.note)
            raise UsageError(
                f"Kafka {on} can't be tested with {', '.join(unknown)}; "
                f"it can with {', '.join(testable)}"
            )

    def _guests(self, named: AbstractSet[str]) -> set[str]:
        """Return the guests among planned clients.

        Raises:
            UsageError: the command has no program for one of them.
        """
        planned = {client for client in named if is_guest(client)}
        given = {guest.named for guest in self.session.builds.choice.guests}
        if lacking := sorted(planned - given):
            name = version_of(lacking[0]) or "NAME"
            raise UsageError(
                f"a group of this scenario has the client {lacking[0]}: give its program by "
                f"--guest {name}=COMMAND (fencepost docs guests)"
            )
        return planned

    def _plan(
        self,
        topics: Sequence[TopicPlan],
        groups: Sequence[GroupPlan],
        producers: Sequence[ProducerPlan],
        expects: Sequence[Expectation],
        must_judge: Sequence[Check],
    ) -> Plan:
        return Plan(
            scenario=Path(inspect.getfile(type(self))).stem.removesuffix("_test"),
            question=inspect.cleandoc(inspect.getmodule(type(self)).__doc__ or ""),
            parameters=dict(self.test_context.injected_args or {}),
            topics=list(topics),
            groups=list(groups),
            producers=list(producers),
            must_judge=[str(check) for check in (*self.must_judge, *must_judge)],
            expects=list(expects),
            answer=self.answer,
            follows=self.follows,
        )

    def _describe(self, plan: Plan, shape: Topology, starts_on: str | None) -> RunDescription:
        session = self.session
        named = self._in_commands(plan.scenario)
        file = named.partition("::")[0]
        return RunDescription(
            run_id=self.test_context.test_id,
            scenario=plan.scenario,
            seed=session.seed,
            kafka=session.kafka,
            cluster=session.cluster,
            clients={},
            git_head=session.git_head,
            versions=session.versions,
            config={
                "brokers": shape.brokers,
                "controllers": shape.controller_ids,
                "settings": dict(shape.settings),
                "features": dict(shape.features),
                "heap": shape.heap,
                "collector": shape.collector,
                **({"starts_on": starts_on} if starts_on else {}),
            },
            command=session.command,
            rerun=session.rerun(named, plan.parameters),
            started_micros=time.time_ns() // 1000,
            jars=_hashes(session.builds.of_servers),
            build=session.builds,
            file=file if file.endswith(".py") else "",
        )

    def _in_commands(self, scenario: str) -> str:
        """How commands name this test: by the scenario, or by the path of a user's file."""
        named = self.session.named.get(scenario, scenario)
        return f"{named}::{self.test_context.function_name}" if named.endswith(".py") else named


@contextmanager
def _refusing() -> Iterator[None]:
    """Refuse the run for a mistake of the scenario or of the command."""
    try:
        yield
    except UsageError as mistake:
        refuse(mistake)
        raise


def _hashes(classes: ClassPath) -> dict[str, str]:
    """Return the SHA-256 of each jar of a class path, by its file name."""
    own = {jar.name: jar.sha256 for jar in classes.own}
    return (read_lock(classes.locked).hashes if classes.locked else {}) | own


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
    run.phases.enter(Stage.COLLECTING, "clients and servers end, files are collected")
    ends = time.monotonic() + PHASE_LIMIT_SECONDS[Stage.COLLECTING]
    with limit_waits(PHASE_LIMIT_SECONDS[Stage.COLLECTING]):
        return _ended_and_collected(run, lambda: ends - time.monotonic())


def _ended_and_collected(run: Run, left: Callable[[], float]) -> list[str]:
    """`left`: how many seconds the stage has yet."""
    steps = Steps()
    workers = list(run.consumers.workers.values())
    observer, tables = run.observer.worker, run.folder.tables
    with limit_waits(_HEAL_SECONDS):
        steps.take("heal the faults", run.heal)
    with limit_waits(_WORKLOAD_SECONDS):
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
    with limit_waits(left() - _CLOSE_SECONDS):
        steps.take("decode the replicas", partial(decode_servers, run.folder, observer))
    steps.take("close the observer", observer.finish)
    steps.take("collect the observer", partial(collect_worker, run.folder, observer))
    steps.take("decode the histories", partial(decode_clients, run.folder, tables))
    steps.take("decode the servers' logs", partial(decode_server_logs, run.folder, tables))
    return steps.problems
