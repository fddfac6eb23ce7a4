"""Ctrl-C in a story and in the analysis ends a run with one line; what was collected is kept."""

from pathlib import Path

import pytest
from command import POOL

from bench.torture.running import Moment
from bench.torture.runs import interrupted_in
from contract.run_folder import find_runs

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]


@pytest.mark.parametrize(
    "moment", [pytest.param(Moment.STORY, marks=pytest.mark.long), Moment.ANALYSIS]
)
def test_an_interrupt_is_reported_in_one_line(moment: Moment, tmp_path: Path) -> None:
    run, problem = interrupted_in(tmp_path / "results", moment, seconds=1, pool=POOL)
    assert problem == "", run.said
    (folder,) = find_runs(run.results)
    is_whole = moment is Moment.ANALYSIS
    assert (folder.run().error is None) == is_whole
    assert (folder.path / "manifest.json").exists() == is_whole
    assert (folder.tables / "histories.parquet").exists()
