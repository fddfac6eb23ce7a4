"""A history's lines: copies count once, nothing that can't be read is dropped in silence."""

import json
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from contract.events import PhaseEntered, Polled, StateAwaited, WorkerStarted, WorkerStopped
from contract.terms import Stage
from harness.clients.history import HistoryWriter
from harness.decode.histories import read_histories
from harness.decode.lines import HistoryLines, histories

EVENTS = 8
LARGE = 100_000


def write_history(folder: Path) -> Path:
    path = folder / "w.jsonl"
    writer = HistoryWriter(path)
    started = {"node": "n", "client": "java", "client_version": "4.4.0", "pid": 1}
    writer.write(WorkerStarted, worker="w", role="java_worker", **started)
    for index in range(EVENTS - 2):
        writer.write(PhaseEntered, stage=Stage.STEADY, doing=str(index))
    writer.write(WorkerStopped)
    writer.close()
    return path


def change_line(path: Path, line: int, **fields: Any) -> None:
    lines = path.read_text().splitlines()
    lines[line] = json.dumps({**json.loads(lines[line]), **fields})
    path.write_text("\n".join(lines) + "\n")


def read(folder: Path) -> HistoryLines:
    (history,) = histories(folder)
    return history


def test_a_copied_file_counts_once(tmp_path: Path) -> None:
    path = write_history(tmp_path)
    shutil.copy(path, tmp_path / "copy of w.jsonl")
    history = read(tmp_path)
    assert (len(history.events), history.duplicate_lines, history.malformed_lines) == (
        EVENTS,
        EVENTS,
        0,
    )
    rows = read_histories(tmp_path)
    assert len(rows.of("phases")) == EVENTS - 2
    assert [row["worker"] for row in rows.of("histories")] == ["w"]


def test_what_only_a_copy_has_is_not_lost(tmp_path: Path) -> None:
    path = write_history(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    (tmp_path / "v.jsonl").write_bytes(b"".join(lines[:4]))
    path.write_bytes(b"".join(lines[:1] + lines[3:]))
    history = read(tmp_path)
    assert (len(history.events), history.missing_seqs, history.duplicate_lines) == (EVENTS, 0, 2)


def test_two_lines_of_one_number_that_differ_are_malformed(tmp_path: Path) -> None:
    path = write_history(tmp_path)
    shutil.copy(path, tmp_path / "x.jsonl")
    change_line(tmp_path / "x.jsonl", 3, doing="something else")
    history = read(tmp_path)
    assert (history.malformed_lines, history.duplicate_lines) == (1, EVENTS - 1)


def test_unknown_fields_are_counted_and_their_events_kept(tmp_path: Path) -> None:
    change_line(write_history(tmp_path), 2, colour="red", shade=3)
    history = read(tmp_path)
    assert (len(history.events), history.unknown_fields, history.malformed_lines) == (EVENTS, 2, 0)


@pytest.mark.parametrize("fields", [{"event": "Painted"}, {"stage": "no stage"}, {"seq": "three"}])
def test_unknown_events_and_values_are_malformed(tmp_path: Path, fields: dict[str, Any]) -> None:
    change_line(write_history(tmp_path), 2, **fields)
    history = read(tmp_path)
    assert (len(history.events), history.malformed_lines, history.missing_seqs) == (
        EVENTS - 1,
        1,
        1,
    )


def test_lists_that_are_not_parallel_are_malformed(tmp_path: Path) -> None:
    writer = HistoryWriter(tmp_path / "w.jsonl")
    where = {"group": "g", "member": "g#1", "topic": "t", "partition": 0}
    writer.write(Polled, **where, offsets=[1], epochs=[0], values=["p:0:0"])
    change_line(tmp_path / "w.jsonl", 0, offsets=[1, 2])
    assert read(tmp_path).malformed_lines == 1


def test_a_poll_of_very_many_records_is_read_whole(tmp_path: Path) -> None:
    writer = HistoryWriter(tmp_path / "w.jsonl")
    where = {"group": "g", "member": "g#1", "topic": "t", "partition": 0}
    many = list(range(LARGE))
    writer.write(Polled, **where, offsets=many, epochs=[0] * LARGE, values=["p:0:0"] * LARGE)
    assert len(read_histories(tmp_path).of("polls")) == LARGE


def test_a_wall_clock_that_jumps_is_reported_a_late_reading_is_not(tmp_path: Path) -> None:
    path = write_history(tmp_path)
    assert read(tmp_path).clock_jump_micros < 10_000
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change_line(path, 3, mono_micros=lines[3]["mono_micros"] + 900_000)
    assert read(tmp_path).clock_jump_micros < 10_000
    for index in range(5, EVENTS):
        change_line(path, index, wall_micros=lines[index]["wall_micros"] - 2_000_000)
    assert read(tmp_path).clock_jump_micros == pytest.approx(2_000_000, abs=10_000)


@pytest.mark.parametrize("moved", [5_000_000, -5_000_000])
@pytest.mark.parametrize("lines", [range(5, EVENTS), [4, 7]])
def test_times_are_those_of_a_clock_that_was_never_set(
    tmp_path: Path, moved: int, lines: Iterable[int]
) -> None:
    """Also where the lines are single ones, and where both clocks drift apart."""
    path = write_history(tmp_path)
    genuine = [event.wall_micros for event in read(tmp_path).events]
    each = [json.loads(line) for line in path.read_text().splitlines()]
    for index in lines:
        change_line(path, index, wall_micros=each[index]["wall_micros"] + moved)
    assert [event.wall_micros for event in read(tmp_path).events] == pytest.approx(
        genuine, abs=10_000
    )


def test_a_step_during_a_wait_leaves_its_beginning(tmp_path: Path) -> None:
    writer = HistoryWriter(tmp_path / "w.jsonl")
    for _ in range(EVENTS):
        writer.write(StateAwaited, what="this", began_micros=time.time_ns() // 1000)
    genuine = [event.began_micros for event in read(tmp_path).events]
    for index in range(5, EVENTS):
        event = json.loads((tmp_path / "w.jsonl").read_text().splitlines()[index])
        began = event["began_micros"] - (0 if index == 5 else 5_000_000)
        change_line(
            tmp_path / "w.jsonl",
            index,
            wall_micros=event["wall_micros"] - 5_000_000,
            began_micros=began,
        )
    assert [line.began_micros for line in read(tmp_path).events] == pytest.approx(
        genuine, abs=10_000
    )


@pytest.mark.parametrize(
    "text",
    [
        '"doing":"a","doing":"b"',
        '"doing":"a","doing":"a"',
        '"doing":"a","unknown":1,"unknown":1',
        '"doing":"a","unknown":{"x":1,"x":2}',
    ],
)
def test_a_line_with_a_key_twice_is_malformed(tmp_path: Path, text: str) -> None:
    path = write_history(tmp_path)
    lines = path.read_text().splitlines()
    event = json.loads(lines[3])
    del event["doing"]
    lines[3] = f"{json.dumps(event)[:-1]},{text}}}"
    path.write_text("\n".join(lines) + "\n")
    history = read(tmp_path)
    assert (history.malformed_lines, history.missing_seqs) == (1, 1)
