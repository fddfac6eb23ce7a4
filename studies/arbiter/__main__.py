"""The arbiter: `python -m studies.arbiter run|judge|table|compare|keep`; see `make arbiter`."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from cluster.kafka import patched
from contract.errors import PrerequisiteError
from contract.program import run_program
from studies.arbiter import cells, page
from studies.arbiter.predictions import differences
from studies.arbiter.rows import HAZARDS, RELEASED, rows_of, stories_of
from studies.runs import collect, verdicts_of

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
_RESULTS = Path("results") / "arbiter"
Folder = Annotated[Path, typer.Option(help="Where the runs are kept.")]


@app.command()
def run(
    results: Folder = _RESULTS,
    *,
    is_full: Annotated[
        bool,
        typer.Option("--full", help="Also the pairwise table, more races, and languages: a night."),
    ] = False,
    only: Annotated[str, typer.Option(help="Only cells whose names match this pattern.")] = "",
) -> None:
    """Run the cells that have not run yet; an interrupted command continues where it stopped."""
    chosen = [*cells.quick(), *(cells.pairwise() if is_full else ())]
    chosen += [*cells.races(4), *cells.handovers(3)] if is_full else []
    due = [cell for cell in chosen if re.search(only, cell.name) and not cell.is_done(results)]
    jars = _built(due)
    for number, cell in enumerate(due, start=1):
        if cell.build != RELEASED and (cell.build, cell.kafka) not in jars:
            continue
        first = [] if cell.build == RELEASED else [jars[cell.build, cell.kafka]]
        typer.echo(f"{number} of {len(due)}: {cell.name}", err=True)
        collect(
            cell.scenario,
            results / cell.name,
            kafka=cell.kafka,
            seed=cell.seed,
            parameters=cell.parameters,
            client_jars=first,
        )


@app.command()
def table(results: Folder = _RESULTS) -> None:
    """Print the rows of the pairwise table, and which of their runs are done."""
    done = 0
    for cell in cells.pairwise():
        is_done = cell.is_done(results)
        done += len(cell.groups) if is_done else 0
        for group in cell.groups:
            typer.echo(f"{'done' if is_done else 'due ':4}  {cell.name}  {group}")
    typer.echo(f"{done} of {sum(len(cell.groups) for cell in cells.pairwise())} rows are done")


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders with runs.")],
) -> None:
    """Print every row that came out otherwise than predicted; exit 1 if one is not explained."""
    rows = [row for story in stories_of(HAZARDS, runs) for row in rows_of(story)]
    found = differences(rows)
    for one in found:
        keys = one.row
        typer.echo(
            f"{keys.story} {keys.hazard} {keys.client} {keys.manner} {keys.style} {keys.reset}: "
            f"predicted: {one.predicted}; came out: {one.came_out}; {one.why or 'not explained'}"
        )
    typer.echo(f"{len(rows) - len(found)} of {len(rows)} rows came out as predicted")
    if not all(one.why for one in found):
        raise typer.Exit(1)


@app.command()
def keep(results: Folder = _RESULTS) -> None:
    """Keep the figures of the runs, from which docs/arbiter.md and arbiter-runs.md are made."""
    for file in page.keep([results]):
        typer.echo(f"wrote {file}")


@app.command()
def judge(
    results: Folder = _RESULTS,
    *,
    only: Annotated[str, typer.Option(help="Only cells whose names match this pattern.")] = "",
) -> None:
    """Judge runs by Spark SQL too, whose verdict the page takes; exit 1 if DuckDB's rows differ."""
    chosen = [one for one in stories_of(HAZARDS, [results]) if re.search(only, one.name)]
    verdicts = verdicts_of([story.run for story in chosen], engine="sql")
    differ = 0
    for story, verdict in zip(chosen, verdicts, strict=True):
        rows = rows_of(story)
        is_same = rows == rows_of(replace(story, verdict=verdict))
        differ += not is_same
        shown = "the same" if is_same else "others"
        typer.echo(f"{story.name}: {len(rows)} rows of DuckDB, {shown} by Spark SQL")
    if differ:
        raise typer.Exit(1)


def _built(due: Iterable[cells.Cell]) -> dict[tuple[str, str], Path]:
    """Build the patches that are due; none without a compiler, so that their rows are missing."""
    jars: dict[tuple[str, str], Path] = {}
    wanted = sorted({(cell.build, cell.kafka) for cell in due if cell.build != RELEASED})
    try:
        for name, kafka in wanted:
            jars[name, kafka] = patched.build(patched.find_patch(name, kafka)).jar
    except PrerequisiteError as error:
        typer.echo(f"patched clients are not evaluable: {error}", err=True)
    return jars


if __name__ == "__main__":
    run_program(app, name="studies.arbiter")
