"""What transactions see of each other (G0, G1c, reads before the commit).

G0 and G1c are Adya's phenomena (Generalized Isolation Level Definitions, 2000), with a partition's
log as the versions of one object, as Jepsen's Kafka tests take them.
"""

from analysis.checks.base import CheckDefinition, CheckOutcome, count, count_records
from analysis.checks.cases import Cases, findings, permitted, violation
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

_WROTE_IN_TURN = (
    "transactions {first.transaction} of {first.producer} and {second.transaction} of"
    " {second.producer} each wrote directly after a write of the other"
)
_CYCLE = Cases(
    permitted(
        "in one partition",
        _WROTE_IN_TURN,
        when="topic = back_topic and partition = back_partition",
    ),
    permitted("in two partitions", _WROTE_IN_TURN),
    evidence="first, second, back_topic, back_partition, back_offset",
    offset_first="offset",
)


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
    return CheckOutcome(findings(cycles, _CYCLE), count(committed))


_READ = (
    "transaction {second.transaction} of {second.producer} read a write of transaction"
    " {first.transaction} of {first.producer}: {kind}"
)
_IS_UNCOMMITTED = f"greatest(isolation, _level) != '{Isolation.READ_COMMITTED}'"
_READ_IN_A_CIRCLE = Cases(
    permitted("read, then written before", _READ),
    violation("read each other", _READ, permitted_if=_IS_UNCOMMITTED),
    violation("read itself", _READ, permitted_if=_IS_UNCOMMITTED),
    evidence="first, second",
    offset_first="offset",
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
    return CheckOutcome(findings(found, _READ_IN_A_CIRCLE), count(reads))


_TOO_EARLY = Cases(
    violation(
        "before its commit",
        "{records} values of transaction {transaction} of {producer} were delivered before its"
        " commit began",
        undecided_if="not _is_sure",
    ),
    evidence="records, producer, transaction, commit_micros",
)


def precommitted_read(trace: Trace) -> CheckOutcome:
    """A read_committed group was delivered a value before its producer began to commit it.

    Undecided: another worker wrote the value, and the delivery was before the commit by no more
        than the clock bound; or the clock of the worker was set by as much.
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
    apart = f"if(worker = _by, {trace.jump_micros}, {trace.clock_micros})"
    is_sure = F.expr(f"polled_micros + {apart} < commit_micros")
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
    return CheckOutcome(findings(found, _TOO_EARLY), count_records(judged))


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
    CheckDefinition("C1", write_cycle, needs=("transactions", "sends"), cases=_CYCLE),
    CheckDefinition(
        "C2",
        circular_information,
        needs=("transactions", "sends", "committed_offsets"),
        cases=_READ_IN_A_CIRCLE,
    ),
    CheckDefinition(
        "C3", precommitted_read, needs=("transactions", "sends", "polls"), cases=_TOO_EARLY
    ),
)
