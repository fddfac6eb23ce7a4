"""Commits and offsets of transactions that a coordinator acknowledged and that its log lacks."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import (
    AT_COMMIT,
    PERMIT,
    Cases,
    findings,
    permitted,
    undecided,
    violation,
)
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.client_offsets import COMMIT_CLOCK_MICROS, client_offsets
from analysis.facts.commits import REPORT, asked_commits, stored_otherwise
from analysis.facts.deliveries import deliveries
from analysis.facts.permits import with_offsets_permit
from analysis.facts.positions import IN_LOG, PARTITION, all_offsets, offsets_of
from analysis.facts.topics import of_present_topic
from analysis.facts.trace import Trace
from analysis.facts.transactions import stored_of_transactions, writes
from contract.outcomes import Outcome

_TRANSACTION = ("producer", "transaction")

_IS_LATER = "last_low > committed_micros"
"""A later commit is stored, beyond the clock bound."""
_IS_UNCOMPACTED = (
    "(coalesce(gone_at is not null and last_at.offsets_offset <= gone_at.offsets_offset, false)"
    " or coalesce(oldest_high < began_micros, false))"
)
"""Compaction did not remove it: another commit has its offset, or an older one is left."""
_LOST = Cases(
    undecided(
        "superseded",
        "the commit was acknowledged but is not stored; compaction may have removed it",
        when=f"{_IS_LATER} and not {_IS_UNCOMPACTED}",
    ),
    permitted(
        "lost",
        f"the commit was lost by an election of its partition; {PERMIT}",
        when="permit is not null",
    ),
    violation(
        "lost",
        "the commit was acknowledged, but only an out-of-sync replica stores it",
        when="gone_at is not null",
    ),
    violation(
        "lost",
        "the commit was acknowledged but is not stored; an older one is, so compaction did not"
        " remove it",
        when=_IS_LATER,
    ),
    violation(
        "lost",
        "the commit was acknowledged, but neither it nor a later one is in __consumer_offsets",
    ),
    evidence="member, committed_epoch, commit_epoch, oldest_micros, last_micros, brokers, permit",
    **AT_COMMIT,
)


def lost_commit(trace: Trace) -> CheckOutcome:
    """The coordinator acknowledged a commit, and the surviving log does not have it.

    The surviving log is that of the last in-sync replicas of `__consumer_offsets`. It has a commit
    that was stored between the request and its response; one of the same offset that was stored at
    another time is another commit. A commit that is stored with another offset is evaluated by
    `commit_mismatch`.

    Permitted: an unclean election of the group's partition of `__consumer_offsets` since the
        commit; of any of its partitions, if the log has no commit of the group.
    Undecided: a later commit of the group and partition is stored: compaction may have removed this
        one. Not if the log still has an older commit of that group and partition, which compaction
        would have removed too; or if a replica that did not survive has it at an offset at which
        the surviving log has another.
    Evaluates: every acknowledged commit.
    Source: `GroupCoordinator.commitOffsets`: a commit is answered once every in-sync replica has
        the record; `Cleaner.shouldRetainRecord`: compaction keeps a key's last record.
    """
    acknowledged = of_present_topic(
        trace["commits"].where(F.col("outcome") == str(Outcome.OK)).where("offset is not null"),
        trace,
        "committed_micros",
    )
    stored = (
        asked_commits(trace)
        .join(
            all_offsets(trace).selectExpr(
                *PARTITION,
                "offset",
                "committed_micros as stored_micros",
                "survives",
                f"if(survives, null, {IN_LOG}) as gone_at",
                "if(survives, null, brokers) as brokers",
            ),
            on=[*PARTITION, "offset"],
            how="inner",
        )
        .where("stored_micros between asked_first and asked_last")
        .groupBy(*REPORT, "offset")
        .agg(
            F.max("survives").alias("survives"),
            F.max("gone_at").alias("gone_at"),
            F.max("brokers").alias("brokers"),
        )
    )
    otherwise = stored_otherwise(trace).where("kind = 'offset' and took_micros is not null")
    found = (
        acknowledged.join(stored, on=[*REPORT, "offset"], how="left")
        .where("not coalesce(survives, false)")
        .join(otherwise.select(*REPORT), on=list(REPORT), how="left_anti")
        .join(_stored_bounds(trace), on=list(PARTITION), how="left")
    )
    found = with_offsets_permit(
        found,
        trace,
        since="committed_micros",
        partition="coalesce(gone_at.offsets_partition, last_at.offsets_partition)",
    )
    return CheckOutcome(findings(found, _LOST), count(acknowledged))


def _stored_bounds(trace: Trace) -> Frame:
    """The first and the last commit of each group and partition that the surviving log has.

    Columns: those of PARTITION, oldest_micros, oldest_high, last_micros, last_low (with the clock
    bound), last_at.
    """
    clock = trace.clock_micros
    return (
        offsets_of(trace)
        .groupBy(*PARTITION)
        .agg(
            F.min("committed_micros").alias("oldest_micros"),
            F.max("committed_micros").alias("last_micros"),
            F.expr(f"max(committed_micros) - {clock} as last_low"),
            F.expr(f"min(committed_micros) + {clock + COMMIT_CLOCK_MICROS} as oldest_high"),
            F.expr(f"max({IN_LOG}) as last_at"),
        )
    )


_ITS_OFFSETS = (
    "transaction {transaction} of {producer} committed {records} writes, but the offsets that it"
    " sent are"
)
_NO_OFFSETS = Cases(
    permitted(
        "not stored", f"{_ITS_OFFSETS} lost; {PERMIT}", when="_is_lost and permit is not null"
    ),
    undecided(
        "not stored",
        f"{_ITS_OFFSETS} not stored; compaction may have removed them",
        when="_is_lost and is_superseded",
    ),
    violation("not stored", f"{_ITS_OFFSETS} not stored", when="_is_lost"),
    violation("aborted", f"{_ITS_OFFSETS} aborted", when="aborted > 0"),
    undecided("not ended", f"{_ITS_OFFSETS} not ended"),
    evidence="records, producer, transaction, permit",
)


def output_without_offsets(trace: Trace) -> CheckOutcome:
    """The writes of a transaction are committed, and the offsets it sent are aborted or not stored.

    So what it read is processed again. A coordinator that changes in between may lose the offsets
    (KIP-1319). The offsets are of a group that the transaction's worker read for.

    Permitted: they are not stored, as in `lost_commit`.
    Undecided: no marker ends the offsets; or they are not stored, as in `lost_commit`.
    Evaluates: each transaction with committed writes whose offsets were acknowledged.
    Source: KIP-98, sendOffsetsToTransaction: offsets are part of the transaction.
    """
    sent = (
        trace["transactions"]
        .where("step = 'send_offsets' and outcome = 'ok'")
        .groupBy(*_TRANSACTION)
        .agg(
            F.max("at_micros").alias("at"),
            F.min("began_micros").alias("began_micros"),
            F.min("worker").alias("worker"),
        )
    )
    wrote = (
        writes(trace)
        .where("marker = 'commit'")
        .groupBy(*_TRANSACTION)
        .agg(F.sum("records").alias("records"))
    )
    reported = (
        client_offsets(trace)
        .where("producer_id is not null")
        .limit(1)
        .select(F.lit(1).alias("_reported"))
    )
    judged = (
        sent.join(wrote, on=list(_TRANSACTION), how="inner")
        .join(stored_of_transactions(trace), on=list(_TRANSACTION), how="left")
        .crossJoin(reported)
        .withColumn("_is_lost", F.expr("stored is null"))
    )
    found = judged.where("coalesce(committed, 0) < coalesce(stored, 1)")
    return CheckOutcome(
        findings(_with_reasons(trace.engine.materialized(found), trace), _NO_OFFSETS), count(judged)
    )


def _with_reasons(lost: Frame, trace: Trace) -> Frame:
    """Add permit and is_superseded, by the groups for which the transaction's worker read."""
    groups = deliveries(trace).select("worker", F.col("group").alias("_group")).distinct()
    own = (
        all_offsets(trace)
        .selectExpr("group as _group", "offsets_partition as _own")
        .groupBy("_group")
        .agg(F.min("_own").alias("_own"))
    )
    bounds = _stored_bounds(trace).withColumnRenamed("group", "_group").drop("topic", "partition")
    of_groups = (
        lost.join(groups, on="worker", how="left")
        .join(own, on="_group", how="left")
        .join(bounds, on="_group", how="left")
        .withColumn("_is_later", F.expr("last_low > at and not oldest_high < began_micros"))
    )
    return (
        with_offsets_permit(of_groups, trace, since="at", partition="coalesce(_own, -1)")
        .groupBy(*lost.columns)
        .agg(
            F.min("permit").alias("permit"),
            F.max(F.coalesce("_is_later", F.expr("false"))).alias("is_superseded"),
        )
    )


CHECKS = (
    CheckDefinition(
        "C8",
        output_without_offsets,
        needs=("transactions", "sends", "committed_offsets", "replica_batches"),
        cases=_NO_OFFSETS,
    ),
    CheckDefinition("D6", lost_commit, needs=("commits",), cases=_LOST),
)
