"""Kill a server with SIGKILL."""

import signal

from contract.faults import Verb
from harness.faults.broker_fault import EndServer


class Kill(EndServer):
    """SIGKILL to the target's processes, as in a power failure."""

    verb = Verb.KILL
    number = signal.SIGKILL
    statuses = frozenset({-signal.SIGKILL})
    is_silent = True
