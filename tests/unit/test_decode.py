"""Histories and client logs to rows."""

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from contract.events import (
    Event,
    FaultChanged,
    GroupChanged,
    NoteTaken,
    OffsetRead,
    PhaseEntered,
    Polled,
    SendsIntended,
    Sent,
    TransactionChanged,
    WireAnswer,
    WireCalled,
    WorkerStopped,
    make_value,
)
from contract.manifest import TABLES_OF_HISTORIES
from contract.run_folder import RunFolder
from contract.tables import TABLES
from contract.terms import PHASE_LIMIT_SECONDS, FaultTarget, Outcome, Stage, TargetKind, target_of
from harness.clients.history import HistoryWriter
from harness.collection.collect import decode_server_logs, keep_deleted
from harness.decode.histories import read_histories
from harness.decode.replica_files import replicas
from harness.decode.tables import Rows, write_table
from tests.descriptions import description_of

Fields = dict[str, Any]
INTENT: Fields = {"producer": "p", "topic": "t", "partition": 0, "acks": "all"}


def decoded(folder: Path, *events: tuple[type[Event], Fields]) -> Rows:
    """The rows of a history of these events."""
    with closing(HistoryWriter(folder / "w.jsonl")) as writer:
        for kind, fields in events:
            writer.write(kind, **fields)
    return read_histories(folder)


def write_history(folder: Path) -> Path:
    polled: Fields = {"group": "g", "member": "g#1", "topic": "t", "partition": 0}
    polled |= {"offsets": [5, 6], "epochs": [0, 0], "values": [make_value("p", 0), "broken"]}
    decoded(
        folder,
        (SendsIntended, INTENT | {"sequence_first": 0, "sequence_last": 2}),
        (Sent, INTENT | {"outcome": Outcome.OK, "sequences": [0, 1], "offsets": [5, 6]}),
        (Polled, polled),
    )
    return folder / "w.jsonl"


def test_a_value_without_an_outcome_is_unknown(tmp_path: Path) -> None:
    write_history(tmp_path)
    sends = read_histories(tmp_path).of("sends")
    assert [(row["sequence"], row["outcome"], row.get("offset")) for row in sends] == [
        (0, "ok", 5),
        (1, "ok", 6),
        (2, "unknown", None),
    ]


def test_a_transactions_steps_and_its_sends_are_reported_together(tmp_path: Path) -> None:
    step = {"producer": "p", "transactional_id": "x", "transaction": 3, "producer_id": 7}
    changed = {"step": "commit", "change": "fenced", "producer_epoch": 1, "began_micros": 5}
    failed = {"outcome": Outcome.FAILED, "error": "ProducerFencedException"}
    intended = {"sequence_first": 0, "sequence_last": 1, "transaction": 3}
    rows = decoded(
        tmp_path,
        (SendsIntended, INTENT | intended),
        (TransactionChanged, step | changed | failed),
    )
    assert [row["transaction"] for row in rows.of("sends")] == [3, 3]
    (row,) = rows.of("transactions")
    assert row.items() >= {**step, "change": "fenced", "outcome": "failed", "seq": 1}.items()
    assert row["at_micros"] > row["began_micros"] == 5
    write_table(tmp_path, "transactions", [row])


def test_polls_keep_order_and_checksum(tmp_path: Path) -> None:
    write_history(tmp_path)
    polls = read_histories(tmp_path).of("polls")
    assert [(r["offset"], r["position_in_poll"], r["is_intact"]) for r in polls] == [
        (5, 0, True),
        (6, 1, False),
    ]


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda text: text[:-20], {"torn_lines": 1, "malformed_lines": 0, "missing_seqs": 0}),
        (
            lambda text: text.replace("{", "(", 1),
            {"torn_lines": 0, "malformed_lines": 1, "missing_seqs": 1},
        ),
        (
            lambda text: "\n".join(line for i, line in enumerate(text.split("\n")) if i != 1),
            {"torn_lines": 0, "malformed_lines": 0, "missing_seqs": 1},
        ),
    ],
)
def test_damage_is_counted(tmp_path: Path, damage, expected) -> None:  # noqa: ANN001
    path = write_history(tmp_path)
    path.write_text(damage(path.read_text()))
    (row,) = read_histories(tmp_path).of("histories")
    assert {name: row[name] for name in expected} == expected


