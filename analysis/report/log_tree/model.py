"""A partition's log as a tree of leader epochs, the commits of groups on it, and both in words.

Which branches a log has, and who led, are the facts `branches_of_logs` and `leaders_of_log`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from analysis.report.timeline.source import Partition, Source
from analysis.statements.trace import Row
from contract.checks import Check
from contract.verdicts import Resumption

LEADERS_MAX = 12
_NO_EPOCH = -1
_LOGS = "select * from drawn_logs"
_SEGMENTS = "select * from segments_of_logs order by epoch, begins"
_BRANCHES = "select * from branches_of_logs order by broker, branch, epoch, begins"
_LEADERS = "select * from leaders_of_log order by metadata_offset"
_STORED = """
select group, topic, partition, offset, committed_epoch
from (
  select *, row_number() over (
    partition by group, topic, partition order by offsets_offset desc) as nth
  from committed_offsets
  where not is_tombstone and offset is not null)
where nth = 1 and coalesce(marker, '') != 'abort'"""


@dataclass(frozen=True)
class Segment:
    """The records of one leader epoch: from an offset (inclusive) to another one (exclusive).

    Attributes:
        epoch: the first one.
        begin: its start offset.
        end: exclusive; None: not known.
        last_epoch: equal to `epoch`, unless the segment stands for several.
    """

    epoch: int
    begin: int
    end: int | None
    last_epoch: int


@dataclass(frozen=True)
class Branch:
    """Records that a replica held and that the surviving log does not have.

    Attributes:
        segments: by epoch.
        brokers: whose replicas held it.
        is_truncated: removed during the run; else a replica has it at the end.
        at_seconds: when it was truncated; None where no log line shows it.
    """

    segments: tuple[Segment, ...]
    brokers: tuple[int, ...]
    is_truncated: bool
    at_seconds: float | None = None

    @property
    def fork(self) -> int:
        """The first offset that differs from the surviving log."""
        return self.segments[0].begin

    @property
    def length(self) -> int:
        """Its records, as far as they are known."""
        return (self.segments[-1].end or self.fork) - self.fork


@dataclass(frozen=True)
class Leadership:
    """Who led an epoch (-1: no broker), and whether the judge found its election unclean."""

    epoch: int
    leader: int
    is_unclean: bool


@dataclass(frozen=True)
class Tree:
    """The log of a partition.

    Attributes:
        where: the partition.
        broker: whose replica is the surviving log: that of the last leader.
        main: the segments of the surviving log.
        log_start: its first offset.
        log_end: exclusive.
        branches: what it does not have, by fork.
        leaderships: by epoch.
    """

    where: Partition
    broker: int
    main: tuple[Segment, ...]
    log_start: int
    log_end: int
    branches: tuple[Branch, ...]
    leaderships: tuple[Leadership, ...]

    def with_branches(self, branches_max: int) -> "Tree":
        """The tree with its largest branches only."""
        largest = sorted(self.branches, key=lambda one: -one.length)[:branches_max]
        return replace(self, branches=tuple(one for one in self.branches if one in largest))

    def end_of(self, epoch: int) -> int:
        """Where an epoch ends in the surviving log: the start of the next larger one."""
        later = [one.begin for one in self.main if one.epoch > epoch]
        return min(later, default=self.log_end)

    def epoch_at(self, offset: int) -> int | None:
        """The epoch of a record of the surviving log."""
        for one in self.main:
            if one.begin <= offset < (self.log_end if one.end is None else one.end):
                return one.epoch
        return None


def tree_of(source: Source, where: Partition) -> Tree | None:
    """The tree of a partition; None where no replica's epochs are known."""
    for log in source.of_partition(_LOGS, where):
        own = [
            row for row in source.of_partition(_SEGMENTS, where) if row["broker"] == log["broker"]
        ]
        return Tree(
            where=where,
            broker=log["broker"],
            main=_segments(own),
            log_start=log["log_start"],
            log_end=log["log_end"],
            branches=tuple(_branches(source, where)),
            leaderships=tuple(
                Leadership(row["epoch"], row["leader"], row["is_unclean"])
                for row in source.of_partition(_LEADERS, where)
            ),
        )
    return None


def _segments(rows: list[Row]) -> tuple[Segment, ...]:
    return tuple(Segment(row["epoch"], row["begins"], row["ends"], row["epoch"]) for row in rows)


