"""How many plans until planted bugs are found: `python -m studies.planted next|again|sum`."""

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Annotated

import msgspec
import typer

from contract.clients import clients_of
from contract.program import run_program
from contract.regular_files import replace_file
from contract.run_folder import find_runs
from harness.plans.plan import RandomPlan, written
from harness.plans.steering import snapshot_at, steered
from studies.planted.planting import Found, found_in, planted, unexplained, with_planted
from studies.runs import collect, verdicts_of

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
SCENARIO = str(Path(__file__).with_name("planted_test.py"))
PLANS_MAX = 30
_FILE = "series.json"
_SEED_BITS = 31


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """A plan of a series that was carried out.

    found: the planted bugs, whether or not an earlier plan found them.
    others: violations that are of none.
    error: why the run did not finish; empty if it did.
    """

    seed: int
    seconds: float
    found: list[Found]
    others: list[str]
    error: str


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Plans from one seed, until all planted bugs are found."""

    seed: int
    kafka: str
    carried: list[Carried]

    @property
    def left(self) -> list[str]:
        """The bugs that no plan has found."""
        found = {one.bug for plan in self.carried for one in plan.found}
        return [bug.name for bug in planted().bugs if bug.name not in found]

    @property
    def is_over(self) -> bool:
        """Whether no further plan is due."""
        return not self.left or len(self.carried) >= PLANS_MAX


def seeds(seed: int) -> Iterator[int]:
    """The seeds of the plans of a series."""
    random = Random(seed)  # noqa: S311 - reproducible choices, not secrets
    while True:
        yield random.getrandbits(_SEED_BITS)


def seed_of(series: int, number: int) -> int:
    """The seed of one plan of a series, from 0."""
    drawn = seeds(series)
    return [next(drawn) for _ in range(number + 1)][-1]


def read(folder: Path) -> Series:
    """The state of a series; what was found follows from the findings that its runs keep."""
    series = msgspec.json.decode((folder / _FILE).read_bytes(), type=Series)
    carried = []
    for number, one in enumerate(series.carried):
        (run,) = find_runs(folder / str(number))
        again = msgspec.structs.replace(one, found=found_in(run), others=unexplained(run))
        carried.append(again)
    return msgspec.structs.replace(series, carried=carried)


@app.command(name="next")
def carry_out(
    folder: Annotated[Path, typer.Argument(help="Of the series.")],
    *,
    seed: Annotated[int, typer.Option(help="Of the series.")] = 1,
    kafka: Annotated[str, typer.Option(help="Version of brokers and clients.")] = "4.4.0",
    snapshot: Annotated[
        Path | None, typer.Option(help="From which the plans are steered; uniform draws if none.")
    ] = None,
) -> None:
    """Carry out the next plan of a series, and judge its run; exit 3 if the series is over."""
    folder.mkdir(parents=True, exist_ok=True)
    is_new = not (folder / _FILE).exists()
    series = Series(seed=seed, kafka=kafka, carried=[]) if is_new else read(folder)
    if series.is_over:
        raise typer.Exit(3)
    number = len(series.carried)
    drawn = steered(
        seed_of(series.seed, number),
        clients_of(series.kafka, java=series.kafka),
        None if snapshot is None else snapshot_at(snapshot),
    )
    replace_file(folder / f"drawn-{number}.json", written(drawn))
    carried = _carried(drawn, folder / str(number), series.kafka)
    series = msgspec.structs.replace(series, carried=[*series.carried, carried])
    replace_file(folder / _FILE, msgspec.json.format(msgspec.json.encode(series), indent=1))
    _show(number, carried, series)


@app.command()
def again(
    folder: Annotated[Path, typer.Argument(help="Of the series.")],
    number: Annotated[int, typer.Argument(help="Of the plan, from 0.")],
) -> None:
    """Carry out a plan of a series once more, and print what was found."""
    series = read(folder)
    drawn = msgspec.json.decode((folder / f"drawn-{number}.json").read_bytes(), type=RandomPlan)
    times = len(list(folder.glob(f"{number}-again-*")))
    carried = _carried(drawn, folder / f"{number}-again-{times}", series.kafka)
    typer.echo(msgspec.json.encode(carried).decode())


def _carried(drawn: RandomPlan, home: Path, kafka: str) -> Carried:
    """Carry out a drawn plan with what is planted, in a folder of its own."""
    home.mkdir()
    file = (home / "planted.json").absolute()
    replace_file(file, written(with_planted(drawn)))
    began = time.monotonic()
    collect(SCENARIO, home / "runs", kafka=kafka, seed=drawn.seed, parameters={"plan": str(file)})
    (run,) = find_runs(home / "runs")
    verdicts_of([run], engine="duckdb")
    return Carried(
        seed=drawn.seed,
        seconds=round(time.monotonic() - began, 1),
        found=found_in(run),
        others=unexplained(run),
        error=run.run().error or "",
    )


def _show(number: int, carried: Carried, series: Series) -> None:
    typer.echo(f"plan {number}, seed {carried.seed}, {carried.seconds:.0f} s {carried.error[:200]}")
    for one in carried.found:
        typer.echo(f"  {one.bug}: {one.check} ({one.kind}), {one.verdict}")
    for other in carried.others:
        typer.echo(f"  other violation: {other}")
    typer.echo(f"  left: {', '.join(series.left) or 'nothing'}")


@app.command(name="sum")
def sum_up(folders: Annotated[list[Path], typer.Argument(help="Of series.")]) -> None:
    """Print after how many plans, and minutes, each bug was found."""
    for folder in folders:
        series = read(folder)
        typer.echo(f"{folder.name}: seed {series.seed}, {len(series.carried)} plans")
        for bug in planted().bugs:
            typer.echo(f"  {bug.name}: {_first(series, bug.name)}")


def _first(series: Series, bug: str) -> str:
    hits = [
        number
        for number, plan in enumerate(series.carried, start=1)
        if bug in {one.bug for one in plan.found}
    ]
    if not hits:
        return f"not in {len(series.carried)} plans"
    minutes = sum(plan.seconds for plan in series.carried[: hits[0]]) / 60
    return f"plan {hits[0]}, {minutes:.1f} min; in {len(hits)} of {len(series.carried)} plans"


if __name__ == "__main__":
    run_program(app)
