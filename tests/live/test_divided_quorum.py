"""The controllers' quorum is divided on a real cluster, from the command line to the verdict."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command import POOL, run_to_end

from cluster.nodes.pool import PoolKind
from contract.protocol import METADATA_LOG, QuorumRule
from contract.run_folder import find_runs
from contract.terms import Check

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(500)]

PARAMETERS = {"recipe": "isolated", "controllers": 3}


@pytest.mark.skipif(POOL is PoolKind.LOOPBACK, reason="nodes without networks of their own")
def test_a_divided_leader_truncates_what_it_alone_had(tmp_path: Path) -> None:
    """What its log held by its copy, what its log has there now, and where it was truncated."""
    options = ("--cluster", POOL.value, "--seed", "595", "--results", str(tmp_path))
    code, said = run_to_end(
        "run", "quorum_divergence", "--parameters", json.dumps(PARAMETERS), *options
    )
    assert code == 0, said
    (run,) = find_runs(tmp_path)

    def rows(table: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = pq.read_table(run.tables / f"{table}.parquet").to_pylist()
        return found

    held = {
        (row["server"], row["base_offset"]): row["metadata_epoch"]
        for row in rows("cut_metadata_batches")
    }
    (deposed,) = {server for server, _ in held}
    departs = min(offset for _, offset in held)
    there = {
        row["base_offset"]: row["metadata_epoch"]
        for row in rows("metadata_batches")
        if row["server"] == deposed
    }
    assert len(held) > 1
    assert there[departs] > held[deposed, departs]
    truncated = [
        row["to_offset"]
        for row in rows("truncations")
        if (row["broker"], row["topic"]) == (deposed, METADATA_LOG)
    ]
    assert truncated == [departs]

    verdict = json.loads((run.path / "report" / "verdict.json").read_text())
    assert verdict["checks"][Check.METADATA_TRUNCATION]["findings"] == 1
    reported = {(row["rule"], row["verdict"]) for row in verdict["rules"] if row["responses"]}
    assert {(str(rule), "holds") for rule in QuorumRule} <= reported
