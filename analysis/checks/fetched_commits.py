"""Whether commits are returned on the wire as they are stored."""

from analysis.checks.base import CheckDefinition, CheckOutcome
from analysis.checks.commit_errors import OF_COMMITS, error_name
from analysis.checks.responses import JUDGED, RESPONSES, outcome_of
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import literal
from analysis.engine.frames import Frame
from analysis.facts.commit_calls import CALL, commit_calls
from analysis.facts.trace import Trace
from contract.commit_rules import (
    FIRST_WITH_COMMITTED_EPOCH,
    FIRST_WITH_STABLE,
    OFFSET_FETCH,
    CommitRule,
)

_UNSTABLE = 88
_NOT_READ = "14, 15, 16, 29, 30"
"""Errors of coordinators that are not ready, and of authorization."""
_IS_FETCH = f"api = {literal(OFFSET_FETCH)}"
_NO_COMMIT = -1


def wrong_fetched_commit(trace: Trace) -> CheckOutcome:
    """An OffsetFetch response has another commit than the last that is stored, or another epoch.

    The kind is the rule of docs/protocol.md. While a transaction ends, both its commits and those
    before are possible, and the response may be unstable or not.

    Undecided: the coordinator returned an error of its own state or of authorization.
    Evaluates: every partition of an OffsetFetch with a response whose topic id, if it has one, is
        known.
    Source: KIP-320, OffsetFetch; KIP-447, OffsetFetch; `OffsetMetadataManager.fetchOffsets`.
    """
    return outcome_of(judged_fetched(trace))


def judged_fetched(trace: Trace) -> Frame:
    """Judge each partition of an OffsetFetch."""
    return trace.shared("judged_fetched", lambda: _fetched(trace))


def _fetched(trace: Trace) -> Frame:
    fetches = (
        commit_calls(trace)
        .where(f"{_IS_FETCH} and (asked_id = '' or is_present)")
        .withColumnRenamed("offset", "got_offset")
        .withColumnRenamed("epoch", "got_epoch")
        .withColumnRenamed("metadata", "got_metadata")
    )
    effects = _effects(trace)
    known = (
        fetches.select(*CALL, "group", "began_micros", "at_micros")
        .join(effects, on=["group", "topic", "partition"], how="inner")
        .withColumn("_is_sure", F.expr(f"effect_sure + {trace.clock_micros} <= began_micros"))
    )
    last = known.where("_is_sure").groupBy(*CALL).agg(F.max("place").alias("_last"))
    possible = (
        known.join(last, on=list(CALL), how="left")
        .where(
            f"coalesce(place = _last, false) or (not _is_sure and place > coalesce(_last, '')"
            f" and effect_micros <= at_micros + {trace.clock_micros})"
        )
        .groupBy(*CALL)
        .agg(
            F.expr(f"array_sort(collect_set({_COMMIT.format('stored_')})) as commits"),
            F.expr(f"array_sort(collect_set({_EPOCH.format('stored_')})) as epochs"),
            F.expr("max(int(_is_sure)) as has_last"),
        )
    )
    pending = (
        fetches.select(*CALL, "group", "began_micros", "at_micros")
        .join(_pending(trace), on=["group", "topic", "partition"], how="inner")
        .where(
            f"began_txn_micros <= at_micros + {trace.clock_micros}"
            f" and ended_txn_micros + {_APPLIED_MICROS} >= began_micros - {trace.clock_micros}"
        )
        .groupBy(*CALL)
        .agg(
            F.expr(
                f"max(int(began_txn_micros + {trace.clock_micros} <= began_micros"
                f" and ended_txn_micros - {trace.clock_micros} >= at_micros)) as is_pending"
            ),
            F.expr("1 as may_be_pending"),
        )
    )
    judged = (
        fetches.join(possible, on=list(CALL), how="left")
        .join(pending, on=list(CALL), how="left")
        .withColumn("_none", F.expr("coalesce(has_last, 0) = 0"))
        .withColumn("_is_stable", F.expr("coalesce(is_stable, false)"))
        .withColumn("_must_wait", F.expr("_is_stable and coalesce(is_pending, 0) = 1"))
        .withColumn("_may_wait", F.expr("_is_stable and coalesce(may_be_pending, 0) = 1"))
    )
    read = judged.where(f"error_code != {_UNSTABLE} and not _must_wait")
    with_epoch = read.where(f"version >= {FIRST_WITH_COMMITTED_EPOCH[OFFSET_FETCH]}")
    return (
        _compared(read, CommitRule.FETCHED_COMMIT, _COMMIT, "commits", _NONE)
        .unionByName(_compared(with_epoch, CommitRule.EPOCH_OF_COMMIT, _EPOCH, "epochs", _NO_EPOCH))
        .unionByName(_waited(judged.where(f"version >= {FIRST_WITH_STABLE}")))
    )


_COMMIT = "format_string('offset %s, metadata \"%s\"', {0}offset, {0}metadata)"
_EPOCH = "format_string('offset %s, epoch %s', {0}offset, {0}epoch)"
_NONE, _NO_EPOCH = f'offset {_NO_COMMIT}, metadata ""', f"offset {_NO_COMMIT}, epoch {_NO_COMMIT}"


