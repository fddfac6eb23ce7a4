"""What a controller knew when it answered a request about the metadata log.

All bounds hold at some time between the request and its response. A controller has no older epoch
than it proved to have before the request. It has no newer one than there was at the response, by
the entries of elected leaders, their reports, and the responses of controllers.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.declared import of_table
from analysis.facts.trace import Trace, fact, view
from contract.quorum_rules import METADATA_LOG
from contract.table_columns import boolean, int32, int64

_CALL = ("worker", "seq")
_LOG_END = "element_at(log_ends, cast(array_position(voters, voter) as int))"
_REPLICA = "cast(nullif(regexp_extract(request, '\"replicaId\":(-?[0-9]+)', 1), '') as int)"


@view(
    int32("metadata_epoch"),
    int32("leader"),
    int64("start"),
    int64("at_micros", "null where only a copy has the entry"),
)
def elected(trace: Trace) -> Frame:
    """Leaders of the metadata log, by the entry that each wrote when it was elected."""
    columns = ("metadata_epoch", "leader", "base_offset", "at_micros")
    cut = trace.present("cut_metadata_batches").withColumn(
        "at_micros", F.expr("cast(null as bigint)")
    )
    every = trace.present("metadata_batches").select(*columns).unionByName(cut.select(*columns))
    return (
        every.where("leader is not null")
        .groupBy("metadata_epoch", "leader")
        .agg(F.min("base_offset").alias("start"), F.min("at_micros").alias("at_micros"))
    )


@fact(
    *of_table("wire_calls"),
    int32("epoch_low", "the lower bound of the controller's epoch; null: unknown"),
    int32("epoch_high", "the upper one"),
    int32("led_by", "the leader of epoch_high; null: not known"),
    boolean("is_known", "whether it had one epoch all the time"),
    boolean("leads"),
    boolean("is_voter", "whether asked_replica votes"),
)
def quorum_calls(trace: Trace) -> Frame:
    """Requests about the metadata log, with what the controller knew."""
    calls = trace["wire_calls"].where(f"topic = '{METADATA_LOG}' and response is not null")
    leaders = elected(trace).groupBy("metadata_epoch").agg(F.max("leader").alias("led_by"))
    newest = trace.present("quorum_samples").agg(
        F.expr("max_by(voters, at_micros)").alias("_voters")
    )
    return (
        calls.join(_lowest(calls, trace), on=list(_CALL), how="left")
        .join(_highest(calls, trace), on=list(_CALL), how="left")
        .join(
            leaders.withColumnRenamed("metadata_epoch", "epoch_high"), on="epoch_high", how="left"
        )
        .crossJoin(newest)
        .withColumn("is_known", F.expr("coalesce(epoch_low = epoch_high, false)"))
        .withColumn("leads", F.expr("coalesce(broker = led_by, false)"))
        .withColumn("asked_replica", F.expr(_REPLICA))
        .withColumn(
            "is_voter",
            F.expr("coalesce(asked_replica < 0 or array_contains(_voters, asked_replica), true)"),
        )
        .drop("_voters")
    )


def _lowest(calls: Frame, trace: Trace) -> Frame:
    """(of a call, epoch_low): the newest epoch that the controller had before the request.

    It reported that it leads, or a leader reported that it had fetched an entry of the epoch, or
    an earlier response of its own had the epoch.
    """
    samples = trace.present("quorum_samples")
    led = samples.selectExpr(
        "server as broker", "leader_epoch as epoch", "at_micros as known_micros"
    )
    fetched = (
        samples.select(
            "leader_epoch", "at_micros", "voters", "log_ends", F.explode("voters").alias("voter")
        )
        .withColumn("log_end", F.expr(_LOG_END))
        .join(
            elected(trace).selectExpr("metadata_epoch as leader_epoch", "start"),
            on="leader_epoch",
            how="inner",
        )
        .where("log_end > start")
        .selectExpr("voter as broker", "leader_epoch as epoch", "at_micros as known_micros")
    )
    answered = calls.where("epoch >= 0").selectExpr("broker", "epoch", "at_micros as known_micros")
    proofs = (
        led.unionByName(fetched)
        .unionByName(answered)
        .groupBy("broker", "epoch")
        .agg(F.min("known_micros").alias("known_micros"))
        .withColumnRenamed("epoch", "proved")
    )
    return (
        calls.select(*_CALL, "broker", "began_micros")
        .join(proofs, on="broker", how="inner")
        .where("known_micros <= began_micros")
        .groupBy(*_CALL)
        .agg(F.max("proved").alias("epoch_low"))
    )


def _highest(calls: Frame, trace: Trace) -> Frame:
    """(of a call, epoch_high): the newest epoch that there was at the response."""
    led = elected(trace).selectExpr(
        "metadata_epoch as epoch", "coalesce(at_micros, 0) as known_micros"
    )
    reported = trace.present("quorum_samples").selectExpr(
        "leader_epoch as epoch", "asked_micros as known_micros"
    )
    answered = calls.where("epoch >= 0").selectExpr("epoch", "began_micros as known_micros")
    known = (
        led.unionByName(reported)
        .unionByName(answered)
        .groupBy(F.col("epoch").alias("known"))
        .agg(F.min("known_micros").alias("known_micros"))
    )
    return (
        calls.select(*_CALL, "at_micros")
        .crossJoin(known)
        .where(f"known_micros <= at_micros + {trace.clock_micros}")
        .groupBy(*_CALL)
        .agg(F.max("known").alias("epoch_high"))
    )


def with_ends(calls: Frame, trace: Trace) -> Frame:
    """Add what the log of the leader has of the asked epoch.

    Columns: floor (the largest epoch of its log that is not above the asked one, else the asked
    one itself, which ends where the log starts), end_low and end_high (bounds of where it ends; the
    latest one grows), log_start. See `LeaderEpochFileCache.endOffsetFor`.

    Args:
        calls: of `quorum_calls`, to leaders.
        trace: the run.
    """
    epochs = (
        trace["metadata_batches"]
        .groupBy("server", "metadata_epoch")
        .agg(F.min("base_offset").alias("start"), F.max("last_offset").alias("_last"))
    )
    there = (
        calls.select(*_CALL, "broker", "asked_epoch", "epoch_high")
        .join(epochs.withColumnRenamed("server", "broker"), on="broker", how="inner")
        .where("metadata_epoch <= epoch_high")
        .groupBy(*_CALL)
        .agg(
            F.expr("max(metadata_epoch) filter (where metadata_epoch <= asked_epoch)").alias(
                "floor"
            ),
            F.expr("min(start) filter (where metadata_epoch > asked_epoch)").alias("_next"),
            F.min("start").alias("log_start"),
            F.expr("max(_last) + 1").alias("_log_end"),
        )
    )
    sampled = trace.present("quorum_samples").selectExpr(
        "server as broker",
        "leader_epoch as epoch_high",
        "array_max(log_ends) as _end",
        "at_micros as known_micros",
    )
    before = (
        calls.select(*_CALL, "broker", "epoch_high", "began_micros")
        .join(sampled, on=["broker", "epoch_high"], how="inner")
        .where("known_micros <= began_micros")
        .groupBy(*_CALL)
        .agg(F.max("_end").alias("_end"))
    )
    return (
        calls.join(there, on=list(_CALL), how="left")
        .join(before, on=list(_CALL), how="left")
        .withColumn("end_low", F.expr("coalesce(_next, _end, 0)"))
        .withColumn("end_high", F.expr("coalesce(_next, _log_end)"))
        .withColumn("floor", F.coalesce("floor", "asked_epoch"))
        .drop("_next", "_end", "_log_end")
    )
