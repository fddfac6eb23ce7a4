"""Clients that had to wait. A wait is a violation only while the cluster could serve them."""

import pyarrow as pa

from analysis.checks.base import CheckDefinition, CheckOutcome, count, count_records
from analysis.checks.outages import UNAVAILABLE, outages, unavailable
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column, Window
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.deliveries import deliveries, sends
from analysis.facts.leader_epochs import leader_epochs
from analysis.facts.replicas import with_proofs
from analysis.facts.sessions import OUTAGE_SECONDS
from analysis.facts.trace import Trace
from contract.outcomes import NOT_A_MEMBER, Isolation
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_MEMBER = ("group", "member", *_LOG)
_WAIT = (*_MEMBER, "seq", "offset", "at", "ended")
_OFFSETS_TOPIC = "__consumer_offsets"
_MIN_INSYNC = "min.insync.replicas"
_REBALANCING = ("RebalanceInProgress", *NOT_A_MEMBER)
"""Errors that are about the group, not about the coordinator."""
_COORDINATORS = pa.schema({"group": pa.string(), "named": pa.int32()})


def produce_unavailable(trace: Trace) -> CheckOutcome:
    """A partition did not respond to producers for 2 s or more.

    Waits that overlap are one outage, and so are those within 10 s of each other between which no
    producer got a response; those with acks=all are apart. A value without a response waited until
    the run ended, or until the last report of its worker if that was killed. A violation if the
    partition could serve for more than 30 s of an outage: it had a leader, faults held no majority
    of the brokers, clients could reach a broker and, with acks=all, enough replicas were in sync.

    Permitted: it could serve for 30 s or less.
    Evaluates: every send.
    Source: `min.insync.replicas`; decision 8.
    """
    intended = sends(trace).where("intended_micros is not null")
    waits = (
        intended.join(_last_reported(trace, intended), on="worker", how="left")
        .select(
            *_LOG,
            _is_all().alias("needs_insync"),
            F.col("intended_micros").alias("at"),
            F.coalesce("answered_micros", "last_reported", _run_end(trace)).alias("ended"),
            "records",
            F.expr("if(answered_micros is null, records, 0) as unanswered"),
        )
        .where(F.col("ended") - F.col("at") >= OUTAGE_SECONDS * MICROS_PER_SECOND)
    )
    keys = (*_LOG, "needs_insync")
    answers = trace.acknowledged.select(
        *_LOG,
        _is_all().alias("needs_insync"),
        F.col("intended_micros").alias("began_micros"),
        "answered_micros",
    )
    return unavailable(
        trace,
        outages(trace.engine.materialized(waits), *keys, answers=answers),
        *keys,
        judged=count_records(intended),
        min_insync=trace.topics.select("topic", "min_insync"),
    )


def _run_end(trace: Trace) -> Column:
    return F.lit(trace.run.ended_micros or trace.run.started_micros)


def _last_reported(trace: Trace, intended: Frame) -> Frame:
    """(worker, last_reported): the last time of a producing worker that did not end by itself."""
    killed = trace.present("histories").where("not ended_by_itself").select("worker")
    return (
        intended.join(killed, on="worker", how="left_semi")
        .groupBy("worker")
        .agg(F.max(F.greatest("intended_micros", "answered_micros")).alias("last_reported"))
    )