def _compared(rows: Frame, rule: CommitRule, of: str, possible: str, none: str) -> Frame:
    """Compare what was returned with what is possible; `none` where there may be no commit."""
    got = of.format("got_")
    return (
        rows.withColumn("rule", F.lit(rule))
        .withColumn("got", F.expr(f"if(error_code = 0, {got}, {error_name('error_code')})"))
        .withColumn(
            "expected",
            F.expr(
                f"array_join(concat(if(_none, array({literal(none)}), array()),"
                f" coalesce({possible}, array())), ' or ')"
            ),
        )
        .withColumn(
            "verdict",
            F.expr(
                f"case when error_code in ({_NOT_READ}) then 'undecided'"
                f" when error_code = 0 and (coalesce(array_contains({possible}, got), false)"
                f" or (_none and got = {literal(none)})) then '' else 'violation' end"
            ),
        )
        .select(*JUDGED)
    )


def _waited(rows: Frame) -> Frame:
    """Of stable requests, and of those that were refused as unstable without one."""
    return (
        rows.where(f"_must_wait or error_code = {_UNSTABLE}")
        .withColumn("rule", F.lit(CommitRule.PENDING_COMMIT))
        .withColumn("expected", F.expr(f"if(_may_wait, {error_name(str(_UNSTABLE))}, 'no error')"))
        .withColumn("got", F.expr(error_name("error_code")))
        .withColumn(
            "verdict",
            F.expr(
                f"case when error_code in ({_NOT_READ}) then 'undecided'"
                f" when _may_wait and error_code = {_UNSTABLE} then '' else 'violation' end"
            ),
        )
        .select(*JUDGED)
    )


def _effects(trace: Trace) -> Frame:
    """Stored commits and tombstones, with the bounds of when each took effect.

    `place` sorts them as they follow each other in their log, and so in effect. A commit took
    effect when it is stored, or when its request was answered, which may be earlier than the clocks
    show. One of a transaction takes effect after its marker; it has, once a request for stable
    offsets is answered that was sent after it was stored.
    """
    accepted = (
        commit_calls(trace)
        .where(f"not {_IS_FETCH} and error_code = 0 and producer_id is null")
        .groupBy("group", "topic", "partition", "metadata", "asked_offset")
        .agg(F.min("at_micros").alias("_told_micros"))
        .withColumnRenamed("asked_offset", "stored_offset")
        .withColumnRenamed("metadata", "stored_metadata")
    )
    stored = (
        trace["committed_offsets"]
        .where("is_tombstone or coalesce(producer_id, -1) < 0 or marker = 'commit'")
        .selectExpr(
            *_COMMITTED,
            f"if(is_tombstone, {_NO_COMMIT}, offset) as stored_offset",
            f"if(is_tombstone, {_NO_COMMIT}, committed_epoch) as stored_epoch",
            "if(is_tombstone, '', coalesce(metadata, '')) as stored_metadata",
            "coalesce(marker_micros, committed_micros) as effect_micros",
            "committed_micros",
            "marker_micros",
            "lpad(cast(offsets_offset as string), 20, '0') as place",
        )
    )
    return (
        stored.join(accepted, on=[*_COMMITTED, "stored_metadata", "stored_offset"], how="left")
        .join(_stable_since(stored, trace), on=[*_COMMITTED, "place"], how="left")
        .withColumn(
            "effect_sure",
            F.expr(
                f"if(marker_micros is null, least(effect_micros, coalesce(_told_micros -"
                f" {trace.clock_micros}, effect_micros)), least(marker_micros + {_APPLIED_MICROS},"
                f" coalesce(_stable_micros - {trace.clock_micros},"
                f" marker_micros + {_APPLIED_MICROS})))"
            ),
        )
        .drop("_told_micros", "_stable_micros", "committed_micros", "marker_micros")
    )


_COMMITTED = ("group", "topic", "partition")
_APPLIED_MICROS = 10_000_000
"""Within which a coordinator applies a marker that it has stored; no document has a bound."""


def _stable_since(stored: Frame, trace: Trace) -> Frame:
    """When a response first showed that the transaction of a stored commit has ended."""
    answered = (
        commit_calls(trace)
        .where(f"{_IS_FETCH} and is_stable and error_code = 0")
        .selectExpr(*_COMMITTED, "began_micros", "at_micros")
    )
    return (
        stored.where("marker_micros is not null")
        .select(*_COMMITTED, "place", "committed_micros")
        .join(answered, on=list(_COMMITTED), how="inner")
        .where(f"began_micros >= committed_micros + {trace.clock_micros}")
        .groupBy(*_COMMITTED, "place")
        .agg(F.min("at_micros").alias("_stable_micros"))
    )


def _pending(trace: Trace) -> Frame:
    """(group, topic, partition, began_txn_micros, ended_txn_micros): offsets of transactions."""
    return (
        trace["committed_offsets"]
        .where("producer_id >= 0 and not is_tombstone")
        .selectExpr(
            *_COMMITTED,
            "committed_micros as began_txn_micros",
            "coalesce(marker_micros, committed_micros + 1000000000000) as ended_txn_micros",
        )
    )


CHECKS = (CheckDefinition("P12", wrong_fetched_commit, needs=OF_COMMITS, cases=RESPONSES),)
