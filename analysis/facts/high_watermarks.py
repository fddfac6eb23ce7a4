"""When a leader's high watermark is known to have been beyond an offset."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.deliveries import acknowledged_sends, deliveries
from analysis.facts.leader_epochs import HEARD_SECONDS, leader_epochs
from analysis.facts.load import Trace
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_REIGN = (*_LOG, "epoch", "from_micros")


def with_proofs(offsets: Frame, trace: Trace) -> Frame:
    """Add `proved_micros`: the first proof that the leader's high watermark was beyond `offset`.

    Within a leader epoch a high watermark does not go back, so it is beyond from then on. Null if
    nothing proves it.

    Args:
        offsets: with topic, partition, epoch and from_micros of `leader_epochs`, and offset.
        trace: whose.
    """
    from_above = (
        Window.partitionBy(*_REIGN)
        .orderBy(F.desc("offset"))
        .rangeBetween(Window.unboundedPreceding, 0)
    )
    proofs = _proofs(trace).join(
        offsets.select(*_REIGN).distinct(), on=list(_REIGN), how="left_semi"
    )
    return (
        offsets.withColumn("_is_proof", F.expr("false"))
        .unionByName(proofs.withColumn("_is_proof", F.expr("true")), allowMissingColumns=True)
        .withColumn("proved_micros", F.min("proved_micros").over(from_above))
        .where("not _is_proof")
        .drop("_is_proof")
    )


def _proofs(trace: Trace) -> Frame:
    """(topic, partition, epoch, from_micros, offset, proved_micros).

    The leader of the epoch reported a higher high watermark, a group was delivered the record with
    this epoch, or the leader acknowledged it with acks=all.
    """
    led = leader_epochs(trace).select(*_REIGN, "until_micros")
    reported = (
        trace["samples"]
        .where("broker = leader")
        .selectExpr(
            *_LOG, "leader_epoch as epoch", "log_end_offset - 1 as offset", "at_micros as at"
        )
    )
    delivered = deliveries(trace).selectExpr(
        *_LOG, "leader_epoch as epoch", "last_offset as offset", "at_micros as at"
    )
    of_epoch = (
        reported.unionByName(delivered)
        .join(led, on=[*_LOG, "epoch"], how="inner")
        .where("at >= from_micros and (until_micros is null or at < until_micros)")
        .selectExpr(*_REIGN, "offset", "at as proved_micros")
    )
    # A send does not tell who acknowledged it. Since then it was not an older leader.
    heard = f"from_micros + {HEARD_SECONDS * MICROS_PER_SECOND}"
    acknowledged = (
        acknowledged_sends(trace)
        .where("acks = 'all'")
        .join(led, on=list(_LOG), how="inner")
        .where(f"intended_micros >= {heard}")
        .where("until_micros is null or answered_micros < until_micros")
        .selectExpr(*_REIGN, "last_offset as offset", "answered_micros as proved_micros")
    )
    return of_epoch.unionByName(acknowledged)
