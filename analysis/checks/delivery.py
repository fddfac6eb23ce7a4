"""What was lost, skipped, repeated or made up."""

from analysis.checks.base import CheckDefinition, CheckOutcome, spans
from analysis.checks.cases import PERMIT, Cases, findings, permitted, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import literal
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.assignments import commits_at_start
from analysis.facts.commits import OF_RECORDS
from analysis.facts.permits import with_permit
from analysis.facts.positions import PARTITION
from analysis.facts.progress import repeated, skips
from analysis.facts.sessions import moved_back
from analysis.facts.state import with_timelines
from analysis.facts.trace import Trace
from contract.outcomes import CommitEpoch

_LOG = ("topic", "partition")

_HAS_NO_EPOCH = f"is_replaced and is_unvalidated and commit_epoch = '{CommitEpoch.NONE}'"
_IS_INEXACT = (
    f"truncated_to is not null and coalesce(commit_epoch, '{CommitEpoch.RECORD}')"
    f" in ({', '.join(map(literal, OF_RECORDS))})"
)
"""The group commits the epochs of its records, and a truncation led it past the records."""
_UNVALIDATED = "the offset was committed without a leader epoch, so it could not be validated"
_SKIPS = Cases(
    permitted(
        "skipped by a reset",
        "auto.offset.reset={policy} skipped the records",
        when="jumped_to is not null",
    ),
    violation(
        "skipped behind its commit",
        "the client stood at {withheld_at} and left its commits out, so that the group resumed at"
        " what it had committed before",
        when="withheld_at is not null",
    ),
    permitted(
        "skipped by an administrator",
        "an administrator set the group's offset to {set_to}, past the records",
        when="set_to is not null",
    ),
    permitted(
        "divergent offset too high",
        _UNVALIDATED,
        when=f"{_HAS_NO_EPOCH} and truncated_to is not null",
    ),
    permitted("skipped without an error", _UNVALIDATED, when=_HAS_NO_EPOCH),
    permitted(
        "skipped without an error",
        f"the group had read other records there, of epoch {{read_epoch}}; {PERMIT}",
        when="is_replaced and is_unseen and permit is not null",
    ),
    permitted(
        "divergent offset too high",
        "the leader answered {truncated_to}, the end of its largest epoch not above the requested"
        " one; after the unclean elections of epochs {unclean_epochs} the exact divergence is not"
        " known",
        when=f"{_IS_INEXACT} and unclean_epochs is not null",
    ),
    violation(
        "divergent offset too high",
        "the client truncated its position to the end of committed epoch {committed_epoch} in this"
        " log, {truncated_to}, which is above the divergence",
        when="truncated_to is not null",
        undecided_if=f"is_gapped or {_IS_INEXACT}",
    ),
    violation(
        "skipped without an error",
        "the client accepted committed offset {committed_offset} with epoch {committed_epoch}, but"
        " at these offsets the log has other records, of epoch {leader_epoch}, than the group had"
        " read",
        when="is_replaced",
        undecided_if="is_gapped or is_unseen and is_unreported",
    ),
    violation(
        "skipped without an error",
        "neither a truncation nor a reset explains the skip",
        undecided_if="is_gapped",
    ),
    evidence="records, leader_epoch, committed_offset, committed_epoch, commit_epoch,"
    " jumped_to, set_to, withheld_at, truncated_to, unclean_epochs, is_replaced, permit",
)


def skipped_record(trace: Trace) -> CheckOutcome:
    """A group's position went past a record of the surviving log that it was never delivered.

    Counted from where the group began, not from its first delivery. What a transaction wrote is
    left out for groups that read committed values: `torn_transaction` evaluates that.

    Permitted: a reset by `auto.offset.reset`, `latest` or `by_duration`, or an administrator led
        past it; the group commits no epochs, began beyond a truncated record that it had read at
        that offset, and had not left commits out meanwhile; it had read such a record, and an
        election that permits its loss brought back a log that lacks its epoch, which no client can
        notice: the end that the leader returns is above the position; or the group commits the
        epochs of its records, and after several unclean elections a truncation led it past records
        of older epochs, to the offset that the protocol requires of the leader: the end of the
        largest epoch that is not above the requested one.
    Undecided: the history of a member lacks events; a group that commits the epochs of its records
        noticed a truncation, but was led elsewhere above the divergence.
    Evaluates: every delivery.
    Source: KIP-320: after several unclean elections in a row the exact offset of a truncation may
        not be found.
    """
    skipped = with_permit(
        with_timelines(_with_resumption(skips(trace), trace), trace),
        trace,
        after="read_epoch",
        to="array_max(timeline).leader_epoch",
        offset="offset",
    )
    found = spans(
        trace,
        skipped,
        *PARTITION,
        "is_unvalidated",
        "commit_epoch",
        "committed_offset",
        "committed_epoch",
        "jumped_to",
        "policy",
        "set_to",
        "withheld_at",
        "truncated_to",
        "unclean_epochs",
        "is_replaced",
        "read_epoch",
        "is_unseen",
        "permit",
        "is_unreported",
        "is_gapped",
        "leader_epoch",
    )
    return CheckOutcome(findings(found, _SKIPS), trace.records("polls"))


def _with_resumption(skipped: Frame, trace: Trace) -> Frame:
    """Add is_unvalidated: whether a member began beyond it, at a commit without an epoch."""
    key = (*PARTITION, "offset", "leader_epoch")
    began = (
        commits_at_start(trace)
        .where("committed_epoch < 0")
        .select(*PARTITION, "committed_offset")
        .distinct()
    )
    found = (
        skipped.select(*key)
        .join(
            began.withColumnRenamed("committed_offset", "_began"), on=list(PARTITION), how="inner"
        )
        .where("offset < _began")
        .select(*key, F.expr("true").alias("is_unvalidated"))
        .distinct()
    )
    return skipped.join(found, on=list(key), how="left").withColumn(
        "is_unvalidated", F.coalesce("is_unvalidated", F.expr("false"))
    )


_REPEATS = Cases(
    violation(
        "within a session",
        "delivered again in one session, without a reset or a rebalance",
    ),
    permitted(
        "redelivered",
        "at-least-once delivery: the group returned to an earlier position",
    ),
    permitted(
        "at several offsets",
        "at-least-once delivery: the value is in the log more than once",
    ),
    evidence="records, deliveries",
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
    return CheckOutcome(findings(found, _REPEATS), trace.records("polls"))


_PHANTOM = Cases(violation("phantom", "no producer intended this value"), evidence="records, value")


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
    return _each_poll(trace, phantoms, _PHANTOM)


_CORRUPTED = Cases(
    violation("corrupted", "the value's checksum does not match"), evidence="records, value"
)


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
    return _each_poll(trace, corrupted, _CORRUPTED)


def _each_poll(trace: Trace, polls: Frame, cases: Cases) -> CheckOutcome:
    found = spans(trace, polls, *PARTITION, at=F.min("polled_micros"), value=F.min("value"))
    return CheckOutcome(findings(found, cases), trace.records("polls"))


CHECKS = (
    CheckDefinition(
        "A1s", skipped_record, needs=("polls", "group_events", "log_starts"), cases=_SKIPS
    ),
    CheckDefinition("A4", duplicate_delivery, needs=("polls",), cases=_REPEATS),
    CheckDefinition("A5", phantom_record, needs=("polls", "sends"), cases=_PHANTOM),
    CheckDefinition("A6", corrupted_record, needs=("polls",), cases=_CORRUPTED),
)
