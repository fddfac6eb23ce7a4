"""A umask with which a user can't use its own files is told before anything is written."""

import os
from pathlib import Path

import pytest

from cluster.nodes.pool import PoolKind
from contract.errors import PrerequisiteError
from harness.commands.requirements import require_programs, require_runs


@pytest.mark.parametrize("umask", [0o777, 0o700, 0o277])
def test_a_umask_that_shuts_its_own_user_out_is_told(umask: int, tmp_path: Path) -> None:
    usual = os.umask(umask)
    try:
        for require in (require_programs, lambda: require_runs(tmp_path / "r", PoolKind.LOOPBACK)):
            with pytest.raises(PrerequisiteError, match=f"^with umask {umask:04o} .*umask 022$"):
                require()
        assert os.umask(umask) == umask
    finally:
        os.umask(usual)
    assert not (tmp_path / "r").exists()
