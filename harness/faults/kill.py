"""Kill a server with SIGKILL."""

import signal

from harness.faults.broker_fault import EndServer
from harness.faults.fault import Field


class Kill(EndServer):
    """SIGKILL to the target's process."""

    verb = "kill"
    is_silent = True

    def end(self, field: Field, broker: int) -> tuple[int, bool]:
        """It should die of the signal."""
        status = field.kafka.kill_server(broker)
        return status, status == -signal.SIGKILL
