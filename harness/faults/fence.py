"""Raise the producer epoch of transactional ids without their producers; never undone."""

import time
from collections.abc import Callable, Sequence

import msgspec

from contract.errors import TargetError, WorkerError
from contract.terms import FaultTarget, TargetKind
from harness.clients.admin import TransactionState
from harness.faults.fault import ByHand, Evidence, Fault, Field

_RAISED_SECONDS = 60
_UNKNOWN = "TransactionalIdNotFoundException"
_ONGOING = "Ongoing"
_SETTLED = frozenset({"Empty", "CompleteAbort", "CompleteCommit"})


class EpochRaised(Fault):
    """Producers with an open transaction become zombies."""

    on = TargetKind.TRANSACTIONAL_ID
    is_instant = True
    is_by_timeout = False
    """Whether the coordinator's timeout is the cause; otherwise it must not have passed yet."""

    def __init__(self, transactional_ids: Sequence[str]) -> None:
        """Each transactional.id must have a transaction that is open when the fault is injected."""
        self.target = FaultTarget(
            target_kind=TargetKind.TRANSACTIONAL_ID, transactional_ids=tuple(transactional_ids)
        )
        self._transactional_ids = list(transactional_ids)
        self.forced_ms: dict[str, int] = {}
        self._before: list[TransactionState] = []

    def prepare(self, field: Field) -> None:
        """Note the current transactions.

        Raises:
            TargetError: a transactional.id was never used.
        """
        try:
            self._before = field.observer.transactions(self._transactional_ids)
        except WorkerError as error:
            if _UNKNOWN not in str(error):
                raise
            raise TargetError(
                f"{self.target} is not known to its coordinator: no producer has used it"
            ) from error

    def prove(self, field: Field) -> Evidence:
        """Landed when each transaction was open, and is settled under a newer producer epoch.

        A coordinator aborts transactions older than `transaction.timeout.ms` by itself. So a
        transaction that is settled after that time is evidence of the timeout only.
        """
        observer, before = field.observer, self._before
        last: list[list[TransactionState]] = [before]

        def raised_epochs() -> list[TransactionState] | None:
            last[0] = observer.transactions(self._transactional_ids)
            pairs = zip(before, last[0], strict=True)
            return last[0] if all(_is_raised(*pair) for pair in pairs) else None

        after = observer.await_that(
            raised_epochs,
            what=f"the producer epochs of {self._transactional_ids} to be raised",
            timeout_seconds=_RAISED_SECONDS,
            last_seen=lambda: last[0],
        )
        seen_ms = time.time_ns() // 10**6
        due = [old.expires_ms is not None and old.expires_ms <= seen_ms for old in before]
        facts = {
            old.transactional_id: {
                "before": msgspec.to_builtins(old),
                "after": msgspec.to_builtins(new),
            }
            for old, new in zip(before, after, strict=True)
        }
        return Evidence(
            landed=all(old.state == _ONGOING for old in before)
            and (all(due) if self.is_by_timeout else not any(due)),
            facts={**facts, "seen_ms": seen_ms},
            forced_ms=self.forced_ms,
        )

    def heal(self, field: Field) -> None:
        """Do nothing: a raised epoch stays raised."""


class Fence(EpochRaised):
    """An administrator fences the producers (`Admin.fenceProducers`)."""

    verb = "fence"
    by_hand = (ByHand(verb=verb),)

    def inject(self, field: Field) -> None:
        """Fence them."""
        field.observer.fence_producers(self._transactional_ids)


class TakeOver(EpochRaised):
    """Other producers initialize the same transactional ids."""

    verb = "take over"

    def __init__(self, transactional_ids: Sequence[str], *, by: Callable[[str], object]) -> None:
        """`by` opens another producer of a transactional.id and initializes it."""
        super().__init__(transactional_ids)
        self._by = by

    def inject(self, field: Field) -> None:  # noqa: ARG002 - clients do it
        """Let the successors take over, one after the other."""
        for transactional_id in self._transactional_ids:
            self._by(transactional_id)


class ExpireTransaction(EpochRaised):
    """`transaction.timeout.ms` passes, and the coordinator aborts the open transactions."""

    verb = "expire transaction"
    is_by_timeout = True

    def __init__(self, transactional_ids: Sequence[str], *, timeout_ms: int) -> None:
        """`timeout_ms` is the `transaction.timeout.ms` of the producers."""
        super().__init__(transactional_ids)
        self.forced_ms = {"transaction.timeout.ms": timeout_ms}

    def inject(self, field: Field) -> None:
        """Do nothing: only time has to pass."""


def _is_raised(before: TransactionState, after: TransactionState) -> bool:
    is_newer = (after.producer_id, after.producer_epoch) > (
        before.producer_id,
        before.producer_epoch,
    )
    return is_newer and after.state in _SETTLED
