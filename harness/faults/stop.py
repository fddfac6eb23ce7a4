"""Stop a server by a controlled shutdown."""

import signal

from contract.faults import Verb
from harness.faults.broker_fault import EndServer

_BY_SIGTERM = 143
SHUT_DOWN = frozenset({0, _BY_SIGTERM})
"""Exit statuses of a server that shut down by itself."""


class Stop(EndServer):
    """SIGTERM to the target's process: a broker hands over its leaderships first."""

    verb = Verb.STOP
    number = signal.SIGTERM
    statuses = SHUT_DOWN
    is_silent = False
