"""One run: the verbs of a scenario."""

import time
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager

from msgspec.structs import replace

from cluster.kafka.service import KafkaService
from cluster.nodes.node import Node
from contract.errors import UsageError, WorkerError
from contract.events import ClockRead, NoteTaken, WorkerStopped
from contract.run_folder import GroupPlan, Plan, ProducerPlan, RunFolder, TopicPlan
from contract.terms import Outcome, Stage
from harness.clients.history import HistoryWriter
from harness.clients.member import LogEnd, MemberCommit
from harness.clients.member_role import MemberRole
from harness.clients.observer import Observer
from harness.clients.process import WorkerService
from harness.clients.producer_role import ProducerRole
from harness.faults.fault import Fault, Field, HeldFault
from harness.story.calls import Calls
from harness.story.consumers import (
    Consumers,
    Groups,
    Sources,
    member_of,
    members_of,
    require_planned,
)
from harness.story.features import Features
from harness.story.phases import Phases
from harness.story.quorum import Quorum
from harness.story.settings import topic_shape_problems
from harness.story.topics import brokers_of, new_topic
from harness.story.transactions import Transactions
from harness.story.wire import Wire
from harness.story.workload import Workload, writer

_CONSUME_SECONDS = 40
_TRANSACTION_SECONDS = 60
_ONGOING = "Ongoing"
"""The state of an open transaction (`TransactionState`)."""
_PRODUCE_SECONDS = 90
_WRITER = "writer"
_READINGS_MAX = 20
_TIGHT_MICROS = 20_000
"""Bounds this close to each other need no further reading."""
_READ_SECONDS = 30
_PRINT_TIME = "import time; print(time.time_ns() // 1000)"


