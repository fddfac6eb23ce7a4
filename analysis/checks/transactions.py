"""Whether transactions are whole, and aborted ones hidden (taxonomy A8, C).

How a transaction ended is what its client was told, else the marker that ends it in the log.
"""

from pyspark.sql import Column, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, count, findings, spans
from analysis.load import Trace
from analysis.progress import final_positions
from analysis.transactions import committed_readers, writes

_LOG = ("topic", "partition")
_TRANSACTION = ("producer", "transaction")


def aborted_read(trace: Trace) -> CheckOutcome:
    """A8: a read_committed group was delivered what no committed transaction wrote.

    That is a value of a failed send, or of a transaction that the client was told is not committed,
    or that an abort marker ends in the log. Undecided where neither client nor log tells its end.
    """
    untaken = writes(trace).where("fate != 'committed'")
    readers = F.broadcast(committed_readers(trace))
    owed = untaken.join(readers, on="topic", how="inner")
    delivered = trace["polls"].select("group", *_LOG, "offset", "value", "polled_micros")
    read = owed.drop("offset").join(delivered, on=["group", *_LOG, "value"], how="inner")
    found = spans(
        read,
        "group",
        *_LOG,
        *_TRANSACTION,
        "fate",
        "reason",
        at=F.min("polled_micros"),
    )
    return CheckOutcome(
        findings(
            found,
            evidence=("records", *_TRANSACTION, "reason"),
            kind=F.col("fate"),
            verdict=F.when(F.col("fate") == "unknown", "undecided").otherwise("violation"),
            cause=F.format_string(
                "%s values of transaction %s of %s were delivered as committed: %s",
                "records",
                "transaction",
                "producer",
                "reason",
            ),
        ),
        count(owed),
    )


def torn_transaction(trace: Trace) -> CheckOutcome:
    """C: of a committed transaction, a read_committed group went past writes and never got them.

    Kind `torn` where it got others, `hidden` where it got none. Judged is each committed write that
    a group went past. Permitted where an unclean election may have removed the write; undecided
    where nothing tells that it was ever appended.
    """
    passed = (
        writes(trace)
        .where("fate = 'committed'")
        .join(F.broadcast(committed_readers(trace)), on="topic", how="inner")
        .join(final_positions(trace), on=["group", *_LOG], how="inner")
        .where("offset is null or (offset >= first_offset and offset < final_position)")
    )
    delivered = trace["polls"].select("group", *_LOG, "value").distinct()
    judged = (
        passed.join(
            delivered.withColumn("_got", F.lit(1)), on=["group", *_LOG, "value"], how="left"
        )
        .withColumn("is_missed", F.col("_got").isNull())
        .withColumn(
            "seen",
            F.sum(F.coalesce("_got", F.lit(0))).over(Window.partitionBy("group", *_TRANSACTION)),
        )
    )
    missed = (
        judged.where("is_missed")
        .join(
            trace.surviving.select(*_LOG, "value", F.lit(1).alias("_kept")),
            on=[*_LOG, "value"],
            how="left",
        )
        .join(F.broadcast(trace.topics.select("topic", "unclean_election")), on="topic", how="left")
        .withColumn("verdict", _verdict_of_missed())
        .groupBy("group", *_LOG, *_TRANSACTION, "verdict", "seen")
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("offset").alias("offset_last"),
            F.count(F.lit(1)).alias("records"),
        )
    )
    return CheckOutcome(
        findings(
            missed,
            evidence=("records", *_TRANSACTION, "seen"),
            kind=F.when(F.col("seen") > 0, "torn").otherwise("hidden"),
            verdict=F.col("verdict"),
            cause=F.format_string(
                "%s values of committed transaction %s of %s were passed and never delivered;"
                " %s others were",
                "records",
                "transaction",
                "producer",
                "seen",
            ),
        ),
        count(judged),
    )


def _verdict_of_missed() -> Column:
    is_lost = F.col("_kept").isNull()
    return (
        F.when(F.col("offset").isNull(), "undecided")
        .when(is_lost & F.col("unclean_election"), "permitted")
        .otherwise("violation")
    )
