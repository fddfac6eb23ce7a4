"""Histories and logs that are damaged in any way: counted, and never the end of the reader."""

import os
from pathlib import Path
from random import Random

import msgspec
import pyarrow.parquet as pq
import pytest
from damages import HOSTILE, mangled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.events import (
    INTENDED_MAX,
    ClockRead,
    Committed,
    ConsumerFailed,
    Event,
    FaultChanged,
    GroupChanged,
    NoteTaken,
    OffsetRead,
    PhaseEntered,
    Polled,
    Sampled,
    SendsIntended,
    Sent,
    StateAwaited,
    TransactionChanged,
    WireCalled,
    WorkerStarted,
    WorkerStopped,
)
from contract.manifest import TABLES_OF_HISTORIES
from contract.run_folder import GroupPlan, RunFolder
from contract.terms import FaultTarget, Outcome, Stage, TargetKind
from harness.collection.collect import decode_clients, decode_server_logs
from harness.decode.histories import read_histories
from harness.decode.tables import Rows, write_table
from tests.descriptions import description_of, plan_of

AT = 1_790_000_000_000_000
LOG = {"topic": "t", "partition": 0}
MEMBER = {"group": "g", "member": "g#1"}
STEP = {"producer": "p", "transactional_id": "x", "transaction": 0, "outcome": Outcome.OK}
WHO = {"role": "member_worker", "node": "n", "client": "java", "client_version": "4.4.0"}
EVENTS: list[tuple[type[Event], dict[str, object]]] = [
    (WorkerStarted, {"worker": "w", **WHO, "pid": 7}),
    (PhaseEntered, {"stage": Stage.STEADY, "doing": "writes"}),
    (NoteTaken, {"text": "the cache is cold"}),
    (
        SendsIntended,
        {**LOG, "producer": "p", "acks": "all", "sequence_first": 0, "sequence_last": 2},
    ),
    (
        Sent,
        {
            **LOG,
            "producer": "p",
            "acks": "all",
            "outcome": "ok",
            "sequences": [0, 1],
            "offsets": [5, 6],
        },
    ),
    (
        TransactionChanged,
        {
            **STEP,
            "step": "commit",
            "change": "committed",
            "producer_id": 1,
            "producer_epoch": 0,
            "began_micros": AT,
        },
    ),
    (GroupChanged, {**MEMBER, **LOG, "change": "assigned", "position": 5, "generation": 1}),
    (Polled, {**MEMBER, **LOG, "offsets": [5, 6], "epochs": [0, 0], "values": ["p:0:1", "\x00é"]}),
    (
        Committed,
        {
            **MEMBER,
            **LOG,
            "offset": 7,
            "epoch": 0,
            "commit_epoch": "record",
            "record_epoch": 0,
            "outcome": "ok",
        },
    ),
    (OffsetRead, {**MEMBER, **LOG, "offset": 7, "epoch": 0, "by": "consumer", "began_micros": AT}),
    (
        ConsumerFailed,
        {**MEMBER, **LOG, "exception": "LogTruncationException", "message": "[red]no[/]"},
    ),
    (
        FaultChanged,
        {
            "number": 0,
            "fault": "kill",
            "target": FaultTarget(
                target_kind=TargetKind.LEADER, brokers=(1,), topic="t", partition=0
            ),
            "change": "proved",
            "landed": True,
            "evidence": {"a": [1]},
        },
    ),
    (StateAwaited, {"what": "a leader", "began_micros": AT}),
    (ClockRead, {"node": "n", "ahead_micros": 9, "behind_micros": -9}),
    (
        Sampled,
        {
            **LOG,
            "broker": 1,
            "leader": 1,
            "leader_epoch": 0,
            "isr": [1],
            "log_start_offset": 0,
            "log_end_offset": 7,
        },
    ),
    (
        WireCalled,
        {
            "broker": 1,
            "api": "METADATA",
            "api_key": 3,
            "version": 12,
            "request": "{}",
            "response": "{}",
            "throttle_ms": 0,
            "began_micros": AT,
            "answers": [{**LOG, "error_code": 0, "leader": 1, "epoch": 0}],
        },
    ),
    (WorkerStopped, {}),
]
LINES = [
    msgspec.json.encode(
        {"event": kind.__name__, "seq": seq, "wall_micros": AT + seq, "mono_micros": seq, **fields}
    )
    for seq, (kind, fields) in enumerate(EVENTS)
]
VALUES = [
    *(one for one in HOSTILE if b"\n" not in one),
    *(b"true", b"{}", b"[]", b"[[[[]]]]", b'""', b'"\\u0000"', b'"<script>[/]"', b'"\xff\xfe"'),
    *(b"1.5", b"1e400", b"2147483648", b"9223372036854775807", b"-9223372036854775809"),
]


