"""When faults held, which brokers, when these were too many, and restarts that none explains."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from analysis.engine.frames import Frame, Row
from analysis.facts.declared import of_table
from analysis.facts.trace import Trace, view
from contract.table_columns import boolean, int64
from contract.tables import MICROS_PER_SECOND

INSTANT = (
    "bounce",
    "delete records",
    "elect preferred",
    "elect unclean",
    "expire by order",
    "expire transaction",
    "fence",
    "reassign",
    "rebalance",
    "recreate",
    "take over",
    "upgrade",
)
"""Verbs of faults that are over when they are proved. Their heal undoes nothing; that of a
reassignment is another one. So is the kill of a client, which does not return."""

_BROKERS = re.compile(r"\(brokers? ([\d, ]+)\)")
_STARTING_MICROS = 30 * MICROS_PER_SECOND
"""A broker registers at most this long after the heal that starts it."""
_OF_ALL_BROKERS = "replicas:"


@view(
    *of_table("faults", "fault", "target", "injected_micros"),
    int64("ended_micros", "when it was over; null: it held to the end"),
    boolean("is_instant", "it was over when its effect was seen"),
)
def held_faults(trace: Trace) -> Frame:
    """When each fault held; a reassignment also while it was undone."""
    verbs = ", ".join(f"'{verb}'" for verb in INSTANT)
    is_instant = f"fault in ({verbs}) or (fault = 'kill' and target like 'client:%')"
    faults = trace["faults"].selectExpr("*", f"coalesce({is_instant}, false) as is_instant")
    ended = "if(is_instant, coalesce(proved_micros, healed_micros), healed_micros)"
    held = faults.selectExpr(
        "fault", "target", "injected_micros", f"{ended} as ended_micros", "is_instant"
    )
    undone = faults.where("fault = 'reassign' and heal_began_micros is not null").selectExpr(
        "fault", "target", "heal_began_micros", "healed_micros", "is_instant"
    )
    return held.union(undone)


def brokers_of(target: str) -> frozenset[int]:
    """The brokers that a fault's target names, such as `all (brokers 1, 2, 3)`."""
    named = _BROKERS.search(target)
    return frozenset(map(int, named[1].split(", "))) if named else frozenset()


def without_majority(
    faults: Sequence[tuple[frozenset[int], int, int | None]], brokers: int
) -> list[tuple[int, int | None]]:
    """The times in which the brokers that no fault held were no majority.

    Args:
        faults: the brokers of each, and when it was injected and healed (None: never).
        brokers: how many there are.
    """
    moments = sorted(
        {moment for _, since, until in faults for moment in (since, until) if moment is not None}
    )
    spans: list[tuple[int, int | None]] = []
    for moment, following in zip(moments, [*moments, None][1:], strict=True):
        held = frozenset[int]().union(
            *(
                on
                for on, since, until in faults
                if since <= moment and (until is None or until > moment)
            )
        )
        if held and brokers and 2 * (brokers - len(held)) <= brokers:
            spans.append((moment, following))
    return spans


def unexplained_restarts(trace: Trace) -> Iterator[str]:
    """Brokers that registered again, with a new broker epoch, without a fault that restarts them.

    A process registers once. Only faults restart brokers, so the driver's history lacks one, and
    what else that fault did to the cluster is not known.
    """
    faults = [] if trace.problem("faults") else held_faults(trace).collect()
    registered: dict[int, dict[int, int]] = {}
    for row in trace.present("broker_states").orderBy("metadata_offset").collect():
        registered.setdefault(row["broker"], {}).setdefault(row["broker_epoch"], row["at_micros"])
    for broker, epochs in sorted(registered.items()):
        for before, at in pairwise(epochs.values()):
            if not _is_explained(faults, broker, before, at):
                when = datetime.fromtimestamp(at / MICROS_PER_SECOND, UTC)
                yield f"broker {broker} registered again at {when:%H:%M:%S} without a fault"


def _is_explained(faults: Sequence[Row], broker: int, before: int, at: int) -> bool:
    """Whether a fault held the broker between two registrations."""
    return any(
        fault["injected_micros"] is not None
        and fault["injected_micros"] <= at
        and (fault["ended_micros"] is None or fault["ended_micros"] + _STARTING_MICROS >= before)
        and _is_on(fault["target"] or "", broker)
        for fault in faults
    )


def _is_on(target: str, broker: int) -> bool:
    named = brokers_of(target)
    return broker in named if named else target.startswith(_OF_ALL_BROKERS)
