"""Kill a server with SIGKILL."""

import signal

from harness.faults.broker_fault import EndServer
from harness.faults.fault import ByHand


class Kill(EndServer):
    """SIGKILL to the target's processes, as in a power failure."""

    verb = "kill"
    by_hand = (ByHand(verb=verb, place=0, fences=True, behind=1),)
    number = signal.SIGKILL
    statuses = frozenset({-signal.SIGKILL})
    is_silent = True
