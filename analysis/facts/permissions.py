"""What access control entries permit the principal of a request."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.trace import Trace

_CALL = ("worker", "seq", "topic", "partition")
_DESCRIBING = "('DESCRIBE', 'READ', 'WRITE', 'DELETE', 'ALTER', 'ALL')"
"""Operations that imply Describe (`AclEntry`, `StandardAuthorizerData`)."""


def with_permissions(calls: Frame, trace: Trace) -> Frame:
    """Add what the entries permit: may_act, acts, may_describe, describes, is_denied.

    acts, may_act: ClusterAction on the cluster; describes, may_describe: Describe on the topic of
    the call. An entry counts in the first of each pair only if the broker has applied it, which it
    showed before the call: it accepted a leader epoch that is later in the metadata log.

    Args:
        calls: rows of `wire_calls` with a principal, and what is known of them.
        trace: the run.
    """
    shown = (
        trace["leaderships"]
        .groupBy("topic", "partition", "leader_epoch")
        .agg(F.min("metadata_offset").alias("shown_offset"))
        .withColumnRenamed("leader_epoch", "epoch_low")
    )
    entries = trace["acls"].selectExpr(
        "principal",
        "resource_type",
        "resource_name",
        "pattern_type",
        "operation",
        "permission",
        "metadata_offset as entry_offset",
        "at_micros as entry_micros",
        "removed_micros",
    )
    of_topic = (
        "resource_type = 'TOPIC' and (resource_name in (topic, '*')"
        " or pattern_type = 'PREFIXED' and startswith(topic, resource_name))"
    )
    may_apply = (
        f"entry_micros <= at_micros + {trace.clock_micros}"
        f" and coalesce(removed_micros + {trace.clock_micros} >= began_micros, true)"
    )
    applies = (
        "entry_offset < shown_offset"
        f" and coalesce(removed_micros - {trace.clock_micros} > at_micros, true)"
    )
    permits = {
        "act": "resource_type = 'CLUSTER' and operation in ('CLUSTER_ACTION', 'ALL')",
        "describe": f"{of_topic} and operation in {_DESCRIBING}",
    }
    found = (
        calls.select(*_CALL, "principal", "began_micros", "at_micros", "epoch_low")
        .join(shown, on=["topic", "partition", "epoch_low"], how="left")
        .join(entries, on="principal", how="inner")
        .where(may_apply)
        .groupBy(*_CALL)
        .agg(
            F.expr("bool_or(permission = 'DENY')").alias("is_denied"),
            *(
                F.expr(f"bool_or(permission = 'ALLOW' and {what})").alias(f"may_{name}")
                for name, what in permits.items()
            ),
            *(
                F.expr(
                    f"bool_or(permission = 'ALLOW' and {what} and coalesce({applies}, false))"
                ).alias(f"{name}s")
                for name, what in permits.items()
            ),
        )
    )
    joined = calls.join(found, on=list(_CALL), how="left")
    for name in ("is_denied", *(f"may_{one}" for one in permits), *(f"{one}s" for one in permits)):
        joined = joined.withColumn(name, F.expr(f"coalesce({name}, false)"))
    return joined
