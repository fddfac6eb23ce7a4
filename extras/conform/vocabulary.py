"""The vocabulary of the conformance suite: hazards, readers, and what a cell of its table says."""

import enum
from collections.abc import Iterable, Iterator

import msgspec

from contract.errors import UsageError, lacking
from contract.run_folder import GroupPlan
from contract.software import Level
from contract.terms import Isolation, Manner, ResetPolicy


class Hazard(enum.StrEnum):
    """What happens to the log, its leader or its group while clients read.

    leader_change: another replica in sync is elected, and members read on.
    truncation_above: an unclean election loses records that were read and committed; new ones take
        their offsets, and the log ends above the groups' position again.
    truncation_below: the same, and the log ends below it.
    expired: the records at the committed position are deleted while the group is away.
    epoch_expired: all records that the group had read are deleted, with their leader epoch, but
        none above its position.
    recreated: the topic is deleted and created again while the group is away.
    rebalance: a second member joins the group and leaves; the first one keeps a partition.
    leaderless: the partition has no leader for a time, while members poll.
    two_elections: an unclean election truncates, and another one brings the records back.
    paused: the member's process is suspended until the group has evicted it, and goes on.
    other_client: the group's commit was made again under a newer leader epoch than the records
        behind it have; a member reads them, commits and is closed, and another one is opened.
    """

    LEADER_CHANGE = "leader_change"
    TRUNCATION_ABOVE = "truncation_above"
    TRUNCATION_BELOW = "truncation_below"
    EXPIRED = "expired"
    EPOCH_EXPIRED = "epoch_expired"
    RECREATED = "recreated"
    REBALANCE = "rebalance"
    LEADERLESS = "leaderless"
    TWO_ELECTIONS = "two_elections"
    PAUSED = "paused"
    OTHER_CLIENT = "other_client"


SCENARIO = "conformance"
CONTROL = "java"
"""The client that has to keep its place in each story."""
QUICK = (
    Hazard.LEADER_CHANGE,
    Hazard.TRUNCATION_ABOVE,
    Hazard.TRUNCATION_BELOW,
    Hazard.EXPIRED,
)
"""The hazards of the quick set."""

LIVE, RESTART = "live", "restart"
MEETS: dict[Hazard, tuple[str, ...]] = {
    Hazard.LEADER_CHANGE: (LIVE,),
    Hazard.TRUNCATION_ABOVE: (LIVE, RESTART),
    Hazard.TRUNCATION_BELOW: (LIVE, RESTART),
    Hazard.EXPIRED: (RESTART,),
    Hazard.EPOCH_EXPIRED: (RESTART,),
    Hazard.RECREATED: (RESTART,),
    Hazard.REBALANCE: (LIVE,),
    Hazard.LEADERLESS: (LIVE,),
    Hazard.TWO_ELECTIONS: (LIVE, RESTART),
    Hazard.PAUSED: (LIVE,),
    Hazard.OTHER_CLIENT: (RESTART,),
}
"""How a member meets each hazard: it stays open, or is closed before and opened again after it."""

READERS_MAX = 7
"""In one story, beside the control: more clients take longer than their limits on two cores."""
_NAMED_MAX = 200

COMMITS = {"explicit": Manner.SYNC, "automatic": Manner.AUTO}
"""The two ways to commit that every client is asked for, by the names that a guest has for them."""


class Kind(enum.StrEnum):
    """The outcome of one group under one hazard, from the log as it stood.

    keeps: it was delivered every record above its position, and none again that is a repeat.
    repeats: it was delivered records again that survived, and that it had committed, or had been
        asked to commit before it was closed.
    skips: its position passed records of the log that it was never delivered.
    stands still: it did not reach the log end in time, and reported no error.
    raises: the client reported an error, and the group did not reach the log end.
    not applicable: the client does not claim the feature, by its features file.
    not evaluable: the story shows nothing of it: the hazard was not met, or the control failed.
    varies: stories differ.
    """

    KEEPS = "keeps"
    REPEATS = "repeats"
    SKIPS = "skips"
    STANDS_STILL = "stands still"
    RAISES = "raises"
    NOT_APPLICABLE = "not applicable"
    NOT_EVALUABLE = "not evaluable"
    VARIES = "varies"


DECIDED = (Kind.KEEPS, Kind.REPEATS, Kind.SKIPS, Kind.STANDS_STILL, Kind.RAISES)
"""What one story can show."""


