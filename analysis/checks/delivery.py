"""What was lost, skipped, repeated or made up (taxonomy A)."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis import closeup
from analysis.acknowledgements import lost
from analysis.checks.base import CheckOutcome, Totals, count_records, findings, spans
from analysis.checks.summaries import summary_of_losses
from analysis.commits import OF_RECORDS
from analysis.digests import outside, within
from analysis.load import Trace
from analysis.positions import PARTITION
from analysis.progress import repeated
from analysis.returns import moved_back
from analysis.skips import skips
from harness.contract.outcomes import CommitEpoch

_LOG = ("topic", "partition")
_CAUSE_OF_LOSS = """
    case
        when later is not null or truncated_to is not null then 'truncated'
        when offset < log_start and subscribed > 0 and missed <= 0 then 'expired'
        when offset < log_start then 'expired_unread'
        else 'unexplained'
    end
"""
_MAY_BE_LOST = """
    cause = 'truncated' and (unclean_election or acks != 'all')
    or cause = 'expired_unread' and (retention_ms is not null or deletes)
"""


def lost_record(trace: Trace) -> CheckOutcome:
    """A1: acknowledged, and not in the surviving log, unless deleted after every group had it.

    Causes: `truncated` (the acknowledging leader cut it off, or a later epoch starts at or below
    the offset on the surviving branch), `expired_unread` (below the log start, and a group that
    reads the topic never had it, or none reads it), `unexplained`.
    """
    judged = (
        _with_readers(lost(trace), trace)
        .join(F.broadcast(trace.epoch_starts), on=list(_LOG), how="left")
        .join(F.broadcast(trace.topics), on="topic", how="left")
        .select("*", _later_epoch().alias("later"))
        .selectExpr("*", "subscribed - groups_had as missed")
        .selectExpr("*", f"{_CAUSE_OF_LOSS} as cause")
        .where("cause != 'expired'")
        .selectExpr(
            *_LOG,
            "offset",
            "cause",
            "acks",
            "acknowledged_epoch",
            "acknowledged_by as broker",
            "known_by",
            "held_by",
            "truncated_to",
            "later.leader_epoch as later_epoch",
            "later.start_offset as later_start",
            "if(cause = 'expired_unread', missed, null) as groups_missed",
            f"if({_MAY_BE_LOST}, 'permitted', 'violation') as verdict",
            "producer",
            "answered_micros",
            "truncated_micros",
        )
    )
    keys = judged.columns[judged.columns.index("cause") : judged.columns.index("producer")]
    found = spans(
        trace,
        judged,
        *_LOG,
        *keys,
        at=F.min("answered_micros"),
        producer=F.min("producer"),
        truncated_micros=F.min("truncated_micros"),
    )
    told = findings(
        found,
        evidence=(
            "records",
            "acks",
            "acknowledged_epoch",
            "broker",
            "known_by",
            "held_by",
            "producer",
            "truncated_to",
            "truncated_micros",
            "later_epoch",
            "later_start",
            "groups_missed",
        ),
        kind=F.col("cause"),
        verdict=F.col("verdict"),
        cause=_told_loss(),
    )
    totals = (*_LOG, "verdict", "acks", "cause", "later_epoch", "later_start")
    return CheckOutcome(
        told,
        count_records(closeup.in_brief(trace)),
        Totals(found.select(*totals, "records"), summary_of_losses),
    )


def _told_loss() -> Column:
    guess = F.when(F.col("known_by") == "guess", F.lit(" (a guess: it led then)")).otherwise("")
    cut = F.when(
        F.col("truncated_to").isNotNull(),
        F.format_string(" when broker %s cut its log to %s", "broker", "truncated_to"),
    ).otherwise("")
    return F.format_string(
        "%s records acknowledged (acks=%s) under epoch %s%s: %s%s",
        "records",
        "acks",
        "acknowledged_epoch",
        guess,
        "cause",
        cut,
    )


def skipped_record(trace: Trace) -> CheckOutcome:
    """A1s: in the surviving log, and the group's position went past it without a delivery.

    Counted from where the group began. Permitted where a reset by `auto.offset.reset=latest` led
    past it, and where a group that commits without epochs had read a record that was truncated
    there: no client can tell. Undecided where the history of a member lacks events, and where a
    group that commits the epochs of its records noticed a truncation, but was led above it: after
    several unclean elections in a row the exact offset may not be found (KIP-320).
    """
    by_policy = F.col("jumped_to").isNotNull()
    by_style = F.col("is_replaced") & (F.col("commit_epoch") == str(CommitEpoch.NONE))
    style = F.coalesce("commit_epoch", F.lit(str(CommitEpoch.RECORD)))
    is_inexact = F.col("truncated_to").isNotNull() & style.isin(*OF_RECORDS)
    kind = (
        F.when(by_policy, "jumped by reset")
        .when(F.col("truncated_to").isNotNull(), "truncation seen too high")
        .otherwise("passed in silence")
    )
    found = spans(
        trace,
        skips(trace),
        *PARTITION,
        "commit_epoch",
        "committed_offset",
        "committed_epoch",
        "jumped_to",
        "truncated_to",
        "is_replaced",
        "is_gapped",
        "leader_epoch",
    )
    return CheckOutcome(
        findings(
            found,
            evidence=(
                "records",
                "leader_epoch",
                "committed_offset",
                "committed_epoch",
                "commit_epoch",
                "jumped_to",
                "truncated_to",
                "is_replaced",
            ),
            kind=kind,
            verdict=F.when(by_policy | by_style, "permitted")
            .when(F.col("is_gapped") | is_inexact, "undecided")
            .otherwise("violation"),
            cause=_cause_of_skip(by_style),
        ),
        trace.rows["polls"],
    )


def _cause_of_skip(by_style: Column) -> Column:
    silent = F.format_string(
        "committed (%s, epoch %s) was taken as valid in a log that has these records of epoch %s"
        " instead of those that were read",
        "committed_offset",
        "committed_epoch",
        "leader_epoch",
    )
    too_high = F.format_string(
        "committed epoch %s ends at %s in this log: the truncation was placed there, above the"
        " divergence",
        "committed_epoch",
        "truncated_to",
    )
    return (
        F.when(F.col("jumped_to").isNotNull(), "auto.offset.reset=latest jumped over them")
        .when(by_style, "no epoch was committed to validate")
        .when(F.col("truncated_to").isNotNull(), too_high)
        .when(F.col("is_replaced"), silent)
        .otherwise("no truncation and no reset explains it")
    )


def duplicate_delivery(trace: Trace) -> CheckOutcome:
    """A4: the same record, or the same value at another offset, delivered to a group again.

    At-least-once delivery permits it, across a reset, a rebalance or a return to a commit of the
    group. Within a session of reading nothing permits it: a position moves past each record that
    poll returns (`KafkaConsumer`). A value at several offsets was appended more than once.
    """
    back = moved_back(trace).where("not is_permitted")
    ranges = back.select(*PARTITION, "first_offset", "prev_offset").distinct()
    within_session = (
        repeated(trace)
        .select(*PARTITION, "offset")
        .join(F.broadcast(ranges), on=list(PARTITION), how="inner")
        .where("offset between first_offset and prev_offset")
        .select(*PARTITION, "offset", F.expr("true").alias("_is_within"))
        .distinct()
    )
    again = (
        repeated(trace)
        .join(within_session, on=[*PARTITION, "offset"], how="left")
        .selectExpr(
            *PARTITION,
            "offset",
            "deliveries",
            "if(_is_within, 'within a session', 'redelivered') as kind",
        )
    )
    several = (
        closeup.polls(trace)
        .where("is_intact")
        .groupBy(*PARTITION, "value")
        .agg(F.max("offset").alias("offset"), F.count_distinct("offset").alias("deliveries"))
        .where("deliveries > 1")
        .select(*PARTITION, "offset", "deliveries", F.lit("at several offsets").alias("kind"))
    )
    found = spans(trace, again.union(several), *PARTITION, "deliveries", "kind")
    causes = {
        "redelivered": "delivery is at least once: the group went back",
        "at several offsets": "delivery is at least once: the value is in the log more than once",
    }
    return CheckOutcome(
        findings(
            found,
            evidence=("records", "deliveries"),
            kind=F.col("kind"),
            verdict=F.when(F.col("kind") == "within a session", "violation").otherwise("permitted"),
            cause=F.coalesce(
                *(F.when(F.col("kind") == kind, F.lit(text)) for kind, text in causes.items()),
                F.lit("delivered again in one session, without a reset or a rebalance"),
            ),
        ),
        trace.rows["polls"],
    )


def phantom_record(trace: Trace) -> CheckOutcome:
    """A5: delivered, but no producer ever set out to send it."""
    polls = closeup.polls(trace).where("is_intact")
    phantoms = outside(polls, closeup.sends(trace), *_LOG, "value")
    return _each_poll(trace, phantoms, kind="phantom", cause="no producer intended this value")


def corrupted_record(trace: Trace) -> CheckOutcome:
    """A6: delivered with a value whose checksum does not fit."""
    corrupted = closeup.polls(trace).where("not is_intact")
    return _each_poll(trace, corrupted, kind="corrupted", cause="the value's checksum does not fit")


def _each_poll(trace: Trace, polls: DataFrame, *, kind: str, cause: str) -> CheckOutcome:
    found = spans(trace, polls, *PARTITION, at=F.min("polled_micros"), value=F.min("value"))
    return CheckOutcome(
        findings(
            found,
            evidence=("records", "value"),
            kind=F.lit(kind),
            verdict=F.lit("violation"),
            cause=F.lit(cause),
        ),
        trace.rows["polls"],
    )


def _with_readers(gone: DataFrame, trace: Trace) -> DataFrame:
    """Add groups_had: of what was deleted, how many of the plan's groups had the record."""
    deleted = gone.where("offset < log_start")
    planned = F.broadcast(trace.groups.select("group"))
    polls = closeup.polls(trace).join(planned, on="group", how="left_semi")
    had = (
        within(polls, deleted, *_LOG, "value")
        .groupBy(*_LOG, "value")
        .agg(F.count_distinct("group").alias("groups_had"))
    )
    return gone.join(had, on=[*_LOG, "value"], how="left").withColumn(
        "groups_had", F.coalesce("groups_had", F.lit(0))
    )


def _later_epoch() -> Column:
    """The first epoch after the acknowledgement's that starts at or below the offset, or null."""
    overtaking = F.filter(
        "epochs",
        lambda epoch: (
            (epoch["leader_epoch"] > F.col("acknowledged_epoch"))
            & (epoch["start_offset"] <= F.col("offset"))
        ),
    )
    return F.array_min(overtaking)
