"""What a run's sources lack makes exactly the checks undecided that rest on it."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from conftest import TraceMaker
from histories import HEALTHY
from judging import judge
from micro import (
    appended,
    batch,
    clock,
    log_bounds,
    registered,
    reported_commit,
    reset_reported,
    sampled,
    survived,
    truncated,
)

from analysis.facts.gaps import gaps
from analysis.runs.validity import broken_tables
from contract.terms import Check
from contract.verdicts import CheckVerdict, RunVerdict, Verdict

SECOND = 1_000_000
HISTORY = HEALTHY["histories"][0]
WORKERS = [
    {**HISTORY, "worker": "clients", "role": "java_worker", "client": "java"},
    {**HISTORY, "worker": "driver", "role": "driver", "client": "driver"},
    {**HISTORY, "worker": "observer", "role": "observer_worker", "client": "admin"},
]
SERVERS = [
    {"name": str(server), "server": server, "log_lines": 9, "replicas": 3, "ignored_files": 0}
    for server in (1, 2)
]
WHOLE = {
    **HEALTHY,
    "broker_states": [*HEALTHY["broker_states"], registered(fenced=False, at=6, broker=2)],
    "histories": WORKERS,
    "servers": SERVERS,
    "replica_batches": [batch(0, 3)],
    "metadata_batches": [appended(1, 0)],
    "samples": [sampled(4, at=700)],
    "commits": [reported_commit(2)],
    "clocks": [clock("a", ahead=1000, behind=-1000)],
}
CHECKS = (
    Check.LOST_RECORD,
    Check.NONMONOTONIC_POLL,
    Check.DUPLICATE_APPEND,
    Check.HISTORY_COMPLETE,
    Check.FAULT_LANDED,
)


def judge_tables(make_trace: TraceMaker, **tables: list[Any]) -> Verdict:
    return judge(make_trace({**WHOLE, **tables}, checks=tuple(str(check) for check in CHECKS)))


def undecided_checks(verdict: Verdict) -> set[str]:
    return {
        name for name, result in verdict.checks.items() if result.verdict is CheckVerdict.UNDECIDED
    }


def test_where_nothing_is_missing_all_is_decided(make_trace: TraceMaker) -> None:
    verdict = judge_tables(make_trace)
    assert undecided_checks(verdict) == set()
    assert verdict.verdict is RunVerdict.PASS


def test_without_a_brokers_folder_nobody_tells_what_it_held(make_trace: TraceMaker) -> None:
    gone = {"servers": SERVERS[:1], "replica_records": survived(0, 1, 2)}
    verdict = judge_tables(make_trace, **gone)
    assert undecided_checks(verdict) == {"lost_record", "duplicate_append", "history_complete"}
    lost = verdict.checks["lost_record"]
    assert "no replicas of broker 2" in lost.reason
    assert [str(example.verdict) for example in lost.examples] == ["undecided"]
    assert verdict.verdict is RunVerdict.UNDECIDED
    shorter = {
        "replica_records": survived(0, 1, 2),
        "replica_batches": [batch(0, 2)],
        "log_starts": log_bounds(0, 3),
    }
    assert judge_tables(make_trace, **shorter).verdict is RunVerdict.FAIL


def test_a_file_that_changed_since_accuses_nobody(make_trace: TraceMaker) -> None:
    lost = {
        **WHOLE,
        "replica_records": survived(0, 1, 2),
        "replica_batches": [batch(0, 2)],
        "log_starts": log_bounds(0, 3),
    }
    checks = tuple(str(check) for check in CHECKS)
    changed = "tables/replica_records.parquet was changed after the run"
    verdict = judge(replace(make_trace(lost, checks=checks), alterations=lambda: [changed]))
    assert verdict.doubts == [changed]
    assert undecided_checks(verdict) == {str(check) for check in CHECKS}
    assert [str(example.verdict) for example in verdict.checks["lost_record"].examples] == [
        "undecided"
    ]


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        (0, {"duplicate_append", "lost_record", "nonmonotonic_poll"}),
        # A fault that the driver recorded may be what took a record.
        (1, {"fault_landed", "lost_record"}),
    ],
)
def test_a_gap_taints_its_workers(make_trace: TraceMaker, worker: int, expected: set[str]) -> None:
    workers = [dict(row) for row in WORKERS]
    workers[worker]["malformed_lines"] = 1
    verdict = judge_tables(make_trace, histories=workers)
    assert undecided_checks(verdict) == expected | {"history_complete"}


@pytest.mark.parametrize(
    ("worker", "reported"), [(0, "no history of a java client"), (1, "no history of the driver")]
)
def test_a_missing_history_is_reported(make_trace: TraceMaker, worker: int, reported: str) -> None:
    left = [row for index, row in enumerate(WORKERS) if index != worker]
    complete = judge_tables(make_trace, histories=left).checks["history_complete"]
    assert any(reported in example.cause for example in complete.examples)
    assert complete.verdict is CheckVerdict.UNDECIDED


@pytest.mark.parametrize(
    ("worker", "reported"),
    [
        ("kafka-python@3.0.1", []),
        ("kafka-python@3.0.1-2", []),
        ("kafka-python@3.0.10", ["there is no history of a kafka-python@3.0.1 client"]),
        ("kafka-python", ["there is no history of a kafka-python@3.0.1 client"]),
    ],
)
def test_versions_have_histories(make_trace: TraceMaker, worker: str, reported: list[str]) -> None:
    of_python = {**HISTORY, "worker": worker, "role": "member_worker", "client": "kafka-python"}
    rows = {**WHOLE, "histories": [*WORKERS, of_python]}
    assert [gap.reason for gap in gaps(make_trace(rows, client="kafka-python@3.0.1"))] == reported


UNREAD = {
    "broker": 1,
    "topic": "t",
    "partition": 0,
    "segment": "0.log",
    "position_bytes": 7,
    "unread_bytes": 9,
}


def test_a_corrupt_segment_taints_a_torn_one_does_not(make_trace: TraceMaker) -> None:
    torn = judge_tables(make_trace, unread_segments=[UNREAD])
    assert undecided_checks(torn) == set()
    assert torn.checks["history_complete"].verdict is CheckVerdict.PERMITTED
    corrupt = judge_tables(
        make_trace, unread_segments=[{**UNREAD, "error": "CorruptRecordException"}]
    )
    assert undecided_checks(corrupt) == {"lost_record", "duplicate_append", "history_complete"}


def test_a_clock_that_jumped_widens_the_bound(make_trace: TraceMaker) -> None:
    jumped = [{**WORKERS[0], "clock_jump_micros": 300_000}, *WORKERS[1:]]
    assert make_trace({**WHOLE, "histories": jumped}).clock_micros == 350_000


KILLED = HEALTHY["faults"][0]
CLIENT_KILLED = KILLED | {"target_kind": "client", "worker": "clients"}


def test_a_history_without_its_end_leaves_the_run_undecided(make_trace: TraceMaker) -> None:
    """Also where a check finds a violation: what was lost of the history may explain it."""
    for worker in range(len(WORKERS)):
        workers = [dict(row) for row in WORKERS]
        workers[worker]["ended_by_itself"] = False
        verdict = judge_tables(make_trace, histories=workers, replica_records=survived(0, 1, 2))
        assert undecided_checks(verdict) == {str(check) for check in CHECKS}
        assert verdict.verdict is RunVerdict.UNDECIDED
        assert verdict.doubts == [f"history of {WORKERS[worker]['worker']}: its end is missing"]
    killed = [{**WORKERS[0], "ended_by_itself": False, "torn_lines": 1}, *WORKERS[1:]]
    verdict = judge_tables(make_trace, histories=killed, faults=[CLIENT_KILLED])
    assert (verdict.verdict, verdict.doubts) == (RunVerdict.PASS, [])


@pytest.mark.parametrize("kafka", ["4.4.0", "none"])
def test_only_a_generated_history_needs_no_workers(make_trace: TraceMaker, kafka: str) -> None:
    trace = make_trace(WHOLE, checks=tuple(str(check) for check in CHECKS))
    run = msgspec.structs.replace(trace.run, cluster="generated", kafka=kafka)
    raw = frozenset({"history"}) if kafka == "none" else frozenset()
    verdict = judge(replace(trace, run=run, raw=raw))
    assert verdict.verdict is RunVerdict.UNDECIDED
    assert "run.json says" in verdict.doubts[0]
    alone = judge(replace(make_trace(HEALTHY, checks=CHECKS), run=run))
    assert bool(alone.doubts) is (kafka == "4.4.0")


@pytest.mark.parametrize(
    ("table", "by"),
    [
        ("replica_records", "replica_batches"),
        ("replica_batches", "log_starts"),
        ("group_events", "polls"),
        ("samples", "leaderships"),
        ("epoch_checkpoints", "replica_batches"),
        ("commits", "committed_offsets"),
        ("committed_offsets", "commits"),
        ("clocks", "phases"),
    ],
)
def test_an_emptied_table_accuses_nobody(make_trace: TraceMaker, table: str, by: str) -> None:
    checks = (
        Check.LOST_RECORD,
        Check.LOST_COMMIT,
        Check.COMMIT_REGRESSED,
        Check.SKIPPED_RECORD,
        Check.LOG_DIVERGENCE,
        Check.HISTORY_COMPLETE,
    )
    emptied = {**WHOLE, table: []}
    verdict = judge(make_trace(emptied, checks=checks))
    assert verdict.verdict is RunVerdict.UNDECIDED
    assert "violated" not in {result.verdict for result in verdict.checks.values()}
    complete = verdict.checks[Check.HISTORY_COMPLETE]
    expected = f"table {table} is empty, but table {by} implies rows of it"
    assert expected in [example.cause for example in complete.examples]


def test_cut_records_without_their_batches(make_trace: TraceMaker) -> None:
    cut = {"broker": 1, "topic": "t", "partition": 0, "leader_epoch": 0, "record_count": 2}
    verdict = judge_tables(make_trace, cut_batches=[{**cut, "base_offset": 8, "last_offset": 9}])
    causes = [example.cause for example in verdict.checks["history_complete"].examples]
    assert causes == ["table cut_records is empty, but table cut_batches implies rows of it"]


@pytest.mark.parametrize(
    ("target", "injected", "verdict"),
    [
        ({"target_kind": "leader", "brokers": [2]}, 15, RunVerdict.PASS),
        ({"target_kind": "replicas"}, 15, RunVerdict.PASS),
        ({"target_kind": "follower", "brokers": [1]}, 15, RunVerdict.UNDECIDED),
        ({"target_kind": "leader", "brokers": [2]}, 25, RunVerdict.UNDECIDED),
    ],
)
def test_a_restart_without_its_fault_leaves_the_run_undecided(
    make_trace: TraceMaker, target: dict[str, Any], injected: int, verdict: RunVerdict
) -> None:
    """A process registers once: so the driver's history lacks a fault."""
    again = {**registered(fenced=False, at=20 * SECOND, broker=2), "broker_epoch": 9}
    fault = KILLED | target | {"injected_micros": injected * SECOND}
    states = [*WHOLE["broker_states"], again]
    found = judge_tables(make_trace, broker_states=states, faults=[fault])
    assert (found.verdict, bool(found.doubts)) == (verdict, verdict is RunVerdict.UNDECIDED)