def fetch_unavailable(trace: Trace) -> CheckOutcome:
    """A member got nothing for 2 s or more, though its next record was below the high watermark.

    The wait begins when that record was acknowledged. It does not count if the member was asked to
    stop in between or had come to the end, nor while it did not own the partition or had paused it.
    A violation if the partition could serve for more than 30 s of an outage, as in
    `produce_unavailable`. The ISR counts only while no source proves that the high watermark was
    beyond the record: a leader's report, a delivery to any group, or an acknowledgement with
    acks=all. A new leader that reports it later could not serve before the first proof. Groups that
    read committed values wait for transactions and are left out.

    Permitted: it could serve for 30 s or less.
    Evaluates: every pause between two polls of a member that returned records.
    Source: KAFKA-15583: the high watermark does not advance while the ISR is too small; decision 8.
    """
    judged = [g.group for g in trace.plan.groups if g.isolation != Isolation.READ_COMMITTED]
    polls = (
        deliveries(trace)
        .where(F.col("group").isin(judged))
        .groupBy(*_MEMBER, "seq")
        .agg(F.min("at_micros").alias("ended"), F.min("first_offset").alias("offset"))
    )
    order = Window.partitionBy(*_MEMBER).orderBy("seq")
    gaps = (
        polls.withColumn("since", F.lag("ended").over(order))
        .withColumn("seq_before", F.lag("seq").over(order))
        .where("since is not null")
        .select(*_MEMBER, "offset", "since", "ended", "seq_before", "seq")
    )
    long = trace.engine.materialized(
        gaps.where(f"ended - since >= {OUTAGE_SECONDS * MICROS_PER_SECOND}")
    )
    stops = (
        trace["group_events"]
        .where("change in ('caught_up', 'stalled', 'closed')")
        .selectExpr("member", "seq as stopped")
    )
    halted = (
        long.join(stops, on="member", how="inner")
        .where("stopped between seq_before and seq")
        .select("member", "seq")
        .distinct()
    )
    acknowledged = slices.acknowledged(trace).select(
        *_LOG, "offset", "answered_micros", _is_all().alias("is_all")
    )
    waits = trace.engine.materialized(
        _owned(long.join(halted, on=["member", "seq"], how="left_anti"), trace)
        .join(acknowledged, on=[*_LOG, "offset"])
        .withColumn("at", F.greatest("since", "answered_micros"))
        .where("at < ended")
    )
    keys = ("group", *_LOG, "needs_insync")
    by_leader = trace.engine.materialized(_by_leader(waits, trace))
    return unavailable(
        trace,
        outages(_from_when_owed(waits, by_leader), *keys),
        *keys,
        judged=count(gaps),
        min_insync=trace.topics.select("topic", "min_insync"),
        doubts=_doubts(by_leader),
    )


def _owned(gaps: Frame, trace: Trace) -> Frame:
    """Gaps without the time in which the member did not own the partition, or had paused it.

    What was before it lost the partition and what was since it has it again are gaps of their own.
    """
    changes = trace["group_events"].select(
        "member", *_LOG, "change", F.col("seq").alias("changed"), "at_micros"
    )
    lost = "change in ('revoked', 'lost', 'paused')"
    back = "change in ('assigned', 'resumed')"
    gap = (*_MEMBER, "offset", "since", "ended", "seq_before", "seq")
    changed = (
        gaps.join(changes, on=["member", *_LOG], how="left")
        .withColumn("_is_in", F.expr("changed between seq_before and seq"))
        .groupBy(*gap)
        .agg(
            F.expr(f"min(at_micros) filter (where _is_in and {lost})").alias("_lost"),
            F.expr(f"max(at_micros) filter (where _is_in and {back})").alias("_back"),
        )
    )
    before = changed.withColumn("ended", F.coalesce("_lost", "ended"))
    since = changed.where("_lost is not null").withColumn("since", F.coalesce("_back", "ended"))
    return before.union(since).select(*gap)


def _by_leader(waits: Frame, trace: Trace) -> Frame:
    """Each wait once for every leader epoch in it.

    Columns: *_WAIT, epoch, since, until (which bound the epoch's part of the wait), owed_micros
    (from when the high watermark of its leader is proved to have been beyond; null if nothing
    proves it) and is_unknown (the leader reported none beyond; so it need not have been lower
    before).
    """
    led = leader_epochs(trace).select(*_LOG, "epoch", "from_micros", "until_micros")
    held = (
        "is_all and answered_micros >= from_micros"
        " and (until_micros is null or answered_micros < until_micros)"
    )
    part = (*_WAIT, "epoch", "since", "until")
    parts = (
        waits.join(led, on=list(_LOG), how="inner")
        .withColumn("_is_held", F.expr(held))
        .withColumn("since", F.greatest("at", "from_micros"))
        .withColumn("until", F.least("ended", "until_micros"))
        .where("since < until")
        .groupBy(*part, "from_micros")
        .agg(F.max("_is_held").alias("_is_held"))
    )
    return with_proofs(parts, trace).selectExpr(
        *part,
        "case when _is_held then since"
        " when proved_micros < until then greatest(since, proved_micros) end as owed_micros",
        "not (_is_held or coalesce(reported_micros < until, false)) as is_unknown",
    )


def _from_when_owed(waits: Frame, by_leader: Frame) -> Frame:
    """The waits as of `outages`.

    Columns: group, topic, partition, at, ended, records, unanswered, needs_insync.
    `needs_insync` where nothing proves that the high watermark of any leader was beyond.
    """
    first = by_leader.groupBy(*_WAIT).agg(
        F.min(F.expr("if(is_unknown, null, owed_micros)")).alias("_known"),
        F.min(F.expr("if(is_unknown and owed_micros is not null, since, null)")).alias("_proved"),
    )
    return waits.join(first, on=list(_WAIT), how="left").selectExpr(
        "group",
        *_LOG,
        "if(_known is null, at, least(_known, _proved)) as at",
        "ended",
        "1 as records",
        "0 as unanswered",
        "_known is null and _proved is null as needs_insync",
    )


