"""Who can reach a run: no socket of it listens on an address that other machines reach."""

from pathlib import Path

import pytest
from command import POOL
from listening import run_and_look

from cluster.nodes.pool import PoolKind

pytestmark = [pytest.mark.live, pytest.mark.timeout(500)]


@pytest.mark.parametrize("pool", sorted({POOL, PoolKind.LOOPBACK}))
def test_no_socket_of_a_run_is_open_to_other_machines(pool: PoolKind, tmp_path: Path) -> None:
    seen = run_and_look(pool, tmp_path)
    assert seen.is_known == (pool is PoolKind.LOOPBACK), "servers listen in the host's namespace"
    assert seen.elsewhere == set()
