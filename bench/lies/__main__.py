"""`python -m bench.lies [--runs DIR] [--only WORD]`: plant every lie.

Writes docs/lies.md, if no lies were selected. Without finished runs, it makes one
run of each scenario that lies are planted in. Exits 1 if the
named check of a lie does not notice it, or if a lie that only damages evidence leads to a
violation.
"""

import argparse
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

from rich.console import Console

from bench.folders import own_folder
from bench.lies.alone import ToldAlone, tell_alone
from bench.lies.every import ALONE, ROWS
from bench.lies.genuine import Genuine, find_genuine, read_genuine
from bench.lies.page import failures, page
from bench.lies.stories import STORIES
from bench.lies.telling import Told, tell_all
from bench.traces import load
from contract.errors import UsageError

_ROOT = Path(__file__).resolve().parents[2]
_PAGE = _ROOT / "docs" / "lies.md"
_SEED = 19902


def main() -> None:
    """Plant the lies, and write the page unless only some were selected."""
    asked = _arguments()
    console = Console(stderr=True)
    told: list[Told] = []
    alone: list[ToldAlone] = []
    with own_folder("lies") as place:
        runs = asked.runs or [_make_runs(place / "runs", console)]
        rows = [lie for lie in ROWS if asked.only in f"{lie.name} {lie.check} {lie.story}"]
        files = [lie for lie in ALONE if asked.only in f"{lie.name} {lie.check} {lie.story}"]
        wanted = sorted({lie.story for lie in rows} | {lie.story for lie in files})
        genuine, missing = _genuine(runs, wanted)
        told += [Told(lie, error=missing[lie.story]) for lie in rows if lie.story in missing]
        rows = [lie for lie in rows if lie.story in genuine]
        by_duckdb = partial(load, place / "spill")
        for one in tell_all(by_duckdb, rows, genuine, place, _SEED):
            told.append(one)
            _progress(console, one)
        for story, run in genuine.items():
            of_story = [lie for lie in files if lie.story == story]
            for other in tell_alone(by_duckdb, of_story, run, place / story, _SEED):
                alone.append(other)
                _progress(console, other)
    wrong = list(failures(told, alone))
    for line in wrong:
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    console.print(f"{len(told) + len(alone)} lies, {len(wrong)} not as expected")
    if not asked.only:
        _PAGE.write_text(page(told, alone, STORIES, _SEED))
        console.print(f"wrote {_PAGE}")
    sys.exit(1 if wrong else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.lies", description=__doc__)
    parser.add_argument("--runs", type=Path, nargs="*", help="folders of finished runs")
    parser.add_argument("--only", default="", help="lies whose name, check or story has this text")
    return parser.parse_args()


def _genuine(runs: list[Path], stories: list[str]) -> tuple[dict[str, Genuine], dict[str, str]]:
    """Return the genuine run of each story, and the error of each story without one."""
    found: dict[str, Genuine] = {}
    missing: dict[str, str] = {}
    for name in stories:
        try:
            found[name] = read_genuine(find_genuine(runs, STORIES[name]), STORIES[name])
        except UsageError as error:
            missing[name] = str(error)
    return found, missing


def _make_runs(place: Path, console: Console) -> Path:
    """Run every scenario that lies are planted in, whatever its verdict; returns the folder."""
    for story in STORIES.values():
        console.print(f"running {story.scenario}", style="dim")
        chosen = ["--parameters", json.dumps(story.parameters)] if story.parameters else []
        options = ["--results", str(place), *chosen]
        command = [sys.executable, "-m", "harness", "run", story.scenario, *options]
        subprocess.run(command, cwd=_ROOT, check=False, stdout=subprocess.DEVNULL)
    return place


def _progress(console: Console, one: Told | ToldAlone) -> None:
    is_well = one.is_noticed and not one.accusers and not one.error
    mark = "noticed" if is_well else "NOT AS EXPECTED"
    console.print(f"{mark}: {one.lie.name}", style="dim" if is_well else "bold", highlight=False)


if __name__ == "__main__":
    main()
