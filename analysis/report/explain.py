"""`python -m analysis.report.explain RUN FINDING`: the story of one finding, in the terminal."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

import msgspec
import typer
from rich.markup import escape
from rich.table import Table

from analysis.report.stories import Standing, standing_of, where
from analysis.report.story import Moment, Origin, ends, origin, story, tables_of
from contract.errors import RunFolderError, UsageError
from contract.findings import FINDINGS_FILE, read_finding
from contract.program import run_program
from contract.regular_files import read_file
from contract.run_folder import RunFolder, find_runs
from contract.tables import MICROS_PER_SECOND
from contract.terminal import Terminal
from contract.verdicts import Finding, Verdict

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
_ANCHOR = re.compile(r"finding-(?P<check>\w+)-(?P<number>[0-9]+)")
_STANDINGS = list(Standing)


@dataclass(frozen=True)
class _Story:
    """A finding with all that is known about it."""

    name: str
    finding: Finding
    origin: Origin
    moments: list[Moment]
    ends: list[str]

    def seconds(self, moment: Moment) -> float:
        return float((moment.at_micros - self.origin.at_micros) / MICROS_PER_SECOND)


@app.command()
def explain(
    run: Annotated[
        str, typer.Argument(help="A run's folder, or the address of a finding on its page.")
    ],
    finding: Annotated[
        str | None, typer.Argument(help="CHECK, CHECK:N, or the finding's id on the page.")
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Show who wrote, who led, the faults, the commits, and where the group continued.

    Without a finding, list those of the run.
    """
    path, address = _place(run)
    (folder, *others) = find_runs(path)
    if others:
        raise UsageError(f"{path} holds {1 + len(others)} runs: name one, such as {folder.path}")
    verdict = _verdict(folder)
    asked = finding or address
    if asked is None:
        _list(verdict, as_json=as_json)
        return
    name, chosen = _finding(folder, verdict, asked)
    tables = tables_of(folder)
    told = _Story(
        name=name,
        finding=chosen,
        origin=origin(folder, tables),
        moments=story(folder, chosen, tables),
        ends=ends(folder, chosen, tables),
    )
    if as_json:
        typer.echo(_as_json(told))
    else:
        _show(told)


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


def _show(told: _Story) -> None:
    out = Terminal(markup=True)
    one = told.finding
    out.print(f"[bold]{one.check}[/] {one.verdict}: {escape(one.cause)}", soft_wrap=True)
    out.print(escape(where(one)), highlight=False, soft_wrap=True)
    out.print(f"seconds from {told.origin.name}:", style="dim", highlight=False)
    moments = Table("seconds", "who", "what", box=None, pad_edge=False)
    moments.columns[0].justify = "right"
    for moment in told.moments:
        moments.add_row(f"{told.seconds(moment):+.3f}", escape(moment.who), escape(moment.what))
    out.print(moments)
    for line in told.ends:
        out.print(f"at the end, {line}", highlight=False, soft_wrap=True)
    out.print(f"evidence: {escape(msgspec.json.encode(one.evidence).decode())}", soft_wrap=True)


def _as_json(told: _Story) -> str:
    document = {
        "name": told.name,
        "finding": told.finding,
        "origin": {"name": told.origin.name, "at_micros": int(told.origin.at_micros)},
        "story": [
            {
                "at_micros": int(one.at_micros),
                "seconds": told.seconds(one),
                "who": one.who,
                "what": one.what,
            }
            for one in told.moments
        ],
        "ends": told.ends,
    }
    return _formatted(document)


def _list(verdict: Verdict, *, as_json: bool) -> None:
    """The checks with findings, what is unexpected first."""
    rows = sorted(_rows(verdict), key=lambda row: _STANDINGS.index(row["standing"]))
    if as_json:
        typer.echo(_formatted({"findings": rows}))
        return
    table = Table("finding", "of", "standing", "cause", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for row in rows:
        table.add_row(row["name"], str(row["of"]), row["standing"], escape(row["cause"]))
    out = Terminal(markup=True)
    out.print(table if rows else "The run has no findings.")


def _rows(verdict: Verdict) -> Iterator[dict[str, Any]]:
    """One row a check and standing: the first of its findings."""
    for check, result in verdict.checks.items():
        first: dict[Standing, tuple[int, Finding]] = {}
        shown = list(enumerate(result.examples, start=1))
        shown += [(one.number, one.first) for one in verdict.unexpected if one.check == check]
        for number, finding in shown:
            first.setdefault(standing_of(finding, verdict), (number, finding))
        for standing, (number, finding) in first.items():
            yield {
                "name": f"{check}:{number}",
                "of": result.findings,
                "standing": str(standing),
                "cause": finding.cause,
            }


def _formatted(document: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _verdict(folder: RunFolder) -> Verdict:
    file = folder.report / "verdict.json"
    try:
        return msgspec.json.decode(read_file(file), type=Verdict)
    except FileNotFoundError:
        raise RunFolderError(
            f"{file} is missing: judge the run first, with `fencepost analyze {folder.path}`"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        raise RunFolderError(f"{file} is not a valid verdict: {error}") from error


def _finding(folder: RunFolder, verdict: Verdict, asked: str) -> tuple[str, Finding]:
    """The finding that `CHECK`, `CHECK:N` or `finding-CHECK-N` names, N from 1; with its name.

    `CHECK` is its first unexpected finding, or its first one if none is unexpected.

    Raises:
        UsageError: there is none; names those that there are.
    """
    check, number = _number(verdict, asked)
    result = verdict.checks.get(check)
    if result is not None and 1 <= number <= result.findings:
        of_check = {one.number: one.first for one in verdict.unexpected if one.check == check}
        of_check |= dict(enumerate(result.examples, start=1))
        chosen = of_check.get(number) or read_finding(folder, check, number)
        if chosen is not None:
            return f"{check}:{number}", chosen
        raise UsageError(
            f"{folder.report / FINDINGS_FILE} does not have {check}:{number}: judge the run again, "
            f"with `fencepost analyze {folder.path}`"
        )
    there = [
        f"{found} (1 to {one.findings})" for found, one in verdict.checks.items() if one.findings
    ]
    raise UsageError(f"no finding {asked}; the run has: {', '.join(there) or 'none'}")


def _number(verdict: Verdict, asked: str) -> tuple[str, int]:
    """The check and the number of a finding, by its name or its id on the page."""
    if anchored := _ANCHOR.fullmatch(asked):
        return anchored["check"], int(anchored["number"])
    check, colon, number = asked.partition(":")
    if colon and not number.isdecimal():
        raise UsageError(f"{asked}: a number must follow the colon, such as {check}:2")
    unexpected = (one.number for one in verdict.unexpected if one.check == check)
    return check, int(number) if colon else next(unexpected, 1)


if __name__ == "__main__":
    run_program(app)
