"""The driver's access to a cluster: one observer per cluster, on a node of its own."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from cluster.kafka.service import KafkaService
from cluster.kafka.topology import CLIENT_PORT
from contract.events import StateAwaited
from contract.run_folder import TopicPlan
from contract.waiting import wait_until
from harness.clients.admin import NewTopic, TransactionState
from harness.clients.broker_view import BrokerView
from harness.clients.command import Call
from harness.clients.history import HistoryWriter
from harness.clients.observer_worker import ObserverRole
from harness.clients.process import WorkerService
from harness.clients.views import PartitionState
from harness.wire.request import Broker

T = TypeVar("T")

_READY_SECONDS = 90
_REPORTED_SECONDS = 30
_STATE_SECONDS = 60
_SAMPLE_INTERVAL_MS = 500


class Observer:
    """Returns the cluster's state according to single brokers.

    A partition's state is the view of its newest leader: the response with the highest leader epoch
    among all brokers that run and are not paused, preferring the leader's own.
    """

    def __init__(self, worker: WorkerService, kafka: KafkaService, history: HistoryWriter) -> None:
        """Worker and cluster must be allocated; neither must run. Waits go to `history`."""
        self.worker = worker
        self.kafka = kafka
        self._history = history

    def await_that(self, probe: Callable[[], T | None], *, what: str, **options: Any) -> T:
        """Wait for a state of the cluster, and record the wait in the history.

        Raises:
            WaitTimeoutError: the state did not come.
        """
        with self.awaiting(what):
            return wait_until(probe, what=what, **options)

    def await_value(
        self,
        read: Callable[[], T | None],
        reached: Callable[[T], bool],
        *,
        what: str,
        timeout_seconds: float = _STATE_SECONDS,
    ) -> T:
        """Wait until what is read fulfils a condition, and return it; None fulfils none.

        Raises:
            WaitTimeoutError: it did not in time; the message has the last value.
        """
        last: list[T | None] = [None]

        def probe() -> T | None:
            last[0] = value = read()
            return value if value is not None and reached(value) else None

        return self.await_that(
            probe, what=what, timeout_seconds=timeout_seconds, last_seen=lambda: last[0]
        )

    @contextmanager
    def awaiting(self, what: str) -> Iterator[None]:
        """Record the duration of a block that waits for a state of the cluster."""
        began_micros = time.time_ns() // 1000
        try:
            yield
        finally:
            self._history.write(StateAwaited, what=what, began_micros=began_micros)

    def await_brokers(self, broker_ids: Iterable[int]) -> None:
        """Wait until exactly these brokers are unfenced according to each of them.

        Raises:
            WaitTimeoutError: they were not in time; the message has the last lines of a broker's
                log.
            NodeError: a broker ended instead of starting.
        """
        wanted = sorted(broker_ids)
        seen: dict[int, list[int]] = {}

        def all_agree() -> bool:
            for broker_id in wanted:
                self.kafka.require_running(broker_id)
                seen[broker_id] = self.brokers_seen_by(broker_id)
            return all(view == wanted for view in seen.values())

        self.await_that(
            all_agree,
            what=f"brokers {wanted} to be registered and unfenced",
            timeout_seconds=_READY_SECONDS,
            hint="see brokers/*/server.log; a slow or busy machine can need more time",
            recent=lambda: self.kafka.log_tail(wanted[0]),
            last_seen=lambda: seen,
        )

    def await_unfenced(self, broker_id: int) -> None:
        """Wait until a broker and all other responding brokers see it as unfenced.

        Raises:
            WaitTimeoutError: some do not.
        """
        self.await_that(
            lambda: all(
                broker_id in self.brokers_seen_by(i)
                for i in {broker_id, *self.kafka.answering_brokers()}
            ),
            what=f"broker {broker_id} to be unfenced",
            timeout_seconds=_READY_SECONDS,
        )

    def brokers_seen_by(self, broker_id: int) -> list[int]:
        """Return the unfenced brokers according to one broker; none while it does not respond."""
        return self.worker.call(ObserverRole.list_brokers(self.listener(broker_id)))

    def listener(self, server_id: int, port: int = CLIENT_PORT) -> Broker:
        """Return where a server listens, by default for clients."""
        return Broker(self.kafka.host(server_id).address, port)

    def create_topics(self, topics: list[NewTopic]) -> None:
        """Create topics and wait until each partition has its preferred leader and full ISR."""
        self.worker.call(ObserverRole.create_topics(topics))
        for topic in topics:
            self._await_led_by_first(topic.topic, topic.assignment, range(len(topic.assignment)))

    def restore_leaders(self, created: Mapping[str, list[list[int]]]) -> list[tuple[str, int]]:
        """Wait until all brokers run, and partitions are in sync and led as they were created.

        The first replica is elected where another one leads; not where the replicas are others now.

        Args:
            created: by topic, each partition's replicas, the preferred leader first.

        Returns:
            The partitions where a leader was elected.

        Raises:
            WaitTimeoutError: a broker is fenced, a replica did not get into the ISR, or a leader
                was not elected.
            NodeError: a broker ended.
        """
        self.await_brokers(self.kafka.topology.broker_ids)
        elected: list[tuple[str, int]] = []
        for topic, assignment in created.items():
            now = self.worker.call(ObserverRole.describe_topic(topic)).assignment
            kept = [number for number, replicas in enumerate(assignment) if now[number] == replicas]
            states = self.await_states(
                topic,
                kept,
                partial(_are_in_sync, assignment=assignment),
                what="to have all replicas in sync",
            )
            moved = [number for number in kept if states[number].leader != assignment[number][0]]
            for number in moved:
                through = self.kafka.bootstrap_through(states[number].leader)
                elect = ObserverRole.elect(topic, number, unclean=False, bootstrap=through)
                self.worker.call(elect)
            self._await_led_by_first(topic, assignment, moved)
            elected += [(topic, number) for number in moved]
        return elected

    def _await_led_by_first(
        self, topic: str, assignment: list[list[int]], partitions: Iterable[int]
    ) -> None:
        self.await_states(
            topic,
            partitions,
            partial(_is_led_by_first, assignment=assignment),
            what="to be led by their first replicas, all in sync",
        )

    def await_leaderless(self, topic: str, partition: int, *, according_to: int) -> None:
        """Wait until a broker is unfenced and knows no leader of the partition.

        Raises:
            WaitTimeoutError: it knows a leader, or is fenced.
        """

        def is_leaderless() -> bool:
            if according_to not in self.brokers_seen_by(according_to):
                return False
            state = self.view(according_to, topic, partition)
            return state is not None and state.leader < 0

        self.await_that(
            is_leaderless,
            what=f"{topic}-{partition} to have no leader according to broker {according_to}",
            timeout_seconds=_STATE_SECONDS,
        )

    def topic_id_seen_by(self, broker_id: int, topic: str) -> str:
        """Return a topic's id according to one broker; empty if it does not know the topic."""
        return self.worker.call(ObserverRole.find_topic_id(self.listener(broker_id), topic))

    def open_proxy(self) -> None:
        """Let a proxy on the observer's node listen for the clients of each broker."""
        topology, address = self.kafka.topology, self.worker.host.address
        for broker in topology.broker_ids:
            at = Broker(address, topology.proxy_port(broker))
            self.worker.call(ObserverRole.open_proxy(broker, to=self.listener(broker), at=at))

    def watch(self, topics: list[str]) -> None:
        """Sample every broker from now on; see `ObserverRole.watch`."""
        brokers = {i: self.listener(i) for i in self.kafka.topology.broker_ids}
        self.worker.call(ObserverRole.watch(brokers, topics, interval_ms=_SAMPLE_INTERVAL_MS))

    def active_controller(self) -> int:
        """Return the leader of the metadata quorum according to the first broker that knows it.

        Raises:
            WaitTimeoutError: no broker does.
        """
        return self._first_reported(ObserverRole.find_controller, what="an active controller")

    def coordinator(self, key: str, *, of_transactions: bool = False) -> int:
        """Return the broker that coordinates a consumer group, or a transactional.id.

        Raises:
            WaitTimeoutError: no broker knows one.
        """
        return self._first_reported(
            lambda broker: ObserverRole.find_coordinator(
                broker, key, of_transactions=of_transactions
            ),
            what=f"a coordinator of {key}",
        )

    def _first_reported(self, question: Callable[[Broker], Call[int]], *, what: str) -> int:
        """Return the first server id that a broker responds with."""

        def probe() -> int | None:
            for broker_id in self.kafka.answering_brokers():
                found = self.worker.call(question(self.listener(broker_id)))
                if found >= 0:
                    return found
            return None

        return self.await_that(probe, what=what, timeout_seconds=_REPORTED_SECONDS)

    def delete_records(self, topic: str, partition: int, *, before_offset: int) -> None:
        """Delete a partition's records below an offset (DeleteRecords).

        Returns when its leader reports that the log starts there.
        """
        self.worker.call(ObserverRole.delete_records(topic, {partition: before_offset}))
        self.await_state(
            topic,
            partition,
            lambda state: state.log_start_offset >= before_offset,
            what=f"{topic}-{partition} to start at offset {before_offset}",
        )

    def fence_producers(self, transactional_ids: list[str]) -> None:
        """Fence the producers of transactional ids (`Admin.fenceProducers`)."""
        self.worker.call(ObserverRole.fence_producers(transactional_ids))

    def transactions(self, transactional_ids: list[str]) -> list[TransactionState]:
        """Return the state of transactional ids as their coordinators report it, in order.

        Raises:
            WorkerError: one is unknown to its coordinator.
        """
        return self.worker.call(ObserverRole.describe_transactions(transactional_ids))

    def partition(self, topic: str, partition: int) -> PartitionState | None:
        """Return the newest view of one partition; None while no broker responds."""
        return self.partitions(topic).get(partition)

    def partitions(self, topic: str) -> dict[int, PartitionState]:
        """Return the newest view of each partition of a topic, with one request per broker."""
        views: dict[int, list[tuple[int, PartitionState]]] = {}
        for broker_id in self.kafka.answering_brokers():
            for state in self.views(broker_id, [topic]):
                views.setdefault(state.partition, []).append((broker_id, state))
        return {
            partition: max(
                seen, key=lambda pair: (pair[1].leader_epoch, pair[0] == pair[1].leader)
            )[1]
            for partition, seen in views.items()
        }

    def look(self) -> list[BrokerView]:
        """Return what each broker that runs and is not paused knows."""
        brokers = {i: self.listener(i) for i in self.kafka.answering_brokers()}
        return self.worker.call(ObserverRole.look(brokers))

    def topics(self) -> list[str]:
        """Return the topics that any broker knows, but internal ones."""
        return sorted({state.topic for view in self.look() for state in view.partitions})

    def replicas(self, topic: str, partition: int) -> list[int]:
        """Return the brokers that a partition is assigned to, the preferred leader first."""
        described = self.worker.call(ObserverRole.describe_topic(topic))
        return described.assignment[partition]

    def views(self, broker_id: int, topics: list[str]) -> list[PartitionState]:
        """Return one broker's view of all partitions of topics; none while it does not respond."""
        return self.worker.call(ObserverRole.inspect(broker_id, self.listener(broker_id), topics))

    def view(self, broker_id: int, topic: str, partition: int) -> PartitionState | None:
        """Return one broker's view of a partition; None while it does not respond."""
        views = self.views(broker_id, [topic])
        return next((state for state in views if state.partition == partition), None)

    def await_state(
        self,
        topic: str,
        partition: int,
        reached: Callable[[PartitionState], bool],
        *,
        what: str,
        timeout_seconds: float = _STATE_SECONDS,
    ) -> PartitionState:
        """Wait until a partition's newest view fulfils a condition, and return that view.

        Raises:
            WaitTimeoutError: it did not in time; the message has the last view.
        """
        return self.await_value(
            lambda: self.partition(topic, partition),
            reached,
            what=what,
            timeout_seconds=timeout_seconds,
        )

    def await_states(
        self,
        topic: str,
        partitions: Iterable[int],
        reached: Callable[[PartitionState], bool],
        *,
        what: str,
        timeout_seconds: float = _STATE_SECONDS,
        hint: str = "",
    ) -> dict[int, PartitionState]:
        """Wait until each of several partitions has fulfilled a condition; returns those views.

        Args:
            topic: whose partitions.
            partitions: which.
            reached: whether a view fulfils the condition.
            what: the condition in words, as in `to be led by broker 2`.
            timeout_seconds: for each partition; slow ones may use the time that others left.
            hint: what to look at when it does not come.

        Raises:
            WaitTimeoutError: some did not; shows their last views.
        """
        wanted = list(partitions)
        found: dict[int, PartitionState] = {}
        last: dict[int, PartitionState | None] = dict.fromkeys(wanted)

        def probe() -> bool:
            seen = self.partitions(topic)
            for partition in list(last):
                state = last[partition] = seen.get(partition)
                if state is not None and reached(state):
                    found[partition] = state
                    del last[partition]
            return not last

        self.await_that(
            probe,
            what=f"partitions {wanted} of {topic} {what}",
            timeout_seconds=timeout_seconds * len(wanted),
            hint=hint,
            last_seen=lambda: last,
        )
        return {partition: found[partition] for partition in wanted}

    def await_in_sync(self, topic: str, replicas: int) -> None:
        """Wait until each partition of a topic has this number of replicas in sync.

        Raises:
            WaitTimeoutError: one has not, or no broker knows the topic.
        """
        partitions = self.await_that(
            lambda: self.partitions(topic) or None,
            what=f"any view of {topic}",
            timeout_seconds=_STATE_SECONDS,
        )
        self.await_states(
            topic,
            partitions,
            lambda state: len(state.isr) == replicas,
            what=f"to have all {replicas} replicas in sync",
        )

    def leader_epochs(self, topic: TopicPlan) -> dict[int, int]:
        """Return the leader epoch of each of a topic's partitions in the newest views."""
        states = self.await_states(
            topic.topic, range(topic.partitions), lambda _: True, what="to be in any view"
        )
        return {partition: state.leader_epoch for partition, state in states.items()}


def _is_led_by_first(state: PartitionState, *, assignment: list[list[int]]) -> bool:
    is_first = state.leader == assignment[state.partition][0]
    return is_first and _are_in_sync(state, assignment=assignment)


def _are_in_sync(state: PartitionState, *, assignment: list[list[int]]) -> bool:
    return state.isr == sorted(assignment[state.partition])
