"""The commit styles of a run in one small table: a row for each style, a column for each label."""

from dataclasses import dataclass

from analysis.report.words import with_noun
from analysis.verdict.resumption import IN_WORDS
from contract.outcomes import CommitEpoch
from contract.verdicts import StyleRow


@dataclass(frozen=True)
class Cell:
    """How groups of one style and label continued, each way with its count of groups."""

    ways: list[str]
    has_skipped: bool


@dataclass(frozen=True)
class StyleLine:
    """A style, what it commits in words, the epochs that it committed, and a cell per column."""

    style: str
    commits: str
    epochs: str
    cells: list[Cell]


def columns(rows: list[StyleRow]) -> list[str]:
    """The labels of the groups, e.g. `log_end above`, in their order."""
    return sorted({_label(row) for row in rows})


def lines(rows: list[StyleRow]) -> list[StyleLine]:
    """A line for each style, in the order of the rows."""
    labels = columns(rows)
    made = []
    for style in dict.fromkeys(row.style for row in rows):
        own = [row for row in rows if row.style == style]
        known = {row.committed_epoch for row in own if row.committed_epoch is not None}
        epochs = sorted(known)
        made.append(
            StyleLine(
                style=style,
                commits=IN_WORDS.get(CommitEpoch(style), "") if style in set(CommitEpoch) else "",
                epochs=", ".join("none" if epoch < 0 else str(epoch) for epoch in epochs),
                cells=[_cell([row for row in own if _label(row) == label]) for label in labels],
            )
        )
    return made


def _label(row: StyleRow) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(row.labels.items()))


def _cell(rows: list[StyleRow]) -> Cell:
    return Cell(
        ways=[f"{row.groups} of {row.of} {_way(row)}" for row in rows],
        has_skipped=any(row.never_delivered for row in rows),
    )


def _way(row: StyleRow) -> str:
    """E.g. `resumed at 200, skipped 100 records`."""
    if row.exception:
        return f"raised {row.exception.partition(' ')[0]}"
    reported = "did not resume" if row.resumed_at is None else f"resumed at {row.resumed_at:,}"
    if row.never_delivered:
        reported += f", skipped {with_noun(row.never_delivered, 'record')}"
    if row.redelivered:
        reported += f", read {with_noun(row.redelivered, 'record')} again"
    return reported
