"""A real coordinator is asked at every version, and what it stored is read from its segments."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command import POOL, run_to_end

from contract.protocol import FIRST_VALUE_WITH_TOPIC_ID, CommitRule
from harness.decode.group_members import TABLES

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(500)]


def test_commits_at_every_version_are_answered_and_stored(tmp_path: Path) -> None:
    options = ("--cluster", POOL.value, "--seed", "11", "--results", str(tmp_path))
    code, said = run_to_end(
        "run", "txn_offset_commit", "--parameters", '{"part": "wire"}', *options
    )
    assert code == 0, said
    (page,) = (tmp_path / "latest").rglob("verdict.json")
    rules = [row for row in json.loads(page.read_text())["rules"] if row["rule"] in set(CommitRule)]
    assert {row["rule"] for row in rules if row["responses"]} == set(CommitRule)
    assert {row["verdict"] for row in rules} == {"holds"}
    stored = pq.read_table(page.parent.parent / "tables" / "committed_offsets.parquet").to_pylist()
    in_transactions = [row for row in stored if row["producer_id"] >= 0]
    assert in_transactions
    assert {row["value_version"] for row in stored} == {FIRST_VALUE_WITH_TOPIC_ID}
    assert all(row["topic_id"] and row["marker_micros"] for row in in_transactions)
    of_members = {
        name: pq.read_table(page.parent.parent / "tables" / f"{name}.parquet").to_pylist()
        for name in TABLES
    }
    for table in ("group_members", "group_assignments"):
        assert {row["protocol"] for row in of_members[table]} == {"classic", "consumer"}
    assert {row["session_ms"] is None for row in of_members["member_metadata"]} == {False, True}
    assert all(row["rebalance_ms"] for row in of_members["member_metadata"])
    assert "STABLE" in {row["state"] for row in of_members["member_states"]}
    assert {row["is_of_assignment"] for row in of_members["group_epochs"]} == {False, True}
    assert of_members["subscriptions"]
