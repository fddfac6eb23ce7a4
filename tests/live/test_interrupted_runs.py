"""Runs that are interrupted, killed or out of space end by themselves and leave nothing behind."""

import errno
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import psutil
import pytest
from command import POOL
from disturbed import Moment, Running, words

from contract.run_folder import files_named, find_runs

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]
INTERRUPTED, ACCUSED = 130, 1


@pytest.mark.parametrize(
    "moment", [pytest.param(Moment.STORY, marks=pytest.mark.long), Moment.ANALYSIS]
)
def test_an_interrupt_is_reported_in_one_line(moment: Moment, tmp_path: Path) -> None:
    run = Running(tmp_path / "results", "--cluster", POOL.value)
    assert run.reaches(moment, seconds=1)
    run.signal_all(signal.SIGINT)
    run.end()
    assert run.process.returncode == INTERRUPTED, run.said
    assert run.said.count("interrupted") == 1
    assert any(word in run.said for word in ("judge", "not analyzed", "nothing was collected"))
    (folder,) = find_runs(run.results)
    is_whole = moment is Moment.ANALYSIS
    assert (folder.run().error is None) == is_whole
    assert (folder.path / "manifest.json").exists() == is_whole
    assert (folder.tables / "histories.parquet").exists()


@pytest.mark.long
@pytest.mark.parametrize("moment", Moment)
def test_a_kill_of_any_process_ends_the_run_and_accuses_nobody(
    moment: Moment, tmp_path: Path
) -> None:
    """A process of one kind, each kind as likely."""
    dice, was_collected, killed = Random(19902 + moment.value), True, ""
    run = Running(tmp_path / "results", "--cluster", POOL.value)
    if run.reaches(moment, seconds=dice.uniform(0, 5)):
        was_collected = run.is_collected
        kinds: dict[str, list[psutil.Process]] = {}
        for process in run.processes():
            kinds.setdefault(words(process), []).append(process)
        killed = dice.choice(sorted(kind for kind in kinds if kind))
        dice.choice(kinds[killed]).send_signal(signal.SIGKILL)
    run.end()
    # An analysis that is killed before it is asked is replaced; the run is none the worse.
    is_of_analysis = "analysis" in killed or "org.apache.spark" in killed
    if not was_collected and not (is_of_analysis and run.is_collected):
        assert run.process.returncode not in (0, ACCUSED), f"killed {killed}: {run.said}"
    run.judge_again()


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, check=False, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(file: Path) -> None:
    """Write until nothing more fits, and go on in small pieces to the last byte."""
    with file.open("wb", buffering=0) as content:
        for size in (1 << 20, 1):
            try:
                while True:
                    content.write(b"\xff" * size)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


@pytest.mark.long
@pytest.mark.parametrize("moment", [Moment.STORY, Moment.COLLECTING])
def test_results_that_do_not_fit_accuse_nobody(moment: Moment, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    with small_disk(folder):
        run = Running(folder, "--cluster", POOL.value)
        if run.reaches(moment, seconds=0):
            fill(folder / "filler")
        run.end()
        code = run.process.returncode
        assert code != ACCUSED, run.said
        assert code != 0 or files_named(folder, "verdict.json"), run.said
        (folder / "filler").unlink(missing_ok=True)
        run.judge_again()