def _doubts(by_leader: Frame) -> Frame:
    """(group, topic, partition, needs_insync, since, until, is_unknown), as of `unavailable`.

    After an election the new leader's high watermark may be lower, until it is proved beyond. The
    leader reports none until it has reached the start of its epoch (KIP-207).
    """
    return by_leader.where("owed_micros is null or owed_micros > since").selectExpr(
        "group",
        *_LOG,
        "false as needs_insync",
        "since",
        "coalesce(owed_micros, until) as until",
        "is_unknown",
    )


def commit_unavailable(trace: Trace) -> CheckOutcome:
    """A group's commit waited for its coordinator for 2 s or more.

    An error about the group, such as a rebalance, is a response; any other is a wait until then.
    Waits in a row are one outage. A violation if the group's own partition of `__consumer_offsets`
    could serve for more than 30 s of it, as in `produce_unavailable` with acks=all.

    Permitted: it could serve for 30 s or less.
    Evaluates: every commit whose begin is reported, except those with nothing to commit.
    Source: `CoordinatorRuntime`: a response waits until the records of its write are committed;
        decision 8.
    """
    held = trace["committed_offsets"].select("group", "offsets_partition").distinct()
    commits = trace["commits"].where("began_micros is not null and outcome != 'nothing'")
    keys = ("group", *_LOG, "needs_insync")
    is_about_group = F.rlike(F.coalesce("error", F.lit("")), F.lit("|".join(_REBALANCING)))
    attempts = (
        commits.join(held, on="group", how="left")
        .join(_coordinators(trace), on="group", how="left")
        .select(
            "group",
            F.lit(_OFFSETS_TOPIC).alias("topic"),
            F.coalesce("offsets_partition", "named").alias("partition"),
            F.expr("true").alias("needs_insync"),
            F.col("began_micros").alias("at"),
            F.col("committed_micros").alias("ended"),
            F.lit(1).alias("records"),
            (F.col("outcome") != "ok").cast("int").alias("unanswered"),
            is_about_group.alias("_is_about_group"),
        )
    )
    waits = attempts.where("not _is_about_group").drop("_is_about_group")
    answers = attempts.where("unanswered = 0 or _is_about_group").selectExpr(
        *keys, "at as began_micros", "ended as answered_micros"
    )
    settings = trace.run.config.get("settings", {})
    insync = pa.table(
        {"topic": [_OFFSETS_TOPIC], "min_insync": [int(settings.get(_MIN_INSYNC, 1))]}
    )
    return unavailable(
        trace,
        outages(waits, *keys, answers=answers),
        *keys,
        judged=count(commits),
        min_insync=trace.engine.table(insync),
    )


def _coordinators(trace: Trace) -> Frame:
    """(group, named): the partition of `__consumer_offsets` that each planned group hashes to."""
    offsets = trace["leaderships"].where(F.col("topic") == _OFFSETS_TOPIC)
    (row,) = offsets.agg((F.max("partition") + 1).alias("partitions")).collect()
    named = [
        {"group": one.group, "named": abs_java_hash(one.group) % row["partitions"]}
        for one in trace.plan.groups
        if row["partitions"]
    ]
    return trace.engine.table(pa.Table.from_pylist(named, schema=_COORDINATORS))


def abs_java_hash(text: str) -> int:
    """The absolute value of Java's `String.hashCode`, as `Utils.abs` of Kafka takes it."""
    hashed = 0
    units = text.encode("utf-16-be")
    for index in range(0, len(units), 2):
        hashed = (31 * hashed + int.from_bytes(units[index : index + 2], "big")) & 0xFFFFFFFF
    signed = hashed - (1 << 32) if hashed >= 1 << 31 else hashed
    return 0 if signed == -(1 << 31) else abs(signed)


def _is_all() -> Column:
    """Whether a send waits for the whole ISR; where its acks are not known, it may."""
    return ~F.coalesce("acks", F.lit("all")).isin("0", "1")


CHECKS = (
    CheckDefinition(
        "H2", fetch_unavailable, needs=("polls", "sends", "leaderships"), cases=UNAVAILABLE
    ),
)
