"""A night of some hours: random plans fill the time that its suite leaves."""

import signal
from pathlib import Path

import pytest
from test_nightly import (
    identity,
    nightly,
    plans,
    processes_below,
    state,
    statuses,
)

from contract.waiting import wait_until

pytestmark = [pytest.mark.live, pytest.mark.timeout(1200)]
LAST_RUN_SECONDS_MAX = 240
"""By which a night of some hours may take longer: its last run began in time."""


@pytest.mark.long
def test_a_night_of_some_hours_killed_three_times_repeats_nothing(tmp_path: Path) -> None:
    """The kills are in the first run, in the second, and in that of a random plan."""
    options = ("--hours", "0.1", "--seed", "7")
    for kill_in in (1, 2, 3):
        killed = nightly(tmp_path, *options)
        wait_until(
            lambda number=kill_in: bool(plans(tmp_path, run=number)),
            what=f"the story of run {kill_in}",
            timeout_seconds=300,
            last_seen=lambda: statuses(tmp_path),
        )
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        wait_until(lambda: not processes_below(tmp_path), what="their end", timeout_seconds=30)
        assert statuses(tmp_path)[:kill_in] == ["done"] * (kill_in - 1) + ["running"]
    done = state(tmp_path)["runs"][:2]
    kept = [identity(path) for number in (1, 2) for path in plans(tmp_path, run=number)]
    ended = nightly(tmp_path, *options)
    said, _ = ended.communicate()
    assert ended.returncode in (0, 1, 2), said
    after = state(tmp_path)
    assert after["runs"][:2] == done
    assert [run["scenario"] for run in after["runs"]][:3] == ["canary", "baseline", "random"]
    assert {run["status"] for run in after["runs"]} == {"done"}
    assert [identity(path) for number in (1, 2) for path in plans(tmp_path, run=number)] == kept
    assert after["used_seconds"] < 0.1 * 3600 + LAST_RUN_SECONDS_MAX
