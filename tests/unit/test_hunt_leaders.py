"""Which replica a hunt lets lead next."""

import pytest

from harness.clients.views import PartitionState
from scenarios.hunt import with_next_leader


def state_of(leader: int, *isr: int) -> PartitionState:
    return PartitionState(
        topic="orders",
        partition=0,
        leader=leader,
        leader_epoch=3,
        isr=list(isr),
        log_start_offset=0,
        log_end_offset=10,
    )


@pytest.mark.parametrize(
    ("state", "order"),
    [
        (state_of(1, 1, 2, 3), [2, 1, 3]),
        (state_of(2, 1, 2, 3), [3, 1, 2]),
        (state_of(3, 1, 2, 3), [1, 2, 3]),
        (state_of(1, 1, 3), [3, 1, 2]),
        (state_of(1, 1), None),
        (state_of(-1, 1, 2), None),
        (None, None),
    ],
)
def test_the_next_replica_in_sync_leads(
    state: PartitionState | None, order: list[int] | None
) -> None:
    assert with_next_leader(state, [1, 2, 3]) == order
