"""Which Kafka a run is on: a locked version, or own builds of servers or Java clients."""

import hashlib
import re
import shlex
from collections.abc import Sequence
from pathlib import PurePath

import msgspec

from contract.clients import Client

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
