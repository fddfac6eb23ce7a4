"""Stop a server politely (controlled shutdown)."""

from harness.faults.broker_fault import EndServer
from harness.faults.fault import Field

_SIGTERM_STATUS = 143


class Stop(EndServer):
    """SIGTERM to the target's process: a broker hands over its leaderships first."""

    verb = "stop"
    is_silent = False

    def end(self, field: Field, broker: int) -> tuple[int, bool]:
        """It should end by itself."""
        status = field.kafka.stop_server(broker)
        return status, status in (0, _SIGTERM_STATUS)
