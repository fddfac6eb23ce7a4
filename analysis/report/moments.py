"""What the tables of a run have about a partition and a group, as moments in words."""

import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

from analysis.report.figures import with_noun
from analysis.report.run_tables import Row, RunTables
from contract.events import NO_EPOCH
from contract.faults import target_of
from contract.outcomes import GroupChange
from contract.verdicts import Finding

Span = tuple[int, int]
"""The first and the last of some offsets."""


class Kind(enum.StrEnum):
    """What a moment is."""

    PHASE = "phase"
    FAULT = "fault"
    HEAL = "heal"
    """A fault is proved or healed."""
    BROKER = "broker"
    EPOCH = "epoch"
    """A leader epoch begins."""
    ISR = "isr"
    """The in-sync replicas change within an epoch."""
    TRUNCATION = "truncation"
    DELETION = "deletion"
    """A replica's log start advances."""
    SEND = "send"
    ACKNOWLEDGEMENT = "acknowledgement"
    COMMIT = "commit"
    MEMBER = "member"
    """A member changes, without a position on the partition."""
    POSITION = "position"
    """A member has a position on the partition, or fails."""
    STEP = "step"
    """A step of a transactional producer."""
    RESET = "reset"
    DELIVERY = "delivery"
    STORED = "stored"
    """A commit is stored in `__consumer_offsets`."""
    RESPONSE = "response"
    """A broker responds to a single request."""


@dataclass(frozen=True)
class Moment:
    """Something that happened: when (microseconds since 1970), who did it, and what.

    Attributes:
        at_micros: by the clock of its source.
        who: in words.
        what: in words.
        kind: of moment.
        worker: whose history has it; empty without a place there.
        seq: its place in that history.
        epoch: the leader epoch that begins, of the finding's partition.
        offset: the position on that partition that a member has from then on.
    """

    at_micros: int
    who: str
    what: str
    kind: Kind
    worker: str = ""
    seq: int = -1
    epoch: int | None = None
    offset: int | None = None


@dataclass(frozen=True)
class Place:
    """What a story is about: a partition, and a group or all groups."""

    topic: str
    partition: int
    group: str | None = None

    @property
    def of_partition(self) -> dict[str, Any]:
        """The values of columns by which rows are of the partition."""
        return {"topic": self.topic, "partition": self.partition}

    @property
    def of_group(self) -> dict[str, Any]:
        """The values of columns by which rows are of the group and the partition."""
        return self.of_partition | ({} if self.group is None else {"group": self.group})


def span_of(finding: Finding) -> Span | None:
    """The offsets of a finding; None if it names none."""
    if finding.offset_first is None:
        return None
    last = finding.offset_first if finding.offset_last is None else finding.offset_last
    return finding.offset_first, last


@lru_cache(maxsize=1)
def of_run(tables: RunTables) -> tuple[Moment, ...]:
    """What every story of a run has: phases, faults, and brokers that are fenced."""
    return (*_phases(tables), *_faults(tables), *_brokers(tables))


def _phases(tables: RunTables) -> Iterator[Moment]:
    for row in tables.rows("phases"):
        what = f"{row['stage']}: {row['doing']}"
        yield Moment(row["began_micros"], "run", what, Kind.PHASE)


def _faults(tables: RunTables) -> Iterator[Moment]:
    for row in tables.rows("faults"):
        name = f"{row['fault']} {target_of(row)}"
        seen = "its effect was observed" if row["landed"] else "no effect was observed"
        for at, what, kind in (
            (row["injected_micros"], f"{name} injected", Kind.FAULT),
            (row["proved_micros"], f"{name} proved: {seen}", Kind.HEAL),
            (row["heal_began_micros"], f"heal of {name} begun", Kind.HEAL),
            (row["healed_micros"], f"{name} healed", Kind.HEAL),
        ):
            if at is not None:
                yield Moment(at, "fault", what, kind)


