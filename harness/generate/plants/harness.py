"""Plants of liveness, and of the harness that is judged by itself (taxonomy H, M)."""

import numpy as np

from harness.generate.log import micros
from harness.generate.plants.tails import cut_tail
from harness.generate.plants.tools import (
    PLAIN,
    STEADY,
    Plant,
    Random,
    any_partition,
    events_of,
    follows,
    groups,
    middle_batch,
    offsets_of,
)
from harness.generate.universe import Place, Universe

_OUTAGE_SECONDS = 45.0
_TOO_SHORT_SECONDS = 60


def produce_unavailable(universe: Universe, random: Random) -> list[Place]:
    """Values wait for most of a minute, though their partition could be served."""
    partition = any_partition(universe, random)
    offsets = offsets_of(universe, middle_batch(universe, random, partition))
    sends = universe.frame("sends")
    mine = (sends["partition"] == partition) & np.isin(sends["offset"], offsets)
    sends["answered_micros"][mine] = sends["intended_micros"][mine] + micros(_OUTAGE_SECONDS)
    follows(universe, "served_under_fenced_epoch", partition=partition, group=None)
    return [Place("produce_unavailable", "violation", partition)]


def stuck_consumer(universe: Universe, random: Random) -> list[Place]:
    """A member polls, and does not come to the log end."""
    partition, group = any_partition(universe, random), groups(universe)[STEADY]
    cut_tail(universe, partition, group)
    (end,) = events_of(universe, partition, group, "caught_up")
    universe.frame("group_events")["change"][end] = "stalled"
    return [Place("stuck_consumer", "violation", partition, group)]


def fault_landed(universe: Universe, random: Random) -> list[Place]:
    """A fault has no evidence of its bite."""
    faults = universe.frame("faults")
    faults["landed"][int(random.integers(len(faults)))] = False
    return [Place("fault_landed", "undecided")]


def history_complete(universe: Universe, random: Random) -> list[Place]:
    """Events are missing in a history, or lines do not read."""
    histories = universe.frame("histories")
    column = str(random.choice(["missing_seqs", "malformed_lines", "torn_lines"]))
    histories[column][0] = int(random.integers(1, 4))
    return [Place("history_complete", "undecided")]


def phase_overrun(universe: Universe, random: Random) -> list[Place]:
    """A phase takes longer than its stage may."""
    phases = universe.frame("phases")
    phases["limit_seconds"][0] = _TOO_SHORT_SECONDS - int(random.integers(0, 9))
    return [Place("phase_overrun", "undecided")]


PLANTS = {
    "produce_unavailable": Plant(PLAIN, produce_unavailable),
    "stuck_consumer": Plant(PLAIN, stuck_consumer),
    "fault_landed": Plant(PLAIN, fault_landed),
    "history_complete": Plant(PLAIN, history_complete),
    "phase_overrun": Plant(PLAIN, phase_overrun),
}
