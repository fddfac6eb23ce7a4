"""Remove a broker's disk: it is killed, its log directory is removed, and it starts empty."""

from typing import ClassVar

from contract.errors import TargetError
from harness.faults.broker_fault import BrokerFault, await_noticed, timeouts_of_silence
from harness.faults.fault import ByHand, Evidence, Field
from harness.faults.targets import Target


class Wipe(BrokerFault):
    """SIGKILL, then an empty log directory; healed by formatting it and starting the broker.

    Only for a server that is no voter of the metadata quorum: voters are a case of their own
        (KIP-853).
    """

    verb = "wipe"
    by_hand = (ByHand(verb=verb),)
    silences = True
    may_cut = False
    counted: ClassVar[tuple[str, ...]] = ("-not", "-path", "*/__cluster_metadata-0/*")
    """The segments that are counted: each broker has the metadata log, also without topics."""

    def __init__(self, target: Target) -> None:
        """The target is resolved just before the fault is injected."""
        super().__init__(target)
        self._segments: dict[int, int] = {}

    def prepare(self, field: Field) -> None:
        """Resolve the target."""
        super().prepare(field)
        self.require(field)

    def require(self, field: Field) -> None:
        """Check that the target is no voter."""
        if voters := set(self.brokers) & set(field.kafka.topology.controller_ids):
            raise TargetError(
                f"server {min(voters)} votes in the metadata quorum: wipe another one"
            )

    def inject_broker(self, field: Field, broker: int) -> None:
        """Kill the broker and remove its log directory, after copying it."""
        field.kafka.kill_server(broker)
        node, data = field.kafka.host(broker), field.kafka.data(broker)
        find = ["find", str(data), "-name", "*.log", *self.counted]
        self._segments[broker] = len(node.run(find, timeout_seconds=10).output.splitlines())
        field.keep(broker)
        node.remove(data)

    def prove_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when it does not run, there were replicas before, and no file is left."""
        node, data = field.kafka.host(broker), field.kafka.data(broker)
        segments = self._segments[broker]
        noticed = self.await_notice(field, broker)
        left = node.run(["test", "-e", str(data)], timeout_seconds=10, check=False).status == 0
        return Evidence(
            landed=segments > 0 and not left and not field.kafka.is_running(broker),
            facts={"broker": broker, "segments_removed": segments, **noticed},
            forced_ms=timeouts_of_silence(field, broker),
        )

    def await_notice(self, field: Field, broker: int) -> dict[str, object]:
        """Wait until the others have noticed its end; returns facts for the evidence."""
        return await_noticed(field, broker, among=self.brokers)

    def heal_broker(self, field: Field, broker: int) -> None:
        """Format the log directory and start the broker, which replicates from the others."""
        if not field.kafka.is_running(broker):
            field.kafka.start_server(broker, fresh=True)
