"""What was lost, skipped, repeated or made up."""

from analysis.checks.base import CheckDefinition, CheckOutcome, findings, spans
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.commits import OF_RECORDS
from analysis.facts.positions import PARTITION
from analysis.facts.progress import repeated
from analysis.facts.returns import moved_back
from analysis.facts.skips import skips
from analysis.facts.trace import Trace
from contract.outcomes import CommitEpoch

_LOG = ("topic", "partition")


def skipped_record(trace: Trace) -> CheckOutcome:
    """A group's position went past a record of the surviving log that it was never delivered.

    Counted from where the group began, not from its first delivery.

    Permitted: a reset by `auto.offset.reset=latest` led past it; the group commits no epochs and
        had read a truncated record at that offset; or the group commits the epochs of its records,
        and after several unclean elections a truncation led it past records of older epochs, to the
        offset that the protocol requires of the leader: the end of the largest epoch that is not
        above the requested one.
    Undecided: the history of a member lacks events; a group that commits the epochs of its records
        noticed a truncation, but was led elsewhere above the divergence.
    Evaluates: every delivery.
    Source: KIP-320: after several unclean elections in a row the exact offset of a truncation may
        not be found.
    """
    by_policy = F.col("jumped_to").isNotNull()
    by_style = F.col("is_replaced") & (F.col("commit_epoch") == str(CommitEpoch.NONE))
    style = F.coalesce("commit_epoch", F.lit(str(CommitEpoch.RECORD)))
    is_inexact = F.col("truncated_to").isNotNull() & style.isin(*OF_RECORDS)
    by_elections = is_inexact & F.col("unclean_epochs").isNotNull()
    kind = (
        F.when(by_policy, "skipped by a reset")
        .when(F.col("truncated_to").isNotNull(), "divergent offset too high")
        .otherwise("skipped without an error")
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
        "unclean_epochs",
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
                "unclean_epochs",
                "is_replaced",
            ),
            kind=kind,
            verdict=F.when(by_policy | by_style | by_elections, "permitted")
            .when(F.col("is_gapped") | is_inexact, "undecided")
            .otherwise("violation"),
            cause=_cause_of_skip(by_style, by_elections),
        ),
        trace.records("polls"),
    )


def _cause_of_skip(by_style: Column, by_elections: Column) -> Column:
    silent = F.format_string(
        "the client accepted committed offset %s with epoch %s, but at these offsets the log has"
        " other records, of epoch %s, than the group had read",
        "committed_offset",
        "committed_epoch",
        "leader_epoch",
    )
    too_high = F.format_string(
        "the client truncated its position to the end of committed epoch %s in this log, %s, which"
        " is above the divergence",
        "committed_epoch",
        "truncated_to",
    )
    inexact = F.format_string(
        "the leader answered %s, the end of its largest epoch not above the requested one; after"
        " the unclean elections of epochs %s the exact divergence is not known",
        "truncated_to",
        "unclean_epochs",
    )
    return (
        F.when(F.col("jumped_to").isNotNull(), "auto.offset.reset=latest skipped the records")
        .when(
            by_style,
            "the offset was committed without a leader epoch, so it could not be validated",
        )
        .when(by_elections, inexact)
        .when(F.col("truncated_to").isNotNull(), too_high)
        .when(F.col("is_replaced"), silent)
        .otherwise("neither a truncation nor a reset explains the skip")
    )


def duplicate_delivery(trace: Trace) -> CheckOutcome:
    """A group was delivered a record again, or one value at several offsets.

    Permitted: outside of a session: after a reset, a rebalance or a return to a commit of the
        group; or the value was appended more than once.
    Evaluates: every delivery.
    Source: Kafka's documentation, Message Delivery Semantics: delivery is at least once;
        `KafkaConsumer`: a position moves past each record that poll returns.
    """
    back = moved_back(trace).where("not is_permitted")
    ranges = back.select(*PARTITION, "first_offset", "prev_offset").distinct()
    within_session = (
        repeated(trace)
        .select(*PARTITION, "offset")
        .join(ranges, on=list(PARTITION), how="inner")
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
            "last_offset",
            "deliveries",
            "if(_is_within, 'within a session', 'redelivered') as kind",
        )
    )
    several = (
        slices.polls(trace)
        .where("is_intact")
        .groupBy(*PARTITION, "value")
        .agg(
            F.max("offset").alias("offset"),
            F.max("last_offset").alias("last_offset"),
            F.count_distinct("offset").alias("deliveries"),
        )
        .where("deliveries > 1")
        .withColumn("kind", F.lit("at several offsets"))
        .select(*again.columns)
    )
    found = spans(trace, again.union(several), *PARTITION, "deliveries", "kind")
    causes = {
        "redelivered": "at-least-once delivery: the group returned to an earlier position",
        "at several offsets": "at-least-once delivery: the value is in the log more than once",
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
        trace.records("polls"),
    )


def phantom_record(trace: Trace) -> CheckOutcome:
    """A group was delivered a value that no producer set out to send.

    Evaluates: every delivery.
    Source: the histories: a producer records each value before it sends it.
    """
    phantoms = (
        slices.polls(trace)
        .where("is_intact")
        .join(slices.sends(trace), on=[*_LOG, "value"], how="left_anti")
    )
    return _each_poll(trace, phantoms, kind="phantom", cause="no producer intended this value")


def corrupted_record(trace: Trace) -> CheckOutcome:
    """A group was delivered a value with a wrong checksum.

    Evaluates: every delivery.
    Source: `contract/values.py`: the checksum is part of the value.
    """
    corrupted = (
        trace["polls"]
        .where("not is_intact")
        .selectExpr(
            *PARTITION,
            "first_offset as offset",
            "last_offset",
            "coalesce(value, concat(producer, ':', cast(first_sequence as string))) as value",
            "polled_micros",
        )
    )
    return _each_poll(
        trace, corrupted, kind="corrupted", cause="the value's checksum does not match"
    )


def _each_poll(trace: Trace, polls: Frame, *, kind: str, cause: str) -> CheckOutcome:
    found = spans(trace, polls, *PARTITION, at=F.min("polled_micros"), value=F.min("value"))
    return CheckOutcome(
        findings(
            found,
            evidence=("records", "value"),
            kind=F.lit(kind),
            verdict=F.lit("violation"),
            cause=F.lit(cause),
        ),
        trace.records("polls"),
    )


CHECKS = (
    CheckDefinition("A1s", skipped_record, needs=("polls", "group_events", "log_starts")),
    CheckDefinition("A4", duplicate_delivery, needs=("polls",)),
    CheckDefinition("A5", phantom_record, needs=("polls", "sends")),
    CheckDefinition("A6", corrupted_record, needs=("polls",)),
)
