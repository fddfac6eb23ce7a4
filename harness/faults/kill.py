"""Kill a server with SIGKILL."""

import signal

from harness.faults.broker_fault import EndServer


class Kill(EndServer):
    """SIGKILL to the target's process; of several, as a power cut does."""

    verb = "kill"
    number = signal.SIGKILL
    statuses = frozenset({-signal.SIGKILL})
    is_silent = True
