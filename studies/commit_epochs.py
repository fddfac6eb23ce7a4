"""The commits of each commit style, over several runs: `python -m studies.commit_epochs FOLDER...`.

Reads the verdicts of scenario `commit_epoch` below the folders, sums up their styles, and writes
the tables of README.md and docs/commit-epoch.md, between the marks that these pages hold.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from analysis.verdict.resumption import IN_WORDS, epochs_known
from contract.errors import FencepostError, UsageError
from contract.markdown import table
from contract.outcomes import CommitEpoch
from contract.verdicts import StyleRow, Verdict

SCENARIO = "commit_epoch"
_ROOT = Path(__file__).resolve().parents[1]
_MATRIX = (
    *("log end", "style", "committed epoch", "groups", "reset policy", "resumed at"),
    *("redelivered", "new records never delivered"),
)
_BRIEF = (
    *("style", "epoch that is committed", "committed", "resumed at"),
    "new records never delivered",
)


def summed(verdicts: Iterable[Verdict]) -> list[StyleRow]:
    """Return the rows of all runs, equal rows as one, in the order of a run."""
    alike: dict[tuple[object, ...], StyleRow] = {}
    of: Counter[tuple[str, str]] = Counter()
    for verdict in verdicts:
        of.update({_kind(row): row.of for row in verdict.styles})
        for row in verdict.styles:
            before = alike.get(_went_on(row))
            alike[_went_on(row)] = row if before is None else _together(before, row)
    rows = [msgspec.structs.replace(row, of=of[_kind(row)]) for row in alike.values()]
    styles = [str(style) for style in CommitEpoch]
    return sorted(
        rows,
        key=lambda row: (
            sorted(row.labels.items()),
            styles.index(row.style),
            row.committed_epoch or 0,
            row.exception or "",
            row.resets,
        ),
    )


def matrix(rows: Iterable[StyleRow]) -> str:
    """Return a table with a line for each row."""
    return table(
        _MATRIX,
        (
            (
                row.labels.get("log_end", ""),
                row.style,
                _reported(row.committed_epoch),
                f"{row.groups} of {row.of}",
                ", ".join(row.resets),
                f"raises {row.exception}" if row.exception else _reported(row.resumed_at),
                _reported(row.redelivered),
                _reported(row.never_delivered),
            )
            for row in rows
        ),
    )


def brief(rows: Iterable[StyleRow], *, log_end: str) -> str:
    """Return a table with a line for each style and epoch, for one side of the log end."""
    kinds: dict[tuple[str, int | None], list[StyleRow]] = {}
    for row in rows:
        if row.labels.get("log_end") == log_end:
            kinds.setdefault((row.style, row.committed_epoch), []).append(row)
    lines = []
    for (style, epoch), found in kinds.items():
        went: Counter[str] = Counter()
        missed: Counter[str] = Counter()
        for row in found:
            went["raises" if row.exception else _reported(row.resumed_at)] += row.groups
            missed["-" if row.exception else _reported(row.never_delivered)] += row.groups
        groups = sum(row.groups for row in found)
        committed = f"{_reported(epoch)} in {groups} of {found[0].of}"
        counts = _counts(went, groups), _counts(missed, groups)
        lines.append((style, IN_WORDS[CommitEpoch(style)], committed, *counts))
    return table(_BRIEF, lines)


def runs_in_words(verdicts: Sequence[Verdict]) -> str:
    """Return a sentence on the runs of the tables."""
    kafka = ", ".join(sorted({verdict.kafka for verdict in verdicts}))
    seeds = ", ".join(str(seed) for seed in sorted(verdict.seed for verdict in verdicts))
    judged = Counter(str(verdict.verdict) for verdict in verdicts)
    verdict_counts = ", ".join(f"{verdict} {count}" for verdict, count in sorted(judged.items()))
    return f"{len(verdicts)} runs (seeds {seeds}), Kafka {kafka}; verdicts: {verdict_counts}."


def conditions(verdicts: Sequence[Verdict]) -> str:
    """Return the runs of the tables, and their clients' epochs at the commits."""
    known = epochs_known(row for verdict in verdicts for row in verdict.resumption)
    rows = ((source, _counts(_as_text(counts), counts.total())) for source, counts in known.items())
    epochs = table(["epoch at the commit, of", "in how many groups"], rows)
    return f"{runs_in_words(verdicts)}\n\n{epochs}"


def written(page: str, mark: str, text: str) -> str:
    """Return the page with the text between a mark's two lines replaced.

    Raises:
        UsageError: the page has no such mark.
    """
    begin, end = f"<!-- studies.commit_epochs: {mark} -->", "<!-- end -->"
    found = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}", re.DOTALL)
    if not found.search(page):
        raise UsageError(f"the page has no mark {begin} with a line {end} after it")
    return found.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", page, count=1)


def read(folders: Iterable[Path]) -> list[Verdict]:
    """The verdicts of the scenario below some folders.

    Raises:
        UsageError: there is none.
    """
    files = [file for folder in folders for file in sorted(folder.rglob("verdict.json"))]
    verdicts = [msgspec.json.decode(file.read_bytes(), type=Verdict) for file in files]
    chosen = [verdict for verdict in verdicts if verdict.scenario == SCENARIO]
    if not chosen:
        raise UsageError(f"no verdict of {SCENARIO} below these folders: make commit-epochs")
    return chosen


def main() -> None:
    """Write the tables."""
    try:
        verdicts = read(Path(folder) for folder in sys.argv[1:])
        rows = summed(verdicts)
        texts = {
            "brief": f"{brief(rows, log_end='above')}\n\n{runs_in_words(verdicts)}",
            "matrix": matrix(rows),
            "conditions": conditions(verdicts),
        }
        pages = {"README.md": ["brief"], "docs/commit-epoch.md": ["conditions", "matrix"]}
        for name, marks in pages.items():
            page = (_ROOT / name).read_text()
            for mark in marks:
                page = written(page, mark, texts[mark])
            (_ROOT / name).write_text(page)
            print(f"wrote {name}")
    except FencepostError as error:
        sys.exit(f"error: {error}")


def _kind(row: StyleRow) -> tuple[str, str]:
    return row.style, str(sorted(row.labels.items()))


def _went_on(row: StyleRow) -> tuple[object, ...]:
    return (
        _kind(row),
        row.committed_offset,
        row.committed_epoch,
        row.resumed_at,
        row.redelivered,
        row.never_delivered,
        row.exception,
    )


def _together(one: StyleRow, other: StyleRow) -> StyleRow:
    return msgspec.structs.replace(
        one,
        groups=one.groups + other.groups,
        resets=sorted({*one.resets, *other.resets}),
    )


def _reported(value: int | None) -> str:
    return "-" if value is None else str(value)


def _as_text(counts: Counter[int]) -> Counter[str]:
    return Counter({str(value): count for value, count in sorted(counts.items())})


def _counts(counts: Counter[str], total: int) -> str:
    """`100 in 10 of 15, raises in 5 of 15`."""
    return ", ".join(f"{value} in {count} of {total}" for value, count in counts.items())


if __name__ == "__main__":
    main()
