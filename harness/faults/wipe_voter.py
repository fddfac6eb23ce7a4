"""Remove the disk of a voter of the metadata quorum: it starts empty, and votes as before."""

from contract.errors import TargetError
from contract.faults import Verb
from harness.faults.broker_fault import BrokerFault, timeouts_of_silence
from harness.faults.fault import Evidence, Field
from harness.faults.targets import Target

_FIND_SECONDS = 10


class WipeVoter(BrokerFault):
    """SIGKILL, then an empty log directory; healed by formatting it and starting the controller.

    A voter that lost its log and its vote is an operator's fault, against which KIP-853 protects
    only quorums whose voters are known by their directory ids. The others must hold all that is
    committed: wipe one voter only, which does not lead.
    """

    verb = Verb.WIPE_VOTER
    may_cut = False

    def __init__(self, target: Target) -> None:
        """The target is resolved just before the fault is injected."""
        super().__init__(target)
        self._segments: dict[int, int] = {}

    def prepare(self, field: Field) -> None:
        """Resolve the target, which must be a voter."""
        super().prepare(field)
        if others := set(self.brokers) - set(field.kafka.topology.controller_ids):
            raise TargetError(f"server {min(others)} is no voter of the metadata quorum")

    def inject_broker(self, field: Field, broker: int) -> None:
        """Kill the controller and remove its log directory, after copying it."""
        field.kafka.kill_server(broker)
        node, data = field.kafka.host(broker), field.kafka.data(broker)
        find = ["find", str(data), "-name", "*.log"]
        files = node.run(find, timeout_seconds=_FIND_SECONDS).output
        self._segments[broker] = len(files.splitlines())
        field.keep(broker)
        node.remove(data)

    def prove_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when it had a metadata log, there is no file now, and its process has ended."""
        node, data = field.kafka.host(broker), field.kafka.data(broker)
        segments = self._segments[broker]
        test = ["test", "-e", str(data)]
        left = node.run(test, timeout_seconds=_FIND_SECONDS, check=False).status == 0
        return Evidence(
            landed=segments > 0 and not left and not field.kafka.is_running(broker),
            facts={"broker": broker, "segments_removed": segments},
            forced_ms=timeouts_of_silence(field, broker),
        )

    def heal_broker(self, field: Field, broker: int) -> None:
        """Format the log directory and start the controller, which fetches from the leader."""
        if not field.kafka.is_running(broker):
            field.kafka.start_server(broker, fresh=True)
