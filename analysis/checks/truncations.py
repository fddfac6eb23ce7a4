"""Truncations: which client noticed them, for what reason, and what was lost."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count, members_judged
from analysis.checks.cases import Cases, findings, permitted, undecided, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.branches import reads
from analysis.facts.deliveries import client_resets
from analysis.facts.positions import PARTITION, administered
from analysis.facts.resets import with_position_epochs
from analysis.facts.slices import given_at
from analysis.facts.state import fork_then, is_overwritten, may_be_overwritten, timelines
from analysis.facts.topics import of_present_topic, with_former_topic, with_log_starts
from analysis.facts.trace import Trace
from contract.tables import MICROS_PER_MS

_LOG = ("topic", "partition")
_RAISED = "(?i)log_?truncation"
_RESET = (*PARTITION, "member", "policy", "from_offset", "from_epoch", "to_offset", "at_micros")

_NOTICED = (
    "epoch {from_epoch} ends at {forked_at} in the log; the client detected the truncation at"
    " {from_offset}, {latency_ms:.0f} ms after the next epoch began"
)
_DETECTED = Cases(
    permitted("raised", _NOTICED, when="is_raised or to_offset is null"),
    permitted("at the divergence", _NOTICED, when="is_exact"),
    permitted("elsewhere", _NOTICED),
    evidence="member, from_epoch, to_offset, forked_at, is_exact, records, latency_ms",
    offset_first="forked_at",
    offset_last="from_offset",
    at="at_micros",
)


def truncation_detected(trace: Trace) -> CheckOutcome:
    """A client noticed that its position lies on an abandoned branch.

    By a reset or a LogTruncationException. Reports the latency since the first later epoch began,
    and whether the client was led to where the branches part.

    Permitted: always.
    Evaluates: the deliveries of each epoch to each group.
    Source: KIP-320: OffsetForLeaderEpoch validates a position.
    """
    newer = trace["leaderships"].select(
        *_LOG, "leader_epoch", F.col("at_micros").alias("began_micros")
    )
    known = (
        _reports(trace)
        .where("forked_at < from_offset")
        .join(newer, on=list(_LOG), how="left")
        .groupBy(*_RESET, "is_raised", "forked_at")
        .agg(
            F.expr("min(began_micros) filter (where leader_epoch > from_epoch)").alias("began"),
        )
        .selectExpr(
            "*",
            f"(at_micros - began) / {MICROS_PER_MS} as latency_ms",
            "from_offset - forked_at as records",
            "coalesce(to_offset = forked_at, false) as is_exact",
        )
    )
    return CheckOutcome(findings(known, _DETECTED), count(reads(trace)))


_IS_UNSURE = "(may_be_off or from_offset < start_high)"
_IS_REMOVED = (
    "coalesce(from_epoch < read_epoch and forked_at <= to_offset"
    " and to_offset between start_low and start_high, false)"
)
_UNKNOWN = "the start of the log or of a newer epoch at that time is not known"
_INTACT = (
    "the record before the position is intact and has epoch {read_epoch}; the position had epoch"
    " {from_epoch}"
)
_FALSE = Cases(
    permitted(
        "former topic",
        "epoch {from_epoch} is that of a record of the topic that was deleted since; no record of"
        " the present topic had it then",
        when="read_epoch is null and former_epoch = from_epoch"
        " and not exists(timeline, one -> one.leader_epoch = from_epoch)",
    ),
    undecided(
        "unread",
        "no record that the group read shows whether the position was truncated",
        when="read_epoch is null",
    ),
    undecided("removed epoch", _UNKNOWN, when=f"{_IS_UNSURE} and {_IS_REMOVED}"),
    undecided("stale epoch", _UNKNOWN, when=f"{_IS_UNSURE} and from_epoch < read_epoch"),
    undecided("position intact", _UNKNOWN, when=_IS_UNSURE),
    permitted(
        "removed epoch",
        "retention had removed epoch {from_epoch}; the leader answered with the log start"
        " {to_offset}, where the oldest larger epoch starts",
        when=_IS_REMOVED,
    ),
    violation("stale epoch", _INTACT, when="from_epoch < read_epoch"),
    violation("position intact", _INTACT),
    evidence="member, policy, from_epoch, to_offset, read_epoch, start_high",
    offset_first="coalesce(to_offset, from_offset)",
    offset_last="from_offset",
    at="at_micros",
)


def false_truncation(trace: Trace) -> CheckOutcome:
    """A client reported a truncation of a position that was on its branch at that time.

    The position is compared by the epoch under which the group was delivered the previous record;
    its own epoch may be stale. If an administrator set the position, it is compared by the epoch
    that was set.

    Permitted: retention had removed the position's epoch, and the client was led to the log start:
        the leader responds with the start of the first larger epoch, which retention moved there.
        Or the topic was created again, and the position's epoch is that of a record which the group
        read of the former topic, and of none of the present one.
    Undecided: the group was not delivered the previous record, and the position's epoch was on its
        branch or is unknown; or the log start of that time, or the start of a newer epoch, has
        bounds on both sides of the position.
    Evaluates: every member that was opened.
    Source: KIP-320; KAFKA-19902; `LeaderEpochFileCache.endOffsetFor`.
    """
    until = f"at_micros + {trace.clock_micros}"
    reports = with_log_starts(_reports(trace), trace).join(
        trace.log_bounds.select(*_LOG, "log_end"), on=list(_LOG), how="inner"
    )
    before = reports.selectExpr(
        *PARTITION, "from_offset", "from_offset - 1 as offset", "at_micros as reported"
    )
    of_topic = "max_by(leader_epoch, at_micros) filter (where {} is_of_former)"
    read = (
        with_former_topic(given_at(before.distinct(), trace), trace, "at_micros")
        .where("leader_epoch >= 0 and at_micros <= reported")
        .groupBy(*PARTITION, "from_offset", "reported")
        .agg(
            F.expr(of_topic.format("not")).alias("read_epoch"),
            F.expr(of_topic.format("")).alias("former_epoch"),
        )
        .withColumnRenamed("reported", "at_micros")
    )
    read = trace.engine.materialized(read)
    administered_epochs = (
        administered(trace)
        .selectExpr(
            *PARTITION, "offset as from_offset", "committed_epoch as from_epoch", "true as is_set"
        )
        .distinct()
    )
    judged = (
        reports.join(read, on=[*PARTITION, "from_offset", "at_micros"], how="left")
        .join(administered_epochs, on=[*PARTITION, "from_offset", "from_epoch"], how="left")
        .where("from_offset between start_low and log_end")
        .withColumn(
            "known_epoch", F.expr("coalesce(if(is_set, from_epoch, read_epoch), from_epoch)")
        )
        .withColumn("is_off", is_overwritten("known_epoch", "from_offset", until))
        .withColumn("may_be_off", may_be_overwritten("known_epoch", "from_offset", until))
        .where("known_epoch < 0 or not is_off")
    )
    return CheckOutcome(findings(judged, _FALSE), members_judged(trace))


def _reports(trace: Trace) -> Frame:
    """Reports of truncations by clients: _RESET, is_raised, timeline, forked_at.

    Resets, and exceptions (is_raised) that no line of the client's log reports; forked_at is of
    the position's epoch. Clients raise where they have no policy to reset by.
    """
    forked_at = fork_then("from_epoch", f"at_micros + {trace.clock_micros}")
    resets = (
        of_present_topic(client_resets(trace), trace, "at_micros")
        .where("cause = 'truncation' and from_offset is not null")
        .select(*_RESET)
    )
    failed = trace["group_events"].where("change = 'failed' and position is not null")
    is_truncation = F.coalesce(F.rlike(F.col("exception"), F.lit(_RAISED)), F.expr("false"))
    raised = (
        with_position_epochs(
            of_present_topic(failed.where(is_truncation), trace, "at_micros"), trace
        )
        .selectExpr(
            *PARTITION,
            "member",
            "'none' as policy",
            "position as from_offset",
            "known_epoch as from_epoch",
            "divergent_offset as to_offset",
            "at_micros",
        )
        .join(
            resets.select(*PARTITION, "member", "from_offset").distinct(),
            on=[*PARTITION, "member", "from_offset"],
            how="left_anti",
        )
    )
    return (
        resets.withColumn("is_raised", F.expr("false"))
        .unionByName(raised.withColumn("is_raised", F.expr("true")))
        .join(timelines(trace), on=list(_LOG), how="inner")
        .selectExpr("*", f"if(from_epoch < 0, null, {forked_at}) as forked_at")
    )


CHECKS = (
    CheckDefinition(
        "F1",
        truncation_detected,
        needs=("polls", "epoch_checkpoints", "log_starts", "leaderships"),
        cases=_DETECTED,
    ),
    CheckDefinition(
        "F3",
        false_truncation,
        needs=("group_events", "epoch_checkpoints", "log_starts"),
        cases=_FALSE,
    ),
)
