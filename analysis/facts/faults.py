"""When faults held, and restarts of brokers that none explains."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from analysis.facts.trace import Row, Trace
from contract.faults import TargetKind
from contract.tables import MICROS_PER_SECOND

_STARTING_MICROS = 30 * MICROS_PER_SECOND
"""A broker registers at most this long after the heal that starts it."""


def unexplained_restarts(trace: Trace) -> Iterator[str]:
    """Brokers that registered again, with a new broker epoch, without a fault that restarts them.

    A process registers once. Only faults restart brokers, so the driver's history lacks one, and
    what else that fault did to the cluster is not known.
    """
    faults = [] if trace.problem("faults") else trace.ask("select * from held_faults")
    registered: dict[int, dict[int, int]] = {}
    states = trace.ask(
        "select * from broker_states order by metadata_offset", optional=("broker_states",)
    )
    for row in states:
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
        and _is_on(fault, broker)
        for fault in faults
    )


def _is_on(fault: Row, broker: int) -> bool:
    if fault["brokers"]:
        return broker in fault["brokers"]
    return bool(fault["target_kind"] == TargetKind.REPLICAS)
