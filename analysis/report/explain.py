"""`python -m analysis.report.explain RUN FINDING`: the story of one finding, in the terminal."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

import msgspec
import typer
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from analysis.report.run_facts import RunFacts
from analysis.report.standings import Standing, found_in_words, in_words, numbers, standing_of
from analysis.report.stories import where
from analysis.report.story import Story, story
from contract.errors import RunFolderError, UsageError
from contract.files import as_word, read_described
from contract.program import Terminal, run_program
from contract.run_folder import RunFolder, find_runs
from contract.verdicts import BY_SEVERITY, FINDINGS_FILE, Finding, Verdict, read_finding

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
_ANCHOR = re.compile(r"finding-(?P<check>\w+)-(?P<number>[0-9]+)")
_STANDINGS = list(Standing)
_OPEN = (Standing.UNEXPECTED, Standing.UNDECIDED)


@app.command()
def explain(
    run: Annotated[
        str, typer.Argument(help="A run's folder, or the address of a finding on its page.")
    ],
    finding: Annotated[
        str | None, typer.Argument(help="CHECK, CHECK:N, or the finding's id on the page.")
    ] = None,
    *,
    show_all: Annotated[bool, typer.Option("--all", help="Show every event.")] = False,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Show who wrote, who led, the faults, the commits, and where the group continued.

    Without a finding, list those of the run: what is unexpected or undecided, or all.
    """
    path, address = _place(run)
    (folder, *others) = find_runs(path)
    if others:
        raise UsageError(f"{path} holds {1 + len(others)} runs: name one, such as {folder.path}")
    folder.require_own()
    verdict = _verdict(folder)
    asked = finding or address
    if asked is None:
        _list(folder, verdict, show_all=show_all, as_json=as_json)
        return
    name, chosen = _finding(folder, verdict, asked)
    facts = RunFacts(folder)
    reported = story(facts, chosen)
    if as_json:
        typer.echo(_as_json(name, reported, facts))
    else:
        _show(reported, facts, show_all=show_all)


def _place(run: str) -> tuple[Path, str | None]:
    """The folder of a run, and the finding that an address of its page names, if any."""
    path, fragment = Path(run), ""
    if not path.exists():
        parts = urlsplit(run)
        named, _, fragment = run.partition("#")
        path = Path(unquote(parts.path) if parts.scheme == "file" else named)
    if path.suffix == ".html":
        path = path.parent.parent
    return path, fragment or None


def _show(reported: Story, facts: RunFacts, *, show_all: bool) -> None:
    out = Terminal(markup=True)
    finding = reported.finding
    out.print(
        f"[bold]{finding.check}[/] {finding.verdict}: {escape(finding.cause)}", soft_wrap=True
    )
    out.print(escape(where(finding)), highlight=False, soft_wrap=True)
    decisive = "" if reported.decisive is None else "; > is the decisive event"
    out.print(f"seconds from {facts.origin}{decisive}:", style="dim", highlight=False)
    moments = Table("", "seconds", "who", "what", box=None, pad_edge=False)
    moments.columns[1].justify = "right"
    passages = reported.fold()
    for passage in passages:
        if passage.summary and not show_all:
            moments.add_row("", "", "", passage.summary, style="dim")
            continue
        for moment in passage.moments:
            seconds = f"{facts.seconds(moment.at_micros):+.3f}"
            is_decisive = moment is reported.decisive
            moments.add_row(
                ">" if is_decisive else "",
                seconds,
                escape(moment.who),
                escape(moment.what),
                style="bold" if is_decisive else "",
            )
    out.print(moments)
    if any(passage.summary for passage in passages) and not show_all:
        out.print("--all shows every event", style="dim", highlight=False)
    for line in reported.ends:
        out.print(f"at the end, {line}", highlight=False, soft_wrap=True)
    for problem in facts.trace.unreadable.values():
        out.print(f"left out: {escape(problem)}", style="yellow", soft_wrap=True)
    out.print(f"evidence: {escape(msgspec.json.encode(finding.evidence).decode())}", soft_wrap=True)


def _as_json(name: str, reported: Story, facts: RunFacts) -> str:
    document = {
        "name": name,
        "finding": reported.finding,
        "origin": {"name": facts.origin, "at_micros": facts.zero_micros},
        "story": [
            {
                "at_micros": int(moment.at_micros),
                "seconds": facts.seconds(moment.at_micros),
                "who": moment.who,
                "what": moment.what,
                "is_decisive": moment is reported.decisive,
            }
            for moment in reported.moments
        ],
        "ends": reported.ends,
        "left_out": sorted(facts.trace.unreadable.values()),
    }
    return _format_json(document)


