"""`fencepost list`."""

import json

import typer
from rich.table import Table

from contract.errors import UsageError
from contract.program import Terminal, say
from harness.commands.options import AsJson, Scenarios
from harness.session.catalog import scenarios as known_scenarios


def list_scenarios(scenarios: Scenarios = None, *, as_json: AsJson = False) -> None:
    """List the scenarios and their questions; exits 64 if the file of one can't be read.

    Your own are listed by the path by which `run` takes them.
    """
    listed = known_scenarios(scenarios)
    readable = [one for one in listed if not one.problem]
    if as_json:
        rows = [
            {
                "name": one.name,
                "named": one.named,
                "question": one.question,
                "parameters": one.parameters,
            }
            for one in readable
        ]
        typer.echo(json.dumps({"scenarios": rows}, indent=2))
    else:
        table = Table("scenario", "question", box=None, pad_edge=False)
        for scenario in readable:
            table.add_row(scenario.named, scenario.question)
        Terminal().print(table)
    for one in listed:
        if one.problem:
            say(one.problem)
    if len(readable) < len(listed):
        raise typer.Exit(UsageError.exit_code)
