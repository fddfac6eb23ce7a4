"""How each group went on after it was opened again, and what its commit style had committed."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from analysis.statements.trace import Trace
from analysis.verdict.decision import crashed, unjudged
from contract.errors import TableError
from contract.events import NO_EPOCH
from contract.run_folder import GroupPlan
from contract.terms import CommitEpoch
from contract.verdicts import CheckResult, CheckVerdict, Resumption, StyleRow

_NEEDS = ("group_events", "committed_offsets", "polls")
_EPOCHS = ("record_epoch", "position_epoch", "metadata_epoch", "cluster_epoch")


def resumptions(trace: Trace) -> tuple[list[Resumption], CheckResult]:
    """How each group went on after it was stopped and opened again, or after its last pause.

    With their count as the result of a check.
    """
    if lacks := trace.lacks(_NEEDS):
        return [], unjudged(CheckVerdict.NOT_EVALUABLE, lacks)
    try:
        resumed = _resumed(trace)
    except TableError as error:
        return [], unjudged(CheckVerdict.NOT_EVALUABLE, str(error))
    except Exception as error:  # noqa: BLE001 - the checks are reported all the same
        return [], crashed(error)
    if not resumed:
        return [], unjudged(CheckVerdict.NOT_EVALUABLE, "no group was opened a second time")
    holds = CheckResult(verdict=CheckVerdict.HOLDS, evaluated=len(resumed), findings=0, examples=[])
    return resumed, holds


def _resumed(trace: Trace) -> list[Resumption]:
    rows = trace.ask("select * from resumptions order by topic, partition")
    by_group = {group.group: group for group in trace.plan.groups}
    order = {group: index for index, group in enumerate(sorted(by_group))}
    reported = []
    for row in sorted(rows, key=lambda row: order[row["group"]]):
        plan = by_group[row["group"]]
        reported.append(
            Resumption(
                group=row["group"],
                client=plan.client,
                commit_epoch=plan.commit_epoch,
                reset=plan.reset,
                committed_offset=row["committed_offset"],
                committed_epoch=row["committed_epoch"],
                resumed_at=None if row["exception"] else row["resumed_at"],
                redelivered=row["redelivered"],
                never_delivered=None if row["exception"] else row["never_delivered"],
                exception=_exception(row),
                topic=row["topic"],
                partition=row["partition"],
                **{name: row[name] for name in _EPOCHS},
            )
        )
    return reported


def _exception(row: dict[str, Any]) -> str | None:
    name: str | None = row["exception"]
    if name is None or row["divergent_offset"] is None:
        return name
    return f"{name} (divergent offset {row['divergent_offset']})"


_PLACES = {style: place for place, style in enumerate(CommitEpoch)}

IN_WORDS = {
    CommitEpoch.RECORD: "the last record's, by plain commitSync()",
    CommitEpoch.APPLICATION: "the last record's, kept by the application",
    CommitEpoch.POSITION: "of the position's leader, read out of the client",
    CommitEpoch.METADATA: "of the client's metadata, read out of the client",
    CommitEpoch.MAX: "the larger of record and position, read out of the client",
    CommitEpoch.FORCED: "forced: the cluster's, asked for by the application",
    CommitEpoch.NONE: "none",
    CommitEpoch.STALE: "one below the record's: a faulty client",
}
"""What is committed in each style."""

SOURCES = {
    "record_epoch": "the last record polled",
    "position_epoch": "the leader of the client's position",
    "metadata_epoch": "the client's metadata",
    "cluster_epoch": "the cluster",
}
"""Where a client can take an epoch from when it commits, by the column that keeps it."""


def style_rows(resumed: Sequence[Resumption], groups: Iterable[GroupPlan]) -> list[StyleRow]:
    """One row for all groups of a style and labels that committed the same and went on alike.

    A run whose groups all commit in one style has none.
    """
    labels = {group.group: group.labels for group in groups}
    is_one_style = len({row.commit_epoch for row in resumed}) <= 1
    if is_one_style:
        return []
    alike: dict[tuple[object, ...], list[Resumption]] = {}
    kinds: Counter[tuple[object, ...]] = Counter()
    for row in resumed:
        kind = (row.commit_epoch, *sorted(labels.get(row.group, {}).items()))
        kinds[kind] += 1
        alike.setdefault((kind, *_went_on(row)), []).append(row)
    rows = [
        StyleRow(
            commit_epoch=first.commit_epoch,
            labels=labels.get(first.group, {}),
            committed_offset=first.committed_offset,
            committed_epoch=first.committed_epoch,
            resets=sorted({row.reset for row in found}),
            groups=len(found),
            of=kinds[first.commit_epoch, *sorted(labels.get(first.group, {}).items())],
            resumed_at=first.resumed_at,
            redelivered=first.redelivered,
            never_delivered=first.never_delivered,
            exception=first.exception,
        )
        for found in alike.values()
        for first in found[:1]
    ]
    return sorted(rows, key=_order)


def epochs_known(resumed: Iterable[Resumption]) -> dict[str, Counter[int]]:
    """By source: which epochs clients had there at their commits, and in how many groups."""
    found: dict[str, Counter[int]] = {}
    for row in resumed:
        for column, source in SOURCES.items():
            epoch = getattr(row, column)
            if epoch is not None and epoch != NO_EPOCH:
                found.setdefault(source, Counter())[epoch] += 1
    return found


def said_epochs(resumed: Iterable[Resumption]) -> list[str]:
    """`epochs_known` in words, a line for each source."""
    return [
        f"{source}: "
        + ", ".join(
            f"epoch {epoch} in {count} of {counts.total()}"
            for epoch, count in sorted(counts.items())
        )
        for source, counts in epochs_known(resumed).items()
    ]


def _went_on(row: Resumption) -> tuple[object, ...]:
    return (
        row.committed_offset,
        row.committed_epoch,
        row.resumed_at,
        row.redelivered,
        row.never_delivered,
        row.exception,
    )


def _order(row: StyleRow) -> tuple[object, ...]:
    labels = tuple(sorted(row.labels.items()))
    return labels, _PLACES[row.commit_epoch], row.committed_epoch or 0, -row.groups