TARGET = FaultTarget(target_kind=TargetKind.LEADER, topic="t", partition=0)


def test_a_fault_is_one_row_from_injection_to_heal(tmp_path: Path) -> None:
    fault = {"number": 0, "fault": "kill"}
    resolved = msgspec.structs.replace(TARGET, brokers=(1,))
    proved = {"change": "proved", "landed": True, "evidence": {"broker": 1}}
    first, second = decoded(
        tmp_path,
        (FaultChanged, fault | {"target": TARGET, "change": "injected"}),
        (FaultChanged, fault | {"target": resolved} | proved),
        (FaultChanged, fault | {"number": 1, "target": TARGET, "change": "injected"}),
        (FaultChanged, fault | {"target": resolved, "change": "heal_began"}),
        (FaultChanged, fault | {"target": resolved, "change": "healed"}),
    ).of("faults")
    moments = ["injected", "proved", "heal_began", "healed"]
    times = [first[f"{moment}_micros"] for moment in moments]
    assert times == sorted(times)
    assert (first["landed"], first["evidence"]) == (True, '{"broker":1}')
    assert target_of(first) == resolved
    assert str(resolved) == "leader:t-0 (broker 1)"
    assert (second["landed"], second.get("proved_micros")) == (False, None)


def test_timeouts_that_kafka_forces_are_summed_by_fault(tmp_path: Path) -> None:
    forced = {"retention.ms": 3000, "log.retention.check.interval.ms": 1000}
    fault = {"number": 0, "fault": "expire by time", "target": TARGET, "change": "proved"}
    (row,) = decoded(tmp_path, (FaultChanged, fault | {"forced_ms": forced})).of("faults")
    assert row["forced_ms"] == 4000
    assert row["forced_by"] == "log.retention.check.interval.ms, retention.ms"


def test_a_phase_lasts_until_the_next_one_and_the_last_until_the_history_ends(
    tmp_path: Path,
) -> None:
    first, second = decoded(
        tmp_path,
        (PhaseEntered, {"stage": Stage.STEADY, "doing": "this"}),
        (PhaseEntered, {"stage": Stage.HELD, "doing": "that"}),
        (WorkerStopped, {}),
    ).of("phases")
    assert (first["stage"], first["doing"]) == ("steady", "this")
    assert first["limit_seconds"] == PHASE_LIMIT_SECONDS[Stage.STEADY]
    assert first["began_micros"] <= first["ended_micros"] == second["began_micros"]
    assert second["began_micros"] <= second["ended_micros"]


def test_a_note_is_a_row(tmp_path: Path) -> None:
    (note,) = decoded(tmp_path, (NoteTaken, {"text": "a <b> & 'c'\n"})).of("notes")
    assert note["text"] == "a <b> & 'c'\n"
    assert note["at_micros"] > 0


def test_every_table_of_histories_is_written_typed(tmp_path: Path) -> None:
    write_history(tmp_path)
    rows = read_histories(tmp_path)
    for table in TABLES_OF_HISTORIES:
        write_table(tmp_path / "tables", table, rows.table(table))
        schema = pq.read_schema(tmp_path / "tables" / f"{table}.parquet")
        assert schema.equals(TABLES[table])


def test_a_column_that_no_contract_names_is_refused(tmp_path: Path) -> None:
    rows = Rows()
    rows.add("faults", fault="kill", colour="red")
    with pytest.raises(KeyError, match="colour"):
        write_table(tmp_path, "faults", rows.of("faults"))


def test_rows_are_laid_out_by_topic_partition_offset(tmp_path: Path) -> None:
    unordered = [{"topic": "t", "partition": 0, "offset": offset} for offset in (3, 1, 2)]
    write_table(tmp_path, "polls", unordered)
    assert pq.read_table(tmp_path / "polls.parquet")["first_offset"].to_pylist() == [1, 2, 3]


