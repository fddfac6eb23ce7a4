"""Commits of groups on a partition, and where the groups continued; equal ones are one row."""

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.report.log_tree.model import Tree
from analysis.report.timeline.rows import rows_of
from analysis.report.timeline.source import Source
from contract.checks import Check
from contract.verdicts import Resumption

_NO_EPOCH = -1


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
        told = [f"{client}: {', '.join(styles)}" for client, styles in by_client.items()]
        return f"{len(self.groups)} groups ({'; '.join(told)})"


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
    stored = source.of_partition("committed_offsets", tree.where).sort_values("offsets_offset")
    stored = stored[~stored["is_tombstone"].astype(bool)].dropna(subset=["offset"])
    styles = {group.group: group for group in source.plan.groups}
    for row in rows_of(stored.drop_duplicates("group", keep="last")):
        plan = styles.get(row["group"])
        if plan is not None and row["marker"] != "abort":
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
    """The offsets that a group was never delivered, by group, as findings name them."""
    found = source.found_of(Check.SKIPPED_RECORD)
    columns = ["topic", "partition", "group", "offset_first", "offset_last"]
    return {
        row["group"]: (row["offset_first"], row["offset_last"])
        for row in rows_of(found[columns].dropna().drop_duplicates("group"))
        if (row["topic"], row["partition"]) == tree.where
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