def clients_log(**ends: Any) -> list[Any]:
    known = {"log_lines": 9, "is_log_torn": False, "log_until_micros": 600 * SECOND}
    return [{**WORKERS[0], **known, **ends}, *WORKERS[1:]]


CLOSED = {
    "worker": "clients",
    "group": "g",
    "member": "g#1",
    "change": "closed",
    "topic": "",
    "partition": -1,
    "seq": 9,
    "at_micros": 600 * SECOND,
}
LATE = 598 * SECOND


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        ({}, ""),
        ({"log_until_micros": CLOSED["at_micros"] - SECOND // 2}, ""),
        ({"log_lines": None, "is_log_torn": None, "log_until_micros": None}, ""),
        ({"log_until_micros": LATE}, "log of clients: it ends 2.0 s before the last opening or"),
        ({"log_lines": 0, "log_until_micros": None}, "log of clients: there is none, though"),
        ({"is_log_torn": True}, "log of clients: its last line has no end"),
        ({"is_log_torn": True, "ended_by_itself": False}, "history of clients: its end"),
        ({"log_until_micros": LATE, "client": "librdkafka"}, ""),
        ({"log_until_micros": LATE, "clock_jump_micros": 2 * SECOND}, ""),
    ],
)
def test_a_short_log_of_clients(ends: dict[str, Any], reason: str, make_trace: TraceMaker) -> None:
    tables = {**WHOLE, "histories": clients_log(**ends), "group_events": [CLOSED]}
    found = [gap for gap in gaps(make_trace(tables)) if "clients" in gap.source]
    assert [gap.reason[: len(reason)] for gap in found] == ([reason] if reason else [])
    if reason.startswith("log"):
        assert found[0].tables == ("resets",)