def test_replicas_are_known_by_their_folders_names(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.write_run(description_of())
    for name in ("t-0", "a-b-10", "t-1.5f3c-delete", "t-0 (copy)", "t"):
        (run.segments / "1" / name).mkdir(parents=True)
    (run.segments / "1" / "meta-0").write_text("a file")
    (run.segments / "1" / "t-0" / f"{0:020d}.log").write_text("")
    (run.segments / "1" / "t-0" / "0 (copy).log").write_text("")
    (run.brokers / "2").mkdir(parents=True)
    (run.brokers / "2" / "server.log").write_text("one\ntwo\n")
    found = [
        (replica.broker, replica.topic, replica.partition) for replica in replicas(run.segments)
    ]
    assert found == [(1, "a-b", 10), (1, "t", 0)]
    decode_server_logs(run, run.tables)
    assert pq.read_table(run.tables / "servers.parquet").to_pylist() == [
        {"name": "1", "server": 1, "log_lines": 0, "replicas": 2, "ignored_files": 1},
        {"name": "2", "server": 2, "log_lines": 2, "replicas": 0, "ignored_files": 0},
    ]


def test_a_history_refuses_what_is_no_event(tmp_path: Path) -> None:
    writer = HistoryWriter(tmp_path / "w.jsonl")
    with pytest.raises(TypeError):
        writer.write(GroupChanged, group="g", colour="red")


def test_a_request_is_a_row_for_each_partition_it_asks_about(tmp_path: Path) -> None:
    call: Fields = {"broker": 1, "version": 3, "request": "{}", "began_micros": 5}
    answers = [
        WireAnswer(topic="t", partition=partition, error_code=74, epoch=-1) for partition in (0, 1)
    ]
    listing = {"api": "LIST_OFFSETS", "api_key": 2, "response": "{}", "answers": answers}
    failing = {"api": "API_VERSIONS", "api_key": 18, "failure": "OSError: closed"}
    rows = decoded(tmp_path, (WireCalled, call | listing), (WireCalled, call | failing))
    listed, other, versions = rows.of("wire_calls")
    assert [row["partition"] for row in (listed, other)] == [0, 1]
    columns = ("seq", "api", "error_code", "epoch")
    assert [listed[name] for name in columns] == [0, "LIST_OFFSETS", 74, -1]
    assert listed["offset"] is None
    assert (versions["failure"], versions["response"]) == ("OSError: closed", None)
    assert versions.get("topic") is None
    assert versions["began_micros"] == 5 < versions["at_micros"]


def test_a_committed_offset_that_a_client_returned_is_a_row(tmp_path: Path) -> None:
    asked: Fields = {"group": "g", "topic": "t", "partition": 0, "began_micros": 5}
    returned = {"member": "g#1", "offset": 7, "epoch": 2, "by": "consumer"}
    failed = {"by": "admin", "is_stable": False, "error": "TimeoutException"}
    rows = decoded(tmp_path, (OffsetRead, asked | returned), (OffsetRead, asked | failed))
    own, other = rows.of("offset_reads")
    assert set(own) == set(TABLES["offset_reads"].names)
    assert (own["member"], own["offset"], own["epoch"], own["is_stable"]) == ("g#1", 7, 2, None)
    assert own["began_micros"] == 5 < own["at_micros"]
    assert (other["member"], other["by"], other["seq"]) == ("", "admin", 1)
    assert (other["offset"], other["epoch"], other["error"]) == (None, -1, "TimeoutException")


def test_a_deleted_replica_is_kept_as_of_its_last_write(tmp_path: Path) -> None:
    server, kept = tmp_path / "2", tmp_path / "kept"
    deleted = f"a.b-0.{32 * 'f'}-delete"
    for name in ("a.b-0", deleted, "a.b-0.short-delete", f"a.b-1.{32 * 'f'}-stray"):
        segment = server / name / "00000000000000000000.log"
        segment.parent.mkdir(parents=True)
        segment.write_text(name)
        os.utime(segment, ns=(0, 5_000_000))
    keep_deleted(server, kept)
    assert (kept / "5000" / "2" / "a.b-0" / "00000000000000000000.log").read_text() == deleted
    assert sorted(path.name for path in server.iterdir()) == [
        "a.b-0",
        "a.b-0.short-delete",
        f"a.b-1.{32 * 'f'}-stray",
    ]
