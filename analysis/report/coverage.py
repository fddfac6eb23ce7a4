"""Which states of the protocol runs reached: kept with a run, and summed up over a series."""

import os
from collections import defaultdict
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from analysis.report.run_facts import RunFacts
from analysis.report.words import with_noun
from contract.coverage import (
    COVERAGE_FILE,
    IMPOSSIBLE,
    VALUES,
    Coverage,
    RunCoverage,
    Seen,
    State,
    coverage_of,
    possible_pairs,
    run_coverage,
    write_coverage,
)
from contract.described import SCHEMA
from contract.program import run_program
from contract.regular_files import replace_file
from contract.run_folder import RunFolder, find_runs, require_outside
from contract.terminal import Terminal

_STATES = "select * from reached_states order by first_micros"
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def states_of(facts: RunFacts) -> RunCoverage:
    """The states that a run reached, by its tables."""
    return RunCoverage(
        schema=SCHEMA,
        states=[
            Seen(
                state=State(**{name: row[name] for name in VALUES}),
                events=row["events"],
                groups=row["groups"],
                pairs=row["pairs"],
                first_micros=row["first_micros"],
            )
            for row in facts.rows(_STATES)
        ],
    )


def keep_states(facts: RunFacts) -> None:
    """Write what a run reached into its report."""
    text = msgspec.json.format(msgspec.json.encode(states_of(facts)), indent=1)
    replace_file(facts.folder.report / COVERAGE_FILE, text + b"\n")


def known_coverage(folder: RunFolder) -> RunCoverage | None:
    """What was kept with a run, or what its tables show; None if it has none."""
    kept = run_coverage(folder)
    if kept is not None:
        return kept
    found = states_of(RunFacts(folder))
    return found if found.states else None


def sentences(coverage: Coverage) -> list[str]:
    """What was reached, and what was not."""
    pairs = possible_pairs()
    seen = len(pairs) - len(coverage.pairs_never_seen)
    runs, states = with_noun(coverage.runs, "run"), with_noun(len(coverage.known), "state")
    lines = [
        f"{runs} reached {states} of which every value is known.",
        f"Of {len(pairs)} possible pairs of values {seen} were reached.",
    ]
    if coverage.without:
        count = len(coverage.without)
        lines.append(f"{with_noun(count, 'run')} left out: without tables, or not judged.")
    never = ", ".join(f"{name} {value}" for name, value in coverage.values_never_seen)
    lines.append(f"Values that no run reached: {never or 'none'}.")
    return lines


def never_reached(coverage: Coverage) -> list[str]:
    """The possible pairs that no run reached, by value: `isr one with gap 1, more; members 0`.

    Those of a value that no run reached are left out.
    """
    unseen = {*coverage.values_never_seen}
    found: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for pair in coverage.pairs_never_seen:
        if unseen.isdisjoint({(pair.first, pair.value), (pair.second, pair.other)}):
            found[pair.first, pair.value][pair.second].append(pair.other)
    return [
        f"{name} {value} with "
        + "; ".join(f"{other} {', '.join(values)}" for other, values in others.items())
        for (name, value), others in found.items()
    ]


def _show(coverage: Coverage, out: Terminal) -> None:
    for line in sentences(coverage):
        out.print(Text(line), soft_wrap=True)
    for line in never_reached(coverage):
        out.print(Text(f"  never: {line}"), soft_wrap=True)


def _as_json(coverage: Coverage) -> str:
    found = {
        "runs": coverage.runs,
        "without": coverage.without,
        "states": coverage.known,
        "pairs_possible": len(possible_pairs()),
        "values_never_seen": coverage.values_never_seen,
        "pairs_never_seen": coverage.pairs_never_seen,
        "impossible": [one._asdict() for one in IMPOSSIBLE],
    }
    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode()


@app.command()
def main(
    folders: list[Path],
    *,
    out: Annotated[Path | None, typer.Option("--out")] = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Print which states the runs below folders reached, and write the snapshot."""
    runs = {
        os.path.relpath(run.path, folder.parent): (run.path, known_coverage(run))
        for folder in folders
        for run in find_runs(folder)
    }
    coverage = coverage_of(runs)
    file = out or folders[0] / COVERAGE_FILE
    require_outside(file, what="the snapshot")
    write_coverage(file, coverage)
    if as_json:
        typer.echo(_as_json(coverage))
        return
    terminal = Terminal()
    _show(coverage, terminal)
    terminal.print(Text(f"snapshot: {file}"), soft_wrap=True)


if __name__ == "__main__":
    run_program(app)
