"""One history judged once by every check: `python -m bench.judging ENGINE FOLDER FILE [MASTER]`.

ENGINE is `spark` or `duckdb`; FILE receives the findings by check. Each measurement is a new
process, so that no cache is warm. For a progress bar, it prints a line for each check twice: when
its shared tables are computed, and when its findings are.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

import msgspec

from analysis.checks.base import CheckOutcome
from analysis.checks.registry import CHECKS
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.engine.session import open_session
from analysis.facts.load import load_trace
from analysis.facts.trace import Trace
from bench.traces import load
from contract.checks import Check
from contract.run_folder import RunFolder
from contract.verdicts import Engine

_TOLD_CHARACTERS = 300


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
    """Judge with every registered check, as `analysis.verdict.judge`, but return all findings."""
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
            told[name].findings = [dict(row) for row in outcomes[name].findings.collect()]
        tell(name)

    trace.engine.each(ask, CHECKS)
    asked = []
    for name, outcome in outcomes.items():
        if isinstance(outcome.evaluated, int):
            told[name].evaluated = outcome.evaluated
        else:
            asked.append(outcome.evaluated.select(F.lit(name).alias("check"), "evaluated"))
    for row in reduce(Frame.union, asked).collect():
        told[row["check"]].evaluated = int(row["evaluated"])
    trace.engine.each(collect, outcomes)
    return told


@contextmanager
def _broken_in(judged: Judged) -> Iterator[None]:
    """Record the error of a check, so that the others continue; it then differs from its peer."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - any error
        judged.lacks = f"{type(error).__name__}: {error}"[:_TOLD_CHARACTERS]


def main() -> None:
    """Judge, and write the findings."""
    engine, folder, file = sys.argv[1], RunFolder(Path(sys.argv[2])), Path(sys.argv[3])
    if engine == "duckdb":
        told = _judged(load(file.with_suffix(".spill"), folder))
    else:
        master = sys.argv[4] if len(sys.argv) > 4 else None  # noqa: PLR2004
        with open_session(master, engine=Engine.SPARK_SQL) as spark:
            told = _judged(load_trace(spark, folder))
    file.write_bytes(msgspec.json.encode(told))


def _judged(trace: Trace) -> dict[str, Judged]:
    return judge(trace, lambda name: print(name, flush=True))


if __name__ == "__main__":
    main()
