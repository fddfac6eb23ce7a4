"""Stop a server politely (controlled shutdown)."""

import signal

from harness.faults.broker_fault import EndServer

_BY_SIGTERM = 143


class Stop(EndServer):
    """SIGTERM to the target's process: a broker hands over its leaderships first."""

    verb = "stop"
    number = signal.SIGTERM
    statuses = frozenset({0, _BY_SIGTERM})
    is_silent = False