def _branches(source: Source, where: Partition) -> list[Branch]:
    """By their fork; equal ones of several brokers are one."""
    found: dict[tuple[bool, tuple[Segment, ...]], list[Row]] = {}
    rows = source.of_partition(_BRANCHES, where)
    for _, some in groupby(rows, lambda row: (row["broker"], row["branch"])):
        parts = list(some)
        found.setdefault((parts[0]["is_truncated"], _segments(parts)), []).append(parts[0])
    branches = []
    for (is_truncated, segments), held in found.items():
        brokers = tuple(sorted({row["broker"] for row in held}))
        times = [source.seconds(row["at_micros"]) for row in held if row["at_micros"] is not None]
        branches.append(Branch(segments, brokers, is_truncated, min(times, default=None)))
    return sorted(branches, key=lambda one: (one.fork, not one.is_truncated))


# Commits of groups on a partition, and where the groups continued; equal ones are one row.


@dataclass(frozen=True)
class Commit:
    """The last commit of some groups, and where they continued.

    Attributes:
        offset: the committed position.
        epoch: None where the commit has none.
        groups: with this commit and this continuation.
        styles: the clients of these groups, and how they choose the epoch.
        resumed_at: the first position afterwards; None where the group did not continue.
        exception: that the client raised instead.
        never_delivered: records of the surviving log below that position; 0 where none are known.
        redelivered: records that were delivered more than once.
        record_epoch: of the last record that was polled before the commit; None if not known.
        skipped: the offsets (inclusive) that were never delivered; None where not known.
    """

    offset: int
    epoch: int | None
    groups: tuple[str, ...]
    styles: tuple[tuple[str, str], ...]
    resumed_at: int | None
    exception: str | None
    never_delivered: int
    redelivered: int
    record_epoch: int | None
    skipped: tuple[int, int] | None

    @property
    def names(self) -> str:
        """The groups in words."""
        if len(self.groups) == 1:
            return f"group {self.groups[0]}"
        by_client: dict[str, list[str]] = {}
        for client, style in self.styles:
            by_client.setdefault(client, []).append(style)
        reported = [f"{client}: {', '.join(styles)}" for client, styles in by_client.items()]
        return f"{len(self.groups)} groups ({'; '.join(reported)})"


def commits_of(source: Source, tree: Tree) -> list[Commit]:
    """Those of the partition; those with records that were never delivered first."""
    rows = [*_resumed(source, tree)]
    known = {row.group for row in rows}
    rows += [row for row in _stored(source, tree) if row.group not in known]
    skipped = _skipped(source, tree)
    equal: dict[tuple[object, ...], list[Resumption]] = {}
    for row in rows:
        key = (
            row.committed_offset,
            row.committed_epoch,
            row.resumed_at,
            row.exception,
            row.never_delivered,
            row.redelivered,
            row.record_epoch,
        )
        equal.setdefault(key, []).append(row)
    found = [_commit(some, skipped) for some in equal.values()]
    return sorted(
        found, key=lambda one: (-one.never_delivered, -len(one.groups), one.offset, one.groups)
    )


def _resumed(source: Source, tree: Tree) -> Iterator[Resumption]:
    for row in source.verdict.resumption:
        if (row.topic, row.partition) == tree.where and row.committed_offset is not None:
            yield row


def _stored(source: Source, tree: Tree) -> Iterator[Resumption]:
    """The last stored commit of each group, which may not have continued since."""
    styles = {group.group: group for group in source.plan.groups}
    for row in source.of_partition(_STORED, tree.where):
        plan = styles.get(row["group"])
        if plan is not None:
            yield Resumption(
                group=row["group"],
                client=plan.client,
                commit_epoch=plan.commit_epoch,
                reset=plan.reset,
                committed_offset=row["offset"],
                committed_epoch=row["committed_epoch"],
                resumed_at=None,
                redelivered=None,
                never_delivered=None,
                exception=None,
            )


def _skipped(source: Source, tree: Tree) -> dict[str, tuple[int, int]]:
    """The offsets that a group was never delivered, by group: those of its first finding."""
    first: dict[str, Row] = {}
    for row in source.found_of(Check.SKIPPED_RECORD):
        if row["group"] is not None:
            first.setdefault(row["group"], row)
    return {
        group: (row["offset_first"], row["offset_last"])
        for group, row in first.items()
        if (row["topic"], row["partition"]) == tree.where and row["offset_last"] is not None
    }


def _commit(rows: list[Resumption], skipped: dict[str, tuple[int, int]]) -> Commit:
    first = rows[0]
    spans = [skipped[row.group] for row in rows if row.group in skipped]
    never = first.never_delivered or 0
    return Commit(
        offset=first.committed_offset or 0,
        epoch=None if first.committed_epoch in (None, _NO_EPOCH) else first.committed_epoch,
        groups=tuple(sorted(row.group for row in rows)),
        styles=tuple(sorted({(row.client, row.commit_epoch) for row in rows})),
        resumed_at=first.resumed_at,
        exception=first.exception,
        never_delivered=never,
        redelivered=first.redelivered or 0,
        record_epoch=first.record_epoch,
        skipped=spans[0] if spans and never else None,
    )