def _brokers(tables: RunTables) -> Iterator[Moment]:
    last: dict[int, bool] = {}
    for row in sorted(tables.rows("broker_states"), key=lambda row: int(row["metadata_offset"])):
        broker, is_fenced = row["broker"], row["is_fenced"]
        if last.get(broker) != is_fenced:
            word = "fenced" if is_fenced else "unfenced"
            yield Moment(row["at_micros"], "controller", f"broker {broker} is {word}", Kind.BROKER)
        last[broker] = is_fenced


def leaderships(tables: RunTables, where: Place, *, name: str = "") -> Iterator[Moment]:
    """The states of a partition: its epochs, and its ISR within them.

    Args:
        tables: the run's.
        where: the partition.
        name: of the partition, if it is not the one that the story is about.
    """
    epoch_before = None
    for row in tables.rows("leaderships", **where.of_partition):
        leader = "no broker" if row["leader"] < 0 else f"broker {row['leader']}"
        isr, elr = row["isr"].tolist(), row["elr"].tolist()
        eligible = f", ELR {elr}" if elr else ""
        epoch = row["leader_epoch"]
        state = f"epoch {epoch}: {leader} leads, ISR {isr}{eligible}"
        yield Moment(
            row["at_micros"],
            "controller",
            f"{name}, {state}" if name else state,
            Kind.ISR if epoch == epoch_before else Kind.EPOCH,
            epoch=None if name or row["leader"] < 0 else epoch,
        )
        epoch_before = epoch


def truncations(tables: RunTables, where: Place, *, name: str = "") -> Iterator[Moment]:
    """The truncations of a partition's replicas; `name` as in `leaderships`."""
    for row in tables.rows("truncations", **where.of_partition):
        what = f"truncates {name or 'its log'} to {row['to_offset']}"
        yield Moment(row["at_micros"], f"broker {row['broker']}", what, Kind.TRUNCATION)


def deletions(tables: RunTables, where: Place) -> Iterator[Moment]:
    """The advances of the log start of a partition's replicas."""
    for row in tables.rows("log_start_changes", **where.of_partition):
        what = f"deletes what is below {row['log_start_offset']} ({row['reason']})"
        yield Moment(row["at_micros"], f"broker {row['broker']}", what, Kind.DELETION)


def sends(tables: RunTables, where: Place, span: Span) -> Iterator[Moment]:
    """When the values at some offsets were sent and acknowledged, and by which broker.

    It is the leader of the epoch that the records have in a replica, or had before a truncation.
    """
    leaders = {
        row["leader_epoch"]: row["leader"]
        for row in tables.rows("leaderships", **where.of_partition)
        if row["leader"] >= 0
    }
    sent = _with_epochs(tables, where, span)
    for (producer, acks, outcome, epoch), some in _grouped(
        sent, "producer", "acks", "outcome", "epoch"
    ):
        values = f"{with_noun(_count(some), 'value')} with acks={acks}"
        intended = [row["intended_micros"] for row in some if row["intended_micros"] is not None]
        if intended:
            yield Moment(min(intended), producer, f"sends the first of {values}", Kind.SEND)
        leader = leaders.get(epoch)
        source = "" if leader is None else f" from broker {leader}, leader of epoch {epoch}"
        what = f"response to {values}{source}: {outcome}, {_offsets(some)}"
        answered = {row["answered_micros"] for row in some} - {None}
        for at in sorted({min(answered), max(answered)} if answered else answered):
            which = "last" if at == max(answered) else "first"
            yield Moment(at, producer, f"receives the {which} {what}", Kind.ACKNOWLEDGEMENT)


