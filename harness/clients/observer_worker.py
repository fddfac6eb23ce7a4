"""The observer: queries brokers, administers the cluster, and decodes replicas.

`python -m harness.clients.observer_worker PLAN`
"""

import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from contract.errors import WorkerError
from contract.events import Sampled, TransactionChanged, WireCalled
from contract.outcomes import Outcome, TransactionChange, TransactionStep
from harness.clients import observer_commands as commands
from harness.clients.admin import AdminClient
from harness.clients.command import Command
from harness.clients.commands import WorkerPlan
from harness.clients.extra_member import join_and_leave
from harness.clients.history import HistoryWriter
from harness.clients.observer_commands import PartitionState, TruncateTailResult, WireResult
from harness.clients.quorum_commands import DescribeQuorum, WatchQuorum
from harness.clients.quorum_sampling import QuorumSampling
from harness.clients.time_lookup import look_up_times
from harness.clients.views import (
    brokers_seen_by,
    controller_seen_by,
    coordinator_seen_by,
    partitions_seen_by,
    topic_id_seen_by,
)
from harness.clients.worker import Role, run_worker
from harness.decode.logs import decode_segments, truncate_tail
from harness.java.jvm import kafka_version, start_jvm
from harness.wire.answers import answers
from harness.wire.calls import exchange, with_error_classes
from harness.wire.request import Broker
from harness.wire.requests import WireRequest

_INTERNAL = "__"
"""Names of internal topics begin so."""


