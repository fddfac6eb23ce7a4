"""How often a comparison finds a build to differ from itself: `python -m studies.self_comparison`.

Each story is in one comparison only, so that the comparisons are independent.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from analysis.comparison.cells import values_of
from analysis.comparison.compare import StoryValues, compare_stories
from analysis.report.words import share
from contract.comparisons import Comparison, Outcome, Result, Side, Story
from contract.described import SCHEMA
from contract.errors import UsageError
from contract.program import run_program
from contract.run_folder import find_runs, has_runs
from studies.runs import collect, verdicts_of

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
_RESULTS = Path("results") / "self-comparison"
_SCENARIO = "commit_hazards"
_PARAMETERS = {"hazard": "clean"}
_SIZE = 8
"""Four stories of each side: the fewest with which a comparison can find a difference."""
_ORDER = (Side.A, Side.B, Side.B, Side.A)
"""Of two pairs, as `fencepost compare` interleaves them; both runs of a pair have one seed."""
Folder = Annotated[Path, typer.Option(help="Where the runs are kept.")]


@app.command()
def run(
    results: Folder = _RESULTS,
    *,
    comparisons: Annotated[int, typer.Option(help="Of eight stories each.", min=1)] = 20,
    kafka: Annotated[str, typer.Option(help="Version of brokers and clients.")] = "4.4.0",
) -> None:
    """Run the stories that have not run yet."""
    total = comparisons * _SIZE
    for number in range(total):
        folder = results / f"{number:04}"
        if folder.exists() and has_runs(folder):
            continue
        typer.echo(f"{number + 1} of {total}", err=True)
        collect(_SCENARIO, folder, kafka=kafka, seed=number // 2, parameters=_PARAMETERS)


@app.command(name="sum")
def sum_up(results: Folder = _RESULTS) -> None:
    """Compare the stories, and print what came out."""
    names = sorted(folder.name for folder in results.glob("[0-9]*") if has_runs(folder))
    found = [_compared(results, sides) for sides in comparisons_of(names)]
    if not found:
        raise UsageError(f"fewer than {_SIZE} runs there: python -m studies.self_comparison run")
    for number, result in enumerate(found, start=1):
        least = min((cell.p_adjusted for cell in result.cells), default=1.0)
        typer.echo(
            f"{number}: {result.outcome}; {result.constant + len(result.cells)} cells, "
            f"{len(result.cells)} vary, smallest corrected p {least:.3f} {result.reason}".rstrip()
        )
    differ = sum(result.outcome is Outcome.DIFFERS for result in found)
    undecided = sum(result.outcome is Outcome.UNDECIDED for result in found)
    typer.echo(
        f"{differ} of {len(found)} comparisons differ ({share(differ, len(found))}); "
        f"{undecided} are undecided"
    )


def comparisons_of(names: Sequence[str]) -> list[dict[str, Side]]:
    """Return the side of each story, by name, for each comparison; a rest of stories is left."""
    return [
        {name: _ORDER[number % len(_ORDER)] for number, name in enumerate(names[first:][:_SIZE])}
        for first in range(0, len(names) - _SIZE + 1, _SIZE)
    ]


def _compared(results: Path, sides: dict[str, Side]) -> Result:
    return compare_stories(
        [_story(results / name, side) for name, side in sides.items()],
        Comparison(
            schema=SCHEMA,
            scenario=_SCENARIO,
            parameters=_PARAMETERS,
            builds=dict.fromkeys(map(str, Side), "the same"),
            sides=sides,
        ),
    )


def _story(folder: Path, side: Side) -> StoryValues:
    runs = find_runs(folder)
    verdicts = verdicts_of(runs)
    return StoryValues(
        story=Story(
            run=folder.name,
            side=side,
            seed=verdicts[0].seed,
            parameters=_PARAMETERS,
            verdict=", ".join(sorted({str(one.verdict) for one in verdicts})),
            report=str(folder),
        ),
        values=values_of(zip(runs, verdicts, strict=True)),
        groups=sum(len(one.resumption) for one in verdicts),
    )


if __name__ == "__main__":
    run_program(app, name="studies.self_comparison")
