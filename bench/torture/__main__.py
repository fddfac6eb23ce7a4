"""`python -m bench.torture [--hours H] [--seed N] [--only CLASS] [--run DIR]`: try to break it.

Writes docs/reliability.md if all classes were tried. Exits 1 if an attempt did not hold.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from rich.console import Console

from analysis.session import open_session
from bench.folders import own_folder
from bench.torture import calls, folders, histories, runs, texts
from bench.torture.attempt import Area, Attempt
from bench.torture.page import page
from contract.run_folder import RunFolder, find_runs

_ROOT = Path(__file__).resolve().parents[2]
_PAGE = _ROOT / "docs" / "reliability.md"
_SEED = 19902
AREAS: tuple[Area, ...] = (
    calls.AREA,
    histories.AREA,
    folders.AREA,
    texts.AREA,
    runs.KILLS,
    runs.FULL_DISK,
    runs.TWO_AT_ONCE,
)
_HISTORIES, _FOLDERS, _KILLS = 300, 80, 20
"""An hour's attempts."""
_DISKS_MB = [1, 8, 30, 80, 150]


def main() -> None:
    """Make the attempts, print those that did not hold, and write the page."""
    asked = _arguments()
    console = Console(stderr=True)
    began = time.monotonic()
    made: list[Attempt] = []
    with own_folder("torture") as place:
        for one in _attempts(asked, place, console):
            made.append(one)
            held = "held" if not one.problem else f"DID NOT HOLD: {one.problem}"
            style = "bold" if one.problem else "dim"
            line = f"{one.area}: {one.tried}: {held}"
            console.print(line, style=style, markup=False, soft_wrap=True, highlight=False)
    broken = [one for one in made if one.problem]
    console.print(f"{len(made)} attempts, {len(broken)} did not hold")
    if not asked.only:
        minutes = (time.monotonic() - began) / 60
        _PAGE.write_text(page(made, AREAS, seed=asked.seed, minutes=minutes))
        console.print(f"wrote {_PAGE}")
    sys.exit(1 if broken else 0)


def _attempts(asked: argparse.Namespace, place: Path, console: Console) -> Iterator[Attempt]:
    if _is_asked(asked, calls.AREA):
        yield from calls.attempts(place)
    if _is_asked(asked, histories.AREA, folders.AREA, texts.AREA):
        yield from _on_data(asked, place, _genuine(asked, place, console))
    if _is_asked(asked, runs.KILLS):
        count = round(_KILLS * asked.hours)
        yield from runs.kills(place, _dice(asked, runs.KILLS), count)
    if _is_asked(asked, runs.FULL_DISK):
        yield from runs.full_disks(place, _DISKS_MB)
    if _is_asked(asked, runs.TWO_AT_ONCE):
        yield from runs.two_at_once(place)


def _on_data(asked: argparse.Namespace, place: Path, genuine: RunFolder) -> Iterator[Attempt]:
    """The attempts that damage what a run left."""
    if _is_asked(asked, histories.AREA):
        count = round(_HISTORIES * asked.hours)
        yield from histories.attempts(genuine, place, _dice(asked, histories.AREA), count)
    if not _is_asked(asked, folders.AREA, texts.AREA):
        return
    spark = open_session()
    if _is_asked(asked, folders.AREA):
        count = round(_FOLDERS * asked.hours)
        yield from folders.attempts(spark, genuine, place, _dice(asked, folders.AREA), count)
    if _is_asked(asked, texts.AREA):
        yield from texts.attempts(spark, genuine, place)
    spark.stop()


def _is_asked(asked: argparse.Namespace, *areas: Area) -> bool:
    return any(asked.only in area.name for area in areas)


def _dice(asked: argparse.Namespace, area: Area) -> Random:
    return Random(f"{asked.seed} {area.name}")  # noqa: S311 - not for secrets


def _genuine(asked: argparse.Namespace, place: Path, console: Console) -> RunFolder:
    """The run that is damaged: one that was named, or a new one."""
    results: Path = asked.run or place / "genuine"
    if asked.run is None:
        console.print("running baseline", style="dim")
        command = [sys.executable, "-m", "harness", "run", "baseline", "--results", str(results)]
        subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.DEVNULL)
    return find_runs(results)[-1]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.torture", description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0, help="how long, roughly")
    parser.add_argument("--seed", type=int, default=_SEED, help="of all random choices")
    parser.add_argument("--only", default="", help="classes whose name has this text")
    parser.add_argument("--run", type=Path, help="a run to damage, instead of a new one")
    return parser.parse_args()


if __name__ == "__main__":
    main()