class ObserverRole(Role):
    """Queries single brokers by requests, and the cluster by Kafka's admin client."""

    client = "admin"

    def __init__(self, plan: WorkerPlan, history: HistoryWriter) -> None:
        """Start the JVM."""
        start_jvm(plan.jars, log=Path(plan.log))
        self.client_version = kafka_version()
        self._history = history
        self._bootstrap = plan.bootstrap
        self._admin = AdminClient(plan.bootstrap)
        self._ending = threading.Event()
        self._watchers: list[threading.Thread] = []
        self._quorum = QuorumSampling(history, self._ending)

    def carry_out(self, command: Command) -> Any:  # noqa: PLR0911 - one a command
        """Observe, administer, truncate a tail or decode."""
        match command:
            case commands.ListBrokers(address=address, port=port):
                return _or_none(brokers_seen_by, Broker(address, port)) or []
            case commands.FindController(address=address, port=port):
                found = _or_none(controller_seen_by, Broker(address, port))
                return -1 if found is None else found
            case commands.FindCoordinator(address=address, port=port, key=key, of_transactions=txn):
                find = partial(coordinator_seen_by, of_transactions=txn)
                found = _or_none(find, Broker(address, port), key)
                return -1 if found is None else found
            case commands.FindTopicId(address=address, port=port, topic=topic):
                return _or_none(topic_id_seen_by, Broker(address, port), topic) or ""
            case commands.Inspect():
                return msgspec.to_builtins(self._inspect(command))
            case commands.Watch():
                return self._watch(command)
            case commands.TruncateTail(folder=folder, records=records):
                before, after = truncate_tail(Path(folder), records=records)
                result = TruncateTailResult(
                    removed=records, log_end_before=before, log_end_after=after
                )
                return msgspec.to_builtins(result)
            case commands.Decode(segments=segments, kept=kept, tables=tables, run=run):
                self._end_watching()
                return decode_segments(Path(segments), Path(tables), kept=Path(kept), run=run)
            case _:
                return self._administer(command)

    def _administer(self, command: Command) -> Any:  # noqa: PLR0911 - one a command
        match command:
            case commands.JoinAndLeave():
                found = join_and_leave(command, admin=self._admin, bootstrap=self._bootstrap)
                return msgspec.to_builtins(found)
            case commands.FenceProducers(transactional_ids=transactional_ids):
                return self._admin.fence_producers(transactional_ids)
            case commands.CallBroker():
                return [self._call(command, asked) for asked in command.requests]
            case commands.DescribeTransactions(transactional_ids=transactional_ids):
                return [self._describe(name) for name in transactional_ids]
            case DescribeQuorum() | WatchQuorum():
                return self._observe_quorum(command)
            case commands.OffsetsForTimes():
                return look_up_times(command, bootstrap=self._bootstrap, history=self._history)
            case _:
                return self._administer_topic(command)

    def _observe_quorum(self, command: DescribeQuorum | WatchQuorum) -> Any:
        if isinstance(command, DescribeQuorum):
            return self._quorum.describe(command)
        return self._start(self._quorum.watchers(command))

    def _administer_topic(self, command: Command) -> Any:  # noqa: PLR0911 - one a command
        match command:
            case commands.CreateTopics(topics=topics):
                return self._admin.create_topics(topics)
            case commands.DeleteTopic(topic=topic):
                return self._admin.delete_topic(topic)
            case commands.DescribeTopic(topic=topic):
                return msgspec.to_builtins(self._admin.describe_topic(topic))
            case commands.ElectLeader():
                return self._admin.elect(command)
            case commands.DeleteRecords():
                return self._admin.delete_records(command)
            case commands.DescribeGroup(group=group):
                return msgspec.to_builtins(self._admin.find_group(group))
            case commands.ListCommitted(group=group):
                return self._admin.committed(group)
            case commands.AlterTopic():
                return self._admin.alter_topic(command)
            case commands.Reassign():
                return self._admin.reassign(command)
            case _:
                raise WorkerError(f"the observer does not know {type(command).__name__}")

    def close(self) -> None:
        """Stop watching, and close the admin client."""
        self._end_watching()
        self._admin.close()

    def _inspect(self, command: commands.Inspect) -> list[PartitionState]:
        broker = Broker(command.address, command.port)
        asked_micros = time.time_ns() // 1000
        states = _or_none(partitions_seen_by, broker, command.broker, command.topics) or []
        for state in states:
            if not state.topic.startswith(_INTERNAL):
                self._write_sample(command.broker, state, asked_micros)
        return states

    def _write_sample(self, broker: int, state: PartitionState, asked_micros: int) -> None:
        fields = msgspec.structs.asdict(state)
        self._history.write(Sampled, broker=broker, asked_micros=asked_micros, **fields)

    def _call(self, command: commands.CallBroker, asked: WireRequest) -> Any:
        login = command.login
        made = exchange(
            Broker(command.address, command.port, login),
            asked,
            timeout_seconds=command.timeout_seconds,
        )
        response = made.response
        self._history.write(
            WireCalled,
            broker=command.broker,
            principal=None if login is None else f"User:{login.principal}",
            api=asked.api,
            api_key=made.api_key,
            version=asked.version,
            request=_json(made.request),
            response=None if response is None else _json(response),
            failure=made.failure,
            throttle_ms=None if response is None else response.get("throttleTimeMs"),
            began_micros=made.began_micros,
            answers=with_error_classes(
                answers(
                    asked.api,
                    asked.version,
                    made.request,
                    response,
                    topic_names=command.topic_names,
                )
            ),
        )
        return msgspec.to_builtins(WireResult(response=response, failure=made.failure))

    def _describe(self, transactional_id: str) -> Any:
        began_micros = time.time_ns() // 1000
        state = self._admin.describe_transaction(transactional_id)
        self._history.write(
            TransactionChanged,
            producer="",
            transactional_id=transactional_id,
            step=TransactionStep.DESCRIBE,
            change=TransactionChange.DESCRIBED,
            transaction=None,
            producer_id=state.producer_id,
            producer_epoch=state.producer_epoch,
            began_micros=began_micros,
            outcome=Outcome.OK,
            state=state.state,
        )
        return msgspec.to_builtins(state)

    def _watch(self, command: commands.Watch) -> int:
        return self._start(
            [
                threading.Thread(
                    target=self._watch_broker, args=(broker, Broker(address, port), command)
                )
                for broker, address, port in command.brokers
            ]
        )

    def _start(self, watchers: list[threading.Thread]) -> int:
        self._watchers += watchers
        for watcher in watchers:
            watcher.start()
        return len(watchers)

    def _watch_broker(self, broker_id: int, broker: Broker, command: commands.Watch) -> None:
        """Sample one broker until the end: partitions that it leads, and changes of others."""
        last: dict[tuple[str, int], PartitionState] = {}
        while not self._ending.wait(command.interval_ms / 1000):
            asked_micros = time.time_ns() // 1000
            for state in _or_none(partitions_seen_by, broker, broker_id, command.topics) or []:
                key = (state.topic, state.partition)
                if state.log_end_offset >= 0 or last.get(key) != state:
                    self._write_sample(broker_id, state, asked_micros)
                last[key] = state

    def _end_watching(self) -> None:
        self._ending.set()
        for watcher in self._watchers:
            watcher.join()
        self._watchers.clear()


def _or_none(question: Any, *arguments: Any) -> Any:
    """Return the result of a request, None while the broker can't be reached."""
    try:
        return question(*arguments)
    except OSError:
        return None


def _json(fields: dict[str, Any]) -> str:
    return msgspec.json.encode(fields).decode()


if __name__ == "__main__":
    run_worker(ObserverRole)
