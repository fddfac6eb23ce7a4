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
    readable = [scenario for scenario in listed if not scenario.problem]
    if as_json:
        rows = [
            {
                "name": scenario.name,
                "named": scenario.named,
                "question": scenario.question,
                "parameters": scenario.parameters,
            }
            for scenario in readable
        ]
        typer.echo(json.dumps({"scenarios": rows}, indent=2))
    else:
        table = Table("scenario", "question", box=None, pad_edge=False)
        for scenario in readable:
            table.add_row(scenario.named, scenario.question)
        Terminal().print(table)
    for scenario in listed:
        if scenario.problem:
            say(scenario.problem)
    if len(readable) < len(listed):
        raise typer.Exit(UsageError.exit_code)