def _with_epochs(tables: RunTables, where: Place, span: Span) -> Iterator[Row]:
    """The parts of sends at some offsets, with the leader epoch of their records.

    None where no replica has all of the records, or where some have them in different epochs.
    """
    epochs: dict[tuple[str, int], set[tuple[int, int, int]]] = {}
    for table in ("replica_records", "cut_records"):
        for row in tables.within(table, span, **where.of_partition):
            if row["producer"] is not None:
                part = (row["first_offset"], row["last_offset"], row["leader_epoch"])
                epochs.setdefault(_series(row), set()).add(part)
    for row in tables.within("sends", span, **where.of_partition):
        first, last = row["first_offset"], row["last_offset"]
        here = sorted(
            (max(first, one[0]), min(last, one[1]), one[2])
            for one in epochs.get(_series(row), ())
            if one[0] <= last and one[1] >= first
        )
        of_epoch = {
            epoch: [one[:2] for one in here if one[2] == epoch]
            for epoch in {one[2] for one in here}
        }
        lengths = [_distinct(spans) for spans in of_epoch.values()]
        if sum(lengths) == _distinct(one[:2] for one in here) == _count([row]):
            for epoch, spans in of_epoch.items():
                ends = {"first_offset": spans[0][0], "last_offset": max(one[1] for one in spans)}
                yield row | ends | {"epoch": epoch}
        else:
            yield row | {"epoch": None}


def _series(row: Row) -> tuple[str, int]:
    """What records of one producer have in common whose offsets and numbers rise together."""
    return row["producer"], row["first_offset"] - row["first_sequence"]


def _distinct(spans: Iterable[Span]) -> int:
    """The number of different offsets in spans, which may overlap."""
    number, reached = 0, -1
    for first, last in sorted(spans):
        number += max(0, last - max(first - 1, reached))
        reached = max(reached, last)
    return number


def _count(ranges: Iterable[Row]) -> int:
    return sum(row["last_offset"] - row["first_offset"] + 1 for row in ranges)


def _span(ranges: Sequence[Row]) -> Span:
    return min(row["first_offset"] for row in ranges), max(row["last_offset"] for row in ranges)


def _offsets(ranges: Sequence[Row]) -> str:
    first, last = _span(ranges)
    return f"offset {first}" if first == last else f"offsets {first} to {last}"


def steps(tables: RunTables, finding: Finding) -> Iterator[Moment]:
    """The steps of the transaction that a finding names."""
    producer, number = (finding.evidence.get(name) for name in ("producer", "transaction"))
    if not (isinstance(producer, str) and isinstance(number, int)):
        return
    for row in tables.rows("transactions", producer=producer, transaction=number):
        step, change = (row[name].replace("_", " ") for name in ("step", "change"))
        error = f" ({row['error']})" if row["error"] else ""
        what = f"{step} of transaction {number}: {change}, {row['outcome']}{error}"
        yield in_history(row, row["at_micros"], producer, what, Kind.STEP)


def members(tables: RunTables, where: Place) -> Iterator[Moment]:
    """What happened to the members of a group, or of all groups, as their histories have it.

    The position of an assignment is read after the member's first poll. So a member begins at its
    first delivery before it loses the partition, and at that position if there is none.
    """
    begins = _begins(tables, where)
    events = list(tables.rows("group_events", **where.of_group))
    if where.group is not None:
        events += tables.rows("group_events", group=where.group, topic="")
    for row in events:
        what, offset = row["change"].replace("_", " "), row["position"]
        begin = begins.get((row["member"], row["seq"]))
        if begin is not None:
            offset, what = begin, f"{what}, begins at offset {begin}"
        elif offset is not None:
            what += f" at offset {offset}"
        if row["exception"]:
            what += f": {row['exception']}: {row['message']}"
        kind = Kind.MEMBER if offset is None and not row["exception"] else Kind.POSITION
        yield in_history(row, row["at_micros"], row["member"], what, kind, offset=offset)


def _begins(tables: RunTables, where: Place) -> dict[tuple[str, int], int]:
    """The first offset that was delivered after each assignment, by its member and its seq."""
    changes = tables.select("group_events", "seq", "member", "change", **where.of_group)
    events = [(seq, -1, member, change) for seq, member, change in changes]
    of_poll = ("seq", "first_place", "member", "first_offset")
    polls = tables.select("polls", *of_poll, **where.of_group)
    found: dict[tuple[str, int], int] = {}
    assigned: dict[str, int] = {}
    for seq, place, member, what in sorted([*events, *polls], key=lambda one: one[:2]):
        if what == GroupChange.ASSIGNED:
            assigned[member] = seq
        elif what in (GroupChange.REVOKED, GroupChange.SOUGHT):
            assigned.pop(member, None)
        elif place >= 0 and member in assigned:
            found[member, assigned.pop(member)] = what
    return found


