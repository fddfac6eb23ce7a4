"""Remove a broker's disk: it is killed, its log directory is removed, and it starts empty."""

from contract.errors import TargetError
from contract.faults import Verb
from harness.faults.broker_fault import BrokerFault, await_noticed, timeouts_of_silence
from harness.faults.fault import Evidence, Field
from harness.faults.targets import Target

_METADATA_LOG = "__cluster_metadata-0"
"""Each server has a replica of it, also without replicas of topics."""


class Wipe(BrokerFault):
    """SIGKILL, then an empty log directory; healed by formatting it and starting the broker.

    Only for a server that is no voter of the metadata quorum: voters are a case of their own
        (KIP-853).
    """

    verb = Verb.WIPE
    may_cut = False

    def __init__(self, target: Target) -> None:
        """The target is resolved just before the fault is injected."""
        super().__init__(target)
        self._segments: dict[int, int] = {}

    def prepare(self, field: Field) -> None:
        """Resolve the target, which must not be a voter."""
        super().prepare(field)
        if voters := set(self.brokers) & set(field.kafka.topology.controller_ids):
            raise TargetError(
                f"server {min(voters)} votes in the metadata quorum: wipe another one"
            )

    def inject_broker(self, field: Field, broker: int) -> None:
        """Kill the broker and remove its log directory, after copying it."""
        field.kafka.kill_server(broker)
        node, data = field.kafka.host(broker), field.kafka.data(broker)
        find = ["find", str(data), "-name", "*.log", "-not", "-path", f"*/{_METADATA_LOG}/*"]
        files = node.run(find, timeout_seconds=10).output
        self._segments[broker] = len(files.splitlines())
        field.keep(broker)
        node.remove(data)

    def prove_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when there were replicas before, and there is no file afterwards."""
        node, data = field.kafka.host(broker), field.kafka.data(broker)
        segments = self._segments[broker]
        noticed = await_noticed(field, broker, among=self.brokers)
        left = node.run(["test", "-e", str(data)], timeout_seconds=10, check=False).status == 0
        return Evidence(
            landed=segments > 0 and not left,
            facts={"broker": broker, "segments_removed": segments, **noticed},
            forced_ms=timeouts_of_silence(field, broker),
        )

    def heal_broker(self, field: Field, broker: int) -> None:
        """Format the log directory and start the broker, which replicates from the others."""
        if not field.kafka.is_running(broker):
            field.kafka.start_server(broker, fresh=True)
