"""What the author of a client says that it has and claims (`features.yml`, docs/conformance.md)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from contract.errors import lacking
from contract.software import Level, about
from contract.terms import Isolation, ResetPolicy
from contract.written import Written
from extras.conform.vocabulary import COMMITS, MEETS, Cell, Hazard, Kind, Reader

_Text = Annotated[str, msgspec.Meta(pattern=r"\S")]

CLAIMS: dict[str, tuple[Hazard, ...]] = {
    "leader_changes": (Hazard.LEADER_CHANGE, Hazard.LEADERLESS),
    "kip_320": (Hazard.TRUNCATION_ABOVE, Hazard.TRUNCATION_BELOW, Hazard.TWO_ELECTIONS),
    "auto_offset_reset": (Hazard.EXPIRED, Hazard.EPOCH_EXPIRED, Hazard.RECREATED),
    "rebalances": (Hazard.REBALANCE, Hazard.PAUSED),
    "commits": (Hazard.OTHER_CLIENT,),
}
"""What a client can claim, and the hazards under which the claim is broken or not."""

_RAISES_BY_POLICY = (
    Hazard.TRUNCATION_ABOVE,
    Hazard.TRUNCATION_BELOW,
    Hazard.TWO_ELECTIONS,
    Hazard.EXPIRED,
    Hazard.RECREATED,
)
"""With the reset policy `none` an error is what is promised."""
_SKIPS_BY_POLICY = (Hazard.EXPIRED, Hazard.RECREATED)
"""With the reset policy `latest` a skip is what is promised."""


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A feature that a document of the client claims; which document."""

    document: str


class Features(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a features file.

    client: the name of its row.
    language: in which the client is used.
    level: what its guest can show (docs/guests.md).
    commits: the ways to commit that it has, the plainest first.
    resets: its reset policies, the default first.
    isolations: its isolation levels, the default first; empty: read_uncommitted.
    shares: the library that it has in common with other rows; empty: none.
    framework: whether it reads and commits by its own manner; its row is in a table of these.
    by_itself: what it commits where commits are automatic, and when.
    epochs: whose leader epoch its commits have: that of the last record, of the commit that was
        fetched, or of its metadata.
    stable_offsets: when it asks for them, as it asks for a group's commits (`require_stable`).
    claims: by name of CLAIMS.
    """

    client: _Text
    language: _Text
    level: Level
    commits: Annotated[list[Literal["explicit", "automatic"]], msgspec.Meta(min_length=1)]
    resets: Annotated[list[ResetPolicy], msgspec.Meta(min_length=1)]
    isolations: list[Isolation] = []
    shares: str = ""
    framework: bool = False
    by_itself: str = ""
    epochs: Literal["", "record", "fetched", "metadata", "varies", "none"] = ""
    stable_offsets: Literal["", "always", "read_committed", "never"] = ""
    claims: dict[str, Claim] = {}

    def readers(self, client: str, *, is_plainest: bool = False) -> list[Reader]:
        """Return each way to commit with each reset policy, or the plainest of each.

        Args:
            client: as plans name it.
            is_plainest: only the first of both.
        """
        first = 1 if is_plainest else None
        level = "" if self.level == Level.POSITIONS else self.level
        own = about(client).isolation
        isolation = "" if own in self.isolations[:1] else "".join(self.isolations[:1])
        return [
            Reader(client=client, commit=commit, reset=reset, isolation=isolation, level=level)
            for commit in self.commits[:first]
            for reset in self.resets[:first]
        ]

    def lacking(self, client: str, hazards: Sequence[Hazard]) -> Iterator[Cell]:
        """Yield the cells that are not applicable, as the client lacks a way or a policy."""
        for hazard in hazards:
            for meets in MEETS[hazard]:
                for commit in COMMITS:
                    for reset in ResetPolicy:
                        if commit not in self.commits or reset not in self.resets:
                            yield Cell(
                                client=client,
                                hazard=hazard,
                                meets=meets,
                                commit=commit,
                                reset=reset,
                                kind=Kind.NOT_APPLICABLE,
                                reason="the features file lacks it",
                            )

    def broken_claim(self, hazard: str, kind: Kind, reset: str) -> str:
        """Return the document whose claim an outcome breaks; empty if it breaks none."""
        for name, claim in self.claims.items():
            if hazard in CLAIMS[name] and kind not in promised_kinds(hazard, reset):
                return claim.document
        return ""


def promised_kinds(hazard: str, reset: str) -> frozenset[Kind]:
    """Return the outcomes that keep a claim; what shows nothing breaks none."""
    kept = {Kind.KEEPS, Kind.NOT_APPLICABLE, Kind.NOT_EVALUABLE}
    if reset == ResetPolicy.NONE and hazard in _RAISES_BY_POLICY:
        kept.add(Kind.RAISES)
    if reset == ResetPolicy.LATEST and hazard in _SKIPS_BY_POLICY:
        kept.add(Kind.SKIPS)
    return frozenset(kept)


def read_features(path: Path) -> Features:
    """Read a features file.

    Raises:
        UsageError: it is missing or invalid; names the file, the line and what to write.
    """
    file = Written(path, what="--features")
    features = file.convert(Features)
    for name, claim in features.claims.items():
        if name not in CLAIMS:
            raise file.refuse(lacking("claim", name, CLAIMS), "claims", name)
        if not claim.document.strip():
            raise file.refuse("document is empty: name where it is claimed", "claims", name)
    for key in ("commits", "resets", "isolations"):
        values: list[str] = getattr(features, key)
        if len(set(values)) < len(values):
            raise file.refuse(f"{key} has a value twice", key)
    return features
