"""Faults by name, for those that are injected by hand."""

from collections.abc import Callable
from functools import partial

from contract.errors import UsageError, lacking
from harness.faults.bounce import Bounce
from harness.faults.bridge import Bridge
from harness.faults.client import CutClient, PauseClient
from harness.faults.cut import Cut, Links
from harness.faults.elect import Elect
from harness.faults.fault import Fault
from harness.faults.fence import Fence
from harness.faults.fill import Fill
from harness.faults.kill import Kill
from harness.faults.pause import Pause
from harness.faults.rebalance import Rebalance
from harness.faults.recreate import Recreate
from harness.faults.stop import Stop
from harness.faults.targets import TARGET_FORMS, Target, parse_target
from harness.faults.wipe import Wipe

ON_SERVERS: dict[str, Callable[[Target], Fault]] = {
    "kill": Kill,
    "stop": Stop,
    "pause": Pause,
    "bounce": Bounce,
    "wipe": Wipe,
    "fill": Fill,
    "cut": partial(Cut, links=Links.BOTH),
    **{f"cut-{links}": partial(Cut, links=links) for links in Links if links is not Links.BOTH},
    "cut-bridge": Bridge,
}
ON_CLIENTS: dict[str, Callable[[str], Fault]] = {"pause": PauseClient, "cut": CutClient}
ON_PARTITIONS: dict[str, Callable[[str, int], Fault]] = {
    "elect": partial(Elect, unclean=False),
    "elect-unclean": partial(Elect, unclean=True),
}
ON_NAMES: dict[str, tuple[str, Callable[[str], Fault]]] = {
    "recreate": ("topic", Recreate),
    "rebalance": ("group", Rebalance),
    "fence": ("transactional.id", lambda name: Fence([name])),
}
"""By verb: the kind of target, and the function that makes the fault from the target's name."""

VERBS = (*ON_SERVERS, *ON_PARTITIONS, *ON_NAMES)
FORMS = (
    f"{TARGET_FORMS}; of {' and '.join(ON_CLIENTS)} also client:WORKER; "
    f"of {' and '.join(ON_PARTITIONS)} partition:TOPIC-PARTITION; "
    + ", ".join(f"of {verb} {kind}:NAME" for verb, (kind, _) in ON_NAMES.items())
)


def is_instant(verb: str) -> bool:
    """Whether a fault is over when it is proved, so that its heal undoes nothing."""
    return verb == "bounce" or verb in ON_PARTITIONS or verb in ON_NAMES


def parse_fault(verb: str, target: str) -> Fault:
    """Return the fault of a verb and a target, e.g. `pause` and `leader:orders-0`.

    Raises:
        UsageError: there is no such verb or target; names the nearest verb, or all.
    """
    kind, _, name = target.partition(":")
    topic, _, partition = name.rpartition("-")
    if verb not in VERBS:
        raise UsageError(lacking("verb", verb, VERBS))
    if verb in ON_CLIENTS and kind == "client" and name:
        return ON_CLIENTS[verb](name)
    if verb in ON_SERVERS:
        return ON_SERVERS[verb](parse_target(target))
    if verb in ON_PARTITIONS and kind == "partition" and topic and partition.isdigit():
        return ON_PARTITIONS[verb](topic, int(partition))
    if verb in ON_NAMES and kind == ON_NAMES[verb][0] and name:
        return ON_NAMES[verb][1](name)
    raise UsageError(f"{target!r} names no target of {verb}: {FORMS}")
