"""`python -m bench.torture [--hours H] [--seed N] [--only CLASS] [--run DIR]`: try to break it.

A pass may be of some classes only. All passes of one commit and seed are kept in one file. The
figures of docs/reliability.md are from that; they name the classes that are not in it. Exits 1 if
an attempt did not hold.
"""

import argparse
import sys
import time
from pathlib import Path

from rich.console import Console

from bench.figures import keep
from bench.folders import own_folder
from bench.torture.attempt import ROOT, AreaRecord, Attempt, Setting, read_record
from bench.torture.classes import CLASSES
from bench.torture.page import NAME, figures_of
from harness.invocation import git_head

_KEPT = ROOT / "results" / "torture"
_SEED = 19902


def main() -> None:
    """Make the attempts, print those that did not hold, and keep the figures."""
    asked = _arguments()
    console = Console(stderr=True)
    head = git_head()
    file: Path = (
        asked.record or _KEPT / f"{head[:12]}{'-changed' if '+' in head else ''}-{asked.seed}.json"
    )
    record = read_record(file, seed=asked.seed, hours=asked.hours)
    made: list[Attempt] = []
    with own_folder("torture") as place:
        kept = file.parent / "genuine"
        setting = Setting(place, seed=asked.seed, hours=asked.hours, run=asked.run, kept=kept)
        for area, attempts in CLASSES.items():
            if asked.only in area.name:
                record.areas[area.name] = of_area = AreaRecord(git_head=head)
                began = time.monotonic()
                for one in attempts(setting):
                    _tell(console, one)
                    of_area.attempts.append(one)
                    of_area.seconds = round(time.monotonic() - began, 1)
                    record.write(file)
                of_area.is_complete = True
                record.write(file)
                made += of_area.attempts
    broken = [one for one in made if one.problem]
    console.print(f"{len(made)} attempts, {len(broken)} did not hold; kept in {file}")
    console.print(f"wrote {keep(NAME, figures_of(record, CLASSES))}")
    sys.exit(1 if broken else 0)


def _tell(console: Console, one: Attempt) -> None:
    ended = f"DID NOT HOLD: {one.problem}" if one.problem else "held"
    line = f"{one.area}: {one.tried}: {f'skipped: {one.skipped}' if one.skipped else ended}"
    style = "bold" if one.problem else "dim"
    console.print(line, style=style, markup=False, soft_wrap=True, highlight=False)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.torture", description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0, help="how long, roughly")
    parser.add_argument("--seed", type=int, default=_SEED, help="of all random choices")
    parser.add_argument("--only", default="", help="classes whose name has this text")
    parser.add_argument("--run", type=Path, help="a run to damage, instead of a new one")
    parser.add_argument("--record", type=Path, help="where the passes are kept together")
    return parser.parse_args()


if __name__ == "__main__":
    main()
