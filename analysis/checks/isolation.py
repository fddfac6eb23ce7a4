"""What transactions see of each other (G0, G1c, reads before the commit).

G0 and G1c are Adya's phenomena (Generalized Isolation Level Definitions, 2000), with a partition's
log as the versions of one object, as Jepsen's Kafka tests take them.
"""

from analysis.checks.base import CheckDefinition, CheckOutcome, count, count_records, findings
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column, Window
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.trace import Trace
from analysis.facts.transaction_outcomes import committed_readers, ends, offset_commits
from contract.outcomes import Isolation

_LOG = ("topic", "partition")
_TRANSACTION = ("producer", "transaction")
_PAIR = ("first", "second")


def write_cycle(trace: Trace) -> CheckOutcome:
    """Each of two committed transactions wrote right after the other (Adya's G0).

    In one partition or in two. Cycles of more than two transactions are not looked for.

    Permitted: always: a transaction is atomic, but its writes need not stand together.
    Evaluates: every committed transaction.
    Source: KIP-98; Adya, Generalized Isolation Level Definitions.
    """
    edges = _write_edges(trace)
    back = edges.toDF("second", "first", *(f"back_{name}" for name in edges.columns[2:]))
    cycles = edges.join(back, on=list(_PAIR), how="inner").where(_is_in_order())
    committed = ends(trace).where("reported = 'committed'")
    return CheckOutcome(
        findings(
            cycles,
            evidence=(*_PAIR, "back_topic", "back_partition", "back_offset"),
            kind=F.when(
                F.expr("topic = back_topic and partition = back_partition"), "in one partition"
            ).otherwise("in two partitions"),
            verdict=F.lit("permitted"),
            offset_first=F.col("offset"),
            cause=F.format_string(
                "transactions %s of %s and %s of %s each wrote directly after a write of the other",
                "first.transaction",
                "first.producer",
                "second.transaction",
                "second.producer",
            ),
        ),
        count(committed),
    )


def circular_information(trace: Trace) -> CheckOutcome:
    """Two committed transactions depend on each other, at least one by reading (Adya's G1c).

    Or a transaction read its own write. A transaction reads what lies between the offsets that its
    group had committed before and those that it commits itself.

    Permitted: one of the groups reads uncommitted values; or one of both dependencies is a write.
    Evaluates: pairs of a transaction that wrote and one that read it.
    Source: `isolation.level`; KIP-98; Adya, Generalized Isolation Level Definitions.
    """
    reads = _read_edges(trace)
    again = reads.toDF("second", "first", "_1", "_2", "_3", "_4", "_level")
    both = reads.join(again.select(*_PAIR, "_level"), on=list(_PAIR), how="inner")
    each_other = both.where(_is_in_order()).withColumn("kind", F.lit("read each other"))
    itself = both.where("first = second").withColumn("kind", F.lit("read itself"))
    wrote = _write_edges(trace).select(
        F.col("first").alias("second"), F.col("second").alias("first")
    )
    before = (
        reads.where("first != second")
        .join(wrote, on=list(_PAIR), how="left_semi")
        .withColumn("_level", F.col("isolation"))
        .withColumn("kind", F.lit("read, then written before"))
    )
    found = each_other.unionByName(itself).unionByName(before)
    is_hidden = F.greatest("isolation", "_level") == str(Isolation.READ_COMMITTED)
    return CheckOutcome(
        findings(
            found,
            evidence=_PAIR,
            kind=F.col("kind"),
            verdict=F.when(
                is_hidden & (F.col("kind") != "read, then written before"), "violation"
            ).otherwise("permitted"),
            offset_first=F.col("offset"),
            cause=F.format_string(
                "transaction %s of %s read a write of transaction %s of %s: %s",
                "second.transaction",
                "second.producer",
                "first.transaction",
                "first.producer",
                "kind",
            ),
        ),
        count(reads),
    )


