"""Every election of a partition's leader: of what kind it was, and which losses it permits.

Whether records may be lost is decided by the election that lost them, never by a topic's setting
alone. An election permits a loss if its leader came from outside the ISR and the eligible leader
replicas by configuration (`unclean.leader.election.enable`) or by order of an administrator
(KIP-460); or if a fault of the run took the records of the leader: its disk was wiped while in the
ISR, or the tails of all replicas were truncated. The election of the last known leader (KIP-966) is
allowed, but permits no loss: it led with every committed record, so only its disk can lack some.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column, Window
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, each, structs
from analysis.facts.topics import changes
from analysis.facts.trace import Trace, fact, view
from contract.table_columns import boolean, int32, int32s, int64, string

_LOG = ("topic", "partition")
_IS_ELECTION = "leader >= 0 and (was is null or leader_epoch != was.leader_epoch)"
_IS_UNCLEAN = """
    was is not null and isr = array(leader)
    and not array_contains(was.isr, leader)
    and not coalesce(array_contains(was.elr, leader), false)
    and array_sort(replicas) = array_sort(was.replicas)
"""
"""A reassignment may elect a replica that comes into the ISR by the same record."""
_KIND = """
    case
        when is_first then 'first'
        when was is null then 'unknown'
        when is_unclean and unclean_election then 'configured'
        when is_unclean and is_ordered then 'ordered'
        when is_unclean and size(was.isr) = 0 and leader = last_leader
            and not coalesce(is_passing_over, false) then 'last known leader'
        when is_unclean then 'unconfigured'
        when array_contains(was.isr, leader) then 'clean'
        when array_contains(was.elr, leader) then 'eligible'
        else 'reassigned'
    end
"""
_PERMITS = """
    case kind
        when 'configured' then 'unclean election by configuration'
        when 'ordered' then 'unclean election on request'
        else case
            when is_wiped then 'election of a broker whose disk was wiped'
            when is_cut then 'election after the tails of all replicas were truncated'
        end
    end
