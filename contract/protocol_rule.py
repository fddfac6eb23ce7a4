"""What a rule of the protocol is: its sentence, its source, its versions, and the check."""

from collections.abc import Mapping
from dataclasses import dataclass

from contract.checks import Check


@dataclass(frozen=True)
class Versions:
    """Versions of an API, by their numbers; `last` is None where all newer ones are included."""

    first: int
    last: int | None = None

    def __str__(self) -> str:
        """Return them as Kafka's schemas write them: `9+` or `0-8`."""
        return f"{self.first}+" if self.last is None else f"{self.first}-{self.last}"


@dataclass(frozen=True)
class Source:
    """Where a rule or a statement is written: a document, and the place in it."""

    document: str
    place: str


@dataclass(frozen=True)
class ProtocolRule:
    """A rule.

    Attributes:
        says: the rule, in one sentence.
        source: the document that promises it.
        code: the class and method of Kafka's source that does it.
        versions: by API; empty: every version of every API.
        check: judges it.
        since: the first major release with what the rule is about, where versions do not show that.
    """

    says: str
    source: Source
    code: str
    versions: Mapping[str, Versions]
    check: Check
    since: int = 0
