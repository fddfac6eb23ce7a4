"""A night of some hours: random plans follow the suite until the time is used."""

import itertools
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from test_nights import Killed, hourly, nothing

from contract.nights import NIGHT_FILE, PlannedRun, RunStatus
from harness.nightly.run import Ended, run_remaining
from harness.nightly.state import HeldNight, hold_night
from harness.nightly.suite import find_suite


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds by which the monotonic clock is ahead."""
    ahead, real = [0.0], time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + ahead[0])
    return ahead


def run_for(
    night: HeldNight,
    clock: list[float],
    *,
    kill_in: int = 99,
    earlier: Sequence[PlannedRun] = (),
) -> None:
    """Let each run take a minute, and be killed in the middle of one of them."""
    left = itertools.count(kill_in, -1)

    def execute(_run: PlannedRun, folder: Path) -> Ended:
        clock[0] += 30
        night.count_time()
        if next(left) == 0:
            raise Killed
        clock[0] += 30
        return Ended(folder, 0)

    further = hourly().further(night.state.seed)
    run_remaining(
        night, execute, on_start=nothing, on_end=nothing, further=further, earlier=earlier
    )


def test_the_nth_random_run_of_a_seed_is_the_same_whatever_the_suite() -> None:
    first = list(itertools.islice(hourly().further(7), 6))
    other = replace(hourly(), suite=find_suite("nightly"))
    seeds = [run.seed for run in first]
    assert seeds == [run.seed for run in itertools.islice(other.further(7), 6)]
    assert seeds[:3] == [1423121937, 978351771, 2093465581]
    assert [run.kafka for run in first] == ["4.4.0", "3.9.2"] * 3
    assert [run.id for run in first[:2]] == ["004-random-4.4.0", "005-random-3.9.2"]
    assert [run.repeat for run in first] == [0, 0, 1, 1, 2, 2]
    assert not set(seeds) & {run.seed for run in hourly().plan(7)}


def test_random_runs_follow_until_the_time_is_used(tmp_path: Path, clock: list[float]) -> None:
    with hold_night(tmp_path, hourly(), is_fresh=False) as night:
        run_for(night, clock)
    assert [run.scenario for run in night.state.runs] == [
        "canary",
        "baseline",
        "commit_epoch",
        *["random"] * 7,
    ]
    assert {run.status for run in night.state.runs} == {RunStatus.DONE}
    assert 600 <= night.state.used_seconds < 612


@pytest.mark.parametrize("kills", [(0, 0, 0), (1, 2, 3), (4, 1, 0)])
def test_killed_nights_end_in_time(
    tmp_path: Path, clock: list[float], kills: tuple[int, ...]
) -> None:
    """What a killed run took counts up to its last phase."""
    for kill_in in kills:
        with suppress(Killed), hold_night(tmp_path, hourly(), is_fresh=False) as night:
            done = [run for run in night.state.runs if run.status is RunStatus.DONE]
            run_for(night, clock, kill_in=kill_in)
        assert night.state.runs[: len(done)] == done
    with hold_night(tmp_path, hourly(), is_fresh=False) as night:
        run_for(night, clock)
    assert len(list(tmp_path.glob(f"*/{NIGHT_FILE}"))) == 1
    assert {run.status for run in night.state.runs} == {RunStatus.DONE}
    expected = [*hourly().plan(7), *itertools.islice(hourly().further(7), 5)]
    assert [run.rerun for run in night.state.runs] == [run.rerun for run in expected]
    assert 570 <= night.state.used_seconds < 612


def test_what_does_not_fit_is_omitted_and_named(tmp_path: Path, clock: list[float]) -> None:
    slow = msgspec.structs.replace(hourly().plan(7)[2], status=RunStatus.DONE, seconds=900.0)
    with hold_night(tmp_path, hourly(), is_fresh=False) as night:
        run_for(night, clock, earlier=[slow])
    omitted = [run for run in night.state.runs if run.status is RunStatus.OMITTED]
    assert [run.scenario for run in omitted] == ["commit_epoch"]
    assert re.fullmatch(
        r"it never ran: about 0:15:00 were needed, and 0:08:\d\d were left of --hours 0.17",
        omitted[0].error or "",
    )
    assert night.remaining == []
    assert night.state.runs[-1].scenario == "random"