def _list(folder: RunFolder, verdict: Verdict, *, show_all: bool, as_json: bool) -> None:
    """The checks with findings, what is unexpected first; what may be is counted, or shown."""
    rows = sorted(_rows(folder, verdict), key=lambda row: _STANDINGS.index(row["standing"]))
    if as_json:
        typer.echo(_format_json({"findings": rows}))
        return
    out = Terminal()
    shown = [row for row in rows if show_all or row["standing"] in _OPEN]
    for row in shown:
        of = in_words(row["of"]) or found_in_words(verdict.checks[row["check"]])
        out.print(f"{row['standing']} {row['name']} ({of})", highlight=False, soft_wrap=True)
        out.print(Padding(row["cause"], (0, 0, 0, 4)), highlight=False)
    if not shown:
        which = "unexpected or undecided " if rows else ""
        out.print(f"The run has no {which}findings.")
    if folded := dict.fromkeys(row["check"] for row in rows if row not in shown):
        out.print(
            f"expected or permitted, and listed by --all: {', '.join(folded)}", highlight=False
        )


def _rows(folder: RunFolder, verdict: Verdict) -> Iterator[dict[str, Any]]:
    """One row a check and standing: the first of its findings."""
    for check, result in verdict.checks.items():
        first: dict[Standing, tuple[int, Finding]] = {}
        for number, finding in _first_findings(folder, verdict, check):
            first.setdefault(standing_of(finding, verdict), (number, finding))
        for standing, (number, finding) in first.items():
            yield {
                "check": check,
                "name": f"{check}:{number}",
                "of": numbers(result, standing),
                "standing": str(standing),
                "cause": finding.cause,
            }


def _first_findings(
    folder: RunFolder, verdict: Verdict, check: str
) -> Iterator[tuple[int, Finding]]:
    """The examples of a check, and the first finding of each verdict, with their numbers."""
    result = verdict.checks[check]
    yield from enumerate(result.examples, start=1)
    yield from ((entry.number, entry.first) for entry in verdict.unexpected if entry.check == check)
    number = 1
    for severity in BY_SEVERITY:
        is_behind = number > len(result.examples) and severity in result.by_verdict
        finding = read_finding(folder, check, number) if is_behind else None
        if finding is not None:
            yield number, finding
        number += result.by_verdict.get(severity, 0)


def _format_json(document: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _verdict(folder: RunFolder) -> Verdict:
    file = folder.report / "verdict.json"
    try:
        return read_described(file, Verdict, what="verdict")
    except FileNotFoundError:
        raise RunFolderError(
            f"{file} is missing: judge the run first, with "
            f"`fencepost analyze {as_word(folder.path)}`"
        ) from None


def _finding(folder: RunFolder, verdict: Verdict, asked: str) -> tuple[str, Finding]:
    """The finding that `CHECK`, `CHECK:N` or `finding-CHECK-N` names, N from 1; with its name.

    `CHECK` is its first unexpected finding, or its first one if none is unexpected.

    Raises:
        UsageError: there is no such finding; the message names those of the run.
    """
    check, number = _number(verdict, asked)
    result = verdict.checks.get(check)
    if result is not None and 1 <= number <= result.findings:
        of_check = {
            entry.number: entry.first for entry in verdict.unexpected if entry.check == check
        }
        of_check |= dict(enumerate(result.examples, start=1))
        chosen = of_check.get(number) or read_finding(folder, check, number)
        if chosen is not None:
            return f"{check}:{number}", chosen
        raise UsageError(
            f"{folder.report / FINDINGS_FILE} does not have {check}:{number}: judge the run again, "
            f"with `fencepost analyze {as_word(folder.path)}`"
        )
    there = [
        f"{found} (1 to {known.findings})"
        for found, known in verdict.checks.items()
        if known.findings
    ]
    raise UsageError(f"no finding {asked}; the run has: {', '.join(there) or 'none'}")


def _number(verdict: Verdict, asked: str) -> tuple[str, int]:
    """The check and the number of a finding, by its name or its id on the page."""
    if anchored := _ANCHOR.fullmatch(asked):
        return anchored["check"], int(anchored["number"])
    check, colon, number = asked.partition(":")
    if colon and not number.isdecimal():
        raise UsageError(f"{asked}: a number must follow the colon, such as {check}:2")
    unexpected = (entry.number for entry in verdict.unexpected if entry.check == check)
    return check, int(number) if colon else next(unexpected, 1)


if __name__ == "__main__":
    run_program(app)