# Words.


def epoch_name(segment: Segment) -> str:
    """E.g. `epoch 3`, or `epochs 3 to 7`."""
    if segment.last_epoch == segment.epoch:
        return f"epoch {segment.epoch}"
    return f"epochs {segment.epoch} to {segment.last_epoch}"


def brokers_in_words(brokers: tuple[int, ...]) -> str:
    """E.g. `broker 1`, or `brokers 1 and 2`."""
    if len(brokers) == 1:
        return f"broker {brokers[0]}"
    listed = ", ".join(str(broker) for broker in brokers[:-1])
    return f"brokers {listed} and {brokers[-1]}"


def branch_in_words(branch: Branch) -> str:
    """Which records it has, and what happened to them.

    A branch is known from a copy before the truncation: the broker may have appended since.
    """
    last = branch.segments[-1]
    names = ", ".join(epoch_name(one) for one in branch.segments)
    who = brokers_in_words(branch.brokers)
    if last.end is None:
        reported = f"truncated from offset {branch.fork} on by {who}"
        return reported + _at(branch) + "; what was removed is not known"
    span = f"{names}: offsets {branch.fork} to {last.end - 1}"
    if branch.is_truncated:
        return f"{span} at least, truncated by {who}{_at(branch)}"
    return f"{span}, still on {who} at the end"


def _at(branch: Branch) -> str:
    return "" if branch.at_seconds is None else f" at {branch.at_seconds:+.3f} s"


def commit_in_words(commit: Commit) -> str:
    """The commit, and where its groups continued."""
    epoch = "no epoch" if commit.epoch is None else f"epoch {commit.epoch}"
    reported = f"{commit.names}: commit ({commit.offset}, {epoch})"
    if commit.exception is not None:
        return f"{reported}, then {commit.exception}"
    if commit.resumed_at is None:
        return reported
    reported += f", resumes at {commit.resumed_at}"
    if commit.never_delivered:
        reported += f": {commit.never_delivered:,} records are never delivered"
    if commit.redelivered:
        reported += f", {commit.redelivered:,} redelivered"
    return reported


def why(commit: Commit, tree: Tree) -> str:
    """How the commit's epoch compares with the surviving log (KIP-320)."""
    if commit.offset < tree.log_start:
        return (
            f"The log starts at {tree.log_start}: offsets {commit.offset} to "
            f"{tree.log_start - 1} are deleted."
        )
    if commit.epoch is None:
        return "A commit without an epoch cannot be compared with the log."
    if commit.epoch > tree.main[-1].last_epoch:
        return f"The surviving log has no epoch as high as {commit.epoch}."
    end = tree.end_of(commit.epoch)
    if commit.offset > end:
        return (
            f"Epoch {commit.epoch} ends at {end} in the surviving log: the commit is "
            f"{commit.offset - end:,} records beyond it."
        )
    reported = (
        f"Epoch {commit.epoch} reaches to {end} in the surviving log: the commit is within it."
    )
    if commit.record_epoch is not None and 0 <= commit.record_epoch < commit.epoch:
        reported += f" The last record that was polled has epoch {commit.record_epoch}."
    return reported


def leaders_in_words(tree: Tree) -> str:
    """Who led each epoch."""
    shown = tree.leaderships[-LEADERS_MAX:]
    left = len(tree.leaderships) - len(shown)
    reported = [
        f"{one.epoch} "
        + ("none" if one.leader < 0 else f"broker {one.leader}")
        + (" (unclean election)" if one.is_unclean else "")
        for one in shown
    ]
    return "Leaders by epoch: " + (f"({left} earlier ones) " if left else "") + ", ".join(reported)


def described(tree: Tree, commits: list[Commit]) -> list[str]:
    """The whole picture in sentences, for those who do not see it, or not all of it."""
    main = ", ".join(f"{epoch_name(one)} from offset {one.begin}" for one in tree.main)
    return [
        (
            f"The surviving log, on broker {tree.broker}, has offsets {tree.log_start} to "
            f"{tree.log_end} (exclusive): {main}."
        ),
        *(f"A branch at offset {one.fork}: {branch_in_words(one)}." for one in tree.branches),
        *(f"{commit_in_words(one)}. {why(one, tree)}" for one in commits),
        f"{leaders_in_words(tree)}.",
    ]
