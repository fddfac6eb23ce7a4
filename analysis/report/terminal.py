"""The verdict in the terminal."""

from collections import Counter

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from analysis.report.first_screen import expected_line, failed_clients, reasons, verdict_line
from analysis.report.matrix import row_name
from analysis.report.standings import found_in_words
from analysis.report.stories import where
from analysis.report.words import times_of
from analysis.verdict.resumption import said_epochs
from analysis.verdict.rules import NOT_ASKED
from contract.nights import FindingState, Morning, NightSummary, Outcome, Stability
from contract.program import as_line
from contract.protocol import RULES
from contract.run_folder import RunDescription
from contract.terms import Check
from contract.verdicts import (
    CheckVerdict,
    Resumption,
    RunVerdict,
    StyleRow,
    UnexpectedFindings,
    Verdict,
    several_partitions,
)

_LINES_MAX = 10
"""Of the same kind; the page has all."""
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
    Outcome.OMITTED: "yellow",
    Outcome.KNOWN: "cyan",
}


def show(
    verdict: Verdict,
    console: Console,
    *,
    run: RunDescription | None = None,
    is_verbose: bool = False,
) -> None:
    """Print the verdict of one run: its answer, and what is unexpected or open.

    Where the question is how groups continue, those that commit in several styles are summed up by
    style; the page has each.

    Args:
        verdict: with its answer.
        console: of standard output.
        run: None if it is not known; then what is open is left out.
        is_verbose: also print every check, how the groups continued, and where the time went.
    """
    if is_verbose:
        _show_all(verdict, console)
    if verdict.styles and (is_verbose or Check.RESUMPTION in verdict.must_judge):
        console.print(_styles(verdict.styles))
        for line in said_epochs(verdict.resumption):
            console.print(f"  at the commit, {escape(line)}", soft_wrap=True)
    if verdict.rules:
        console.print(f"rules of the protocol, by API: {_rules(verdict)}", soft_wrap=True)
    colour = _COLOURS[verdict.verdict]
    name = row_name(verdict.scenario, verdict.parameters)
    console.print(
        f"[bold {colour}]{verdict.verdict}[/] {escape(name)}, seed {verdict.seed}, "
        f"Kafka {escape(verdict.on)}, {escape(verdict.cluster)}",
        soft_wrap=True,
    )
    ended = [entry for entry in verdict.unexpected if entry.check == Check.FAILED_CLIENT]
    _print_some(console, [_unexpected_line(entry) for entry in ended], style="red")
    _print_some(console, [_sentence(line) for line in failed_clients(verdict)], style="yellow")
    if verdict.answer:
        _print(console, verdict.answer)
    expectations = _sentence(expected_line(verdict))
    if verdict.verdict is RunVerdict.PASS:
        expectations += f" {verdict_line(verdict)}"
    _print(console, expectations)
    others = [entry for entry in verdict.unexpected if entry not in ended]
    _print_some(console, [_unexpected_line(entry) for entry in others], style="red")
    if run is not None:
        lines = [f"undecided: {reason.text}" for reason in reasons(verdict, run)]
        _print_some(console, lines, style="yellow")
        if run.error is not None:
            _print(console, f"error of the scenario: {run.error.strip().partition(chr(10))[0]}")
    follows = [] if verdict.follows is None else [f"What follows: {verdict.follows}"]
    _print_some(console, follows, style="")


def _print(console: Console, line: str, *, style: str = "") -> None:
    console.print(Text(as_line(line)), style=style, soft_wrap=True, highlight=False)


def _print_some(console: Console, lines: list[str], *, style: str) -> None:
    """Print the first lines of one kind, and how many more the page has."""
    for line in lines[:_LINES_MAX]:
        _print(console, line, style=style)
    if len(lines) > _LINES_MAX:
        _print(console, f"and {len(lines) - _LINES_MAX} more on the page", style=style)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _unexpected_line(unexpected: UnexpectedFindings) -> str:
    """The first of some unexpected findings, and how many there are, in a line."""
    more = "" if unexpected.findings == 1 else f" (the first of {unexpected.findings:,})"
    place = where(unexpected.first)
    return f"unexpected: {unexpected.check}:{unexpected.number}{more}: {unexpected.first.cause}" + (
        f" [{place}]" if place else ""
    )


