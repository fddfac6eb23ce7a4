"""The software under test: the clients, as plans name them, and the builds of Kafka of a run."""

import enum
import hashlib
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

import msgspec

from contract.errors import lacking
from contract.terms import Isolation, Manner

# The clients, and the modules that they are found in.


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
        codecs: the modules of Python of which it needs one for a codec, by the codec.
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
    codecs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reserved: Mapping[str, str] = field(default_factory=dict)


BY_THE_HARNESS = "the harness sets it"


def without_codec(package: str, codec: str) -> str:
    """What to do where Python has no module by which a client's package has a codec."""
    return f"install {package}[{codec}] beside fencepost, or use another codec"


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
_OF_JAVA = tuple(manner for manner in Manner if manner not in (Manner.MESSAGE, Manner.STORED))
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
        codecs={
            "lz4": ("lz4", "lz4f", "lz4framed"),
            "snappy": ("snappy",),
            "zstd": ("zstandard",),
        },  # README.rst; kafka/codec.py
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
    given = (settings[name] for name in known.message_timeouts if name in settings)
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


# Which Kafka a run is on: a locked version, or own builds of servers or Java clients.


_NUMBERS = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?![0-9.])")
_SHOWN_DIGITS = 12
_SHOWN_JARS = 3


class Guest(msgspec.Struct, frozen=True, kw_only=True):
    """A program that plays a client under test, `guest@NAME` in plans (docs/guests.md).

    command: its words; no shell reads them.
    folder: the absolute path of the folder that it runs in.
    """

    name: str
    command: list[str]
    folder: str

    @property
    def named(self) -> str:
        """The client as plans name it."""
        return f"{Client.GUEST}@{self.name}"

    @property
    def word(self) -> str:
        """The value of the option that names it."""
        return f"{self.name}={shlex.join(self.command)}"


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What a command or a suite names; paths are absolute.

    kafka: a locked version, of servers; empty with `kafka_dir`.
    kafka_dir: an unpacked distribution, or a folder of a build's jars, for servers.
    client_version: a locked version, of the Java clients under test; empty: that of the servers.
    client_jars: jars, or folders of jars or classes, which come first on their class path.
    clients: versions of other clients, as plans name them: of the groups whose client has none.
    changes: settings that are changed in plans, as `--set` has them.
    guests: programs that play the clients of groups.
    """

    kafka: str = ""
    kafka_dir: str = ""
    client_version: str = ""
    client_jars: list[str] = []
    clients: list[str] = []
    changes: list[str] = []
    guests: list[Guest] = []

    @property
    def is_own(self) -> bool:
        """Whether it names more than a version of all."""
        return bool(
            self.kafka_dir
            or self.client_version
            or self.client_jars
            or self.clients
            or self.changes
            or self.guests
        )

    def words(self) -> list[str]:
        """Return the options of `fencepost run` that name it."""
        words = ["--kafka-dir", self.kafka_dir] if self.kafka_dir else ["--kafka", self.kafka]
        if self.client_version:
            words += ["--client-version", self.client_version]
        for path in self.client_jars:
            words += ["--client-jars", path]
        if self.clients:
            words += ["--clients", ",".join(self.clients)]
        for change in self.changes:
            words += ["--set", change]
        for guest in self.guests:
            words += ["--guest", guest.word]
        return words


class Jar(msgspec.Struct, frozen=True):
    """A jar of a user's own: its absolute path, and its SHA-256 when the command started."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        """Its file name."""
        return PurePath(self.path).name


class ClassPath(msgspec.Struct, frozen=True, kw_only=True):
    """The jars of a JVM: own ones, followed by those of a locked version (empty: none)."""

    own: list[Jar] = []
    locked: str = ""


class Build(msgspec.Struct, frozen=True, kw_only=True):
    """A choice, with the versions and jars that were found.

    kafka: the version of the servers.
    client: the version of the Java clients under test.
    observer: the locked version of the observer; empty: it has the servers' jars.
    server_jars: the servers' own jars; empty: they run on the release.
    client_jars: the jars that come first on the class path of the Java clients.
    """

    choice: Choice
    kafka: str
    client: str
    observer: str
    server_jars: list[Jar] = []
    client_jars: list[Jar] = []

    @property
    def of_servers(self) -> ClassPath:
        """The class path of the servers."""
        return ClassPath(own=self.server_jars, locked="" if self.server_jars else self.kafka)

    @property
    def of_clients(self) -> ClassPath:
        """The class path of the Java clients."""
        version = self.choice.client_version
        after = ClassPath(locked=version) if version else self.of_servers
        return ClassPath(own=[*self.client_jars, *after.own], locked=after.locked)

    @property
    def of_observer(self) -> ClassPath:
        """The class path of the observer."""
        return ClassPath(locked=self.observer) if self.observer else self.of_servers

    @property
    def locked(self) -> list[str]:
        """The locked versions that it needs."""
        paths = (self.of_servers, self.of_clients, self.of_observer)
        return list(dict.fromkeys(path.locked for path in paths if path.locked))

    @property
    def note(self) -> str:
        """What is not the release that `kafka` names, in words; empty if all is."""
        parts = []
        if self.server_jars:
            parts.append(f"servers of {self.choice.kafka_dir} (jars {digest(self.server_jars)})")
        if jars := self.client_jars:
            names = ", ".join(jar.name for jar in jars[:_SHOWN_JARS])
            names += ", ..." if jars[_SHOWN_JARS:] else ""
            parts.append(f"Java clients {self.client} with {names} first (jars {digest(jars)})")
        elif self.choice.client_version:
            parts.append(f"Java clients {self.client}")
        parts += [*self.choice.clients, *(guest.named for guest in self.choice.guests)]
        parts += self.choice.changes
        return "; ".join(parts)


def released(kafka: str) -> Build:
    """Return the build of a locked version: servers, clients and observer."""
    return Build(choice=Choice(kafka=kafka), kafka=kafka, client=kafka, observer=kafka)


def digest(jars: Sequence[Jar]) -> str:
    """Return the first digits of a hash of the jars' names and contents, in their order."""
    text = "".join(f"{jar.name} {jar.sha256}\n" for jar in jars)
    return hashlib.sha256(text.encode()).hexdigest()[:_SHOWN_DIGITS]


def version_numbers(version: str) -> tuple[int, int, int]:
    """Return the numbers of a Kafka version: (4, 5, 0) of 4.5.0-SNAPSHOT.

    Raises:
        ValueError: it does not begin with three numbers.
    """
    found = _NUMBERS.match(version)
    if found is None:
        raise ValueError(f"{version!r} does not begin with three numbers, such as 4.4.0")
    return int(found[1]), int(found[2]), int(found[3])


def with_note(kafka: str, note: str) -> str:
    """Return a version, and what differs from its release: `4.4.0, Java clients 3.9.2`."""
    return f"{kafka}, {note}" if note else kafka
