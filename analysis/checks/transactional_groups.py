"""Transactions and the groups that wait for them, or that copy by them."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import Cases, findings, permitted, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.deliveries import client_resets
from analysis.facts.faults import with_faults
from analysis.facts.positions import PARTITION, administered, offsets_of
from analysis.facts.sessions import OUTAGE_SECONDS
from analysis.facts.trace import Trace
from analysis.facts.transaction_outcomes import MARKED_SECONDS, offset_commits
from analysis.facts.transactions import writes
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_TRANSACTION = ("producer", "transaction")

_HELD = (
    "transaction {transaction} of {producer} held back the last stable offset for {seconds:.1f} s;"
    " {behind} offsets lay behind it"
)
_HELD_AFTER = f"{_HELD}; its marker was written {{late_seconds:.1f}} s after its end"
_HOLDING = Cases(
    violation(
        "after its end",
        _HELD_AFTER,
        when=f"late_seconds > {MARKED_SECONDS}",
        permitted_if="faults > 0",
    ),
    permitted("after its end", _HELD_AFTER, when=f"late_seconds > {OUTAGE_SECONDS}"),
    permitted("open", _HELD),
    evidence="producer, transaction, transactional_id, behind, seconds, late_seconds, faults",
    offset_last="marker_at",
    at="began_micros",
)


def held_stable_offset(trace: Trace) -> CheckOutcome:
    """A transaction held back the last stable offset for 2 s or more, with offsets behind it.

    From its first write to its marker, no read_committed group is given what lies behind that
    write. `hanging_transaction` finds transactions without a marker.

    Permitted: the transaction was open: `transaction.timeout.ms` of its producer bounds that; or
        its marker was written 10 s after its end or earlier, or a fault was in force meanwhile.
    Evaluates: each partition of each transaction that has a marker.
    Source: KIP-98: the last stable offset; `TransactionMarkerChannelManager` writes the markers
        once the end is stored.
    """
    ended = (
        writes(trace)
        .where("marker is not null and answered_micros is not null")
        .groupBy(*_LOG, *_TRANSACTION, "marker_at")
        .agg(
            F.min("offset").alias("offset_first"),
            F.sum("records").alias("records"),
            F.min("answered_micros").alias("began_micros"),
        )
    )
    markers = (
        trace["replica_batches"]
        .where("is_control")
        .join(trace.survivors, on=[*_LOG, "broker"], how="left_semi")
        .groupBy(*_LOG, F.col("base_offset").alias("marker_at"))
        .agg(F.min("max_timestamp_micros").alias("ended_micros"))
    )
    closed = (
        trace["transactions"]
        .where("step in ('commit', 'abort') and outcome = 'ok'")
        .groupBy(*_TRANSACTION)
        .agg(
            F.min("at_micros").alias("closed_micros"),
            F.min("transactional_id").alias("transactional_id"),
        )
    )
    held = (
        ended.join(markers, on=[*_LOG, "marker_at"], how="inner")
        .join(closed, on=list(_TRANSACTION), how="left")
        .selectExpr(
            "*",
            "marker_at - offset_first - records as behind",
            f"(ended_micros - began_micros) / {MICROS_PER_SECOND} as seconds",
            f"(ended_micros - closed_micros) / {MICROS_PER_SECOND} as late_seconds",
        )
        .where(f"behind > 0 and seconds >= {OUTAGE_SECONDS}")
    )
    found = with_faults(held, trace, since="closed_micros", until="ended_micros")
    return CheckOutcome(findings(found, _HOLDING), count(ended))


_AGAIN = (
    "{records} records were processed by transaction {first.transaction} of {first.producer}, and"
    " again by transaction {second.transaction} of {second.producer}"
)
_OUTPUT = Cases(
    permitted("{led_by}", f"{_AGAIN}; the group had been led back", when="led_by is not null"),
    violation("processed again", _AGAIN),
    evidence="first, second, records, led_by",
    at="at_micros",
)


def repeated_output(trace: Trace) -> CheckOutcome:
    """A group's records were processed by two committed transactions, each with its output.

    What a transaction processed is what its member was delivered since the transaction before, up
    to the offset that the transaction committed. Both transactions are committed, with offsets and
    output, and the offsets of both are in the surviving log; `output_without_offsets` evaluates
    the others.

    Permitted: a reset or an administrator led the group back in between.
    Evaluates: every committed transaction with output and offsets.
    Source: KIP-98, sendOffsetsToTransaction; KIP-447: a new member waits for open transactions.
    """
    output = (
        writes(trace)
        .where("ended_as = 'committed'")
        .select(*_TRANSACTION)
        .distinct()
        .withColumn("has_output", F.expr("true"))
    )
    survives = offsets_of(trace).select("offsets_partition", "offsets_offset").distinct()
    sent = (
        offset_commits(trace)
        .join(
            trace["transactions"]
            .where("step = 'send_offsets' and outcome = 'ok'")
            .groupBy(*_TRANSACTION)
            .agg(F.max("seq").alias("seq"), F.max("worker").alias("worker")),
            on=list(_TRANSACTION),
            how="inner",
        )
        .join(survives, on=["offsets_partition", "offsets_offset"], how="left_semi")
        .join(output, on=list(_TRANSACTION), how="left")
        .selectExpr(
            "worker",
            *PARTITION,
            "seq",
            "offset as end",
            "struct(producer, transaction) as of",
            "coalesce(marker = 'commit' and has_output, false) as counts",
        )
    )
    processed = _processed(sent, trace).where("of.counts and last_offset < of.end")
    pairs = (
        processed.groupBy(*PARTITION, "offset", "last_offset", "records")
        .agg(
            F.count_distinct("of.of").alias("times"),
            F.expr("min_by(of.of, polled_micros)").alias("first"),
            F.expr("max_by(of.of, polled_micros)").alias("second"),
            F.min("polled_micros").alias("_first_micros"),
            F.max("polled_micros").alias("at_micros"),
        )
        .where("times > 1 and first != second")
    )
    led = (
        client_resets(trace)
        .where("to_offset is not null")
        .selectExpr(*PARTITION, "to_offset", "at_micros as led_micros", "cause")
        .union(
            administered(trace).selectExpr(
                *PARTITION,
                "offset as to_offset",
                "committed_micros as led_micros",
                "'administrator' as cause",
            )
        )
    )
    is_between = "led_micros between _first_micros and at_micros and to_offset <= offset"
    found = (
        pairs.join(led, on=list(PARTITION), how="left")
        .groupBy(*pairs.columns)
        .agg(F.expr(f"max(cause) filter (where {is_between})").alias("led_by"))
        .groupBy(*PARTITION, "first", "second", "led_by")
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.sum("records").alias("records"),
            F.min("at_micros").alias("at_micros"),
        )
    )
    return CheckOutcome(findings(found, _OUTPUT), count(sent.where("counts")))


def _processed(sent: Frame, trace: Trace) -> Frame:
    """Deliveries of the groups, each with `of`: (of, end, counts) of the next transaction."""
    given = (
        slices.polls(trace)
        .join(sent.select("worker", *PARTITION).distinct(), on=["worker", *PARTITION])
        .select("worker", *PARTITION, "seq", "offset", "last_offset", "records", "polled_micros")
    )
    next_first = Window.partitionBy("worker", *PARTITION).orderBy(F.desc("seq"))
    return (
        given.unionByName(
            sent.selectExpr("worker", *PARTITION, "seq", "struct(of, end, counts) as next"),
            allowMissingColumns=True,
        )
        .withColumn("of", F.last("next", ignorenulls=True).over(next_first))
        .where("offset is not null and of is not null")
    )


CHECKS = (
    CheckDefinition(
        "C9",
        held_stable_offset,
        needs=("transactions", "sends", "replica_batches"),
        cases=_HOLDING,
    ),
    CheckDefinition(
        "C10",
        repeated_output,
        needs=("transactions", "sends", "polls", "committed_offsets"),
        cases=_OUTPUT,
    ),
)
