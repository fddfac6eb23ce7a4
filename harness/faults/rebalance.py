"""Make a consumer group rebalance: an extra member joins it, and leaves."""

import msgspec

from contract.errors import FaultError, TargetError
from contract.terms import FaultTarget, TargetKind
from harness.clients.admin import JoinedAndLeft
from harness.clients.observer_worker import ObserverRole
from harness.faults.fault import ByHand, Evidence, Fault, Field

_STABLE_SECONDS = 30
_DEAD = "Dead"
"""The state that Kafka before 4.0 reports of a group that it does not know."""
_WAITS = 3
"""For the coordinator's first response, for the group with the extra member, and for it without."""


class Rebalance(Fault):
    """Partitions move to a further member and back, as when a group is scaled up and down.

    The extra member reads but does not commit, so that with the classic protocol's eager assignors
    members resume at their commits. Both group protocols are supported.
    """

    verb = "rebalance"
    on = TargetKind.GROUP
    by_hand = (ByHand(verb=verb, place=11, weight=3),)
    is_instant = True

    def __init__(self, group: str) -> None:
        """The group must be stable when the fault is injected, and its members poll."""
        self.target = FaultTarget(target_kind=TargetKind.GROUP, group=group)
        self._group = group
        self._seen: JoinedAndLeft | None = None

    def prepare(self, field: Field) -> None:
        """Ask for the group.

        Raises:
            TargetError: there is none.
        """
        found = field.observer.worker.call(ObserverRole.describe_group(self._group))
        if found is None or found.state == _DEAD:
            raise TargetError(f"there is no group {self._group}: its coordinator does not know it")

    def inject(self, field: Field) -> None:
        """Let the extra member join and leave."""
        self._seen = field.observer.worker.call(
            ObserverRole.join_and_leave(self._group, timeout_seconds=_STABLE_SECONDS),
            timeout_seconds=_STABLE_SECONDS * _WAITS + 10,
        )

    def prove(self, field: Field) -> Evidence:  # noqa: ARG002 - the observer has the views already
        """Landed when the coordinator reported one extra member, and then the members as before."""
        seen = self._seen
        if seen is None:
            raise FaultError(f"{self.target}: no extra member has joined yet")
        before, meanwhile, after = (
            {member.member for member in view.members}
            for view in (seen.before, seen.meanwhile, seen.after)
        )
        is_joined = before < meanwhile and len(meanwhile - before) == 1
        landed = bool(before) and is_joined and after == before
        return Evidence(landed=landed, facts=msgspec.to_builtins(seen))

    def heal(self, field: Field) -> None:
        """Do nothing: the extra member has left already."""
