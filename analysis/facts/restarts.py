"""Restarts of brokers that no fault of the driver's history explains."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from analysis.engine.frames import Row
from analysis.facts.faulted import brokers_of
from analysis.facts.gap import ALL_TABLES, Gap
from analysis.facts.trace import Trace
from contract.tables import MICROS_PER_SECOND

_STARTING_MICROS = 30 * MICROS_PER_SECOND
"""A broker registers at most this long after the heal that starts it."""
_OF_ALL_BROKERS = "replicas:"


def unexplained_restarts(trace: Trace) -> Iterator[Gap]:
    """Brokers that registered again, with a new broker epoch, without a fault that restarts them.

    A process registers once. Only faults restart brokers, so the driver's history lacks one, and
    what else that fault did to the cluster is not known.
    """
    faults = trace.present("faults").select("target", "injected_micros", "healed_micros").collect()
    registered: dict[int, dict[int, int]] = {}
    for row in trace.present("broker_states").orderBy("metadata_offset").collect():
        registered.setdefault(row["broker"], {}).setdefault(row["broker_epoch"], row["at_micros"])
    for broker, epochs in sorted(registered.items()):
        for before, at in pairwise(epochs.values()):
            if not _is_explained(faults, broker, before, at):
                when = datetime.fromtimestamp(at / MICROS_PER_SECOND, UTC)
                reason = f"broker {broker} registered again at {when:%H:%M:%S} without a fault"
                yield Gap("faults", ALL_TABLES, reason)


def _is_explained(faults: Sequence[Row], broker: int, before: int, at: int) -> bool:
    """Whether a fault held the broker between two registrations."""
    return any(
        fault["injected_micros"] is not None
        and fault["injected_micros"] <= at
        and (fault["healed_micros"] is None or fault["healed_micros"] + _STARTING_MICROS >= before)
        and _is_on(fault["target"] or "", broker)
        for fault in faults
    )


def _is_on(target: str, broker: int) -> bool:
    named = brokers_of(target)
    return broker in named if named else target.startswith(_OF_ALL_BROKERS)
