"""`fencepost guest`: programs that play a client under test, in any language (docs/guests.md)."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table

from cluster.nodes.pool import PoolKind
from contract.errors import InterruptError, NodeError
from contract.locks import temporary_folder
from contract.program import PhaseProgress, Terminal
from contract.run_folder import find_runs, new_seed
from contract.software import Choice, Guest
from contract.verdicts import EXIT_CODES, RunVerdict
from extras.conform.guests.trial import NAME, Kept, Trial, read_trial
from harness.commands.options import AsJson, Cluster, Kafka, fetch_build, require_guest
from harness.commands.requirements import DEFAULT_KAFKA, require_kafka, require_runs
from harness.invocation import session_of
from harness.session.catalog import read_scenario
from harness.session.ducktape_session import run_ducktape
from harness.session.node_root import node_root

app = typer.Typer(help="Programs that play a client under test, in any language.")
_SCENARIO = Path(__file__).parent / "guests" / "check_test.py"
_STYLES = {Kept.KEPT: "", Kept.BROKEN: "red", Kept.UNTRIED: "dim"}


@app.callback()
def guest() -> None:
    """Programs that play a client under test, in any language."""


@app.command(context_settings={"ignore_unknown_options": True})
def check(
    command: Annotated[
        list[str], typer.Argument(help="The guest's command, after `--`: its program first.")
    ],
    cluster: Cluster = PoolKind.EMBEDDED,
    kafka: Kafka = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Try a guest on a cluster of its own, without a fault: which rules of docs/guests.md it keeps.

    Prints each rule, how a broken one was broken, what the guest lacks, and the level that it
    reaches (with --json null if a rule is broken). Takes one to two minutes. Exits 0 if no rule is
    broken, 1 if one is.
    """
    require_guest(command)
    version = kafka or DEFAULT_KAFKA
    require_kafka(version)
    own = Guest(name=NAME, command=command, folder=str(Path.cwd()))
    scenario = read_scenario(_SCENARIO)
    with temporary_folder("guest") as folder:
        results = require_runs(folder, cluster)
        build = fetch_build(Choice(kafka=version, guests=[own]), cluster)
        session = session_of(seed=new_seed(), kafka=version, cluster=cluster.value, build=build)
        with (
            node_root(results) as root,
            PhaseProgress(Terminal(stderr=True), runs=1) as progress,
        ):
            try:
                ended = run_ducktape(
                    [scenario], session, results=results, root=root, on_phase=progress.phase
                )
            except InterruptError:
                raise InterruptError("the guest was not tried to its end") from None
        (run,) = find_runs(ended.folder)
        trial, error = read_trial(run.path), run.run().error
    if trial is None:
        raise NodeError(f"the guest could not be tried: {error}")
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(_as_json(trial)), indent=2).decode())
    else:
        _show(trial)
    verdict = RunVerdict.FAIL if trial.broken else RunVerdict.PASS
    raise typer.Exit(EXIT_CODES[verdict])


def _as_json(trial: Trial) -> dict[str, object]:
    """What is printed as JSON."""
    return {
        "client": trial.client,
        "version": trial.version,
        "level": trial.proved,
        "lacks": trial.lacks,
        "rules": trial.rules,
    }


def _show(trial: Trial) -> None:
    table = Table("rule", "", "the guest ...", box=None, pad_edge=False)
    for tried in trial.rules:
        table.add_row(tried.rule, tried.outcome, tried.sentence, style=_STYLES[tried.outcome])
    console = Terminal()
    console.print(table)
    for rule, why in trial.broken.items():
        console.print(f"broken {rule}: {why}", soft_wrap=True, markup=False)
    for feature, why in trial.lacks.items():
        console.print(f"lacks {feature}: {why}", soft_wrap=True, markup=False)
    named = f"{trial.client} {trial.version}".strip() or "the guest"
    broken = ", ".join(trial.broken) or "no rule"
    console.print(f"{named}: breaks {broken}; {trial.reached}", soft_wrap=True)
