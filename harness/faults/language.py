"""Faults by their names, for whoever strikes by hand."""

from collections.abc import Callable
from functools import partial

from harness.contract.errors import UsageError
from harness.faults.bounce import Bounce
from harness.faults.cut import Cut, Links
from harness.faults.fault import Fault
from harness.faults.kill import Kill
from harness.faults.pause import Pause
from harness.faults.stop import Stop
from harness.faults.targets import Target, parse_target
from harness.faults.wipe import Wipe

VERBS: dict[str, Callable[[Target], Fault]] = {
    "kill": Kill,
    "stop": Stop,
    "pause": Pause,
    "bounce": Bounce,
    "wipe": Wipe,
    "cut": partial(Cut, links=Links.BOTH),
    **{f"cut-{links}": partial(Cut, links=links) for links in Links if links is not Links.BOTH},
}


def parse_fault(verb: str, target: str) -> Fault:
    """The fault of a verb and a target, e.g. `pause` and `leader:orders-0`.

    Raises:
        UsageError: there is no such verb or target; names those that there are.
    """
    if verb not in VERBS:
        raise UsageError(f"there is no verb {verb!r}; there are: {', '.join(VERBS)}")
    return VERBS[verb](parse_target(target))
