"""What replicas held and reported: their records, their truncations, their high watermarks."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.trace import Trace
from analysis.statements.facts import fact_named

_LOG = ("topic", "partition")
CUT = (*_LOG, "broker", "to_offset", "cut_micros")
_LEADER_EPOCH = (*_LOG, "epoch", "from_micros")

_proofs = fact_named("high_watermark_proofs")
unmatched = fact_named("unmatched_replicas")
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
