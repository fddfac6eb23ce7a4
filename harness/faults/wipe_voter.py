"""Remove the disk of a voter of the metadata quorum: it starts empty, and votes as before."""

from typing import ClassVar

from contract.errors import TargetError
from harness.faults.fault import Field
from harness.faults.wipe import Wipe


class WipeVoter(Wipe):
    """SIGKILL, then an empty log directory; healed by formatting it and starting the controller.

    A voter that lost its log and its vote is an operator's fault, against which KIP-853 protects
    only quorums whose voters are known by their directory ids. The others must hold all that is
    committed: wipe one voter only, which does not lead.
    """

    verb = "wipe voter"
    counted: ClassVar[tuple[str, ...]] = ()

    def require(self, field: Field) -> None:
        """Check that the target is a voter."""
        if others := set(self.brokers) - set(field.kafka.topology.controller_ids):
            raise TargetError(f"server {min(others)} is no voter of the metadata quorum")

    def await_notice(self, field: Field, broker: int) -> dict[str, object]:  # noqa: ARG002
        """Nothing: the other voters go on with it or without it."""
        return {}
