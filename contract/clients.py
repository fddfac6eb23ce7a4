"""The clients under test, as plans name them, and the modules that they are found in."""

import enum
import re
from collections.abc import Collection, Mapping

from contract.errors import lacking
from contract.outcomes import Isolation


class Client(enum.StrEnum):
    """A consumer that a group can be read with.

    java: `KafkaConsumer` of the Kafka version under test, or an own build of it
        (docs/own-builds.md), classic group protocol.
    java-consumer: the same with `group.protocol=consumer` (KIP-848).
    librdkafka: confluent-kafka, classic protocol.
    kafka-python: the pure Python client, classic protocol.
    guest: a program of a user's around a client of any language, `guest@NAME` (docs/guests.md). Not
        among those INSTALLED.
    """

    JAVA = "java"
    JAVA_CONSUMER = "java-consumer"
    LIBRDKAFKA = "librdkafka"
    KAFKA_PYTHON = "kafka-python"
    GUEST = "guest"

    @property
    def module(self) -> str:
        """The name that its modules have: `harness.clients.<module>_consumer` and its log's reader.

        `kafka_python` for `kafka-python`; both Java clients have the same.
        """
        shared = Client.JAVA if self is Client.JAVA_CONSUMER else self
        return shared.replace("-", "_")


class Level(enum.StrEnum):
    """What a guest shows of its client; a group is judged by what its client shows.

    delivers: the records.
    commits: it commits, too; what it committed is read from the log of the group's coordinator.
    positions: also its assignment, its positions, and what it committed.
    """

    DELIVERS = "delivers"
    COMMITS = "commits"
    POSITIONS = "positions"


INSTALLED = tuple(client for client in Client if client is not Client.GUEST)
"""The clients that come with this project."""
_CONSUMER_PROTOCOL_SINCE = 4
REQUEST_TIMEOUTS = {
    Client.JAVA: ("request.timeout.ms", 10_000),
    Client.JAVA_CONSUMER: ("request.timeout.ms", 10_000),
    Client.LIBRDKAFKA: ("socket.timeout.ms", 60_000),
    Client.KAFKA_PYTHON: ("request_timeout_ms", 30_000),
}
"""A consumer's setting of how long it waits for the response to one request, and the milliseconds
without it: of Java's as the harness sets it, of the others as they document it (librdkafka's
CONFIGURATION.md; kafka-python's `KafkaConsumer`)."""
PRODUCER_REQUEST_MS = 10_000
DELIVERY_MS, PATIENT_DELIVERY_MS = 20_000, 30_000
"""As the harness sets them: until a producer's request, and its value, without a response ends with
an error. A producer whose caller waits for the end is patient."""
_MESSAGE_TIMEOUTS = ("delivery.timeout.ms", "message.timeout.ms")
"""librdkafka's setting and its alias, which replaces what the harness sets."""
_GUEST_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,99}")


def without_version(named: str) -> str:
    """Return a client as a plan names it, without its version: `kafka-python`."""
    return named.partition("@")[0]


def client_of(named: str) -> Client:
    """Return the client that a plan names, with a version or without: `kafka-python@3.0.8`.

    Raises:
        ValueError: there is none.
    """
    client = without_version(named)
    if client not in set(Client):
        raise ValueError(lacking("client", client, INSTALLED))
    return Client(client)


def version_of(named: str) -> str:
    """Return the version that a plan names with its client; empty: it is the installed one.

    Of a guest it is its name.
    """
    return named.partition("@")[2]


def is_guest(named: str) -> bool:
    """Return whether a plan names a guest as its client."""
    return without_version(named) == Client.GUEST


def is_guest_name(name: str) -> bool:
    """Return whether a guest can have a name: lower-case letters, digits, `.` and `-`."""
    return _GUEST_NAME.fullmatch(name) is not None


def default_isolation(client: str) -> Isolation:
    """A client's own `isolation.level`, by its documentation.

    librdkafka's CONFIGURATION.md: read_committed; Java's `ConsumerConfig` and kafka-python's
    `KafkaConsumer`: read_uncommitted.
    """
    is_committed = without_version(client) == Client.LIBRDKAFKA
    return Isolation.READ_COMMITTED if is_committed else Isolation.READ_UNCOMMITTED


def request_timeout_ms(client: str, settings: Mapping[str, str | int]) -> int | None:
    """How long a consumer waits for the response to one request, by the settings of its plan.

    None if that is not known: of a client that is none of ours, or if the plan has no number.
    """
    if (name := without_version(client)) not in INSTALLED:
        return None
    setting, otherwise = REQUEST_TIMEOUTS[Client(name)]
    return _milliseconds(settings.get(setting, otherwise))


def produce_timeout_ms(client: str, settings: Mapping[str, str | int]) -> int | None:
    """How long a producer waits for the response to one request at most, likewise.

    librdkafka waits until the first value of the request times out, but no longer than for any
    request (`rd_kafka_ProduceRequest`); 0: a value does not time out.
    """
    if (name := without_version(client)) not in INSTALLED:
        return None
    if name != Client.LIBRDKAFKA:
        setting, _ = REQUEST_TIMEOUTS[Client(name)]
        return _milliseconds(settings.get(setting, PRODUCER_REQUEST_MS))
    given = (settings[one] for one in _MESSAGE_TIMEOUTS if one in settings)
    value_ms = _milliseconds(next(given, PATIENT_DELIVERY_MS))
    request_ms = request_timeout_ms(client, settings)
    if value_ms is None or request_ms is None:
        return None
    return min(value_ms or request_ms, request_ms)


def longest_ms(timeouts: Collection[int | None]) -> int | None:
    """The longest of some times; None: one of them is not known."""
    return None if None in timeouts else max(filter(None, timeouts), default=0)


def _milliseconds(given: str | int) -> int | None:
    return int(given) if str(given).isdecimal() else None


def clients_of(kafka: str, *, java: str | None = None) -> list[Client]:
    """The clients that can be tested with a Kafka version: KIP-848 is enabled from 4.0.

    `java` is the version of the Java clients, if it is another one.
    """
    major = min(int(version.partition(".")[0]) for version in (kafka, java or kafka))
    return [
        client
        for client in INSTALLED
        if client is not Client.JAVA_CONSUMER or major >= _CONSUMER_PROTOCOL_SINCE
    ]