class Run:
    """A started cluster with its clients, its observer and its history.

    Attributes:
        kafka: the cluster.
        clients: the worker with the Java clients.
        consumers: the workers with the clients under test, Java's among them.
        workload: the producers and readers in the background.
        calls: what members are asked besides a subscription and polls.
        sources: from which brokers members read.
        groups: members and committed offsets of groups.
        transactions: transactional producers, step by step.
        wire: single requests to single brokers.
        features: the finalized feature levels.
        quorum: the controllers' quorum, each controller by itself.
        observer: the state of the cluster.
        plan: what the scenario is to do.
        phases: reports the phases.
    """

    kafka: KafkaService
    clients: WorkerService
    consumers: Consumers
    observer: Observer
    folder: RunFolder
    workload: Workload
    calls: Calls
    sources: Sources
    groups: Groups
    transactions: Transactions
    wire: Wire
    features: Features
    quorum: Quorum
    phases: Phases
    plan: Plan

    def __init__(
        self,
        *,
        kafka: KafkaService,
        consumers: Consumers,
        observer: WorkerService,
        folder: RunFolder,
        history: HistoryWriter,
        phases: Phases,
        plan: Plan,
    ) -> None:
        """Everything is allocated but not started; `end_history` closes the driver's `history`."""
        self.kafka = kafka
        self.clients = consumers.java
        self.consumers = consumers
        self.observer = Observer(observer, kafka, history)
        if kafka.topology.is_proxied:
            kafka.proxy = observer.host.address
        self.folder = folder
        self.workload = Workload(consumers, self.observer, plan.topics)
        self.calls = Calls(consumers)
        self.sources = Sources(consumers, self.observer)
        self.groups = Groups(self.observer, require_reading=self.workload.require_group)
        self.transactions = Transactions(consumers.java)
        self.wire = Wire(self.observer)
        self.features = Features(self.wire, self.observer)
        self.quorum = Quorum(self.observer)
        self.phases = phases
        self.plan = plan
        self._history = history
        field = Field(
            kafka=kafka,
            observer=self.observer,
            history=self._history,
            clients=consumers.by_name,
            kept=folder.kept,
        )
        self._injections = Injections(field, phases, before_first=self._restore_leaders)
        self._created: dict[str, list[list[int]]] = {}

    def start(self) -> None:
        """Start servers and workers in parallel, and wait until all brokers are unfenced."""
        with ThreadPoolExecutor() as pool:
            servers = pool.submit(self.kafka.start)
            list(pool.map(self._launch, (self.observer.worker, *self.consumers.workers.values())))
            servers.result()
        if self.kafka.topology.is_proxied:
            self.observer.open_proxy()
        self.observer.await_brokers(self.kafka.topology.broker_ids)
        self._read_clocks()

    def _read_clocks(self) -> None:
        workers = (self.observer.worker, *self.consumers.workers.values())
        servers = [self.kafka.host(server) for server in self.kafka.topology.server_ids]
        read_clocks(self._history, workers, servers)

    def _launch(self, worker: WorkerService) -> None:
        worker.launch(bootstrap=self.kafka.bootstrap, kafka=self.kafka.version)

    def create(
        self,
        assignment: Sequence[int] | Mapping[str, Sequence[int]],
        *,
        settings: dict[str, str] | None = None,
        is_spread: bool = False,
    ) -> None:
        """Create the planned topics with replicas on these brokers, of which the first leads.

        The brokers are of all topics, or of each by its name. With `is_spread` each partition's
        replicas begin one broker further, so that all brokers lead. Further `settings` of all
        topics stand in the report as a note.

        Raises:
            UsageError: brokers are given by topic, and not of exactly the planned ones.
        """
        brokers = brokers_of(assignment, [topic.topic for topic in self.plan.topics])
        self.phases.enter(Stage.STARTING, "creating topics")
        is_own = bool(self.kafka.classes(self.kafka.topology.broker_ids[0]).own)
        topics = [
            new_topic(
                topic,
                list(brokers[topic.topic]),
                is_spread=is_spread,
                settings=settings or {},
                is_own=is_own,
            )
            for topic in self.plan.topics
        ]
        self._created = {topic.topic: topic.assignment for topic in topics}
        self.observer.create_topics(topics)
        if settings:
            given = ", ".join(f"{name}={value}" for name, value in settings.items())
            self.note(f"topics were created with {given}")

    def produce(
        self,
        topic: str,
        *,
        count: int,
        producer: str,
        acks: str = "all",
        partition: int = 0,
        through: int | None = None,
    ) -> int:
        """Write values; returns the number of acknowledged ones. `through`: as in `open`.

        A planned producer of that name has its client, its settings and its own acks.

        Raises:
            UsageError: one of that name writes, or wrote, in the background.
            WorkerError: none was acknowledged, so that the scenario can't continue.
        """
        plan = self._planned_producer(writer(producer, topic, acks=acks))
        first = self.workload.numbers.take(producer, count)
        outcomes = self.consumers.producing(plan).call(
            ProducerRole.produce(
                plan,
                partition,
                sequence_first=first,
                count=count,
                bootstrap=self.kafka.bootstrap_through(through),
            ),
            timeout_seconds=_PRODUCE_SECONDS,
        )
        acknowledged = outcomes[Outcome.OK]
        if not acknowledged:
            raise WorkerError(f"none of {count} records to {topic}-{partition} was acknowledged")
        return acknowledged

    def _planned_producer(self, producer: ProducerPlan) -> ProducerPlan:
        """Return the planned producer of that name; one that is not planned has no settings.

        Raises:
            UsageError: it has, or it is planned for another topic.
        """
        planned = {known.producer: known for known in self.plan.producers}
        found = planned.get(producer.producer)
        if found is None and producer.settings:
            raise UsageError(
                f"producer {producer.producer} has settings, which the report would not have: "
                "name it among the scenario's producers"
            )
        if found is not None and found.topic != producer.topic:
            raise UsageError(
                f"producer {producer.producer} is planned for {found.topic}, not {producer.topic}"
            )
        return found or producer

    def open(
        self,
        groups: Sequence[GroupPlan],
        *,
        incarnation: int,
        through: int | None = None,
        number: int | None = None,
        is_subscribed: bool = True,
    ) -> list[str]:
        """Open the members of each group, all or one, and return their names, as in `members_of`.

        They have what the command changes (`--set`). A group may have other settings and styles
        than in an earlier incarnation, and in the plan.
        `through` is the only bootstrap broker; by default all brokers are. For the reset policy see
        `member_of`. Without a subscription they are for `run.calls`.
        """
        groups = self.consumers.changes.groups(groups)
        require_planned(groups, self.plan.groups)
        bootstrap = self.kafka.bootstrap_through(through)
        members = {
            name: member_of(name, group, bootstrap=bootstrap, is_subscribed=is_subscribed)
            for name, group in members_of(groups, incarnation=incarnation, number=number).items()
        }
        self.consumers.call(
            list(members), lambda share: MemberRole.open_members([members[name] for name in share])
        )
        return list(members)

    def add(
        self, *, groups: Sequence[GroupPlan] = (), producers: Sequence[ProducerPlan] = ()
    ) -> None:
        """Add groups and producers that the scenario did not plan; launches spare workers.

        Raises:
            UsageError: there is no worker for one of their clients.
        """
        for worker in self.consumers.add(groups, producers):
            self._launch(worker)
            read_clocks(self._history, [worker], [])
        self.plan = replace(
            self.plan,
            groups=[*self.plan.groups, *groups],
            producers=[*self.plan.producers, *producers],
        )
        self.folder.write_plan(self.plan)

    def add_topic(self, topic: TopicPlan, settings: dict[str, str]) -> None:
        """Create a topic that the scenario did not plan, spread over all brokers, and sample it.

        Raises:
            UsageError: it can't be as it is planned, or there is one of its name.
        """
        topology = self.kafka.topology
        there = [planned.topic for planned in self.plan.topics]
        problems = [f"there is a topic {topic.topic} already"] if topic.topic in there else []
        for problem in (*problems, *topic_shape_problems([topic], topology)):
            raise UsageError(problem)
        made = new_topic(topic, topology.broker_ids, is_spread=True, settings=settings)
        self.observer.create_topics([made])
        self.observer.watch([topic.topic])
        self.plan = replace(self.plan, topics=[*self.plan.topics, topic])
        self.folder.write_plan(self.plan)

    def start_load(
        self,
        topic: TopicPlan,
        readers: Sequence[GroupPlan],
        *,
        records_per_second: int,
        producers: Sequence[ProducerPlan] = (),
    ) -> Workload:
        """Start producers and readers in the background, and wait until all groups have committed.

        Args:
            topic: of the producer that there is if none are given or planned: `writer`, a Java
                producer with acks=all.
            readers: groups, each in its first incarnation.
            records_per_second: of each producer that has no rate of its own.
            producers: those of the plan if none are given.
        """
        self.phases.enter(Stage.WARM_UP, "clients begin to write and to read")
        chosen = producers or self.plan.producers or [writer(_WRITER, topic.topic)]
        for producer in map(self._planned_producer, chosen):
            self.workload.start_producer(producer, records_per_second=records_per_second)
        self.workload.start_reading(self.open(readers, incarnation=1))
        self.workload.await_acknowledged([producer.producer for producer in chosen], 1)
        reported = [group for group in readers if not group.commits_by_itself]
        self.workload.await_commits(
            {group.group: list(members_of([group], incarnation=1)) for group in reported}
        )
        for group in readers:
            if group not in reported:
                self.groups.await_committed(group.group)
        self.phases.enter(Stage.STEADY, "writing and reading")
        return self.workload

    def consume(
        self,
        members: Sequence[str],
        *,
        timeout_seconds: float = _CONSUME_SECONDS,
        may_pass: bool = False,
    ) -> dict[str, str]:
        """Let members read to the current log ends; returns how each ended.

        With `may_pass` a position beyond the log end suffices, for topics that are being written.
        """
        ends = [
            LogEnd(topic=topic.topic, partition=partition, offset=offset)
            for topic in self.plan.topics
            for partition, offset in self.log_ends(topic).items()
        ]
        ended = self.consumers.call(
            members,
            lambda share: MemberRole.consume(
                share, ends=ends, timeout_seconds=timeout_seconds, may_pass=may_pass
            ),
            timeout_seconds=timeout_seconds * (1 + len(members) / 4),
        )
        return dict(ChainMap(*ended))

    def commit(
        self, groups: Sequence[GroupPlan], *, incarnation: int, number: int | None = None
    ) -> dict[str, str]:
        """Let members commit their positions by their groups' plan; returns the outcomes.

        All members commit, or only those of one number.
        """
        epochs = {topic.topic: self.observer.leader_epochs(topic) for topic in self.plan.topics}
        commits = {
            name: MemberCommit(
                member=name,
                commit_epoch=group.commit_epoch,
                cluster_epochs=epochs[group.topic],
            )
            for name, group in members_of(groups, incarnation=incarnation, number=number).items()
        }
        outcomes = self.consumers.call(
            list(commits),
            lambda share: MemberRole.commit_positions([commits[name] for name in share]),
        )
        return dict(ChainMap(*outcomes))

    def close(self, members: Sequence[str]) -> None:
        """Close members; they leave their groups."""
        self.consumers.call(members, MemberRole.close_members)

    def log_ends(self, topic: TopicPlan) -> dict[int, int]:
        """Return the high watermark of each partition, as its leader reports it."""
        states = self.observer.await_states(
            topic.topic,
            range(topic.partitions),
            lambda state: state.log_end_offset >= 0,
            what="to have leaders that report their log ends",
        )
        return {partition: state.log_end_offset for partition, state in states.items()}

    def leader_epoch(self, topic: str, partition: int) -> int:
        """Return the partition's leader epoch in the newest view."""
        what = f"any view of {topic}-{partition}"
        return self.observer.await_state(topic, partition, lambda _: True, what=what).leader_epoch

    def inject(self, fault: Fault, *, require: Callable[[Fault], None] | None = None) -> HeldFault:
        """Inject a fault now; it is healed by `heal()`, or at the end of the run.

        `require` may refuse it by an exception, once its target is resolved.
        """
        return self._injections.inject(fault, require=require)[0]

    @property
    def held(self) -> list[HeldFault]:
        """The faults that hold, in the order of their injections."""
        return self._injections.held

    def inject_all(self, *faults: Fault) -> list[HeldFault]:
        """Inject faults, all before any is proved; each is healed as after `inject`."""
        return self._injections.inject(*faults)

    def fault(self, *faults: Fault) -> AbstractContextManager[list[HeldFault]]:
        """Hold faults for a block, and heal them afterwards, also after an exception.

        The block gets them, with their evidence.

        Of several faults, all are injected before any is proved: the effect of one may occur only
            after the next injection.
        """
        return self._injections.hold(*faults)

    def await_isr(self, topic: str, partition: int, isr: Sequence[int]) -> None:
        """Wait until exactly these replicas are in sync."""
        self.observer.await_state(
            topic,
            partition,
            lambda state: state.isr == sorted(isr),
            what=f"the ISR of {topic}-{partition} to be {sorted(isr)}",
        )

    def await_out_of_isr(self, topic: str, partition: int, broker: int) -> None:
        """Wait until a replica is no longer in sync."""
        self.observer.await_state(
            topic,
            partition,
            lambda state: broker not in state.isr,
            what=f"broker {broker} to leave the ISR of {topic}-{partition}",
        )

    def await_leader(
        self, topic: str, partition: int, broker: int, *, is_serving: bool = True
    ) -> None:
        """Wait until a broker leads the partition and, by default, serves its log.

        A new leader serves only when its high watermark is known. With eligible leader replicas
        (KIP-966) that needs `min.insync.replicas` in-sync replicas.
        """
        self.observer.await_state(
            topic,
            partition,
            lambda state: state.leader == broker and (state.log_end_offset >= 0 or not is_serving),
            what=f"{topic}-{partition} to be led by broker {broker}",
        )

    def note(self, text: str) -> None:
        """Note something for the report: it stands there at this time, as it is."""
        self._history.write(NoteTaken, text=text)

    def heal(self) -> None:
        """Heal every fault that still holds, the last one first."""
        self._injections.heal()

    def watch(self) -> None:
        """Let the observer sample every broker twice a second, until the end."""
        self.observer.watch([topic.topic for topic in self.plan.topics])

    def _restore_leaders(self) -> None:
        """Undo what a busy machine did: brokers that it stalls are fenced, and others lead."""
        for topic, partition in self.observer.restore_leaders(self._created):
            self.note(
                f"another broker led {topic}-{partition} before the first fault; the preferred "
                "leader was elected"
            )

    def preferred_of(self, broker: int, topic: TopicPlan) -> list[int]:
        """Return the partitions of a topic whose preferred leader is this broker."""
        assignment = self._created[topic.topic]
        return [partition for partition, (first, *_) in enumerate(assignment) if first == broker]

    def await_epoch_above(self, topic: TopicPlan, partitions: Sequence[int], epoch: int) -> None:
        """Wait until partitions are led under a newer epoch than this, by any broker."""
        self.observer.await_states(
            topic.topic,
            partitions,
            lambda state: state.leader_epoch > epoch and state.log_end_offset >= 0,
            what=f"to be led under an epoch above {epoch}",
        )

    def read_to_end(
        self,
        groups: Sequence[GroupPlan],
        *,
        incarnation: int = 1,
        timeout_seconds: float = _CONSUME_SECONDS,
    ) -> None:
        """The final read: stop the workload, and let each group's members read to the log ends."""
        self.phases.enter(Stage.FINAL_READ, "groups read to the log ends")
        self.workload.end()
        members = list(members_of(groups, incarnation=incarnation))
        ended = self.consume(members, timeout_seconds=timeout_seconds)
        whole = [
            group
            for group in groups
            if {ended[member] for member in members_of([group], incarnation=incarnation)}
            == {"caught_up"}
        ]
        self.commit(whole, incarnation=incarnation)
        self.close(members)

    def settle(self, *, internal_topics: Sequence[str] = ()) -> None:
        """Heal all faults and wait until every replica of the planned topics is in sync again.

        With `internal_topics` theirs, too: a group can't commit without its offsets' partition.
        """
        self.phases.enter(Stage.SETTLING, "all replicas return to the ISR")
        self.heal()
        self.await_in_sync(internal_topics=internal_topics)

    def await_in_sync(self, *, internal_topics: Sequence[str] = ()) -> None:
        """Wait until brokers are unfenced, and replicas of these and the planned topics in sync."""
        self.observer.await_brokers(self.kafka.topology.broker_ids)
        for topic in self.plan.topics:
            self.observer.await_in_sync(topic.topic, topic.replication)
        for name in internal_topics:
            self.observer.await_in_sync(name, self.kafka.topology.internal_replicas)

    def await_transaction(self, transactional_id: str) -> None:
        """Wait until a producer's transaction is open, as its coordinator reports it."""
        self.observer.await_value(
            lambda: self.observer.transactions([transactional_id])[0],
            lambda transaction: transaction.state == _ONGOING,
            what=f"an open transaction of {transactional_id}",
            timeout_seconds=_TRANSACTION_SECONDS,
        )

    def end_history(self) -> None:
        """End the driver's history."""
        self._history.write(WorkerStopped)
        self._history.close()


