"""A night survives being killed: what is done stays, what was broken off begins anew."""

import itertools
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.errors import RunFolderError, UsageError
from contract.nights import NIGHT_FILE, PlannedRun, RunStatus, read_night
from harness.nightly.progress import remaining_seconds
from harness.nightly.run import Ended, run_remaining
from harness.nightly.state import HeldNight, Wanted, earlier_runs, hold_night
from harness.nightly.suite import Suite, find_suite

SMOKE = find_suite("smoke")


class Killed(BaseException):
    """The process ends here."""


def wanted(*, suite: Suite | None = None, seed: int | None = None, cluster: str = "e") -> Wanted:
    return Wanted(
        suite=suite or SMOKE,
        cluster=cluster,
        seed=seed,
        default_kafka="4.4.0",
        command="c",
    )


def nothing(_run: PlannedRun) -> None:
    pass


def run_all(night: HeldNight) -> None:
    run_remaining(night, lambda _, folder: Ended(folder, 0), on_start=nothing, on_end=nothing)


@given(st.lists(st.integers(min_value=0, max_value=3), max_size=6))
def test_a_night_ends_whenever_it_is_killed(kills: list[int]) -> None:
    """Each number: how many runs an invocation gets done before it is killed in the next."""
    completed: Counter[str] = Counter()
    seeds: set[tuple[int, ...]] = set()
    with TemporaryDirectory() as folder:
        nights = Path(folder)
        for done_max in [*kills, 3]:
            left = itertools.count(done_max, -1)

            def execute(run: PlannedRun, folder: Path, left: itertools.count = left) -> Ended:
                assert list(folder.iterdir()) == []
                (folder / "half").touch()
                if next(left) == 0:
                    raise Killed
                completed[run.id] += 1
                return Ended(folder, 0)

            with suppress(Killed), hold_night(nights, wanted(), is_fresh=False) as night:
                seeds.add(tuple(run.seed for run in night.state.runs))
                run_remaining(night, execute, on_start=nothing, on_end=nothing)
        (path,) = (file.parent for file in nights.glob(f"*/{NIGHT_FILE}"))
        state = read_night(path)
        assert state is not None
        assert all(run.status is RunStatus.DONE for run in state.runs)
        assert set(completed.values()) == {1}
        assert len(seeds) == 1


def test_a_run_that_was_broken_off_is_on_record(tmp_path: Path) -> None:
    def execute(_run: PlannedRun, _folder: Path) -> Ended:
        raise Killed

    with pytest.raises(Killed), hold_night(tmp_path, wanted(), is_fresh=False) as night:
        run_remaining(night, execute, on_start=nothing, on_end=nothing)
    state = read_night(night.path)
    assert state is not None
    assert [run.status for run in state.runs] == ["running", "planned", "planned"]


def test_a_run_without_a_folder_is_done_with_its_error(tmp_path: Path) -> None:
    with hold_night(tmp_path, wanted(), is_fresh=False) as night:
        ended = Ended(None, error="no scenario ran")
        run_remaining(night, lambda *_: ended, on_start=nothing, on_end=nothing)
        assert night.remaining == []
        assert {run.error for run in night.state.runs} == {"no scenario ran"}


def test_a_finished_night_is_not_continued(tmp_path: Path) -> None:
    with hold_night(tmp_path, wanted(), is_fresh=False) as first:
        run_all(first)
    with hold_night(tmp_path, wanted(), is_fresh=False) as judging:
        assert judging.path == first.path
        judging.finish()
    with hold_night(tmp_path, wanted(), is_fresh=False) as second:
        assert second.path != first.path


@pytest.mark.parametrize(
    "different",
    [
        wanted(seed=6),
        wanted(cluster="docker"),
        wanted(suite=find_suite("nightly")),
    ],
    ids=["seed", "pool", "suite"],
)
def test_another_night_is_not_continued(tmp_path: Path, different: Wanted) -> None:
    with hold_night(tmp_path, wanted(seed=5), is_fresh=False) as first:
        pass
    with hold_night(tmp_path, different, is_fresh=False) as second:
        assert second.path != first.path
    with hold_night(tmp_path, wanted(seed=5), is_fresh=False) as again:
        assert again.path == first.path


def test_a_suite_that_changed_begins_anew(tmp_path: Path) -> None:
    file = tmp_path / "s.yml"
    file.write_text("{description: d, runs: [{scenario: baseline}]}")
    with hold_night(tmp_path, wanted(suite=find_suite(str(file))), is_fresh=False) as first:
        pass
    file.write_text("{description: d, runs: [{scenario: canary, expect: fail}]}")
    with hold_night(tmp_path, wanted(suite=find_suite(str(file))), is_fresh=False) as second:
        assert second.path != first.path


def test_the_newest_unfinished_night_is_continued_unless_fresh(tmp_path: Path) -> None:
    with hold_night(tmp_path, wanted(), is_fresh=False) as first:
        pass
    with hold_night(tmp_path, wanted(), is_fresh=True) as second:
        assert second.path != first.path
    with hold_night(tmp_path, wanted(), is_fresh=False) as third:
        assert third.path == second.path


def test_two_do_not_share_a_night(tmp_path: Path) -> None:
    with (
        hold_night(tmp_path, wanted(), is_fresh=False) as night,
        pytest.raises(UsageError, match=rf"{night.path.name} is running already, in process \d+"),
        hold_night(tmp_path, wanted(), is_fresh=False),
    ):
        pass
    with hold_night(tmp_path, wanted(), is_fresh=False) as again:
        assert again.path == night.path


def test_a_state_that_does_not_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "smoke-1").mkdir()
    (tmp_path / "smoke-1" / NIGHT_FILE).write_text("{}")
    with (
        pytest.raises(RunFolderError, match=r"smoke-1/night\.json"),
        hold_night(tmp_path, wanted(), is_fresh=False),
    ):
        pass


def test_the_estimate_goes_from_like_to_unlike(tmp_path: Path) -> None:
    with hold_night(tmp_path, wanted(), is_fresh=False) as night:
        baseline, canary, commit_epoch = night.state.runs
    assert remaining_seconds([baseline], [canary]) is None
    took_ten = msgspec.structs.replace(baseline, seconds=10.0)
    took_forty = msgspec.structs.replace(baseline, seconds=40.0, kafka="3.9.0")
    known = [took_ten, took_forty]
    assert remaining_seconds([baseline], known) == 10.0
    assert remaining_seconds([msgspec.structs.replace(baseline, kafka="4.3.1")], known) == 25.0
    assert remaining_seconds([canary, commit_epoch], known) == 50.0
    assert remaining_seconds([], []) == 0.0


def test_earlier_nights_of_the_suite_and_pool_lend_their_durations(tmp_path: Path) -> None:
    with hold_night(tmp_path, wanted(), is_fresh=False) as first:
        run_all(first)
        first.finish()
    with hold_night(tmp_path, wanted(cluster="docker"), is_fresh=False) as other:
        assert earlier_runs(tmp_path, other.state) == []
    with hold_night(tmp_path, wanted(), is_fresh=False) as second:
        assert earlier_runs(tmp_path, second.state) == first.state.runs