def precommitted_read(trace: Trace) -> CheckOutcome:
    """A read_committed group was delivered a value before its producer began to commit it.

    Undecided: another worker wrote the value, and the delivery was before the commit by no more
        than the clock bound.
    Evaluates: deliveries of values whose transaction the client began to commit; `aborted_read`
        evaluates the others.
    Source: `isolation.level`; KIP-98.
    """
    sends = slices.sends(trace).where("transaction is not null")
    written = sends.select(*_LOG, *_TRANSACTION, "value")
    asked = ends(trace).where("commit_micros is not null")
    read = (
        slices.polls(trace)
        .join(committed_readers(trace), on=["group", "topic"], how="left_semi")
        .select(
            "group", "worker", *_LOG, "offset", "last_offset", "records", "value", "polled_micros"
        )
    )
    known = asked.select(*_TRANSACTION, "commit_micros", F.col("worker").alias("_by"))
    judged = trace.engine.materialized(
        read.join(written, on=[*_LOG, "value"], how="inner").join(
            known, on=list(_TRANSACTION), how="inner"
        )
    )
    is_sure = F.expr(f"worker = _by or polled_micros + {trace.clock_micros} < commit_micros")
    found = (
        judged.where("polled_micros < commit_micros")
        .groupBy("group", *_LOG, *_TRANSACTION, "commit_micros")
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.sum("records").alias("records"),
            F.min("polled_micros").alias("at"),
            F.max(is_sure).alias("_is_sure"),
        )
    )
    return CheckOutcome(
        findings(
            found,
            evidence=("records", *_TRANSACTION, "commit_micros"),
            kind=F.lit("before its commit"),
            verdict=F.when(F.col("_is_sure"), "violation").otherwise("undecided"),
            cause=F.format_string(
                "%s values of transaction %s of %s were delivered before its commit began",
                "records",
                "transaction",
                "producer",
            ),
        ),
        count_records(judged),
    )


def _is_in_order() -> Column:
    return F.col("first") < F.col("second")


def _committed_writes(trace: Trace) -> Frame:
    """(topic, partition, offset, of): acknowledged writes of committed transactions, in slices."""
    committed = ends(trace).where("reported = 'committed'").select(*_TRANSACTION)
    return (
        slices.acknowledged(trace)
        .where("transaction is not null")
        .join(committed, on=list(_TRANSACTION), how="left_semi")
        .select(*_LOG, "offset", F.struct(*_TRANSACTION).alias("of"))
    )


def _write_edges(trace: Trace) -> Frame:
    """(first, second, topic, partition, offset): where second wrote right after first, once."""
    return trace.shared("write_edges", lambda: _made_write_edges(trace))


def _made_write_edges(trace: Trace) -> Frame:
    in_log = Window.partitionBy(*_LOG).orderBy("offset", "of")
    return (
        _committed_writes(trace)
        .withColumn("first", F.lag("of").over(in_log))
        .where("first is not null and first != of")
        .groupBy("first", F.col("of").alias("second"))
        .agg(F.min(F.struct(*_LOG, "offset")).alias("_at"))
        .select("first", "second", "_at.topic", "_at.partition", "_at.offset")
    )


def _read_edges(trace: Trace) -> Frame:
    """(first, second, group, topic, partition, offset, isolation): second read what first wrote."""
    commits = offset_commits(trace).where("marker = 'commit'")
    reads = commits.select(
        "group", *_LOG, F.col("offset").alias("_end"), F.struct(*_TRANSACTION).alias("second")
    )
    readers = reads.select("group", *_LOG).distinct()
    written = _committed_writes(trace).join(readers, on=list(_LOG), how="inner")
    # The next end of a read behind a write is the last one when offsets are gone through backwards.
    ends_first = Window.partitionBy("group", *_LOG).orderBy(F.desc("_order"), F.desc("_is_end"))
    return (
        written.select("group", *_LOG, F.col("offset").alias("_order"), F.col("of").alias("first"))
        .withColumn("_is_end", F.lit(0))
        .unionByName(
            reads.select("group", *_LOG, (F.col("_end") - 1).alias("_order"), "second").withColumn(
                "_is_end", F.lit(1)
            ),
            allowMissingColumns=True,
        )
        .withColumn("second", F.last("second", ignorenulls=True).over(ends_first))
        .where("_is_end = 0 and second is not null")
        .groupBy("first", "second", "group")
        .agg(F.min(F.struct(*_LOG, F.col("_order").alias("offset"))).alias("_at"))
        .join(trace.readers.select("group", "isolation"), on="group", how="inner")
        .select("first", "second", "group", "_at.topic", "_at.partition", "_at.offset", "isolation")
    )


CHECKS = (
    CheckDefinition("C1", write_cycle, needs=("transactions", "sends")),
    CheckDefinition(
        "C2", circular_information, needs=("transactions", "sends", "committed_offsets")
    ),
    CheckDefinition("C3", precommitted_read, needs=("transactions", "sends", "polls")),
)
