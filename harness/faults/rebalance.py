"""Make a consumer group rebalance: a guest joins it, and leaves."""

import msgspec

from contract.errors import FaultError
from harness.clients.observer_commands import JoinAndLeave, JoinedAndLeft
from harness.faults.fault import Evidence, Fault, Field

_STABLE_SECONDS = 30
_WAITS = 3
"""For the coordinator's first answer, for the group with its guest, and for the group without."""


class Rebalance(Fault):
    """Partitions move to a further member and back, as when a group is scaled up and down.

    The guest reads but commits nothing, so that with the classic protocol's eager assignors members
    begin again where they had committed. Either group protocol does.
    """

    verb = "rebalance"

    def __init__(self, group: str) -> None:
        """The group must be stable when the fault is injected, and its members poll."""
        self._group = group
        self._seen: JoinedAndLeft | None = None

    @property
    def target(self) -> str:
        """The group."""
        return f"group:{self._group}"

    def inject(self, field: Field) -> None:
        """Let the guest join and leave."""
        answer = field.observer.worker.call(
            JoinAndLeave(group=self._group, timeout_seconds=_STABLE_SECONDS),
            timeout_seconds=_STABLE_SECONDS * _WAITS + 10,
        )
        self._seen = msgspec.convert(answer, JoinedAndLeft)

    def prove(self, field: Field) -> Evidence:  # noqa: ARG002 - the guest has asked already
        """Landed when the coordinator reported a guest beside the members, and then them again."""
        seen = self._seen
        if seen is None:
            raise FaultError(f"no guest has visited {self.target} yet")
        before, meanwhile, after = (
            {member.member for member in view.members}
            for view in (seen.before, seen.meanwhile, seen.after)
        )
        is_joined = before < meanwhile and len(meanwhile - before) == 1
        landed = bool(before) and is_joined and after == before
        return Evidence(landed=landed, facts=msgspec.to_builtins(seen))

    def heal(self, field: Field) -> None:
        """The guest has left already."""
