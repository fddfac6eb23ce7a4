"""The verdict in the terminal."""

from collections import Counter

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from analysis.report.times import told_timing
from analysis.verdict.styles import said_epochs
from contract.checks import Check
from contract.nights import NightSummary, Outcome
from contract.verdicts import (
    CheckVerdict,
    Resumption,
    RuleRow,
    RunVerdict,
    StyleRow,
    Verdict,
    several_partitions,
)

_COLOURS = {
    RunVerdict.PASS: "green",
    RunVerdict.FAIL: "red",
    RunVerdict.UNDECIDED: "yellow",
    CheckVerdict.HOLDS: "green",
    CheckVerdict.VIOLATED: "red",
    CheckVerdict.PERMITTED: "cyan",
    CheckVerdict.UNDECIDED: "yellow",
    CheckVerdict.NOT_EVALUABLE: "yellow",
    Outcome.EXPECTED: "green",
    Outcome.UNEXPECTED: "red",
}


def show(verdict: Verdict, console: Console) -> None:
    """Print checks, how the groups went on, and the verdict of one run.

    How groups went on is shown where the question is about it. Groups that commit in several styles
    are summed up by style; the page has each.
    """
    if Check.RESUMPTION in verdict.must_judge and verdict.resumption and not verdict.styles:
        console.print(_resumption(verdict.resumption))
    console.print(_checks(verdict))
    if idle := _idle(verdict):
        console.print(f"nothing to judge: {escape(', '.join(idle))}", soft_wrap=True)
    if verdict.styles:
        console.print(_styles(verdict.styles))
        for line in said_epochs(verdict.resumption):
            console.print(f"  at the commit, {escape(line)}", soft_wrap=True)
    if verdict.rules:
        console.print(f"rules of the protocol, by API: {_rules(verdict.rules)}", soft_wrap=True)
    colour = _COLOURS[verdict.verdict]
    console.print(
        f"[bold {colour}]{verdict.verdict}[/] {verdict.scenario}, seed {verdict.seed}, "
        f"Kafka {verdict.kafka}, {verdict.cluster}"
    )
    for doubt in verdict.doubts:
        console.print(f"[yellow]undecided:[/] {escape(doubt)}", soft_wrap=True)
    if verdict.timing is not None:
        console.print(escape(told_timing(verdict.timing)), soft_wrap=True)


def show_night(summary: NightSummary, console: Console) -> None:
    """Print what each run of a night came to, and what changed since the last."""
    runs = Table("run", "seed", "verdict", "outcome", "error", box=None, pad_edge=False)
    for row in summary.runs:
        runs.add_row(
            escape(row.key),
            str(row.seed),
            f"[{_COLOURS[row.verdict]}]{row.verdict}[/]",
            f"[{_COLOURS[row.outcome]}]{row.outcome}[/]",
            escape((row.error or "").partition("\n")[0]),
        )
    console.print(runs)
    if summary.unexercised:
        named = escape(", ".join(summary.unexercised))
        console.print(f"checks that no run exercised: {named}", soft_wrap=True)
    if summary.changes:
        title = f"Changed since {escape(summary.compared_with or '')}"
        changes = Table(title=title, title_justify="left", box=None, pad_edge=False)
        for name in ("run", "what", "change"):
            changes.add_column(name)
        for one in summary.changes:
            changes.add_row(*(escape(word) for word in (one.run, one.what, one.change)))
        console.print(changes)


def _resumption(rows: list[Resumption]) -> Table:
    table = Table(title="How each group continued", title_justify="left", box=None, pad_edge=False)
    for name in ("group", "committed", "resumed at", "redelivered", "never delivered", "exception"):
        is_text = name in ("group", "exception")
        table.add_column(name, justify="left" if is_text else "right", no_wrap=name == "group")
    several = several_partitions(rows)
    for row in rows:
        where = f" {row.topic}-{row.partition}" if row.group in several else ""
        table.add_row(
            escape(f"{row.group}{where}"),
            f"({_told(row.committed_offset)}, {_told(row.committed_epoch)})",
            _told(row.resumed_at),
            _told(row.redelivered),
            f"[red]{row.never_delivered}[/]" if row.never_delivered else _told(row.never_delivered),
            row.exception or "",
        )
    return table


def _rules(rows: list[RuleRow]) -> str:
    """The number of rows of each verdict, as `3 holds, 1 not applicable`."""
    counts = Counter(row.verdict for row in rows)
    return ", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items()))


def _styles(rows: list[StyleRow]) -> Table:
    title = "What each commit style committed, and what followed"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    labels = sorted({name for row in rows for name in row.labels})
    for name in (*labels, "style", "committed", "groups"):
        table.add_column(name, no_wrap=True)
    for name in ("resumed at", "redelivered", "never delivered"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            *(escape(row.labels.get(name, "")) for name in labels),
            escape(row.style),
            f"({_told(row.committed_offset)}, {_told(row.committed_epoch)})",
            f"{row.groups} of {row.of}",
            "raises" if row.exception else _told(row.resumed_at),
            _told(row.redelivered),
            f"[red]{row.never_delivered}[/]" if row.never_delivered else _told(row.never_delivered),
        )
    return table


def _checks(verdict: Verdict) -> Table:
    table = Table(title="Checks", title_justify="left", box=None, pad_edge=False)
    for name in ("check", "verdict", "evaluated", "findings", "summary, first example, or reason"):
        table.add_column(name, justify="right" if name in ("evaluated", "findings") else "left")
    idle = _idle(verdict)
    for name, result in verdict.checks.items():
        if name in idle:
            continue
        example = result.examples[0] if result.examples else None
        where = f"{example.group or example.topic or ''}: " if example else ""
        table.add_row(
            name,
            f"[{_COLOURS[result.verdict]}]{result.verdict}[/]",
            str(result.evaluated),
            str(result.findings),
            escape(result.summary or (f"{where}{example.cause}" if example else result.reason)),
        )
    return table


def _idle(verdict: Verdict) -> list[str]:
    """The checks that had nothing to judge, and need not have had anything."""
    return [
        name
        for name, result in verdict.checks.items()
        if result.verdict is CheckVerdict.NOT_EVALUABLE and name not in verdict.must_judge
    ]


def _told(value: int | None) -> str:
    return "-" if value is None else str(value)