def _show_all(verdict: Verdict, console: Console) -> None:
    if Check.RESUMPTION in verdict.must_judge and verdict.resumption and not verdict.styles:
        console.print(_resumption(verdict.resumption))
    console.print(_checks(verdict))
    if idle := _idle(verdict):
        _print(console, f"nothing to judge: {', '.join(idle)}")
    if times := times_of(verdict):
        _print(console, times)


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
    if summary.morning is not None:
        _show_morning(summary.morning, console)
    if summary.unexercised:
        named = escape(", ".join(summary.unexercised))
        console.print(f"checks that no run exercised: {named}", soft_wrap=True)
    if summary.changes:
        title = f"Changed since {escape(summary.compared_with or '')}"
        changes = Table(title=title, title_justify="left", box=None, pad_edge=False)
        for name in ("run", "what", "change"):
            changes.add_column(name)
        for change in summary.changes:
            changes.add_row(*(escape(word) for word in (change.run, change.what, change.change)))
        console.print(changes)


def _show_morning(morning: Morning, console: Console) -> None:
    """The findings of the night by their state, the scenarios that are not steady, and notes."""
    for finding in morning.findings:
        if finding.sightings or finding.state in (FindingState.FIXED, FindingState.GONE):
            worse = ", worse" if finding.is_worse else ""
            client = f", {finding.client}" if finding.client else ""
            _print(
                console,
                f"{finding.state}{worse}: {finding.check}{client}, {finding.scenario}: "
                f"{finding.why}",
            )
    for scenario in morning.scenarios:
        if scenario.verdict is not Stability.STEADY:
            named = f"{scenario.scenario}, Kafka {scenario.kafka}"
            _print(console, f"{scenario.verdict.in_words}: {named}: {scenario.why}")
    for note in morning.notes:
        _print(console, f"known.yml: {note}")


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
            f"({_number_or_dash(row.committed_offset)}, {_number_or_dash(row.committed_epoch)})",
            _number_or_dash(row.resumed_at),
            _number_or_dash(row.redelivered),
            f"[red]{row.never_delivered}[/]"
            if row.never_delivered
            else _number_or_dash(row.never_delivered),
            row.exception or "",
        )
    return table


def _rules(verdict: Verdict) -> str:
    """The number of rows of each verdict, and the rules of required checks without a response."""
    counts = Counter(row.verdict for row in verdict.rules)
    counted = ", ".join(f"{number} {reported}" for reported, number in sorted(counts.items()))
    required = {
        str(rule) for rule, definition in RULES.items() if definition.check in verdict.must_judge
    }
    asked = {row.rule for row in verdict.rules if row.responses}
    silent = {row.rule for row in verdict.rules if row.verdict == NOT_ASKED} & required - asked
    return f"{counted}; without a response: {', '.join(sorted(silent))}" if silent else counted


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
            escape(row.commit_epoch),
            f"({_number_or_dash(row.committed_offset)}, {_number_or_dash(row.committed_epoch)})",
            f"{row.groups} of {row.of}",
            "raises" if row.exception else _number_or_dash(row.resumed_at),
            _number_or_dash(row.redelivered),
            f"[red]{row.never_delivered}[/]"
            if row.never_delivered
            else _number_or_dash(row.never_delivered),
        )
    return table


def _checks(verdict: Verdict) -> Table:
    table = Table(title="Checks", title_justify="left", box=None, pad_edge=False)
    for name in ("check", "verdict", "evaluated", "findings", "summary, first example, or reason"):
        table.add_column(name, justify="right" if name == "evaluated" else "left")
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
            found_in_words(result),
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


def _number_or_dash(value: int | None) -> str:
    return "-" if value is None else str(value)