def resets(tables: RunTables, where: Place) -> Iterator[Moment]:
    """The resets of a group's clients, or of those of all groups, as they logged them."""
    for row in tables.rows("resets", **where.of_group):
        to = "raises" if row["to_offset"] is None else f"to {row['to_offset']}"
        start = "" if row["from_offset"] is None else f" from {row['from_offset']}"
        what = f"resets ({row['cause']}){start}, epoch {row['from_epoch']}: {to}"
        yield Moment(
            row["at_micros"],
            row["member"],
            f"{what} (policy {row['policy']})",
            Kind.RESET,
            offset=row["to_offset"],
        )


def deliveries(tables: RunTables, where: Place, span: Span) -> Iterator[Moment]:
    """When a member was first delivered records at some offsets, of each epoch; and again."""
    polls = sorted(
        tables.within("polls", span, **where.of_group),
        key=lambda row: (row["seq"], row["first_place"]),
    )
    for (member, epoch), some in _grouped(polls, "member", "leader_epoch"):
        for rows in _rising(some):
            records = with_noun(_count(rows), "record")
            what = f"receives {records} of epoch {epoch}, {_offsets(rows)}"
            yield in_history(rows[0], rows[0]["polled_micros"], member, what, Kind.DELIVERY)


def _rising(ranges: Iterable[Row]) -> list[list[Row]]:
    """Ranges in order, parted where the offsets do not rise."""
    parts: list[list[Row]] = []
    for row in ranges:
        if parts and row["first_offset"] > parts[-1][-1]["last_offset"]:
            parts[-1].append(row)
        else:
            parts.append([row])
    return parts


def commits(tables: RunTables, where: Place) -> Iterator[Moment]:
    """The stored commits of a group, or of all groups."""
    rows = tables.rows("committed_offsets", **where.of_group)
    stored = [row for row in rows if not row["is_tombstone"]]
    for (group,), some in _grouped(stored, "group"):
        of_group = sorted(some, key=lambda row: int(row["offsets_offset"]))
        for row, note in ends_of_rows(of_group, lambda row: row["committed_epoch"]):
            what = f"commits {position_in_words(row)}{note}"
            yield Moment(row["committed_micros"], group, what, Kind.COMMIT)


def position_in_words(row: Row) -> str:
    """The offset and the epoch of a commit."""
    if row["offset"] is None:
        return "nothing"
    epoch = row["committed_epoch"]
    with_epoch = "without an epoch" if epoch in (None, NO_EPOCH) else f"with epoch {epoch}"
    return f"offset {row['offset']} {with_epoch}"


def ends_of_rows(
    commits: Iterable[Row], key: Callable[[Row], Any], *, at: int | None = None
) -> Iterator[tuple[Row, str]]:
    """Of equal commits in a row the first, the last and that of a time, each with a note."""
    for _, some in groupby(commits, key):
        rows = list(some)
        last = len(rows) - 1
        for place, row in enumerate(rows):
            if place in (0, last) or row["committed_micros"] == at:
                which = "first" if place == 0 else "last" if place == last else "next"
                yield row, "" if last == 0 else f", the {which} of {last + 1} commits"


def in_history(row: Row, at: int, who: str, what: str, kind: Kind, **fields: Any) -> Moment:
    """A moment that a worker's history has."""
    return Moment(at, who, what, kind, worker=row["worker"] or "", seq=row["seq"], **fields)


def _grouped(rows: Iterable[Row], *columns: str) -> Iterator[tuple[tuple[Any, ...], list[Row]]]:
    """Rows by the values of some columns, in the order of these values."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in columns), []).append(row)
    yield from sorted(groups.items(), key=lambda one: str(one[0]))
