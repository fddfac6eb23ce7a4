"""How each group went on after it was stopped and opened again, or after its last pause."""

from typing import Any

from analysis.facts.trace import Trace
from contract.verdicts import Resumption

_NEEDS = ("group_events", "committed_offsets", "polls")
_EPOCHS = ("record_epoch", "position_epoch", "metadata_epoch", "cluster_epoch")


def lacks(trace: Trace) -> str:
    """Which tables `resumptions` can't do without, in words; empty if it lacks none."""
    return trace.lacks(_NEEDS)


def resumptions(trace: Trace) -> list[Resumption]:
    """How each group went on after it was stopped and opened again, or after its last pause."""
    rows = trace.ask("select * from resumptions order by topic, partition")
    by_group = {group.group: group for group in trace.plan.groups}
    order = {group: index for index, group in enumerate(sorted(by_group))}
    reported = []
    for row in sorted(rows, key=lambda row: order[row["group"]]):
        plan = by_group[row["group"]]
        reported.append(
            Resumption(
                group=row["group"],
                client=plan.client,
                commit_epoch=plan.commit_epoch,
                reset=plan.reset,
                committed_offset=row["committed_offset"],
                committed_epoch=row["committed_epoch"],
                resumed_at=None if row["exception"] else row["resumed_at"],
                redelivered=row["redelivered"],
                never_delivered=None if row["exception"] else row["never_delivered"],
                exception=_exception(row),
                topic=row["topic"],
                partition=row["partition"],
                **{name: row[name] for name in _EPOCHS},
            )
        )
    return reported


def _exception(row: dict[str, Any]) -> str | None:
    name: str | None = row["exception"]
    if name is None or row["divergent_offset"] is None:
        return name
    return f"{name} (divergent offset {row['divergent_offset']})"
