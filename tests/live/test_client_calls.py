"""Each client does what `run.calls` asks of it: calls_test.py."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from calls_test import CLIENTS, WRITTEN
from command import POOL, ran

from contract.run_folder import RunFolder, find_runs
from harness.session.catalog import read_scenario

pytestmark = [pytest.mark.live, pytest.mark.timeout(500)]

SCENARIO = Path(__file__).with_name("calls_test.py")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    (found,) = find_runs(ran(read_scenario(SCENARIO), tmp_path_factory.mktemp("calls"), POOL))
    return found


def test_each_client_does_what_it_is_asked(run: RunFolder) -> None:
    assert run.run().error is None


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_is_read_as_it_returned(run: RunFolder, client: str) -> None:
    reads = pq.read_table(run.tables / "offset_reads.parquet").to_pylist()
    own = [row for row in reads if row["group"] == client]
    # Without `require_stable`: kafka-python, which reads uncommitted by default, and Admin.
    asks_stably = client != "kafka-python"
    found = [
        (row["by"], row["partition"], row["offset"], row["epoch"], row["is_stable"]) for row in own
    ]
    assert sorted(found, key=str) == sorted(
        [
            ("consumer", 0, WRITTEN, 0, asks_stably),
            ("consumer", 1, None, -1, asks_stably),
            *(("admin", 0, WRITTEN, 0, is_stable) for is_stable in (False, True)),
            *(("admin", 1, None, -1, is_stable) for is_stable in (False, True)),
        ],
        key=str,
    )


@pytest.mark.parametrize("client", CLIENTS)
def test_a_paused_partition_is_not_read_until_it_is_resumed(run: RunFolder, client: str) -> None:
    events = pq.read_table(run.tables / "group_events.parquet").to_pylist()
    polls = pq.read_table(run.tables / "polls.parquet").to_pylist()
    changes = {
        row["change"]: row["seq"]
        for row in events
        if (row["group"], row["change"]) in {(client, "paused"), (client, "resumed")}
    }
    between = [
        row["partition"]
        for row in polls
        if row["group"] == client and changes["paused"] < row["seq"] < changes["resumed"]
    ]
    assert set(between) == {1}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_position_that_was_set_is_read_from(run: RunFolder, client: str) -> None:
    polls = pq.read_table(run.tables / "polls.parquet").to_pylist()
    again = [
        row
        for row in polls
        if (row["group"], row["partition"], row["first_offset"]) == (client, 1, WRITTEN)
    ]
    assert len(again) == 2
