"""Stop a server by a controlled shutdown."""

import signal

from harness.faults.broker_fault import EndServer
from harness.faults.fault import ByHand

_BY_SIGTERM = 143
SHUT_DOWN = frozenset({0, _BY_SIGTERM})
"""Exit statuses of a server that shut down by itself."""


class Stop(EndServer):
    """SIGTERM to the target's process: a broker hands over its leaderships first."""

    verb = "stop"
    by_hand = (ByHand(verb=verb, place=1, fences=True, behind=1),)
    number = signal.SIGTERM
    statuses = SHUT_DOWN
    is_silent = False