class Reader(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A client, how it commits, and its reset policy; each is a group beside the others.

    isolation: empty: the client's own default.
    level: what a guest shows; empty: all.
    """

    client: str
    commit: str = "explicit"
    reset: str = ResetPolicy.EARLIEST
    isolation: str = ""
    level: str = ""

    def __str__(self) -> str:
        """Return it as the scenario takes it, without what is usual: `java//none`."""
        usual = Reader(client="")
        given = (
            "" if getattr(self, name) == getattr(usual, name) else getattr(self, name)
            for name in self.__struct_fields__
        )
        return "/".join(given).rstrip("/")

    @property
    def group(self) -> str:
        """The beginning of its group's name."""
        return f"{self.client.replace('@', '-')}.{self.commit}.{self.reset}"


def readers_of(text: str) -> list[Reader]:
    """Return the readers of a parameter: `java,librdkafka/automatic/none`, `java//none`.

    Raises:
        UsageError: one of them is none, or is there twice.
    """
    found = [_reader(name) for name in text.split(",")]
    if twice := [str(reader) for reader in found if found.count(reader) > 1]:
        raise UsageError(f"reader {twice[0]} is named twice")
    return found


def _reader(text: str) -> Reader:
    client, *further = text.strip().split("/")
    given = dict(zip(Reader.__struct_fields__[1:], further, strict=False))
    chosen = {name: value for name, value in given.items() if value}
    known: dict[str, Iterable[str]] = {
        "commit": COMMITS,
        "reset": ResetPolicy,
        "isolation": Isolation,
        "level": Level,
    }
    if not client or len(further) > len(known):
        raise UsageError(f"reader {text!r} is not like java/automatic/none")
    for name, value in chosen.items():
        if value not in set(known[name]):
            raise UsageError(f"reader {text!r}: {lacking(name, value, known[name])}")
    return Reader(client=client, **chosen)


def batches(readers: Iterable[Reader]) -> Iterator[list[Reader]]:
    """Yield readers that can be in one story, beside the control: at most READERS_MAX of them.

    ducktape names a folder by all of them, and a file system bounds the length of names.
    """
    found: list[Reader] = []
    for reader in readers:
        named = ",".join(map(str, [*found, reader]))
        if found and (len(found) == READERS_MAX or len(named) > _NAMED_MAX):
            yield found
            found = []
        found.append(reader)
    if found:
        yield found


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where in the table a cell is.

    meets: `live` or `restart`.
    """

    client: str
    hazard: str
    meets: str
    commit: str
    reset: str

    @property
    def place(self) -> str:
        """Its place in the table, as an expected file names it, without the client."""
        return f"{self.hazard}.{self.meets}.{self.commit}.{self.reset}"


class Cell(Place, frozen=True, kw_only=True):
    """What one group did under a hazard, in one story.

    records: skipped or repeated ones; 0 for other kinds.
    error: the client's name of its first error after the hazard; empty without one.
    reason: why it is not evaluable; else empty.
    causes: what its run found of the group: the first violation of each check, and what ended its
        client.
    """

    kind: Kind
    records: int = 0
    error: str = ""
    reason: str = ""
    causes: list[str] = []

    @property
    def words(self) -> str:
        """Its outcome, as the table has it: `skips 100`, `raises OffsetOutOfRange`."""
        return outcome_in_words(self.kind, self.records, self.error)


def outcome_in_words(kind: Kind, records: int = 0, error: str = "") -> str:
    """Return an outcome as the table has it."""
    match kind:
        case Kind.KEEPS:
            return "keeps its place"
        case Kind.SKIPS | Kind.REPEATS:
            return f"{kind} {records}"
        case Kind.RAISES:
            return f"raises {error}"
        case _:
            return str(kind)


class GroupOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the fact `cells`: what the tables of a run show of one group.

    ended: the last change of the final read; None: it was not read.
    is_prepared: it had read to the log end, and committed if it was closed, before the hazard.
    """

    group: str
    ended: str | None
    exception: str | None
    is_prepared: bool
    skipped: int
    repeated: int


def kind_of(outcome: GroupOutcome) -> tuple[Kind, str]:
    """Return the outcome of a group, and why it is not evaluable."""
    if not outcome.is_prepared:
        return Kind.NOT_EVALUABLE, "it had not read to the log end and committed before the hazard"
    if outcome.ended is None:
        return Kind.NOT_EVALUABLE, "it was not read with after the hazard"
    if outcome.ended != "caught_up":
        return (Kind.STANDS_STILL if outcome.exception is None else Kind.RAISES), ""
    if outcome.skipped:
        return Kind.SKIPS, ""
    return (Kind.REPEATS if outcome.repeated else Kind.KEEPS), ""


def cell_of(hazard: str, group: GroupPlan, outcome: GroupOutcome) -> Cell:
    """Return the cell of a group, by its plan."""
    kind, reason = kind_of(outcome)
    counts = {Kind.SKIPS: outcome.skipped, Kind.REPEATS: outcome.repeated}
    return Cell(
        client=group.client,
        hazard=hazard,
        meets=group.labels["meets"],
        commit=group.labels["commit"],
        reset=group.reset,
        kind=kind,
        records=counts.get(kind, 0),
        error=outcome.exception or "",
        reason=reason,
    )


def without_control(cells: Iterable[Cell], control: str) -> list[Cell]:
    """Return the cells of a story, none of which is evaluable if the control did not keep."""
    found = list(cells)
    noise = [cell for cell in found if cell.client == control and cell.kind is not Kind.KEEPS]
    if not noise:
        return found
    why = f"the control {control} {noise[0].words} in the same story"
    return [
        msgspec.structs.replace(cell, kind=Kind.NOT_EVALUABLE, records=0, reason=why)
        for cell in found
    ]


def not_evaluable(hazard: str, readers: Iterable[Reader], reason: str) -> list[Cell]:
    """Return the cells of a story that shows nothing."""
    return [
        Cell(
            client=reader.client,
            hazard=hazard,
            meets=meets,
            commit=reader.commit,
            reset=reader.reset,
            kind=Kind.NOT_EVALUABLE,
            reason=reason,
        )
        for reader in readers
        for meets in MEETS[Hazard(hazard)]
    ]
