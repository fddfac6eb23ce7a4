"""What replicas held and reported: their records, their truncations, their high watermarks."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.deliveries import acknowledged_sends, deliveries
from analysis.facts.leader_epochs import HEARD_SECONDS, leader_epochs
from analysis.facts.trace import Trace
from analysis.statements.facts import fact_named
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
CUT = (*_LOG, "broker", "to_offset", "cut_micros")
_LEADER_EPOCH = (*_LOG, "epoch", "from_micros")
ANSWER_MICROS = 2 * MICROS_PER_SECOND
"""A response was requested at most this long before it was recorded, where that is not recorded."""
ASKED = f"coalesce(asked_micros, at_micros - {ANSWER_MICROS})"
"""SQL: when a response of `samples` was requested."""

unmatched = fact_named("unmatched_replicas")
logs_without_records = fact_named("logs_without_records")
ends_of_replicas = fact_named("ends_of_replicas")
survivors_above = fact_named("survivors_above")
replicated_above = fact_named("replicated_above")


def with_proofs(offsets: Frame, trace: Trace) -> Frame:
    """Add `proved_micros` and `reported_micros`: when a high watermark was beyond `offset`.

    Within a leader epoch a high watermark does not go back, so it is beyond from then on. The first
    is of any proof, the second of the leader's own report to the observer; null without one.

    Args:
        offsets: with topic, partition, epoch and from_micros of `leader_epochs`, and offset.
        trace: whose.
    """
    from_above = (
        Window.partitionBy(*_LEADER_EPOCH)
        .orderBy(F.desc("offset"))
        .rangeBetween(Window.unboundedPreceding, 0)
    )
    proofs = _proofs(trace).join(
        offsets.select(*_LEADER_EPOCH).distinct(), on=list(_LEADER_EPOCH), how="left_semi"
    )
    return (
        offsets.withColumn("_is_proof", F.expr("false"))
        .unionByName(proofs.withColumn("_is_proof", F.expr("true")), allowMissingColumns=True)
        .withColumn("reported_micros", F.min("reported_micros").over(from_above))
        .withColumn("proved_micros", F.min("proved_micros").over(from_above))
        .where("not _is_proof")
        .drop("_is_proof")
    )


def _proofs(trace: Trace) -> Frame:
    """(topic, partition, epoch, from_micros, offset, proved_micros, reported_micros).

    The leader of the epoch reported a higher high watermark, a group was delivered the record with
    this epoch, or the leader acknowledged it with acks=all.
    """
    led = leader_epochs(trace).select(*_LEADER_EPOCH, "until_micros")
    reported = (
        trace["samples"]
        .where("broker = leader")
        .selectExpr(
            *_LOG,
            "leader_epoch as epoch",
            "log_end_offset - 1 as offset",
            "at_micros as at",
            "at_micros as reported_micros",
        )
    )
    delivered = deliveries(trace).selectExpr(
        *_LOG,
        "leader_epoch as epoch",
        "last_offset as offset",
        "at_micros as at",
        "cast(null as bigint) as reported_micros",
    )
    of_epoch = (
        reported.unionByName(delivered)
        .join(led, on=[*_LOG, "epoch"], how="inner")
        .where("at >= from_micros and (until_micros is null or at < until_micros)")
        .selectExpr(*_LEADER_EPOCH, "offset", "at as proved_micros", "reported_micros")
    )
    # A send does not name the leader that acknowledged it; from then on it is no older one.
    heard = f"from_micros + {HEARD_SECONDS * MICROS_PER_SECOND}"
    acknowledged = (
        acknowledged_sends(trace)
        .where("acks = 'all'")
        .join(led, on=list(_LOG), how="inner")
        .where(f"intended_micros >= {heard}")
        .where("until_micros is null or answered_micros < until_micros")
        .selectExpr(*_LEADER_EPOCH, "last_offset as offset", "answered_micros as proved_micros")
    )
    return of_epoch.unionByName(acknowledged, allowMissingColumns=True)
