"""One run: the verbs in which a scenario tells its story."""

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from cluster.kafka.service import KafkaService
from harness.clients.commands import (
    CloseMembers,
    CommitPositions,
    Consume,
    LogEnd,
    Member,
    MemberCommit,
    OpenMembers,
    Produce,
)
from harness.clients.history import HistoryWriter
from harness.clients.process import WorkerService
from harness.clocks import read_clocks
from harness.consumers import Consumers
from harness.contract.errors import WorkerError
from harness.contract.events import WorkerStopped
from harness.contract.outcomes import ResetPolicy
from harness.contract.run_folder import GroupPlan, Plan, RunFolder, TopicPlan
from harness.contract.stages import Stage
from harness.faults.fault import Fault, Field, HeldFault
from harness.observer import Observer
from harness.phases import Phases
from harness.topics import new_topic
from harness.transactions import Transactions
from harness.workload import Workload

_CONSUME_SECONDS = 40
_PRODUCE_SECONDS = 90
_LEADERLESS_SECONDS = 60


class Run:
    """A started cluster with its clients, its observer and its history.

    Attributes:
        kafka: the cluster.
        clients: the worker with the Java clients, which produces too.
        consumers: the workers with the clients under test, Java's among them.
        workload: what writes and reads in the background.
        transactions: what transactional producers do, step by step.
        observer: who leads what.
        plan: what the scenario set out to do.
        phases: tells whoever watches what goes on.
    """

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
        """Everything is allocated, nothing runs; `history` is the driver's, closed by `end`."""
        self.kafka = kafka
        self.clients = consumers.java
        self.consumers = consumers
        self.observer = Observer(observer, kafka, history)
        self.folder = folder
        self.workload = Workload(consumers, self.observer)
        self.transactions = Transactions(consumers.java)
        self.phases = phases
        self.plan = plan
        self._history = history
        self._field = Field(
            kafka=kafka,
            observer=self.observer,
            history=self._history,
            clients={worker.worker: worker for worker in consumers.workers.values()},
            kept=folder.kept,
        )
        self._held: list[HeldFault] = []
        self._next_sequence: dict[str, int] = {}
        self._preferred: dict[tuple[str, int], int] = {}

    def start(self) -> None:
        """Start servers and workers at once, and wait until all brokers are in service."""
        with ThreadPoolExecutor() as pool:
            servers = pool.submit(self.kafka.start)
            list(pool.map(self._launch, (self.observer.worker, *self.consumers.workers.values())))
            servers.result()
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
        assignment: Sequence[int],
        *,
        settings: dict[str, str] | None = None,
        is_spread: bool = False,
    ) -> None:
        """Create the planned topics with replicas on these brokers, of which the first leads.

        With `is_spread` each partition's replicas begin one broker further, so that all lead.
        """
        self.phases.enter(Stage.STARTING, "creating topics")
        topics = [
            new_topic(topic, list(assignment), is_spread=is_spread, settings=settings or {})
            for topic in self.plan.topics
        ]
        self._preferred = {
            (topic.topic, partition): replicas[0]
            for topic in topics
            for partition, replicas in enumerate(topic.assignment)
        }
        self.observer.create_topics(topics)

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
        """Write values; returns how many were acknowledged. `through`: as in `open`.

        Raises:
            WorkerError: none was, so that the story can't go on as told.
        """
        first = self._next_sequence.get(producer, 0)
        self._next_sequence[producer] = first + count
        outcomes = self.clients.call(
            Produce(
                producer=producer,
                topic=topic,
                partition=partition,
                acks=acks,
                sequence_first=first,
                count=count,
                bootstrap=self.kafka.bootstrap_through(through),
            ),
            timeout_seconds=_PRODUCE_SECONDS,
        )
        acknowledged: int = outcomes["ok"]
        if not acknowledged:
            raise WorkerError(f"none of {count} records to {topic}-{partition} was acknowledged")
        return acknowledged

    def open(
        self, groups: Sequence[GroupPlan], *, life: int, through: int | None = None
    ) -> list[str]:
        """Open one member of each group and return their names, `<group>#<life>`.

        `through` names the broker whose metadata they begin with; else it is any.

        In its first life a group has no commit to resume from and starts at the beginning; its own
        reset policy holds from the second on.
        """
        members = {
            f"{group.group}#{life}": Member(
                group=group.group,
                member=f"{group.group}#{life}",
                topic=group.topic,
                reset=ResetPolicy.EARLIEST if life == 1 else group.reset,
                client=group.client,
                isolation=group.isolation,
                bootstrap=self.kafka.bootstrap_through(through),
            )
            for group in groups
        }
        self.consumers.call(
            list(members), lambda share: OpenMembers(members=[members[name] for name in share])
        )
        return list(members)

    def start_load(
        self,
        topic: TopicPlan,
        *,
        producers: Mapping[str, str],
        records_per_second: int,
        readers: Sequence[GroupPlan],
    ) -> None:
        """Write to a topic and let groups read it, in the background.

        Args:
            topic: what is written and read.
            producers: names with their acks.
            records_per_second: of each producer.
            readers: groups, each in its first life.
        """
        self.phases.enter(Stage.WARM_UP, "clients begin to write and to read")
        for producer, acks in producers.items():
            self.workload.start_producer(
                producer, topic, acks=acks, records_per_second=records_per_second
            )
        self.workload.start_reading(self.open(readers, life=1))
        self.workload.await_acknowledged(list(producers), 1)
        self.phases.enter(Stage.STEADY, "writing and reading")

    def consume(
        self,
        members: Sequence[str],
        *,
        timeout_seconds: float = _CONSUME_SECONDS,
        may_pass: bool = False,
    ) -> dict[str, str]:
        """Let members read to the log ends as they are now; answers how each ended.

        `may_pass` where somebody writes meanwhile: then beyond is there too.
        """
        ends = [
            LogEnd(topic=topic.topic, partition=partition, offset=offset)
            for topic in self.plan.topics
            for partition, offset in self.log_ends(topic).items()
        ]
        ended: list[dict[str, str]] = self.consumers.call(
            members,
            lambda share: Consume(
                members=share, ends=ends, timeout_seconds=timeout_seconds, may_pass=may_pass
            ),
            timeout_seconds=timeout_seconds * (1 + len(members) / 4),
        )
        return dict(ChainMap(*ended))

    def commit(self, groups: Sequence[GroupPlan], *, life: int) -> dict[str, str]:
        """Let each group's member commit its position by the group's plan; answers outcomes."""
        epochs = {topic.topic: self.observer.leader_epochs(topic) for topic in self.plan.topics}
        commits = {
            f"{group.group}#{life}": MemberCommit(
                member=f"{group.group}#{life}",
                commit_epoch=group.commit_epoch,
                cluster_epochs=epochs[group.topic],
            )
            for group in groups
        }
        outcomes: list[dict[str, str]] = self.consumers.call(
            list(commits), lambda share: CommitPositions(commits=[commits[name] for name in share])
        )
        return dict(ChainMap(*outcomes))

    def close(self, members: Sequence[str]) -> None:
        """Close members; they leave their groups."""
        self.consumers.call(members, lambda share: CloseMembers(members=share))

    def log_ends(self, topic: TopicPlan) -> dict[int, int]:
        """The high watermark of each partition, as its leader tells it."""
        states = self.observer.await_states(
            topic.topic,
            range(topic.partitions),
            lambda state: state.log_end_offset >= 0,
            what="to have leaders that tell their log ends",
        )
        return {partition: state.log_end_offset for partition, state in states.items()}

    def leader_epoch(self, topic: str, partition: int) -> int:
        """The partition's leader epoch in the newest view."""
        what = f"any view of {topic}-{partition}"
        return self.observer.await_state(topic, partition, lambda _: True, what=what).leader_epoch

    def inject(self, fault: Fault) -> HeldFault:
        """Inject a fault now; it is healed by `heal()`, or at the end of the run."""
        self.phases.enter(Stage.HELD, f"{fault.verb} {fault.target}")
        held = HeldFault.inject(fault, self._field)
        self._held.append(held)
        return held

    @contextmanager
    def fault(self, fault: Fault) -> Iterator[HeldFault]:
        """Hold a fault for a block of the story, and heal it after, whatever happened."""
        held = self.inject(fault)
        try:
            yield held
        finally:
            held.heal()

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

    def await_leaderless(self, topic: str, partition: int, *, in_eyes_of: int) -> None:
        """Wait until a broker is in service, and knows of no leader of the partition."""

        def is_leaderless() -> bool:
            if in_eyes_of not in self.observer.brokers_seen_by(in_eyes_of):
                return False
            state = self.observer.view(in_eyes_of, topic, partition)
            return state is not None and state.leader < 0

        self.observer.await_that(
            is_leaderless,
            what=f"{topic}-{partition} to have no leader in the eyes of broker {in_eyes_of}",
            timeout_seconds=_LEADERLESS_SECONDS,
        )

    def await_leader(
        self, topic: str, partition: int, broker: int, *, is_serving: bool = True
    ) -> None:
        """Wait until a broker leads the partition and, unless told otherwise, serves its log.

        A new leader serves only once its high watermark is known, and with eligible leader replicas
        (KIP-966) that takes as many in-sync replicas as `min.insync.replicas` asks for.
        """
        self.observer.await_state(
            topic,
            partition,
            lambda state: state.leader == broker and (state.log_end_offset >= 0 or not is_serving),
            what=f"{topic}-{partition} to be led by broker {broker}",
        )

    def heal(self) -> None:
        """Heal every fault that still holds, the last one first."""
        while self._held:
            self._held.pop().heal()

    def watch(self) -> None:
        """Let the observer sample every broker twice a second, until the end."""
        self.observer.watch([topic.topic for topic in self.plan.topics])

    def preferred_of(self, broker: int, topic: TopicPlan) -> list[int]:
        """The partitions of a topic whose preferred leader is this broker."""
        return [
            partition
            for partition in range(topic.partitions)
            if self._preferred[topic.topic, partition] == broker
        ]

    def await_epoch_above(self, topic: TopicPlan, partitions: Sequence[int], epoch: int) -> None:
        """Wait until partitions are led under a newer epoch than this, by whomever."""
        self.observer.await_states(
            topic.topic,
            partitions,
            lambda state: state.leader_epoch > epoch and state.log_end_offset >= 0,
            what=f"to be led under an epoch above {epoch}",
        )

    def read_to_end(self, groups: Sequence[GroupPlan], *, life: int = 1) -> None:
        """The final read: stop what goes on, and let each group's member read to the log ends."""
        self.phases.enter(Stage.FINAL_READ, "groups read to the log ends")
        self.workload.end()
        members = {f"{group.group}#{life}": group for group in groups}
        ended = self.consume(list(members))
        whole = [group for member, group in members.items() if ended[member] == "caught_up"]
        self.commit(whole, life=life)
        self.close(list(members))

    def settle(self) -> None:
        """Heal all faults and wait until every replica of the planned topics is in sync again."""
        self.phases.enter(Stage.SETTLING, "all replicas come into sync")
        self.heal()
        self.observer.await_brokers(self.kafka.topology.broker_ids)
        for topic in self.plan.topics:
            self.observer.await_states(
                topic.topic,
                range(topic.partitions),
                lambda state, wanted=topic.replication: len(state.isr) == wanted,  # type: ignore[misc]
                what=f"to have all {topic.replication} replicas in sync",
            )

    def end(self) -> None:
        """Close the clients, freeze the servers' files by SIGKILL and end the driver's history."""
        self.phases.enter(Stage.COLLECTING, "clients and servers end, what they left is collected")
        self.heal()
        self.workload.end()
        self.consumers.finish()
        self.kafka.kill_all()
        self._history.write(WorkerStopped)
        self._history.close()
