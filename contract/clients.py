"""The clients under test, as plans name them, and the modules that they are found in."""

import enum
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from contract.errors import lacking
from contract.outcomes import Isolation, Manner


@dataclass(frozen=True, kw_only=True)
class About:
    """All that is to be known of a client outside of its modules.

    Attributes:
        is_java: whether it is of the class path under test, in the worker of Java.
        is_classic: whether its groups have the classic protocol, which every Kafka has.
        package: its package of Python, of which a plan can name a version; empty: it has none.
        request_timeout: a consumer's setting of how long it waits for the response to one request,
            and the milliseconds without it; None: a plan does not have it.
        isolation: its own `isolation.level`.
        manners: in which it commits, besides those of any client.
        commits_epochs: whether its plain commits have the leader epoch of the last record.
        has_producer, transacts: whether it is a producer's client, also of transactions.
        message_timeouts: a producer's settings after which a value fails: no request waits longer.
        has_types: whether its settings have types, so that no text is false.
        reserved: settings that the harness sets, with what there is instead.
    """

    is_java: bool = False
    is_classic: bool = True
    package: str = ""
    request_timeout: tuple[str, int] | None = None
    isolation: Isolation = Isolation.READ_UNCOMMITTED
    manners: tuple[Manner, ...] = ()
    commits_epochs: bool = True
    has_producer: bool = False
    transacts: bool = False
    message_timeouts: tuple[str, ...] = ()
    has_types: bool = False
    reserved: Mapping[str, str] = field(default_factory=dict)


BY_THE_HARNESS = "the harness sets it"


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
    def about(self) -> About:
        """What is known of it."""
        return _ABOUT[self]

    @property
    def module(self) -> str:
        """The name that its modules have: `harness.clients.<module>_consumer` and its log's reader.

        `kafka_python` for `kafka-python`; both Java clients have the same.
        """
        return "java" if self.about.is_java else self.replace("-", "_")


JAVA_REQUEST_TIMEOUT = ("request.timeout.ms", 10_000)
"""As the harness sets it; of other clients as they document it."""
_OF_JAVA = tuple(one for one in Manner if one not in (Manner.MESSAGE, Manner.STORED))
_ABOUT = {
    Client.JAVA: About(
        is_java=True,
        request_timeout=JAVA_REQUEST_TIMEOUT,
        manners=_OF_JAVA,
        has_producer=True,
        transacts=True,
    ),
    Client.JAVA_CONSUMER: About(
        is_java=True, is_classic=False, request_timeout=JAVA_REQUEST_TIMEOUT, manners=_OF_JAVA
    ),
    Client.LIBRDKAFKA: About(
        package="confluent-kafka",
        request_timeout=("socket.timeout.ms", 60_000),  # CONFIGURATION.md, as isolation.level
        isolation=Isolation.READ_COMMITTED,
        manners=(Manner.MESSAGE, Manner.STORED),
        has_producer=True,
        transacts=True,
        # An alias, which replaces what the harness sets.
        message_timeouts=("delivery.timeout.ms", "message.timeout.ms"),
        reserved={
            "debug": f"{BY_THE_HARNESS}, and reads that log",
            "enable.partition.eof": BY_THE_HARNESS,
            "metadata.broker.list": BY_THE_HARNESS,
        },
    ),
    Client.KAFKA_PYTHON: About(
        package="kafka-python",
        request_timeout=("request_timeout_ms", 30_000),  # KafkaConsumer, as isolation_level
        commits_epochs=False,
        has_producer=True,
        has_types=True,
    ),
    Client.GUEST: About(),
}


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
CLASSIC = tuple(client for client in INSTALLED if client.about.is_classic)
"""One of each language, with the classic group protocol."""
WITHOUT_EPOCHS = tuple(client for client in CLASSIC if not client.about.commits_epochs)
_CONSUMER_PROTOCOL_SINCE = 4
PRODUCER_REQUEST_MS = 10_000
DELIVERY_MS, PATIENT_DELIVERY_MS = 20_000, 30_000
"""As the harness sets them: until a producer's request, and its value, without a response ends with
an error. A producer whose caller waits for the end is patient."""
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


def about(named: str) -> About:
    """What is known of a client as a plan names it; of an unknown one as of a guest."""
    name = without_version(named)
    return Client(name).about if name in set(Client) else Client.GUEST.about


def request_timeout_ms(client: str, settings: Mapping[str, str | int]) -> int | None:
    """How long a consumer waits for the response to one request, by the settings of its plan.

    None if that is not known: of a client that is none of ours, or if the plan has no number.
    """
    timeout = about(client).request_timeout
    return None if timeout is None else _milliseconds(settings.get(*timeout))


def produce_timeout_ms(client: str, settings: Mapping[str, str | int]) -> int | None:
    """How long a producer waits for the response to one request at most, likewise.

    librdkafka waits until the first value of the request times out, but no longer than for any
    request (`rd_kafka_ProduceRequest`); 0: a value does not time out.
    """
    known = about(client)
    if known.request_timeout is None:
        return None
    if not known.message_timeouts:
        return _milliseconds(settings.get(known.request_timeout[0], PRODUCER_REQUEST_MS))
    given = (settings[one] for one in known.message_timeouts if one in settings)
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
        if client.about.is_classic or major >= _CONSUMER_PROTOCOL_SINCE
    ]
