"""How far a clock is ahead, by asking it."""

import time
from pathlib import Path

from contract.events import ClockRead
from harness.clients.history import HistoryWriter
from harness.decode.histories import read_histories
from harness.story.clocks import bounds


def test_a_clock_is_bounded_by_when_it_was_asked() -> None:
    ahead, behind = bounds(lambda: time.time_ns() // 1000 + 5_000_000)
    assert behind <= 5_000_000 <= ahead
    assert ahead - behind < 1_000_000


def test_a_reading_becomes_a_row(tmp_path: Path) -> None:
    writer = HistoryWriter(tmp_path / "driver.jsonl")
    writer.write(ClockRead, node="node-1", ahead_micros=7, behind_micros=-3)
    writer.close()
    (row,) = read_histories(tmp_path).of("clocks")
    assert row.items() >= {"node": "node-1", "ahead_micros": 7, "behind_micros": -3}.items()
    assert row["at_micros"] > 0
