"""One history judged once by every check: `python -m bench.judging ENGINE FOLDER FILE [MASTER]`.

ENGINE is `spark` or `duckdb`; FILE receives the findings by check. Each measurement is a new
process, so that no cache is warm. For a progress bar, it prints a line for each check twice: when
its shared tables are computed, and when its findings are.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

import msgspec

from contract.checks import Check
from contract.run_folder import RunFolder

_TOLD_CHARACTERS = 300
MEMORY_GB = 4
"""The memory of Spark's driver, as `analysis.session` sets it for large traces, and of DuckDB."""


class Judged(msgspec.Struct):
    """The result of one check.

    Attributes:
        lacks: the reason why it could not judge, or its error; empty if it judged.
        evaluated: the number of judged cases.
        findings: rows with the columns of a finding.
    """

    lacks: str = ""
    evaluated: int = 0
    findings: list[dict[str, Any]] = []


def judge(trace: Any, tell: Callable[[str], None]) -> dict[str, Judged]:
    """Judge with every registered check, as `analysis.judge` does, but return all findings."""
    # Imported here: for DuckDB their imports must be replaced before.
    from pyspark.sql import DataFrame  # noqa: PLC0415
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    from analysis.checks.base import CheckOutcome  # noqa: PLC0415
    from analysis.checks.registry import CHECKS  # noqa: PLC0415

    told = {str(check): Judged(lacks=one.lacks(trace)) for check, one in CHECKS.items()}
    outcomes: dict[str, CheckOutcome] = {}

    def ask(check: Check) -> None:
        name = str(check)
        if told[name].lacks:
            return
        with _broken_in(told[name]):
            outcomes[name] = CHECKS[check].judge(trace)
        tell(name)

    def collect(name: str) -> None:
        with _broken_in(told[name]):
            told[name].findings = [row.asDict() for row in trace.collected(outcomes[name].findings)]
        tell(name)

    trace.each(ask, CHECKS)
    asked = []
    for name, outcome in outcomes.items():
        if isinstance(outcome.evaluated, int):
            told[name].evaluated = outcome.evaluated
        else:
            asked.append(outcome.evaluated.select(F.lit(name).alias("check"), "evaluated"))
    for row in reduce(DataFrame.union, asked).collect():
        told[row["check"]].evaluated = int(row["evaluated"])
    trace.each(collect, outcomes)
    return told


@contextmanager
def _broken_in(judged: Judged) -> Iterator[None]:
    """Record the error of a check, so that the others continue; it then differs from its peer."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - any error
        judged.lacks = f"{type(error).__name__}: {error}"[:_TOLD_CHARACTERS]


def _on_spark(folder: RunFolder, master: str | None) -> Any:
    from analysis.load import count_rows, load_trace  # noqa: PLC0415
    from analysis.session import open_session  # noqa: PLC0415

    spark = open_session(master, rows=sum(count_rows(folder).values()))
    return load_trace(spark, folder)


def _on_duckdb(folder: RunFolder, spill: Path) -> Any:
    from bench.on_duckdb.session import Session, put_in_place  # noqa: PLC0415

    put_in_place()
    from bench.on_duckdb.trace import load_trace  # noqa: PLC0415 - uses the replaced modules

    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return load_trace(Session(threads=threads or 1, memory=f"{MEMORY_GB}GB", spill=spill), folder)


def main() -> None:
    """Judge, and write the findings."""
    engine, folder, file = sys.argv[1], RunFolder(Path(sys.argv[2])), Path(sys.argv[3])
    if engine == "duckdb":
        trace = _on_duckdb(folder, file.with_suffix(".spill"))
    else:
        trace = _on_spark(folder, sys.argv[4] if len(sys.argv) > 4 else None)  # noqa: PLR2004
    told = judge(trace, lambda name: print(name, flush=True))
    file.write_bytes(msgspec.json.encode(told))
    if engine == "spark":
        trace.spark.stop()


if __name__ == "__main__":
    main()
