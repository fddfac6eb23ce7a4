"""How many cases a check had in which it could have failed.

Most checks can fail in everything that they evaluate. Those here evaluate more: a run without any
leader change evaluates all its records, and yet proves nothing about what a leader change loses.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import reduce

import msgspec
import pyarrow as pa

from analysis.checks.base import count
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.client_offsets import client_offsets
from analysis.facts.deliveries import deliveries
from analysis.facts.leader_epochs import leader_epochs, small_isrs
from analysis.facts.trace import Trace
from contract.checks import Check
from contract.errors import TableError
from contract.verdicts import CheckResult

_LOG = ("topic", "partition")
_OFFSETS_TOPIC = "__consumer_offsets"
_COUNTS = pa.schema({"name": pa.string(), "evaluated": pa.int64()})


def _leader_changes(trace: Trace) -> Frame:
    return leader_epochs(trace).where(f"newer_epoch is not null and topic != '{_OFFSETS_TOPIC}'")


def _coordinator_changes(trace: Trace) -> Frame:
    return leader_epochs(trace).where(f"newer_epoch is not null and topic = '{_OFFSETS_TOPIC}'")


def _expired_logs(trace: Trace) -> Frame:
    """Partitions whose log start moved."""
    at_end = trace["log_starts"].where("log_start_offset > 0").select(*_LOG)
    sampled = trace["samples"].where("log_start_offset > 0").select(*_LOG)
    return at_end.union(sampled).distinct()


def _changed_logs(trace: Trace) -> Frame:
    """Partitions whose leader changed, or whose log start moved."""
    return _leader_changes(trace).select(*_LOG).union(_expired_logs(trace)).distinct()


def _commits_across_epochs(trace: Trace) -> Frame:
    """Stored commits of partitions that had several leader epochs."""
    led = _leader_changes(trace).select(*_LOG)
    return client_offsets(trace).join(led, on=list(_LOG), how="left_semi")


def _resumptions(trace: Trace) -> Frame:
    """Resets from a position, and assignments that went on at one."""
    resets = trace["resets"].where("cause != 'no_commit'").select("member")
    events = trace["group_events"].where("change = 'assigned' and position > 0")
    return resets.union(events.select("member"))


def _shared_partitions(trace: Trace) -> Frame:
    """(group, topic, partition): assigned to several members, one after the other or together."""
    return (
        trace["group_events"]
        .where("change = 'assigned'")
        .groupBy("group", *_LOG)
        .agg(F.count_distinct("member").alias("members"))
        .where("members > 1")
    )


def _commits_of_shared_partitions(trace: Trace) -> Frame:
    shared = _shared_partitions(trace).select("group", *_LOG)
    return trace["commits"].join(shared, on=["group", *_LOG], how="left_semi")


def _truncated_readers(trace: Trace) -> Frame:
    """(group, topic, partition): given records that a server truncated afterwards."""
    truncated = trace["truncations"].selectExpr(*_LOG, "to_offset", "at_micros as _truncated")
    return (
        deliveries(trace)
        .select("group", *_LOG, "last_offset", "at_micros")
        .join(truncated, on=list(_LOG), how="inner")
        .where(f"last_offset >= to_offset and at_micros <= _truncated + {trace.clock_micros}")
        .select("group", *_LOG)
        .distinct()
    )


def _truncations(trace: Trace) -> Frame:
    return trace["truncations"]


def _fencings(trace: Trace) -> Frame:
    """Brokers that were fenced, or shut down, after they had been in service."""
    in_turn = Window.partitionBy("broker").orderBy("metadata_offset")
    is_out = F.expr("is_fenced or in_controlled_shutdown")
    return (
        trace["broker_states"]
        .withColumn("_is_out", is_out)
        .withColumn("_was_out", F.lag("_is_out").over(in_turn))
        .where("_is_out and not _was_out")
    )


def _shrinkings(trace: Trace) -> Frame:
    """Changes of a partition by which its ISR became smaller."""
    in_log = Window.partitionBy(*_LOG).orderBy("metadata_offset")
    return (
        trace["leaderships"]
        .withColumn("_size", F.size("isr"))
        .withColumn("_before", F.lag("_size").over(in_log))
        .where("_size < _before")
    )


def _eligible(trace: Trace) -> Frame:
    return trace["leaderships"].where("size(elr) > 0")


def _controllers(trace: Trace) -> Frame:
    """Elections among the controllers, but the first."""
    epochs = trace["metadata_batches"].where("leader is not null").select("metadata_epoch")
    first = epochs.agg(F.min("metadata_epoch").alias("_first"))
    return epochs.distinct().crossJoin(first).where("metadata_epoch > _first")


CASES: Mapping[Check, Callable[[Trace], Frame]] = {
    Check.LOST_RECORD: _changed_logs,
    Check.LEADER_COMPLETENESS: _leader_changes,
    Check.LOG_DIVERGENCE: _leader_changes,
    Check.HIGH_WATERMARK_REGRESSED: _leader_changes,
    Check.EPOCH_REGRESSED: _leader_changes,
    Check.SERVED_UNDER_FENCED_EPOCH: _leader_changes,
    Check.UNCLEAN_ELECTION_UNCONFIGURED: _leader_changes,
    Check.LOSS_ESTIMATE: _leader_changes,
    Check.RECORD_EPOCH_REGRESSED: _leader_changes,
    Check.COMMITTED_EPOCH_STALE: _commits_across_epochs,
    Check.COMMITTED_EPOCH_AHEAD: _commits_across_epochs,
    Check.COMMITTED_EPOCH_REGRESSED: _commits_across_epochs,
    Check.COMMITTED_EPOCH_UNKNOWN: _commits_across_epochs,
    Check.COMMITTED_EPOCH_BEHIND_LEADER: _commits_across_epochs,
    Check.ORPHAN_COMMIT: _commits_across_epochs,
    Check.LOST_COMMIT: _coordinator_changes,
    Check.COMMIT_EXPIRED: _expired_logs,
    Check.COMMITTED_EPOCH_EXPIRED: _expired_logs,
    Check.EXPIRED_READ: _expired_logs,
    Check.RETENTION_OVERREACH: _expired_logs,
    Check.UNJUSTIFIED_RESET: _resumptions,
    Check.START_MISMATCH: _resumptions,
    Check.DOUBLE_OWNERSHIP: _shared_partitions,
    Check.COMMIT_FROM_OLD_GENERATION: _commits_of_shared_partitions,
    Check.TRUNCATION_UNDETECTED: _truncated_readers,
    Check.TRUNCATION_DETECTED: _truncated_readers,
    Check.SILENT_REVALIDATION: _truncated_readers,
    Check.OVER_TRUNCATION: _truncations,
    Check.FENCED_IN_ISR: _fencings,
    Check.NEVER_CAUGHT_UP: _shrinkings,
    Check.MIN_INSYNC_BREACHED: small_isrs,
    Check.ELIGIBLE_LEADER_REPLICAS: _eligible,
    Check.METADATA_DIVERGENCE: _controllers,
}


def cases_of(judged: Collection[Check], trace: Trace) -> dict[str, Frame]:
    """The counts of the cases of checks, by the name of their function.

    Where the cases can't be counted, as a table is missing, there is none.
    """
    frames: dict[str, Frame] = {}
    for of in {of for check, of in CASES.items() if check in judged}:
        with suppress(TableError):
            frames[of.__name__] = count(of(trace))
    return frames


def with_exercised(
    results: Mapping[Check, CheckResult], cases: Mapping[str, int], *, known: bool
) -> dict[Check, CheckResult]:
    """Results with how many cases each check had: all that it evaluates, unless CASES counts them.

    Args:
        results: of all checks.
        cases: their numbers, by the name of the function of CASES.
        known: whether they could be counted; else no check has any.
    """
    if not known:
        return {c: msgspec.structs.replace(one, exercised=0) for c, one in results.items()}
    return {
        check: msgspec.structs.replace(
            result,
            exercised=cases.get(CASES[check].__name__, 0)
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