def decoded(folder: Path) -> Rows:
    """The rows of the histories in a folder, as far as they can be written as tables."""
    rows = read_histories(folder)
    for table in TABLES_OF_HISTORIES:
        write_table(folder / "tables", table, rows.table(table))
    return rows


def test_the_lines_are_events(tmp_path: Path) -> None:
    (tmp_path / "w.jsonl").write_bytes(b"\n".join(LINES) + b"\n")
    (row,) = decoded(tmp_path).of("histories")
    assert (row["events"], row["malformed_lines"]) == (len(EVENTS), 0)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value[:24].decode("latin-1"))
def test_any_field_may_have_any_value(tmp_path: Path, value: bytes) -> None:
    lines = [b"\n".join(LINES)]
    for line in LINES:
        fields = msgspec.json.decode(line)
        for name in fields:
            kept = {key: msgspec.Raw(msgspec.json.encode(one)) for key, one in fields.items()}
            kept[name] = msgspec.Raw(value)
            lines.append(msgspec.json.encode(kept))
    (tmp_path / "w.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    (row,) = decoded(tmp_path).of("histories")
    counted = row["events"] + row["malformed_lines"] + row["duplicate_lines"]
    assert counted == len(LINES) + len(lines) - 1
    assert row["malformed_lines"] > 0
    assert row["malformed_at"].startswith("w.jsonl:")


@given(dice=st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_mangled_history_is_read(tmp_path_factory: pytest.TempPathFactory, dice: Random) -> None:
    folder = tmp_path_factory.mktemp("mangled")
    content = mangled(b"\n".join(LINES) + b"\n", dice)
    (folder / "w.jsonl").write_bytes(content)
    (row,) = decoded(folder).of("histories")
    counted = row["events"] + row["malformed_lines"] + row["duplicate_lines"]
    assert counted == content.count(b"\n")
    assert row["torn_lines"] == (not content.endswith(b"\n"))


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("SendsIntended", {**LOG, "producer": "p", "acks": "1", "sequence_first": 0}),
        (
            "FaultChanged",
            {"number": 0, "fault": "kill", "target": {"target_kind": "all"}, "change": "moved"},
        ),
    ],
)
def test_what_can_not_be_a_row_is_malformed(
    tmp_path: Path, kind: str, fields: dict[str, object]
) -> None:
    stamps = {"event": kind, "seq": 0, "wall_micros": AT, "mono_micros": 0}
    many = {"sequence_last": 10**12} if kind == "SendsIntended" else {}
    (tmp_path / "w.jsonl").write_bytes(msgspec.json.encode({**stamps, **fields, **many}) + b"\n")
    (row,) = decoded(tmp_path).of("histories")
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
    (server / "server.log").write_text(
        "2026-01-02 03:04:05.678 "
        + text.format(0, 7)
        + "2026-99-02 03:04:05.678 "
        + text.format(0, 7)
        + "2026-01-02 03:04:05.678 "
        + text.format(0, "9" * 5000)
        + "2026-01-02 03:04:05.678 "
        + text.format("9" * 12, 7)
    )
    decode_server_logs(run, run.tables)
    (row,) = pq.read_table(run.tables / "truncations.parquet").to_pylist()
    assert (row["partition"], row["to_offset"]) == (0, 7)
