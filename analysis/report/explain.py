"""`python -m analysis.report.explain RUN FINDING`: the story of one finding, in the terminal."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from analysis.report.story import ends, story
from contract.errors import RunFolderError, UsageError
from contract.program import run_program
from contract.regular_files import read_file
from contract.run_folder import RunFolder, find_runs
from contract.tables import MICROS_PER_SECOND
from contract.verdicts import Finding, Verdict

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def explain(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    finding: Annotated[
        str, typer.Argument(help="A check, or CHECK:N for the Nth of its examples.")
    ],
) -> None:
    """Show who wrote, who led, the faults, the commits, and where the group continued."""
    (folder, *others) = find_runs(run)
    if others:
        raise UsageError(f"{run} holds {1 + len(others)} runs: name one, such as {folder.path}")
    verdict = _verdict(folder)
    chosen = _finding(verdict, finding)
    out = Console()
    out.print(f"[bold]{chosen.check}[/] {chosen.verdict}: {escape(chosen.cause)}", soft_wrap=True)
    out.print(escape(_where(chosen)), highlight=False, soft_wrap=True)
    began = folder.run().started_micros
    moments = Table("seconds", "who", "what", box=None, pad_edge=False)
    moments.columns[0].justify = "right"
    for moment in story(folder, chosen):
        seconds = (moment.at_micros - began) / MICROS_PER_SECOND
        moments.add_row(f"{seconds:.3f}", escape(moment.who), escape(moment.what))
    out.print(moments)
    for line in ends(folder, chosen):
        out.print(f"at the end, {line}", highlight=False, soft_wrap=True)
    out.print(f"evidence: {escape(msgspec.json.encode(chosen.evidence).decode())}", soft_wrap=True)


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


def _finding(verdict: Verdict, name: str) -> Finding:
    """The finding that `CHECK` or `CHECK:N` names, N from 1.

    Raises:
        UsageError: there is none; names those that there are.
    """
    check, _, number = name.partition(":")
    result = verdict.checks.get(check)
    examples = result.examples if result is not None else []
    if number and not number.isdecimal():
        raise UsageError(f"{name}: a number must follow the colon, such as {check}:2")
    chosen = int(number or 1)
    if 1 <= chosen <= len(examples):
        return examples[chosen - 1]
    there = [
        f"{found} (1 to {len(one.examples)})"
        for found, one in verdict.checks.items()
        if one.examples
    ]
    raise UsageError(f"no finding {name}; the run has: {', '.join(there) or 'none'}")


def _where(finding: Finding) -> str:
    parts = []
    if finding.topic is not None and finding.partition is not None:
        parts.append(f"{finding.topic}-{finding.partition}")
    if finding.offset_first is not None:
        parts.append(f"offsets {finding.offset_first} to {finding.offset_last}")
    if finding.group is not None:
        parts.append(f"group {finding.group} ({finding.client})")
    return ", ".join(parts)


if __name__ == "__main__":
    run_program(app)
