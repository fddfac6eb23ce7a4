"""The observer: queries brokers, administers the cluster, and decodes replicas.

`python -m harness.clients.observer_worker PLAN`
"""

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import msgspec

from contract.events import GroupSampled, QuorumSampled, Sampled, WireCalled
from contract.software import Client
from harness.clients.admin import AdminRole
from harness.clients.broker_view import BrokerView, group_states_seen_by, groups_seen_by
from harness.clients.command import command
from harness.clients.history import HistoryWriter
from harness.clients.time_lookup import look_up_times
from harness.clients.views import (
    PartitionState,
    QuorumState,
    all_partitions_seen_by,
    brokers_seen_by,
    controller_seen_by,
    coordinator_seen_by,
    is_internal,
    partitions_seen_by,
    quorum_seen_by,
    topic_id_seen_by,
)
from harness.clients.worker import WorkerPlan, run_worker
from harness.decode.logs import decode_segments, truncate_tail
from harness.java.jvm import kafka_version, start_jvm
from harness.wire.answers import answers
from harness.wire.proxy import Message, Proxy, Watch
from harness.wire.request import Broker, api_key, exchange, with_error_classes
from harness.wire.requests import WireRequest

_NONE = -1

P = ParamSpec("P")
T = TypeVar("T")


class WireResult(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a response, in the names of Kafka's schema, or why there is none.

    began_micros: when the request was sent, on the observer's wall clock.
    """

    response: dict[str, Any] | None
    failure: str | None
    began_micros: int


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A request that one broker is sent again and again."""

    broker: int
    request: WireRequest


class TruncateTailResult(msgspec.Struct, frozen=True, kw_only=True):
    """The number of removed records, and the log end before and after."""

    removed: int
    log_end_before: int
    log_end_after: int


class ObserverRole(AdminRole):
    """Queries single brokers by requests, and the cluster by Kafka's admin client."""

    def __init__(self, plan: WorkerPlan, history: HistoryWriter) -> None:
        """Start the JVM."""
        start_jvm(plan.jars, log=Path(plan.log))
        super().__init__(plan, history)
        self.client_version = kafka_version()
        self._ending = threading.Event()
        self._watchers: list[threading.Thread] = []
        self._proxy = Proxy()
        self._looked_for: list[Watch] = []
        self._asking: dict[str, Asking] = {}

    @command
    def list_brokers(self, broker: Broker) -> list[int]:
        """Return the sorted ids of the registered, unfenced brokers according to one broker."""
        return _or_none(brokers_seen_by, broker) or []

    @command
    def find_controller(self, broker: Broker) -> int:
        """Return the leader of the metadata quorum according to a broker; -1 if there is none."""
        found = _or_none(controller_seen_by, broker)
        return _NONE if found is None else found

    @command
    def find_coordinator(self, broker: Broker, key: str, *, of_transactions: bool) -> int:
        """Return the coordinator of a group or transactional.id according to a broker, or -1."""
        found = _or_none(coordinator_seen_by, broker, key, of_transactions=of_transactions)
        return _NONE if found is None else found

    @command
    def find_topic_id(self, broker: Broker, topic: str) -> str:
        """Return a topic's id according to one broker; empty if it does not know the topic."""
        return _or_none(topic_id_seen_by, broker, topic) or ""

    @command
    def inspect(self, broker_id: int, broker: Broker, topics: list[str]) -> list[PartitionState]:
        """Query one broker for partitions and, if it leads them, the bounds of their logs.

        Each is also written to the history as a `Sampled`, unless its topic is internal: samples
        are of the topics of the plan.
        """
        asked_micros = time.time_ns() // 1000
        states = _or_none(partitions_seen_by, broker, broker_id, topics) or []
        for state in states:
            if not is_internal(state.topic):
                self._write_sample(broker_id, state, asked_micros)
        return states

    @command
    def look(self, brokers: dict[int, Broker]) -> list[BrokerView]:
        """Return what each broker knows; nothing of one that does not respond. Writes nothing.

        Groups come first, so that no commit lies behind a log end that was read before it.
        """
        groups = {i: _or_none(groups_seen_by, broker, i) for i, broker in brokers.items()}
        seen = {i: _or_none(all_partitions_seen_by, broker, i) for i, broker in brokers.items()}
        return [
            BrokerView(broker=i, partitions=partitions or [], groups=groups[i] or [])
            for i, partitions in seen.items()
        ]

    @command
    def watch(self, brokers: dict[int, Broker], topics: list[str], *, interval_ms: int) -> None:
        """Sample brokers from now on: the partitions that each leads, and changes of others.

        Of the groups that each coordinates, changes of their states.
        """
        for broker_id, broker in brokers.items():
            self._start(self._watch_broker, broker_id, broker, topics, interval_ms)

    @command
    def look_at_quorum(self, controller: Broker) -> QuorumState | None:
        """Return the quorum as `describe_quorum` does. Writes nothing."""
        return _or_none(quorum_seen_by, controller)

    @command
    def describe_quorum(self, server: int, controller: Broker) -> QuorumState | None:
        """Query one controller for the quorum; None if it does not lead it, or respond.

        A response of a leader is also written to the history as a `QuorumSampled`.
        """
        asked_micros = time.time_ns() // 1000
        state = _or_none(quorum_seen_by, controller)
        if state is not None:
            self._history.write(
                QuorumSampled,
                server=server,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                high_watermark=state.high_watermark,
                voters=list(state.log_ends),
                log_ends=list(state.log_ends.values()),
                observers=state.observers,
                asked_micros=asked_micros,
            )
        return state

    @command
    def watch_quorum(self, controllers: dict[int, Broker], *, interval_ms: int) -> None:
        """Sample controllers from now on, as `describe_quorum` does."""
        for server, controller in controllers.items():
            self._start(self._watch_controller, server, controller, interval_ms)

    @command
    def call_broker(
        self,
        broker_id: int,
        broker: Broker,
        requests: list[WireRequest],
        *,
        topic_names: dict[str, str],
        timeout_seconds: float = 10.0,
    ) -> list[WireResult]:
        """Send requests to one broker, one after the other; returns the result of each.

        Each is also written to the history as a `WireCalled`.

        Args:
            broker_id: of the receiver; its address and login are in `broker`.
            broker: with it each connection begins.
            requests: what is sent.
            topic_names: by topic id, of the topics that requests name by id.
            timeout_seconds: for the connection and for each read of a response.
        """
        return [
            self._exchange(broker_id, broker, asked, topic_names, timeout_seconds)
            for asked in requests
        ]

    @command
    def ask_repeatedly(
        self,
        asks: dict[str, Ask],
        brokers: dict[int, Broker],
        *,
        topic_names: dict[str, str],
        interval_ms: int,
        timeout_seconds: float,
    ) -> None:
        """Send each request again and again from now on, each in a thread of its own.

        Each response is also written to the history as a `WireCalled`.
        """
        for name, ask in asks.items():
            send = partial(
                self._exchange,
                ask.broker,
                brokers[ask.broker],
                ask.request,
                topic_names,
                timeout_seconds,
            )
            self._asking[name] = Asking(send, interval_ms=interval_ms)

    @command
    def last_response(self, name: str) -> WireResult | None:
        """Return the last result of a request that is repeated; None until there is one."""
        return self._asking[name].last

    @command
    def end_asking(self) -> None:
        """Stop repeating requests, once those that were sent have their responses."""
        for asking in self._asking.values():
            asking.end()
        self._asking.clear()

    @command
    def offsets_for_times(
        self, client: Client, topic: str, partition: int, timestamps_ms: list[int]
    ) -> int:
        """Call `offsetsForTimes` of a client once for each time; returns how many offsets it found.

        Each call is also written to the history as a `WireCalled`.
        """
        return look_up_times(
            client,
            (topic, partition),
            timestamps_ms,
            bootstrap=self._bootstrap,
            history=self._history,
        )

    @command
    def open_proxy(self, broker: int, *, to: Broker, at: Broker) -> None:
        """Pass on what clients send `at` an address of this node `to` a broker."""
        self._proxy.listen(broker, to, at)

    @command
    def look_for(self, api: str, client_prefix: str, *, error: str | None = None) -> int:
        """Let the proxy look for a client's next request of an API; returns the search's number.

        The broker's response waits for `release`; with an error, the client gets that instead.
        """
        watch = Watch(key=api_key(api), client_prefix=client_prefix, error=error)
        self._looked_for.append(watch)
        self._proxy.look_for(watch)
        return len(self._looked_for) - 1

    @command
    def find_message(self, number: int) -> Message | None:
        """Return the request that was found, and the outcome of its response; None: not yet."""
        return self._looked_for[number].message

    @command
    def release(self, number: int) -> None:
        """Let a held response pass; what was not found yet is no longer looked for."""
        self._proxy.give_up(self._looked_for[number])
        self._looked_for[number].release()

    @command
    def truncate_tail(self, folder: str, *, records: int) -> TruncateTailResult:
        """Truncate the last records of a replica's newest segment, at a batch boundary.

        The broker must be down.
        """
        before, after = truncate_tail(Path(folder), records=records)
        return TruncateTailResult(removed=records, log_end_before=before, log_end_after=after)

    @command
    def decode(self, segments: str, *, kept: str, tables: str, run: str) -> None:
        """Decode the replica folders below `segments` (`<broker>/<topic>-<partition>/`).

        Writes the tables that come from replicas as Parquet into the folder `tables`; they name the
        run of the identity `run`. `kept` may have such folders from before the end of the run,
        each below a folder named by its time.
        """
        self._end_watching()
        decode_segments(Path(segments), Path(tables), kept=Path(kept), run=run)

    def close(self) -> None:
        """Stop asking and watching, and close the admin client."""
        self.end_asking()
        self._end_watching()
        super().close()

    def _write_sample(self, broker: int, state: PartitionState, asked_micros: int) -> None:
        fields = msgspec.structs.asdict(state)
        self._history.write(Sampled, broker=broker, asked_micros=asked_micros, **fields)

    def _exchange(
        self,
        broker_id: int,
        broker: Broker,
        asked: WireRequest,
        topic_names: dict[str, str],
        timeout_seconds: float,
    ) -> WireResult:
        made = exchange(broker, asked, timeout_seconds=timeout_seconds)
        response, login = made.response, broker.login
        self._history.write(
            WireCalled,
            broker=broker_id,
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
                answers(asked.api, asked.version, made.request, response, topic_names=topic_names)
            ),
        )
        return WireResult(response=response, failure=made.failure, began_micros=made.began_micros)

    def _start(self, watch: Any, *arguments: Any) -> None:
        watcher = threading.Thread(target=watch, args=arguments)
        self._watchers.append(watcher)
        watcher.start()

    def _watch_broker(
        self, broker_id: int, broker: Broker, topics: list[str], interval_ms: int
    ) -> None:
        """Sample one broker until the end: partitions that it leads, and changes of others."""
        last: dict[tuple[str, int], PartitionState] = {}
        states: dict[str, str] = {}
        while not self._ending.wait(interval_ms / 1000):
            asked_micros = time.time_ns() // 1000
            for state in _or_none(partitions_seen_by, broker, broker_id, topics) or []:
                key = (state.topic, state.partition)
                if state.log_end_offset >= 0 or last.get(key) != state:
                    self._write_sample(broker_id, state, asked_micros)
                last[key] = state
            states = self._sample_groups(broker_id, broker, states)

    def _sample_groups(
        self, broker_id: int, broker: Broker, last: dict[str, str]
    ) -> dict[str, str]:
        """Write the groups whose state is not the last one; returns the states."""
        asked_micros = time.time_ns() // 1000
        states = _or_none(group_states_seen_by, broker) or {}
        for group in sorted(last.keys() | states):
            state = states.get(group, "")
            if state != last.get(group, ""):
                self._history.write(
                    GroupSampled,
                    broker=broker_id,
                    group=group,
                    state=state,
                    asked_micros=asked_micros,
                )
        return states

    def _watch_controller(self, server: int, controller: Broker, interval_ms: int) -> None:
        while not self._ending.wait(interval_ms / 1000):
            self.describe_quorum(server, controller)

    def _end_watching(self) -> None:
        self._ending.set()
        for watcher in self._watchers:
            watcher.join()
        self._watchers.clear()


class Asking:
    """Sends a request again and again in a thread.

    Attributes:
        last: the last result.
    """

    def __init__(self, send: Callable[[], WireResult], *, interval_ms: int) -> None:
        """Begin."""
        self.last: WireResult | None = None
        self._send = send
        self._interval_seconds = interval_ms / 1000
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._repeat)
        self._thread.start()

    def end(self) -> None:
        """End after the response that is awaited."""
        self._ending.set()
        self._thread.join()

    def _repeat(self) -> None:
        while not self._ending.is_set():
            next_seconds = time.monotonic() + self._interval_seconds
            self.last = self._send()
            self._ending.wait(next_seconds - time.monotonic())


def _or_none(question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """Return the result of a request, None while the broker can't be reached."""
    try:
        return question(*args, **kwargs)
    except OSError:
        return None


def _json(fields: dict[str, Any]) -> str:
    return msgspec.json.encode(fields).decode()


if __name__ == "__main__":
    run_worker(ObserverRole)