class Injections:
    """Holds the faults that are injected until they are healed."""

    def __init__(self, field: Field, phases: Phases, *, before_first: Callable[[], None]) -> None:
        """Start without faults; `before_first` is called once, before any is injected."""
        self._field = field
        self._phases = phases
        self._before_first: Callable[[], None] | None = before_first
        self._held: list[HeldFault] = []

    @property
    def held(self) -> list[HeldFault]:
        """Those that are not healed, in the order of their injections."""
        return [fault for fault in self._held if fault.holds]

    def inject(
        self, *faults: Fault, require: Callable[[Fault], None] | None = None
    ) -> list[HeldFault]:
        """Inject faults in immediate succession, then prove them."""
        if self._before_first:
            self._before_first()
            self._before_first = None
        what = ", ".join(f"{fault.verb} {fault.target}" for fault in faults)
        self._phases.enter(Stage.HELD, what)
        held: list[HeldFault] = []
        for fault in faults:
            held.append(HeldFault.inject(fault, self._field, require=require))
            self._held.append(held[-1])
        for injected in held:
            injected.prove()
        return held

    @contextmanager
    def hold(self, *faults: Fault) -> Iterator[list[HeldFault]]:
        """Inject faults, and heal them after the block, also after an exception."""
        held = self.inject(*faults)
        try:
            yield held
        finally:
            with ExitStack() as heals:
                for fault in held:
                    heals.callback(fault.heal)

    def heal(self) -> None:
        """Heal the faults that still hold, the last one first, even if one can't be healed."""
        with ExitStack() as heals:
            for fault in self._held:
                heals.callback(fault.heal)
            self._held.clear()


