"""The rows of the table of docs/conformance.md: a client in one release, and how it is started."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from contract.software import Client, Guest, version_of
from contract.terms import ResetPolicy
from extras.conform.features import Features, read_features
from extras.conform.released import building
from extras.conform.released.building import Release
from extras.conform.vocabulary import CONTROL, Reader

_BUILT_IN = Path(__file__).with_name("built_in")
NEWEST = (CONTROL, "java-consumer", "librdkafka", "kafka-python")
"""The built-in clients, in the installed releases."""
EARLIER = (
    "librdkafka@2.16.0",
    "librdkafka@2.15.1",
    "kafka-python@3.0.11",
    "kafka-python@3.0.10",
)
"""The two releases before these that have a lock."""
KNOWN_TO_FAIL = ("kafka-python@3.0.8", "kafka-python@3.0.5")


@dataclass(frozen=True)
class Row:
    """A client in one release.

    Attributes:
        name: as the command line of `python -m extras.conform.released` has it.
        client: as plans name it.
        features: what it has and claims.
        release: that its guest is built of; None: it is built in.
    """

    name: str
    client: str
    features: Features
    release: Release | None = None

    @property
    def plainest(self) -> Reader:
        """The plainest way to commit, with the reset policy that all rows have in common."""
        (reader, *_) = self.features.readers(self.client)
        return Reader(
            client=self.client,
            commit=reader.commit,
            reset=ResetPolicy.EARLIEST,
            isolation=reader.isolation,
            level=reader.level,
        )

    @property
    def problem(self) -> str:
        """Why it can't be run here; empty if it can."""
        return "" if self.release is None else building.problem(self.release) or ""

    def guest(self) -> Guest | None:
        """Return the program that plays it, once it is built; None if it is built in.

        Raises:
            FencepostError: it can't be built.
        """
        if self.release is None:
            return None
        command = building.ensure(self.release)
        return Guest(name=version_of(self.client), command=command, folder=str(Path.cwd()))


def every() -> list[Row]:
    """Return all rows: built-in clients, then those of guests, the newest release first."""
    return [*_built_in(), *(_of_release(release) for release in building.releases())]


def newest() -> list[Row]:
    """Return the newest release of each client that is no framework."""
    built_in = [row for row in _built_in() if row.name in NEWEST]
    return [*built_in, *(row for row in _of_guests() if not row.features.framework)]


def frameworks() -> list[Row]:
    """Return the newest release of each framework."""
    return [row for row in _of_guests() if row.features.framework]


def _of_guests() -> list[Row]:
    return [_of_release(building.releases_of(client)[0]) for client in building.clients()]


def _built_in() -> Iterator[Row]:
    for name in (*NEWEST, *EARLIER, *KNOWN_TO_FAIL):
        client = name.partition("@")[0]
        yield Row(name, name, read_features(_BUILT_IN / f"{client}.yml"))


def _of_release(release: Release) -> Row:
    client = f"{Client.GUEST}@{release.client}-{release.version}"
    return Row(release.named, client, read_features(release.features), release)
