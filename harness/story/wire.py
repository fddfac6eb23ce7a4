"""Single requests to single brokers, at any version that the broker supports."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cluster.kafka.topology import CLIENT_PORT, PASSWORD, SECURED_PORT
from contract.errors import WorkerError
from contract.protocol import API_KEYS, METADATA_LOG, METADATA_LOG_ID
from contract.software import Client
from harness.clients.observer import Observer
from harness.clients.observer_worker import Ask, ObserverRole, WireResult
from harness.wire.request import Broker
from harness.wire.requests import (
    NO_ID,
    Login,
    Request,
    WireRequest,
    api_versions,
    create_acl,
)

_CALL_SECONDS = 60
_ANSWERED_SECONDS = 10.0
_INTERVAL_MS = 10


class Wire:
    """Sends requests by the observer's worker, which records each with its response."""

    def __init__(self, observer: Observer, *, port: int = CLIENT_PORT) -> None:
        """Use the observer's worker; `port` is that of the servers' listener."""
        self._observer = observer
        self._port = port
        self._versions: dict[int, dict[int, range]] = {}
        self._topic_ids: dict[str, str] = {METADATA_LOG: METADATA_LOG_ID}
        self._topic_names: dict[str, str] = {METADATA_LOG_ID: METADATA_LOG}

    def topic_id(self, topic: str, *, is_new: bool = False) -> str:
        """Return a topic's id, which newer versions have instead of its name.

        With `is_new` the topic was created again, and has another id.

        Raises:
            WorkerError: no broker knows the topic.
        """
        if is_new or topic not in self._topic_ids:
            brokers = self._observer.kafka.answering_brokers()
            found = [self._observer.topic_id_seen_by(broker, topic) for broker in brokers]
            known = [topic_id for topic_id in found if topic_id]
            if not known:
                raise WorkerError(f"no broker knows the id of topic {topic}")
            self._topic_ids[topic] = known[0]
            if known[0] != NO_ID:
                self._topic_names[known[0]] = topic
        return self._topic_ids[topic]

    def versions(self, broker: int, api: str, *, is_new: bool = False) -> range:
        """Return the versions of an API that a broker supports, by its ApiVersions response.

        With `is_new` it is asked again: another Kafka may run there.

        Raises:
            WorkerError: it did not respond.
        """
        if is_new or broker not in self._versions:
            (result,) = self.call(broker, [api_versions()])
            if result.response is None:
                raise WorkerError(f"broker {broker} does not return its versions: {result.failure}")
            self._versions[broker] = {
                entry["apiKey"]: range(entry["minVersion"], entry["maxVersion"] + 1)
                for entry in result.response["apiKeys"]
            }
        return self._versions[broker].get(API_KEYS[api], range(0))

    def newest(self, broker: int, api: str) -> int:
        """Return the newest version of an API that a broker supports now."""
        return self.versions(broker, api, is_new=True)[-1]

    def call(
        self,
        broker: int,
        requests: Iterable[WireRequest],
        *,
        principal: str | None = None,
        timeout_seconds: float = _ANSWERED_SECONDS,
    ) -> list[WireResult]:
        """Send requests to a broker, one after the other; return the result of each.

        One that is not answered in time is recorded as failed.

        Args:
            broker: the receiver.
            requests: what to send.
            principal: of `Topology.principals`; None: the super user of the other listeners.
            timeout_seconds: for the connection and for each read of a response.
        """
        return self._observer.worker.call(
            ObserverRole.call_broker(
                broker,
                self._listener(broker, principal),
                list(requests),
                topic_names=self._topic_names,
                timeout_seconds=timeout_seconds,
            ),
            timeout_seconds=_CALL_SECONDS,
        )

    def _listener(self, broker: int, principal: str | None) -> Broker:
        return Broker(
            self._observer.kafka.host(broker).address,
            self._port if principal is None else SECURED_PORT,
            None if principal is None else Login(principal=principal, password=PASSWORD),
        )

    def call_each_version(
        self,
        broker: int,
        request: Request,
        *,
        since: int = 0,
        principal: str | None = None,
        **fields: Any,
    ) -> None:
        """Send a request at each version of its API that the broker supports.

        Args:
            broker: the receiver.
            request: of `harness.wire.requests`.
            since: the first version.
            principal: as of `call`.
            fields: arguments of `request`.
        """
        versions = self.versions(broker, request(version=since, **fields).api)
        requests = [request(version=version, **fields) for version in versions if version >= since]
        self.call(broker, requests, principal=principal)

    @contextmanager
    def asking(self, asks: Mapping[str, Ask]) -> Iterator["Responses"]:
        """Repeat requests every 10 ms until the end of a `with` block; each response is recorded.

        The observer's worker repeats them, while the block injects faults and waits for states.

        Args:
            asks: by names for `Responses`.
        """
        worker = self._observer.worker
        worker.call(
            ObserverRole.ask_repeatedly(
                dict(asks),
                {ask.broker: self._listener(ask.broker, None) for ask in asks.values()},
                topic_names=self._topic_names,
                interval_ms=_INTERVAL_MS,
                timeout_seconds=_ANSWERED_SECONDS,
            )
        )
        try:
            yield Responses(self._observer)
        finally:
            worker.call(ObserverRole.end_asking())

    def offsets_for_times(
        self, client: Client, *, topic: str, partition: int, timestamps_ms: list[int]
    ) -> None:
        """Let a client under test look up offsets by time (`offsetsForTimes`)."""
        self._observer.worker.call(
            ObserverRole.offsets_for_times(client, topic, partition, timestamps_ms),
            timeout_seconds=_CALL_SECONDS,
        )

    def allow(
        self, broker: int, principal: str, operation: int, *, topic: str | None = None
    ) -> None:
        """Allow a principal an operation on a topic, or on the cluster.

        Raises:
            WorkerError: the broker refused it.
        """
        request = create_acl(principal=principal, operation=operation, topic=topic)
        (result,) = self.call(broker, [request])
        found = [] if result.response is None else result.response["results"]
        if [entry["errorCode"] for entry in found] != [0]:
            raise WorkerError(f"broker {broker} created no access control entry: {result}")


class Responses:
    """The responses to requests that are repeated."""

    def __init__(self, observer: Observer) -> None:
        """Use the observer's worker, which repeats them."""
        self._observer = observer

    def await_response(
        self, name: str, reached: Callable[[WireResult], bool], *, what: str
    ) -> WireResult:
        """Wait until the last response to a request fulfils a condition, and return it.

        One that was the last for a moment only may be missed.

        Raises:
            WaitTimeoutError: none did; the message has the last one.
        """
        return self._observer.await_value(
            lambda: self._observer.worker.call(ObserverRole.last_response(name)),
            reached,
            what=what,
        )
