"""Whether commits on the wire are stored as they were accepted."""

from analysis.checks.base import CheckDefinition, CheckOutcome
from analysis.checks.commit_errors import OF_COMMITS
from analysis.checks.responses import BROKEN, JUDGED, outcome_of
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import literal
from analysis.engine.frames import Frame
from analysis.facts.commit_calls import CALL, commit_calls
from analysis.facts.trace import Trace
from contract.commit_rules import (
    FIRST_VALUE_WITH_EPOCH,
    FIRST_VALUE_WITH_TOPIC_ID,
    FIRST_WITH_COMMITTED_EPOCH,
    OFFSET_FETCH,
    CommitRule,
)

_MAY_BE_STORED = "-1, 7, 13"
"""Errors after which a commit may be stored all the same: unknown, timeout, disconnected."""
_IS_FETCH = f"api = {literal(OFFSET_FETCH)}"


def wrong_stored_commit(trace: Trace) -> CheckOutcome:
    """An accepted commit is not stored, or otherwise than in its request; or a refused one is.

    The kind is the rule of docs/protocol.md. A stored commit belongs to a request about its group
    and partition with its metadata, at that time.

    Evaluates: every partition of an OffsetCommit and a TxnOffsetCommit with a response.
    Source: KIP-320, OffsetCommit and TxnOffsetCommit, Offset Schema Changes; KIP-1319, Persisting
        topic IDs; `OffsetCommitValue`.
    """
    return outcome_of(judged_stored(trace))


def judged_stored(trace: Trace) -> Frame:
    """Judge each commit by what is stored of it."""
    return trace.shared("judged_stored", lambda: _stored(trace))


def _stored(trace: Trace) -> Frame:
    commits = commit_calls(trace).where(f"not {_IS_FETCH}")
    stored = trace["committed_offsets"].where("not is_tombstone")
    matched = (
        commits.withColumn("due_epoch", F.expr(f"if({_has_epoch()}, asked_epoch, -1)"))
        .withColumn("due_producer", F.expr("coalesce(producer_id, -1)"))
        .withColumn("due_producer_epoch", F.expr("coalesce(producer_epoch, -1)"))
        .join(
            stored.selectExpr(
                "group",
                "topic",
                "partition",
                "coalesce(metadata, '') as metadata",
                "offset as stored_offset",
                "committed_epoch as stored_epoch",
                "producer_id as stored_producer",
                "producer_epoch as stored_producer_epoch",
                "topic_id as stored_id",
                "value_version",
                "committed_micros",
            ),
            on=["group", "topic", "partition", "metadata"],
            how="left",
        )
        .withColumn(
            "_is_near",
            F.expr(
                f"coalesce(committed_micros between began_micros - {trace.clock_micros}"
                f" and at_micros + {trace.clock_micros}, false)"
            ),
        )
        .withColumn("_is_same", F.expr(f"_is_near and {_IS_SAME}"))
    )
    best = (
        matched.groupBy(*CALL, "broker", "api", "version", "at_micros", "error_code", "topic_id")
        .agg(
            F.expr("max(int(_is_same)) as is_same"),
            F.expr("max(int(_is_near)) as is_near"),
            F.expr("max(int(_is_near and stored_offset = asked_offset)) as is_kept"),
            F.expr(f"max({_REQUESTED}) as requested"),
            F.expr(f"max_by(if(_is_near, {_WRITTEN}, null), int(_is_same)) as written"),
            F.expr("max_by(if(_is_near, stored_id, null), int(_is_same)) as stored_id"),
            F.expr("max_by(if(_is_near, value_version, null), int(_is_same)) as value_version"),
        )
        .withColumn("written", F.expr("if(is_near = 1, written, 'nothing')"))
    )
    accepted = best.where("error_code = 0")
    refused = best.where(f"error_code != 0 and error_code not in ({_MAY_BE_STORED})")
    kept = accepted.where("is_same = 1")
    return (
        _judged(accepted, CommitRule.STORED_COMMIT, "requested", "written", "is_same = 1")
        .unionByName(
            _judged(refused, CommitRule.REFUSED_COMMIT, "'nothing'", "written", "is_kept = 0")
        )
        .unionByName(
            _judged(
                kept.where("topic_id is not null"),
                CommitRule.STORED_TOPIC_ID,
                "concat('topic id ', topic_id)",
                "concat('topic id ', coalesce(stored_id, 'none'))",
                "coalesce(stored_id = topic_id, false)",
            )
        )
        .unionByName(
            _judged(
                kept,
                CommitRule.STORED_VERSION,
                f"concat('version ', cast(if(stored_id is null, {FIRST_VALUE_WITH_EPOCH},"
                f" {FIRST_VALUE_WITH_TOPIC_ID}) as string), ' or later')",
                "concat('version ', coalesce(cast(value_version as string), 'unknown'))",
                f"coalesce(value_version >= if(stored_id is null, {FIRST_VALUE_WITH_EPOCH},"
                f" {FIRST_VALUE_WITH_TOPIC_ID}), false)",
            )
        )
    )


_IS_SAME = (
    "stored_offset = asked_offset and stored_epoch = due_epoch and stored_producer = due_producer"
    " and stored_producer_epoch = due_producer_epoch"
)
_REQUESTED = (
    "format_string('offset %s, epoch %s, producer %s with epoch %s', asked_offset, due_epoch,"
    " due_producer, due_producer_epoch)"
)
_WRITTEN = (
    "format_string('offset %s, epoch %s, producer %s with epoch %s', stored_offset, stored_epoch,"
    " stored_producer, stored_producer_epoch)"
)


def _has_epoch() -> str:
    """SQL: whether the request's version has the committed epoch."""
    cases = " ".join(
        f"when {literal(api)} then {first}" for api, first in FIRST_WITH_COMMITTED_EPOCH.items()
    )
    return f"version >= case api {cases} end and asked_epoch is not null"


def _judged(rows: Frame, rule: CommitRule, expected: str, got: str, holds: str) -> Frame:
    return (
        rows.withColumn("rule", F.lit(rule))
        .withColumn("expected", F.expr(expected))
        .withColumn("got", F.expr(got))
        .withColumn("verdict", F.expr(f"if({holds}, '', 'violation')"))
        .select(*JUDGED)
    )


CHECKS = (CheckDefinition("P11", wrong_stored_commit, needs=OF_COMMITS, cases=(BROKEN,)),)
