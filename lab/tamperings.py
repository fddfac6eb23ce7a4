"""`python -m lab.tamperings`: changes one place of genuine runs at a time; which checks notice it.

`python -m lab.tamperings [--runs DIR ...] [--only WORD]`. Prints what the checks said.
Without finished runs, it makes one run of each scenario that is tampered with. Keeps the figures of
docs/tamperings.md, unless only some were asked for. Exits 1 if the named check of a tampering does
not notice it, or if one that only damages evidence leads to a violation.
"""

import argparse
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

from rich.console import Console

from contract.errors import UsageError
from lab.folders import own_folder
from lab.tamperings_page import NAME, figures_of, is_right, line
from tests.exam.tamperings.genuine import Genuine, find_genuine, read_genuine
from tests.exam.tamperings.judged import Outcome, judge_alone, judge_together
from tests.exam.tamperings.tampering import Tampering, runs, tamperings
from tests.traces import load
from website.figures import keep

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Judge all tampered runs, or those that are asked for."""
    asked = _arguments()
    console = Console(stderr=True)
    chosen = [
        tampering
        for tampering in tamperings()
        if asked.only in f"{tampering.name} {tampering.check} {tampering.run}"
    ]
    outcomes: list[Outcome] = []

    def took(outcome: Outcome) -> None:
        outcomes.append(outcome)
        print(line(outcome), flush=True)

    with own_folder("tamperings") as place:
        places = asked.runs or [_make_runs(place / "runs", console)]
        genuine, missing = _genuine(places, chosen)
        for tampering in chosen:
            if tampering.run in missing:
                took(Outcome(tampering, error=missing[tampering.run]))
        chosen = [tampering for tampering in chosen if tampering.run in genuine]
        by_duckdb = partial(load, place / "spill")
        together = [tampering for tampering in chosen if not tampering.alone]
        for outcome in judge_together(by_duckdb, together, genuine, place):
            took(outcome)
        for name, run in genuine.items():
            alone = [tampering for tampering in chosen if tampering.alone and tampering.run == name]
            for outcome in judge_alone(by_duckdb, alone, run, place / name) if alone else ():
                took(outcome)
    wrong = sum(not is_right(outcome) for outcome in outcomes)
    console.print(f"{len(outcomes)} tamperings, {wrong} not as expected")
    if not asked.only:
        console.print(f"kept {keep(NAME, figures_of(outcomes))}")
    sys.exit(1 if wrong else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.tamperings", description=__doc__)
    parser.add_argument("--runs", type=Path, nargs="*", help="folders of finished runs")
    parser.add_argument("--only", default="", help="whose name, check or run has this text")
    return parser.parse_args()


def _genuine(
    places: list[Path], chosen: list[Tampering]
) -> tuple[dict[str, Genuine], dict[str, str]]:
    """The genuine runs that are tampered with, and the errors of those that can't be read."""
    found: dict[str, Genuine] = {}
    missing: dict[str, str] = {}
    for name in sorted({tampering.run for tampering in chosen}):
        part = runs()[name]
        try:
            found[name] = read_genuine(find_genuine(places, part), part)
        except UsageError as error:
            missing[name] = str(error)
    return found, missing


def _make_runs(place: Path, console: Console) -> Path:
    """Run every scenario that is tampered with, whatever its verdict; returns the folder."""
    for part in runs().values():
        console.print(f"running {part.scenario}", style="dim")
        parameters = ["--parameters", json.dumps(part.parameters)] if part.parameters else []
        options = ["--results", str(place), *parameters]
        command = [sys.executable, "-m", "harness", "run", part.scenario, *options]
        subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    return place


if __name__ == "__main__":
    main()