"""
_TAILS = ("cut tails", "cut tail")


@fact(
    *LOG,
    int64("creation"),
    string("topic_id"),
    *each(int32, "epoch leader"),
    string("kind", "see below"),
    boolean("is_unclean"),
    string("permits", "what permits this election to lose records, in words; null if nothing does"),
    *each(int64, "metadata_offset at_micros"),
    int32s("isr_before"),
    int32s("elr_before"),
)
def elections(trace: Trace) -> Frame:
    """Every election of a leader, in each partition.

    Its kind is `first` (the partition was created), `clean` (out of the ISR), `eligible` (out of
    the eligible leader replicas), `reassigned` (with other replicas), `configured`, `ordered`,
    `last known leader` and `unconfigured` (unclean, and what allowed it), or `unknown` (the state
    before it is not in the metadata log).
    """
    in_log = Window.partitionBy(*_LOG, "creation").orderBy("metadata_offset")
    clock = trace.clock_micros
    is_next = f"one.injected_micros - {clock} > coalesce(before_micros, 0)"
    is_meanwhile = (
        f"one.injected_micros - {clock} <= at_micros"
        f" and at_micros <= coalesce(one.healed_micros, at_micros) + {clock}"
    )
    is_proving = f"at_micros <= coalesce(one.proved_micros, one.injected_micros) + {clock}"
    is_after = f"one.injected_micros - {clock} <= at_micros"
    was_out = "entered_micros >= coalesce(one.heal_began_micros, one.healed_micros)"
    is_hit = "one.target rlike concat('[(]brokers? ([0-9]+, )*', leader, '(, [0-9]+)*[)]')"
    elected = (
        _with_entries(trace)
        .where(_IS_ELECTION)
        .withColumn("before_micros", F.lag("at_micros").over(in_log))
        .crossJoin(_faults(trace))
        .join(trace.topics.select("topic", "unclean_election"), "topic", "left")
    )
    return (
        elected.withColumn("is_unclean", F.expr(_IS_UNCLEAN))
        .join(_passing_over(trace), on=[*_LOG, "metadata_offset"], how="left")
        .withColumn("own", F.expr("concat(topic, '-', partition)"))
        .withColumn(
            "is_ordered",
            F.expr(
                "exists(orders, one -> one.target = concat('partition:', own)"
                f" and {is_meanwhile} and ({is_proving} or {is_next}))"
            ),
        )
        .withColumn(
            "is_wiped",
            F.expr(
                f"exists(wipes, one -> {is_hit} and {is_after} and not coalesce({was_out}, false))"
            ),
        )
        .withColumn(
            "is_cut",
            F.expr(
                "exists(tails, one -> one.target = concat('replicas:', own)"
                f" and {is_after} and ({is_meanwhile} or {is_next}))"
            ),
        )
        .withColumn("kind", F.expr(_KIND))
        .selectExpr(
            *_LOG,
            "creation",
            "topic_id",
            "leader_epoch as epoch",
            "leader",
            "kind",
            "is_unclean",
            f"{_PERMITS} as permits",
            "metadata_offset",
            "at_micros",
            "was.isr as isr_before",
            "was.elr as elr_before",
        )
    )


@view(
    structs(
        "tails",
        string("target"),
        *each(int64, "injected_micros log_end"),
        about="records at or above log_end are gone from each replica; null where the evidence"
        " does not say",
    )
)
def tails_cut(trace: Trace) -> Frame:
    """The faults that truncated the tails of all replicas of a partition, in one row."""
    log_end = "regexp_extract(evidence, '\"log_end_after\": *([0-9]+)', 1)"
    return (
        trace["faults"]
        .where(F.col("fault").isin(*_TAILS))
        .selectExpr("target", "injected_micros", f"bigint(nullif({log_end}, '')) as log_end")
        .agg(F.collect_list(F.struct("target", "injected_micros", "log_end")).alias("tails"))
    )


def _passing_over(trace: Trace) -> Frame:
    """(topic, partition, metadata_offset, is_passing_over): changes out of an empty ISR.

    Those before which an eligible leader replica was in service. One that registers again after an
    unclean shutdown is still fenced, and loses its eligibility by the same change.
    """
    states = (
        trace.present("broker_states")
        .withColumnRenamed("metadata_offset", "_state_offset")
        .select("broker", "_state_offset", "is_fenced")
    )
    return (
        changes(trace)
        .where("leader >= 0 and size(was.isr) = 0 and size(was.elr) > 0")
        .selectExpr(*_LOG, "metadata_offset", "explode(was.elr) as broker")
        .join(states, on="broker", how="inner")
        .where("_state_offset < metadata_offset")
        .groupBy(*_LOG, "metadata_offset", "broker")
        .agg(F.max_by("is_fenced", "_state_offset").alias("is_fenced"))
        .where("not is_fenced")
        .groupBy(*_LOG, "metadata_offset")
        .agg((F.count(F.lit(1)) > 0).alias("is_passing_over"))
    )


def _with_entries(trace: Trace) -> Frame:
    """`changes` with entered_micros: when the leader last came into the ISR (null: at first)."""
    entries = (
        changes(trace)
        .where("was is not null")
        .select(
            *_LOG,
            "creation",
            F.explode(F.expr("array_except(isr, was.isr)")).alias("leader"),
            F.col("metadata_offset").alias("_entered_at"),
            F.col("at_micros").alias("_entered"),
        )
        .groupBy(*_LOG, "creation", "leader")
        .agg(F.collect_list(F.struct("_entered_at", "_entered")).alias("_entries"))
    )
    return (
        changes(trace)
        .join(entries, on=[*_LOG, "creation", "leader"], how="left")
        .withColumn(
            "entered_micros",
            F.expr(
                "array_max(filter(_entries, one -> one._entered_at < metadata_offset))._entered"
            ),
        )
        .drop("_entries")
    )


def _faults(trace: Trace) -> Frame:
    """(orders, wipes, tails): the faults that an election may follow from, as one row of arrays."""
    moments = ("injected_micros", "proved_micros", "heal_began_micros", "healed_micros")
    fault = F.struct("target", *moments)

    def of(*verbs: str) -> Column:
        return F.collect_list(F.when(F.col("fault").isin(*verbs), fault))

    return trace["faults"].agg(
        of("elect unclean").alias("orders"),
        of("wipe").alias("wipes"),
        of(*_TAILS).alias("tails"),
    )
