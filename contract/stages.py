"""The stages of a run, in their order, and how long a phase of each may take."""

import enum


class Stage(enum.StrEnum):
    """The stages that all scenarios share.

    starting: nodes, servers, clients and topics come up.
    warm up: prepares what the scenario needs.
    steady: the workload runs without a fault.
    held: at least one fault is being injected or holds.
    healed: no fault holds any more; its consequences may last.
    settling: waits until every replica is in sync again.
    final read: groups read to the log ends.
    collecting: ends clients and servers, and collects what they left.
    """

    STARTING = "starting"
    WARM_UP = "warm up"
    STEADY = "steady"
    HELD = "held"
    HEALED = "healed"
    SETTLING = "settling"
    FINAL_READ = "final read"
    COLLECTING = "collecting"


PHASE_LIMIT_SECONDS = {
    Stage.STARTING: 120,
    Stage.WARM_UP: 120,
    Stage.STEADY: 120,
    Stage.HELD: 180,
    Stage.HEALED: 120,
    Stage.SETTLING: 120,
    Stage.FINAL_READ: 120,
    Stage.COLLECTING: 300,
}
"""Many times what a phase takes on two cores. A longer phase is a property of the machine, not of
Kafka."""
HUNG_AFTER = 2
"""A run whose phase takes this many times its limit hangs, and is stopped."""