def read_clocks(
    history: HistoryWriter, workers: Iterable[WorkerService], servers: Iterable[Node]
) -> None:
    """Read each node's clock until its bounds are tight, and write them to the history.

    A node's reading lies between the driver's clock before the request and after the response; the
    tightest bounds of several readings count. A worker reads its own clock; on a server's node a
    process prints it.
    """
    clocks: dict[str, Callable[[], int]] = {w.host.name: w.clock_micros for w in workers}
    clocks |= {node.name: _clock_of(node) for node in servers}
    for name, clock in clocks.items():
        ahead, behind = bounds(clock)
        history.write(ClockRead, node=name, ahead_micros=ahead, behind_micros=behind)


def bounds(clock: Callable[[], int]) -> tuple[int, int]:
    """Return how far a clock is ahead of this one at most and at least, in microseconds."""
    aheads, behinds = [], []
    for _ in range(_READINGS_MAX):
        asked = time.time_ns() // 1000
        read = clock()
        aheads.append(read - asked)
        behinds.append(read - time.time_ns() // 1000)
        if min(aheads) - max(behinds) <= _TIGHT_MICROS:
            break
    return min(aheads), max(behinds)


def _clock_of(node: Node) -> Callable[[], int]:
    def read() -> int:
        printed = node.run(
            [node.python, "-I", "-S", "-c", _PRINT_TIME], timeout_seconds=_READ_SECONDS
        )
        return int(printed.output)

    return read
