"""Simulate a full disk of a broker: its files can't grow; healed by room and a start.

No disk is filled, which would need a privilege or affect other processes. Instead the kernel limits
the sizes of the files that this process writes (RLIMIT_FSIZE). Its writes then fail with EFBIG
where a full disk gives ENOSPC; to the JVM both are an IOException of the same calls. The limit is
above the size of its own log file, so that it can log the error.
"""

from cluster.nodes.node import Capability
from contract.errors import WaitTimeoutError
from harness.faults.broker_fault import BrokerFault, await_noticed, timeouts_of_silence
from harness.faults.fault import ByHand, Evidence, Field
from harness.faults.targets import Target

_LIMIT = (
    "import resource, sys; pid, size = map(int, sys.argv[1:]); "
    "_, most = resource.prlimit(pid, resource.RLIMIT_FSIZE); "
    "resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, most))"
)
_LOG_ROOM_BYTES = 1 << 16
_ENDED_SECONDS = 60
_ALL_LOG_DIRS_FAILED = 1
_REFUSED = b"File too large"


class Fill(BrokerFault):
    """The broker's files can't grow, as on a full disk; it must be written to.

    Its next append to a segment beyond the limit fails. A broker whose only log directory
    fails takes it offline and ends (KIP-112).
    """

    verb = "fill"
    by_hand = (ByHand(verb=verb),)
    silences = True
    needs = Capability.FILE_LIMITS

    def __init__(self, target: Target) -> None:
        """The target is resolved just before the fault is injected."""
        super().__init__(target)
        self._log_bytes: dict[int, int] = {}

    def inject_broker(self, field: Field, broker: int) -> None:
        """Limit its files, to a size above that of its own log now."""
        node = field.kafka.host(broker)
        log_bytes = len(node.read(field.kafka.log_file(broker)))
        pid, size = field.kafka.process(broker).pid, log_bytes + _LOG_ROOM_BYTES
        node.run([node.python, "-c", _LIMIT, str(pid), str(size)], timeout_seconds=10)
        self._log_bytes[broker] = log_bytes

    def prove_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when it logged that a file could not grow, and ended by itself for this reason."""
        try:
            status = field.kafka.process(broker).wait(_ENDED_SECONDS)
        except WaitTimeoutError:
            status = None
        noticed = {} if status is None else await_noticed(field, broker, among=self.brokers)
        log = field.kafka.host(broker).read(
            field.kafka.log_file(broker), offset=self._log_bytes[broker]
        )
        refused = log.count(_REFUSED)
        return Evidence(
            landed=status == _ALL_LOG_DIRS_FAILED and refused > 0,
            facts={
                "broker": broker,
                "exit_status": status,
                "refused_writes_reported": refused,
                **noticed,
            },
            forced_ms=timeouts_of_silence(field, broker),
        )

    def heal_broker(self, field: Field, broker: int) -> None:
        """Start the broker again: its new process has no limit."""
        if broker in self._log_bytes:
            if field.kafka.is_running(broker):
                field.kafka.kill_server(broker)
            field.kafka.start_server(broker)
