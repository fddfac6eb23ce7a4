"""The stages of a run, in their order, and how long a phase of each may take."""

import enum


class Stage(enum.StrEnum):
    """What goes on, for as much as every scenario has in common.

    starting: nodes, servers, clients and topics come up.
    warm up: what must be there before the story begins.
    steady: the workload goes on, nothing is wrong.
    held: at least one fault is injected or holds.
    healed: no fault holds any more, its consequences may.
    settling: until every replica is in sync again.
    final read: whoever reads, reads to the log ends.
    collecting: clients and servers have ended.
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
"""Many times what a phase takes on two cores; beyond, a run tells of its machine, not of Kafka."""
