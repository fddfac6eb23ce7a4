"""How many cases a check had in which it could have failed.

Most checks can fail in everything that they evaluate. Those here evaluate more: a run without any
leader change evaluates all its records, and yet proves nothing about what a leader change loses.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import reduce

import msgspec
import pyarrow as pa

from analysis.checks.base import count
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.stated import fact_named
from analysis.facts.trace import Trace
from contract.checks import Check
from contract.errors import TableError
from contract.tables import TABLES
from contract.verdicts import CheckResult

_COUNTS = pa.schema({"name": pa.string(), "evaluated": pa.int64()})


CASES: Mapping[Check, str] = {
    Check.LOST_RECORD: "changed_logs",
    Check.LEADER_COMPLETENESS: "leader_changes",
    Check.LOG_DIVERGENCE: "leader_changes",
    Check.HIGH_WATERMARK_REGRESSED: "leader_changes",
    Check.EPOCH_REGRESSED: "leader_changes",
    Check.SERVED_UNDER_FENCED_EPOCH: "leader_changes",
    Check.UNCLEAN_ELECTION_UNCONFIGURED: "leader_changes",
    Check.LOSS_ESTIMATE: "leader_changes",
    Check.RECORD_EPOCH_REGRESSED: "leader_changes",
    Check.COMMITTED_EPOCH_STALE: "commits_across_epochs",
    Check.COMMITTED_EPOCH_AHEAD: "commits_across_epochs",
    Check.COMMITTED_EPOCH_REGRESSED: "commits_across_epochs",
    Check.COMMITTED_EPOCH_UNKNOWN: "commits_across_epochs",
    Check.COMMITTED_EPOCH_BEHIND_LEADER: "commits_across_epochs",
    Check.ORPHAN_COMMIT: "commits_across_epochs",
    Check.LOST_COMMIT: "coordinator_changes",
    Check.COMMIT_EXPIRED: "expired_logs",
    Check.COMMITTED_EPOCH_EXPIRED: "expired_logs",
    Check.EXPIRED_READ: "expired_logs",
    Check.RETENTION_OVERREACH: "expired_logs",
    Check.UNJUSTIFIED_RESET: "resumed_positions",
    Check.START_MISMATCH: "resumed_positions",
    Check.DOUBLE_OWNERSHIP: "shared_partitions",
    Check.COMMIT_FROM_OLD_GENERATION: "commits_of_shared_partitions",
    Check.TRUNCATION_UNDETECTED: "truncated_readers",
    Check.TRUNCATION_DETECTED: "truncated_readers",
    Check.SILENT_REVALIDATION: "truncated_readers",
    Check.OVER_TRUNCATION: "truncations",
    Check.FENCED_IN_ISR: "fencings",
    Check.NEVER_CAUGHT_UP: "isr_shrinkings",
    Check.MIN_INSYNC_BREACHED: "small_isrs",
    Check.ELIGIBLE_LEADER_REPLICAS: "eligible_states",
    Check.METADATA_DIVERGENCE: "controller_elections",
}
"""The facts whose rows are counted."""


def cases_of(judged: Collection[Check], trace: Trace) -> dict[str, Frame]:
    """The counts of the cases of checks, by the name of their fact.

    Where the cases can't be counted, as a table is missing, there is none.
    """
    frames: dict[str, Frame] = {}
    for of in {of for check, of in CASES.items() if check in judged}:
        with suppress(TableError):
            frames[of] = count(trace[of] if of in TABLES else fact_named(of)(trace))
    return frames


def with_exercised(
    results: Mapping[Check, CheckResult], cases: Mapping[str, int], *, known: bool
) -> dict[Check, CheckResult]:
    """Results with how many cases each check had: all that it evaluates, unless CASES counts them.

    Args:
        results: of all checks.
        cases: their numbers, by the name of the fact.
        known: whether they could be counted; else no check has any.
    """
    if not known:
        return {c: msgspec.structs.replace(one, exercised=0) for c, one in results.items()}
    return {
        check: msgspec.structs.replace(
            result,
            exercised=cases.get(CASES[check], 0)
            if check in CASES and result.evaluated
            else result.evaluated,
        )
        for check, result in results.items()
    }


def counts(asked: Mapping[str, Frame | int], trace: Trace) -> Frame:
    """(name, evaluated): counts by name, in one statement.

    Args:
        asked: each a number, or one row with a count named `evaluated`.
        trace: the run.
    """
    numbers = {name: number for name, number in asked.items() if isinstance(number, int)}
    columns = {"name": list(numbers), "evaluated": pa.array(numbers.values(), pa.int64())}
    known = trace.engine.table(pa.table(columns, schema=_COUNTS))
    rows = [
        one.select(F.lit(name).alias("name"), F.col("evaluated").cast("bigint").alias("evaluated"))
        for name, one in asked.items()
        if not isinstance(one, int)
    ]
    return reduce(Frame.union, [known, *rows])


def counted(rows: pa.Table | Exception) -> dict[str, int]:
    """The counts of `counts` by name; none if they could not be had."""
    if isinstance(rows, Exception):
        return {}
    return {row["name"]: int(row["evaluated"]) for row in rows.to_pylist()}
