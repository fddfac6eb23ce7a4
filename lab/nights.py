"""How often the rules of a night are right, and how often they are wrong where nothing changed.

`python -m lab.nights` counts both on simulated nights, and keeps the figures of docs/decisions/0058
in docs/data/nights.json. With `--spark` the statements are asked once on Spark about a store of
1,000 runs, which is timed.
"""

import argparse
import json
import os
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from analysis.engine.session import close_spark
from analysis.opening import open_spark
from analysis.report.words import wilson
from analysis.trends.history import history_of
from analysis.trends.morning import morning
from analysis.trends.rules import ALPHA
from contract.nights import Known
from tests.nights import (
    CLUSTER,
    KINDS,
    LAST,
    MARKS,
    SUITE,
    Lane,
    Nights,
    Planted,
    day_of,
    every_lane,
    name_of,
    planted_history,
    rows_of,
    steady_history,
    write_rows,
)

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "data" / "nights.json"


def count(planted: int, steady: int) -> dict[str, Any]:
    """The figures of these numbers of histories, with planted changes and without any change."""
    right: dict[str, Counter[str]] = {name: Counter() for name in KINDS}
    for seed in range(planted):
        for name, judged in planted_history(seed).items():
            right[name].update(what for what, is_right in judged.items() if is_right)
    wrong: Counter[str] = Counter()
    for seed in range(steady):
        wrong.update(name for name, is_marked in steady_history(seed).items() if is_marked)
    return {
        "nights": LAST + 1,
        "planted": planted,
        "right": {
            name: {what: right[name][what] for what in kind.right} for name, kind in KINDS.items()
        },
        "steady": steady,
        "marked_without_a_change": {
            name: {
                "nights": wrong[name],
                "low": round(wilson(wrong[name], steady)[0], 3),
                "high": round(wilson(wrong[name], steady)[1], 3),
            }
            for name in MARKS
        },
        "rate": ALPHA,
    }


def on_spark(seed: int = 1) -> dict[str, Any]:
    """The seconds that Spark takes to read 30 nights of 34 runs, and the rules with it."""
    every = [*every_lane(), Lane("random", repeat=2)]
    planted = [Planted(f"s{at}", kind.rate) for at, kind in enumerate(KINDS.values())]
    rows = list(rows_of(Nights(every, planted), seed))
    with TemporaryDirectory() as store:
        write_rows(rows, Path(store))
        spark = open_spark()
        began, used = time.monotonic(), _cpu_seconds()
        history = history_of(store, night=name_of(LAST), suite=SUITE, cluster=CLUSTER)
        read = time.monotonic() - began
        morning(history, Known(None), today=day_of(LAST))
        whole, used = time.monotonic() - began, _cpu_seconds() - used
        close_spark(spark)
    return {
        "runs": len(history.runs),
        "rows": len(rows),
        "seconds_of_statements": round(read, 1),
        "seconds": round(whole, 1),
        "cpu_seconds": round(used, 1),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def _cpu_seconds() -> float:
    """The time of this process and of Spark's."""
    here = psutil.Process()
    times = [process.cpu_times() for process in (here, *here.children(recursive=True))]
    return float(sum(times_of.user + times_of.system for times_of in times))


def main() -> None:
    """Count, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--planted", type=int, default=40)
    parser.add_argument("--steady", type=int, default=200)
    parser.add_argument("--spark", action="store_true")
    given = parser.parse_args()
    found = {"spark": on_spark()} if given.spark else count(given.planted, given.steady)
    kept = json.loads(FIGURES.read_text()) if FIGURES.is_file() else {}
    FIGURES.write_text(json.dumps(kept | found, indent=2) + "\n")


if __name__ == "__main__":
    main()
