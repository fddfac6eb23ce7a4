"""The table of a study from a night: `python -m lab.study NAME [RESULTS]`.

A study is a suite, and two files of this folder: `NAME.sql`, one query, and `NAME.md.j2`, which
makes a part of docs/NAME.md of its rows. Reads the newest finished night of the suite below a
results folder, keeps the rows in docs/data/NAME.json, and prints the part.

The query reads two tables. `runs` has a row for each judged run: its `run.json` as `run`, its
`verdict.json` as `verdict`. `summary` has the rows of the night's `summary.json` as `row`.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import duckdb
import msgspec
import typer

from contract.errors import UsageError
from contract.nights import SUMMARY_FILE, NightSummary
from contract.program import run_program
from contract.protocol import API_NAMES, RULES
from contract.run_folder import RunDescription, find_runs
from contract.software import version_numbers
from contract.verdicts import Verdict
from website.figures import keep, read_figures, render

_HERE = Path(__file__).parent
_SHORT = 10
"""Digits of a commit."""
app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)


class Study(msgspec.Struct, frozen=True):
    """What a page shows of a night.

    Attributes:
        days: on which the runs began.
        commits: that ran them.
        runs: each in words.
        rows: of the query.
    """

    days: list[str]
    commits: list[str]
    runs: list[str]
    rows: list[dict[str, Any]]


def newest_night(results: Path, suite: str) -> Path:
    """The folder of the newest finished night of a suite.

    Raises:
        UsageError: there is none.
    """
    found = sorted(results.glob(f"nightly/{suite}-*/report/{SUMMARY_FILE}"))
    if not found:
        raise UsageError(
            f"no finished night of suite {suite} below {results}: fencepost nightly --suite {suite}"
        )
    return found[-1].parents[1]


def study_of(name: str, night: Path) -> Study:
    """Ask the query of a study about a night.

    Raises:
        UsageError: a run could not be judged.
    """
    runs = sorted(
        _read_night(night), key=lambda pair: (pair[0].scenario, version_numbers(pair[0].kafka))
    )
    summary = msgspec.json.decode((night / "report" / SUMMARY_FILE).read_bytes(), type=NightSummary)
    asked = duckdb.connect()
    asked.execute("create table runs (run json, verdict json); create table summary (row json)")
    for run, verdict in runs:
        asked.execute("insert into runs values (?, ?)", [_json(run), _json(verdict)])
    for row in summary.runs:
        asked.execute("insert into summary values (?)", [_json(row)])
    return Study(
        days=sorted({_day(run.started_micros) for run, _ in runs}),
        commits=sorted({_short(run.git_head) for run, _ in runs}),
        runs=[
            f"{run.scenario} on Kafka {run.kafka} (seed {run.seed}, {verdict.verdict})"
            for run, verdict in runs
        ],
        rows=asked.sql((_HERE / f"{name}.sql").read_text()).to_arrow_table().to_pylist(),
    )


def part(name: str = "protocol", study: Study | None = None) -> str:
    """The part of a page, by default of the figures that are kept."""
    return render(
        _HERE / f"{name}.md.j2",
        study=study or read_figures(name, Study),
        rules=RULES,
        api_names=API_NAMES,
    )


@app.command()
def main(
    name: Annotated[str, typer.Argument(help="A study, which is a suite.")],
    results: Annotated[Path, typer.Argument(help="Below which its night is.")] = Path("results"),
) -> None:
    """Keep the rows of the newest night, and print its part of the page."""
    if not (_HERE / f"{name}.sql").is_file():
        known = ", ".join(sorted(file.stem for file in _HERE.glob("*.sql")))
        raise UsageError(f"there is no study {name!r}; there are: {known}")
    study = study_of(name, newest_night(results, name))
    typer.echo(f"{part(name, study)}\nwrote {keep(name, study)}")


def _read_night(night: Path) -> list[tuple[RunDescription, Verdict]]:
    found = []
    for folder in find_runs(night):
        file = folder.report / "verdict.json"
        if not file.exists():
            raise UsageError(f"{folder.path} has no verdict: fencepost analyze {night}")
        found.append((folder.run(), msgspec.json.decode(file.read_bytes(), type=Verdict)))
    return found


def _json(document: msgspec.Struct) -> str:
    return msgspec.json.encode(document).decode()


def _short(git_head: str) -> str:
    commit, plus, changes = git_head.partition("+")
    return commit[:_SHORT] + plus + changes


def _day(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1_000_000, UTC).date().isoformat()


if __name__ == "__main__":
    run_program(app, name="lab.study")
