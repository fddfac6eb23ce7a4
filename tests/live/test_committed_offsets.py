"""A real coordinator is asked at every version, and what it stored is read from its segments."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command import POOL, run_to_end

from contract.protocol import FIRST_VALUE_WITH_TOPIC_ID, CommitRule

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
    members = pq.read_table(page.parent.parent / "tables" / "group_members.parquet").to_pylist()
    assert {row["protocol"] for row in members} == {"classic", "consumer"}
