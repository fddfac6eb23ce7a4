"""`fencepost list`."""

import enum
import json
from typing import Annotated

import typer
from rich.table import Table

from contract.errors import UsageError
from contract.packages import load
from contract.program import Terminal, say
from harness.commands.options import AsJson, Scenarios
from harness.session.catalog import scenarios as known_scenarios

_LISTS = "harness.commands.inventory:LISTS"


class Kind(enum.StrEnum):
    """What is listed."""

    SCENARIOS = "scenarios"
    CHECKS = "checks"
    VERBS = "verbs"
    FAULTS = "faults"
    SETTINGS = "settings"
    CLIENTS = "clients"


def list_scenarios(
    kind: Annotated[Kind, typer.Argument(help="What to list.")] = Kind.SCENARIOS,
    word: Annotated[str, typer.Argument(help="Only lines that have this word, in any case.")] = "",
    scenarios: Scenarios = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List the scenarios and their questions, or what there is to write and to read one with.

    A line each. Your own scenarios are listed by the path by which `run` takes them; exits 64 if
    the file of one can't be read.
    """
    if kind is not Kind.SCENARIOS:
        _list(kind, word, as_json=as_json)
        return
    listed = known_scenarios(scenarios)
    readable = [scenario for scenario in listed if not scenario.problem]
    found = [scenario for scenario in readable if _has(word, scenario.named, scenario.question)]
    if as_json:
        rows = [
            {
                "name": scenario.name,
                "named": scenario.named,
                "question": scenario.question,
                "parameters": scenario.parameters,
            }
            for scenario in found
        ]
        typer.echo(json.dumps({"scenarios": rows}, indent=2))
    else:
        print_rows("scenario", "question", [(one.named, one.question) for one in found])
    for scenario in listed:
        if scenario.problem:
            say(scenario.problem)
    if len(readable) < len(listed):
        raise typer.Exit(UsageError.exit_code)


def _list(kind: Kind, word: str, *, as_json: bool) -> None:
    """What the code declares: of an installation, what is in force there."""
    found = [row for row in load(_LISTS)[kind]() if _has(word, *row)]
    if as_json:
        rows = [{"name": name, "what": what} for name, what in found]
        typer.echo(json.dumps({str(kind): rows}, indent=2))
    else:
        print_rows(kind.removesuffix("s"), "what", found)


def _has(word: str, *texts: str) -> bool:
    return any(word.lower() in text.lower() for text in texts)


def print_rows(left: str, right: str, rows: list[tuple[str, str]]) -> None:
    """Print a table of two columns."""
    table = Table(left, right, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    Terminal().print(table)