@pytest.mark.parametrize(
    ("table", "fields", "words"),
    [
        ("samples", {"at_micros": 3_600 * SECOND}, "2600.0 s after the run's end"),
        ("samples", {"asked_micros": 1}, "100.0 s before the run's start"),
        ("truncations", {"at_micros": 3_600 * SECOND}, "2600.0 s after the run's end"),
        ("resets", {"at_micros": 3_600 * SECOND}, "2600.0 s after the run's end"),
        ("commits", {"committed_micros": 3_600 * SECOND}, "2600.0 s after the run's end"),
        ("samples", {"at_micros": 1_001 * SECOND}, ""),
        ("replica_batches", {"max_timestamp_micros": 1}, ""),
    ],
)
def test_times_outside_of_the_run_are_a_gap_of_their_table(
    table: str, fields: dict[str, Any], words: str, make_trace: TraceMaker
) -> None:
    made = {
        "samples": sampled(4, at=700 * SECOND),
        "truncations": truncated(3, at=700 * SECOND),
        "resets": reset_reported("truncation", 3, 0, 2, at=700 * SECOND),
        "commits": reported_commit(2, at=300 * SECOND),
        "replica_batches": batch(0, 3),
    }
    trace = make_trace({table: [{**made[table], **fields}]})
    run = msgspec.structs.replace(
        trace.run, started_micros=100 * SECOND, ended_micros=1_000 * SECOND
    )
    found = [gap for gap in gaps(replace(trace, run=run)) if gap.source == table]
    assert [gap.reason for gap in found if "times" in gap.reason] == (
        [f"table {table} has times up to {words}"] if words else []
    )


@pytest.mark.parametrize("table", ["leaderships", "broker_states", "committed_offsets"])
def test_rows_that_are_there_twice_accuse_nobody(table: str, make_trace: TraceMaker) -> None:
    rows = WHOLE[table]
    assert not broken_tables_of(make_trace, {table: rows})
    assert "another one" in broken_tables_of(make_trace, {table: rows * 2})[table]


def broken_tables_of(make_trace: TraceMaker, tables: dict[str, list[Any]]) -> dict[str, str]:
    trace = make_trace(tables)
    for name in tables:
        trace.load(name)
    return broken_tables(trace.engine, {name: trace.rows[name] for name in tables})
