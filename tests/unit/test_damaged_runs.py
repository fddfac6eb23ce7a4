"""A damaged run never passes and never accuses: it is refused with a clear error, or undecided."""

from pathlib import Path
from random import Random

import pytest
from damages import DAMAGES, copy_run, damage, wrong

from analysis.tasks import Share, judge_here
from contract.errors import FencepostError
from contract.manifest import write_manifest
from contract.run_folder import RunFolder
from tests.traces import generated

SEED = 19902


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = generated(tmp_path_factory.mktemp("genuine") / "run")
    write_manifest(folder)
    return folder


@pytest.mark.extended
@pytest.mark.usefixtures("by_one_check")
@pytest.mark.parametrize("name", sorted(DAMAGES))
def test_a_damaged_run_neither_passes_nor_accuses(
    name: str, genuine: RunFolder, tmp_path: Path
) -> None:
    copy = RunFolder(tmp_path / "copy")
    copy_run(genuine, copy)
    damaged = damage(copy, name, Random(SEED))
    judged = judge_here(Share(at_once=1), copy)
    assert wrong(copy, judged.verdict) == "", damaged
    if judged.verdict is None:
        assert judged.exit_code not in (0, FencepostError.exit_code), damaged
    assert not list(copy.path.glob(".[jd]*-*")), "nothing is left beside the report"
