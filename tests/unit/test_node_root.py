"""The folder of a run's nodes, and what is told if it is taken away."""

import shutil
from pathlib import Path

import pytest

from contract.errors import InterruptError, NodeError, StorageError
from harness.session.node_root import node_root


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_results_folder_that_is_taken_away_is_named(tmp_path: Path, *, is_moved: bool) -> None:
    results = tmp_path / "results"

    def take_away() -> None:
        with node_root(results):
            if is_moved:
                results.rename(tmp_path / "elsewhere")
            else:
                shutil.rmtree(results)
            raise NodeError("ducktape ran no scenario; its last output:\nOSError: EROFS")

    with pytest.raises(StorageError, match=r"^.*/results was removed or moved while"):
        take_away()


def test_another_error_is_told_as_it_is(tmp_path: Path) -> None:
    def fail(error: Exception) -> None:
        with node_root(tmp_path / "results"):
            if isinstance(error, InterruptError):
                shutil.rmtree(tmp_path / "results")
            raise error

    for error in (NodeError("a"), InterruptError("b")):
        with pytest.raises(type(error)):
            fail(error)
