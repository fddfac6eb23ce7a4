"""Histories and logs that are damaged in any way: counted, and never the end of the reader."""

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from damages import HOSTILE, mangle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.events import (
    INTENDED_MAX,
    ConsumerFailed,
    Event,
    FaultChanged,
    OffsetRead,
    Polled,
    Sampled,
    SendsIntended,
    Sent,
    WireAnswer,
    WireCalled,
)
from contract.manifest import TABLES_OF_HISTORIES
from contract.run_folder import GroupPlan, RunFolder
from contract.terms import FaultTarget, TargetKind
from harness.collection.collect import decode_clients, decode_server_logs
from harness.decode.histories import read_histories
from harness.decode.tables import Rows, write_table
from tests.descriptions import description_of, plan_of
from tests.made import make_struct

AT = 1_790_000_000_000_000
LOG = {"topic": "t", "partition": 0}
ANSWER = WireAnswer(**LOG, error_code=0, leader=1, epoch=0)
TARGET = FaultTarget(target_kind=TargetKind.LEADER, brokers=(1,), **LOG)
# What is not empty in an event.
CONTENT: dict[type[Event], dict[str, Any]] = {
    SendsIntended: {"sequence_last": 2},
    Sent: {"sequences": [0, 1], "offsets": [5, 6]},
    Polled: {"offsets": [5, 6], "epochs": [0, 0], "values": ["p:0:1", "\x00é"]},
    OffsetRead: {"by": "consumer"},
    ConsumerFailed: {"message": "[red]no[/]"},
    FaultChanged: {"fault": "kill", "target": TARGET, "change": "proved", "evidence": {"a": [1]}},
    Sampled: {"isr": [1]},
    WireCalled: {"answers": [ANSWER]},
}
EVENTS = [
    make_struct(kind, seq=seq, wall_micros=AT + seq, mono_micros=seq, **CONTENT.get(kind, {}))
    for seq, kind in enumerate(Event.__subclasses__())
]
LINES = [
    msgspec.json.encode(
        {
            "event": type(event).__name__,
            **{name: getattr(event, name) for name in event.__struct_fields__},
        }
    )
    for event in EVENTS
]
VALUES = [
    *(line for line in HOSTILE if b"\n" not in line),
    *(b"true", b"{}", b"[]", b"[[[[]]]]", b'""', b'"\\u0000"', b'"<script>[/]"', b'"\xff\xfe"'),
    *(b"1.5", b"1e400", b"2147483648", b"9223372036854775807", b"-9223372036854775809"),
]


def decode_folder(folder: Path) -> Rows:
    """The rows of the histories in a folder, as far as they can be written as tables."""
    rows = read_histories(folder)
    for table in TABLES_OF_HISTORIES:
        write_table(folder / "tables", table, rows.table(table))
    return rows


def test_the_lines_are_events(tmp_path: Path) -> None:
    (tmp_path / "w.jsonl").write_bytes(b"\n".join(LINES) + b"\n")
    (row,) = decode_folder(tmp_path).of("histories")
    assert (row["events"], row["malformed_lines"]) == (len(EVENTS), 0)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value[:24].decode("latin-1"))
def test_any_field_may_have_any_value(tmp_path: Path, value: bytes) -> None:
    lines = [b"\n".join(LINES)]
    for line in LINES:
        fields = msgspec.json.decode(line)
        for name in fields:
            kept = {
                key: msgspec.Raw(msgspec.json.encode(content)) for key, content in fields.items()
            }
            kept[name] = msgspec.Raw(value)
            lines.append(msgspec.json.encode(kept))
    (tmp_path / "w.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    (row,) = decode_folder(tmp_path).of("histories")
    counted = row["events"] + row["malformed_lines"] + row["duplicate_lines"]
    assert counted == len(LINES) + len(lines) - 1
    assert row["malformed_lines"] > 0
    assert row["malformed_at"].startswith("w.jsonl:")


@given(dice=st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_mangled_history_is_read(tmp_path_factory: pytest.TempPathFactory, dice: Random) -> None:
    folder = tmp_path_factory.mktemp("mangled")
    content = mangle(b"\n".join(LINES) + b"\n", dice)
    (folder / "w.jsonl").write_bytes(content)
    (row,) = decode_folder(folder).of("histories")
    counted = row["events"] + row["malformed_lines"] + row["duplicate_lines"]
    assert counted == content.count(b"\n")
    assert row["torn_lines"] == (not content.endswith(b"\n"))


@pytest.mark.parametrize(
    ("kind", "changed"),
    [(SendsIntended, {"sequence_last": 10**12}), (FaultChanged, {"change": "moved"})],
)
def test_what_can_not_be_a_row_is_malformed(
    tmp_path: Path, kind: type[Event], changed: dict[str, object]
) -> None:
    (line,) = [
        json.loads(line)
        for line, event in zip(LINES, EVENTS, strict=True)
        if isinstance(event, kind)
    ]
    (tmp_path / "w.jsonl").write_text(json.dumps(line | changed) + "\n")
    (row,) = decode_folder(tmp_path).of("histories")
    assert (row["events"], row["malformed_lines"], row["malformed_at"]) == (0, 1, "w.jsonl:1")


def test_a_range_may_be_as_long_as_a_producer_writes_it() -> None:
    stamps = {"seq": 0, "wall_micros": AT, "mono_micros": 0}
    fields = {**LOG, "producer": "p", "acks": "1", "sequence_first": 0}
    SendsIntended(**stamps, **fields, sequence_last=INTENDED_MAX - 1)
    with pytest.raises(ValueError, match="more than"):
        SendsIntended(**stamps, **fields, sequence_last=INTENDED_MAX)


def test_what_is_no_file_is_counted_and_does_not_block(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.write_run(description_of())
    group = GroupPlan(group="g", client="java", topic="t", commit_epoch="record", reset="none")
    run.write_plan(plan_of(groups=[group]))
    for folder, name in ((run.history, "{}.jsonl"), (run.clients, "{}.log")):
        folder.mkdir()
        os.mkfifo(folder / name.format("pipe"))
        (folder / name.format("folder")).mkdir()
        (folder / name.format("loop")).symlink_to(folder / name.format("loop"))
        (folder / os.fsdecode(b"\xff.jsonl")).write_bytes(b"")
    for server in ("1", "99999999999", "²", "x"):
        (run.brokers / server).mkdir(parents=True)
        os.mkfifo(run.brokers / server / "server.log")
    (run.path / "segments").write_text("no folder")
    decode_clients(run, run.tables)
    decode_server_logs(run, run.tables)
    found = {row["worker"]: row for row in read_histories(run.history).of("histories")}
    assert {found[name]["malformed_at"] for name in ("pipe", "folder", "loop")} == {
        "pipe.jsonl",
        "folder.jsonl",
        "loop.jsonl",
    }
    assert "\\xff" in found


def test_log_lines_with_numbers_and_times_that_are_none_are_passed_over(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.write_run(description_of())
    server = run.brokers / "1"
    server.mkdir(parents=True)
    text = "INFO [x] y [UnifiedLog partition=t-{}, dir=/d] Truncating to offset {}\n"
    written = [("01", 0, 7), ("99", 0, 7), ("01", 0, "9" * 5000), ("01", "9" * 12, 7)]
    lines = [f"2026-{month}-02 03:04:05.678 {text.format(*at)}" for month, *at in written]
    (server / "server.log").write_text("".join(lines))
    decode_server_logs(run, run.tables)
    (row,) = pq.read_table(run.tables / "truncations.parquet").to_pylist()
    assert (row["partition"], row["to_offset"]) == (0, 7)
