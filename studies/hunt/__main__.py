"""The hunt for KAFKA-19902's reset: `python -m studies.hunt run|sum|keep`."""

from pathlib import Path
from typing import Annotated

import typer

from contract.errors import UsageError
from contract.program import run_program
from contract.run_folder import has_runs
from studies.hunt import coordinators, page
from studies.hunt.stories import SCENARIO, stories
from studies.runs import collect

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
_RESULTS = Path("results") / "hunt"
Folders = Annotated[list[Path], typer.Argument(help="Folders with runs.")]


@app.command()
def run(
    seeds: Annotated[list[int], typer.Argument(help="One story each, one after the other.")],
    *,
    results: Annotated[Path, typer.Option(help="Where the runs are kept.")] = _RESULTS,
    kafka: Annotated[str, typer.Option(help="Version of brokers and clients.")] = "4.4.0",
    minutes: Annotated[float, typer.Option(help="How long each story hunts.")] = 10,
    scale: Annotated[str, typer.Option(help="scaled or full.")] = "scaled",
    rate: Annotated[int, typer.Option(help="Records a second.")] = 100,
    retention: Annotated[str, typer.Option(help="short, or long: nothing is deleted.")] = "short",
) -> None:
    """Run the stories that have not run yet."""
    for number, seed in enumerate(seeds, start=1):
        folder = results / f"{kafka}-{scale}-{retention}-{seed}"
        if folder.exists() and has_runs(folder):
            continue
        typer.echo(f"{number} of {len(seeds)}: {folder.name}", err=True)
        parameters = {
            "scale": scale,
            "minutes": minutes,
            "retention": retention,
            "rate": rate,
        }
        collect(SCENARIO, folder, kafka=kafka, seed=seed, parameters=parameters)


@app.command(name="coordinators")
def run_coordinators(
    seeds: Annotated[list[int], typer.Argument(help="One story each, one after the other.")],
    *,
    results: Annotated[Path, typer.Option(help="Where the runs are kept.")] = _RESULTS,
    kafka: Annotated[str, typer.Option(help="Version of brokers and clients.")] = "4.4.0",
    minutes: Annotated[float, typer.Option(help="How long each story hunts.")] = 4,
    wait_ms: Annotated[int, typer.Option(help="replica.fetch.wait.max.ms.")] = 500,
) -> None:
    """Run the stories of coordinator changes that have not run yet."""
    for number, seed in enumerate(seeds, start=1):
        folder = results / f"{kafka}-coordinators-{wait_ms}-{seed}"
        if folder.exists() and has_runs(folder):
            continue
        typer.echo(f"{number} of {len(seeds)}: {folder.name}", err=True)
        parameters = {"minutes": minutes, "wait_ms": wait_ms}
        collect(coordinators.SCENARIO, folder, kafka=kafka, seed=seed, parameters=parameters)


@app.command(name="sum")
def sum_up(runs: Folders) -> None:
    """Print the tables of all stories; exit 1 if a position that was in the log was reset."""
    found = stories(runs)
    if not found:
        raise UsageError(f"no ended run of {SCENARIO} there: python -m studies.hunt run 1 2 3")
    typer.echo(page.part(found))
    if any(story.unjustified for story in found):
        raise typer.Exit(1)


@app.command()
def keep(runs: Folders) -> None:
    """Add the runs to the figures in docs/data, from which the tables of docs/hunt.md are made."""
    found, changed = stories(runs), coordinators.stories(runs)
    if not (found or changed):
        raise UsageError(f"no ended run of {SCENARIO} there: python -m studies.hunt run 1 2 3")
    if found:
        typer.echo(f"wrote {page.keep(found)}")
    if changed:
        typer.echo(f"wrote {coordinators.keep(changed)}")


if __name__ == "__main__":
    run_program(app, name="studies.hunt")
