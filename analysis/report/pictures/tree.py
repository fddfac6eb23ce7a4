"""The log of a partition as a tree of leader epochs, with the commits of groups on it.

Which branches a log has, and who led, are the facts `branches_of_logs` and `leaders_of_log`. The
script of the page draws the tree, where the words are as they are here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

from markupsafe import Markup

from analysis.report.pictures import as_data
from analysis.report.pictures.source import Partition, Source
from analysis.report.run_facts import RunFacts
from analysis.statements.registry import CHECKS
from analysis.statements.trace import Row
from contract.terms import Check
from contract.verdicts import Resumption, Verdict

EPOCH_CHECKS = frozenset(check for check, known in CHECKS.items() if known.header.has_tree)
"""Checks whose findings the epochs of the log explain."""
TREES_MAX = 3
COMMITS_MAX = 6
BRANCHES_MAX = 4
_CHANGED = "select topic, partition from truncations union select topic, partition from cut_batches"
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


class Segment(NamedTuple):
    """The records of one leader epoch.

    Attributes:
        epoch: that they have.
        begin: their first offset.
        end: exclusive; None: not known.
    """

    epoch: int
    begin: int
    end: int | None


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
    brokers: list[int]
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
class Tree:
    """The log of a partition.

    Attributes:
        where: the partition.
        broker: whose replica is the surviving log: that of the last leader.
        main: the segments of the surviving log.
        log_start: its first offset.
        log_end: exclusive.
        branches: what it does not have, by fork.
        leaders: rows of `leaders_of_log`, by epoch.
    """

    where: Partition
    broker: int
    main: tuple[Segment, ...]
    log_start: int
    log_end: int
    branches: list[Branch]
    leaders: list[Row]

    def with_branches(self, branches_max: int) -> "Tree":
        """The tree with its largest branches only."""
        largest = sorted(self.branches, key=lambda branch: -branch.length)[:branches_max]
        return replace(self, branches=[branch for branch in self.branches if branch in largest])

    def end_of(self, epoch: int) -> int:
        """Where an epoch ends in the surviving log: the start of the next larger one."""
        later = [segment.begin for segment in self.main if segment.epoch > epoch]
        return min(later, default=self.log_end)


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
            branches=_branches(source, where),
            leaders=source.of_partition(_LEADERS, where),
        )
    return None


def _segments(rows: list[Row]) -> tuple[Segment, ...]:
    return tuple(Segment(row["epoch"], row["begins"], row["ends"]) for row in rows)


def _branches(source: Source, where: Partition) -> list[Branch]:
    """By their fork; equal ones of several brokers are one."""
    found: dict[tuple[bool, tuple[Segment, ...]], list[Row]] = {}
    rows = source.of_partition(_BRANCHES, where)
    for _, some in groupby(rows, lambda row: (row["broker"], row["branch"])):
        parts = list(some)
        found.setdefault((parts[0]["is_truncated"], _segments(parts)), []).append(parts[0])
    branches = []
    for (is_truncated, segments), held in found.items():
        brokers = sorted({row["broker"] for row in held})
        times = [source.seconds(row["at_micros"]) for row in held if row["at_micros"] is not None]
        branches.append(Branch(segments, brokers, is_truncated, min(times, default=None)))
    return sorted(branches, key=lambda branch: (branch.fork, not branch.is_truncated))


# Commits of groups on a partition, and where the groups continued; equal ones are one row.


@dataclass(frozen=True)
class Commit:
    """The last commit of some groups, and where they continued.

    Attributes:
        first: of the groups; the others have the same offsets, epochs and exception.
        groups: their names.
        styles: the clients of these groups, and how they choose the epoch.
        skipped: the offsets (inclusive) that were never delivered; None where not known.
    """

    first: Resumption
    groups: list[str]
    styles: list[tuple[str, str]]
    skipped: tuple[int, int] | None

    @property
    def offset(self) -> int:
        """The committed position."""
        return self.first.committed_offset or 0

    @property
    def epoch(self) -> int | None:
        """None where the commit has none."""
        epoch = self.first.committed_epoch
        return None if epoch == _NO_EPOCH else epoch

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
    rows = [*_resumptions(source, tree)]
    known = {row.group for row in rows}
    rows += [row for row in _last_commits(source, tree) if row.group not in known]
    skipped = _skipped_offsets(source, tree)
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
        found,
        key=lambda commit: (
            -(commit.first.never_delivered or 0),
            -len(commit.groups),
            commit.offset,
            commit.groups,
        ),
    )


def _resumptions(source: Source, tree: Tree) -> Iterator[Resumption]:
    for row in source.verdict.resumption:
        if (row.topic, row.partition) == tree.where and row.committed_offset is not None:
            yield row


def _last_commits(source: Source, tree: Tree) -> Iterator[Resumption]:
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


def _skipped_offsets(source: Source, tree: Tree) -> dict[str, tuple[int, int]]:
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
    spans = [skipped[row.group] for row in rows if row.group in skipped]
    return Commit(
        first=rows[0],
        groups=sorted(row.group for row in rows),
        styles=sorted({(row.client, row.commit_epoch) for row in rows}),
        skipped=spans[0] if spans and rows[0].never_delivered else None,
    )


# Words.


def branch_in_words(branch: Branch) -> str:
    """Which records it has, and what happened to them.

    A branch is known from a copy before the truncation: the broker may have appended since.
    """
    last = branch.segments[-1]
    names = ", ".join(f"epoch {segment.epoch}" for segment in branch.segments)
    *others, broker = map(str, branch.brokers)
    who = f"brokers {', '.join(others)} and {broker}" if others else f"broker {broker}"
    if last.end is None:
        reported = f"truncated from offset {branch.fork} on by {who}"
        return reported + _at(branch) + "; which records that removed is not known"
    span = f"{names}: offsets {branch.fork} to {last.end - 1}"
    if branch.is_truncated:
        return f"{span} at least, truncated by {who}{_at(branch)}"
    return f"{span}, still on {who} at the end"


def _at(branch: Branch) -> str:
    return "" if branch.at_seconds is None else f" at {branch.at_seconds:+.3f} s"


def commit_in_words(commit: Commit) -> str:
    """The commit, and where its groups continued."""
    first = commit.first
    epoch = "no epoch" if commit.epoch is None else f"epoch {commit.epoch}"
    reported = f"{commit.names}: commit ({commit.offset}, {epoch})"
    if first.exception is not None:
        return f"{reported}, then {first.exception}"
    if first.resumed_at is None:
        return reported
    reported += f", resumes at {first.resumed_at}"
    if first.never_delivered:
        reported += f": {first.never_delivered:,} records are never delivered"
    if first.redelivered:
        reported += f", {first.redelivered:,} redelivered"
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
    if commit.epoch > tree.main[-1].epoch:
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
    polled = commit.first.record_epoch
    if polled is not None and 0 <= polled < commit.epoch:
        reported += f" The last record that was polled has epoch {polled}."
    return reported


def leaders_in_words(tree: Tree) -> str:
    """Who led each epoch."""
    shown = tree.leaders[-LEADERS_MAX:]
    left = len(tree.leaders) - len(shown)
    reported = [
        f"{row['epoch']} "
        + ("none" if row["leader"] < 0 else f"broker {row['leader']}")
        + (" (unclean election)" if row["is_unclean"] else "")
        for row in shown
    ]
    return "Leaders by epoch: " + (f"({left} earlier ones) " if left else "") + ", ".join(reported)


def describe_tree(tree: Tree, commits: list[Commit]) -> list[str]:
    """The whole picture in sentences, for those who do not see it, or not all of it."""
    main = ", ".join(f"epoch {segment.epoch} from offset {segment.begin}" for segment in tree.main)
    return [
        (
            f"The surviving log, on broker {tree.broker}, has offsets {tree.log_start} to "
            f"{tree.log_end} (exclusive): {main}."
        ),
        *(
            f"A branch at offset {branch.fork}: {branch_in_words(branch)}."
            for branch in tree.branches
        ),
        *(f"{commit_in_words(commit)}. {why(commit, tree)}" for commit in commits),
        f"{leaders_in_words(tree)}.",
    ]


# The pictures of a run.


class LogTree(NamedTuple):
    """The picture of one partition.

    Attributes:
        where: the partition.
        data: what the page's script draws.
        sentences: what it shows.
    """

    where: str
    data: Markup
    sentences: list[str]


def log_trees(facts: RunFacts, verdict: Verdict) -> tuple[list[LogTree], int]:
    """The partitions whose log branched or whose findings need its epochs, and how many are left.

    At most `TREES_MAX` of them, those with branches first.
    """
    source = Source(facts, verdict)
    trees = sorted(_trees_to_draw(source), key=lambda tree: not tree.branches)
    return [_picture(source, tree) for tree in trees[:TREES_MAX]], max(0, len(trees) - TREES_MAX)


def _trees_to_draw(source: Source) -> Iterator[Tree]:
    """Those with a branch, or a finding of `EPOCH_CHECKS` and several epochs or a moved start."""
    found = {
        Partition.of(numbered.finding)
        for numbered in source.findings
        if numbered.finding.check in EPOCH_CHECKS
    }
    changed = {Partition(row["topic"], row["partition"]) for row in source.rows(_CHANGED)}
    for where in source.partitions:
        tree = tree_of(source, where) if where in changed | found else None
        if tree is not None and (
            tree.branches or (where in found and (len(tree.main) > 1 or tree.log_start))
        ):
            yield tree


def _picture(source: Source, tree: Tree) -> LogTree:
    commits = commits_of(source, tree)
    notes = [
        f"{left} other {what} are not drawn."
        for what, left in (
            ("kinds of commits", len(commits) - COMMITS_MAX),
            ("branches", len(tree.branches) - BRANCHES_MAX),
        )
        if left > 0
    ]
    commits, drawn = commits[:COMMITS_MAX], tree.with_branches(BRANCHES_MAX)
    sentences = [*describe_tree(drawn, commits), *notes]
    content: dict[str, Any] = {
        "where": str(tree.where),
        "broker": tree.broker,
        "start": tree.log_start,
        "end": tree.log_end,
        "main": drawn.main,
        "led": {row["epoch"]: row["leader"] for row in tree.leaders},
        "branches": [
            {
                "segments": branch.segments,
                "gone": branch.is_truncated,
                "words": branch_in_words(branch),
            }
            for branch in drawn.branches
        ],
        "commits": [_drawn(commit, tree) for commit in commits],
        "notes": [leaders_in_words(tree), *notes],
        "said": " ".join(sentences),
    }
    return LogTree(str(tree.where), as_data(content), sentences)


def _drawn(commit: Commit, tree: Tree) -> dict[str, Any]:
    return {
        "offset": commit.offset,
        "epoch": commit.epoch,
        "groups": ", ".join(commit.groups),
        "words": commit_in_words(commit),
        "why": why(commit, tree),
        "bad": bool(commit.first.never_delivered),
        "skipped": commit.skipped,
        "resumed": commit.first.resumed_at,
        "raises": commit.first.exception is not None,
    }
