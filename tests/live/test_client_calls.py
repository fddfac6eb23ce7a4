"""Each client does what `run.calls` asks of it: calls_test.py."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from calls_test import ALTERED, REPLACED, WRITTEN
from command import POOL, ran

from analysis.verdict.judge import judge
from contract.protocol import ALTER_OFFSETS
from contract.run_folder import RunFolder, find_runs
from contract.software import INSTALLED
from contract.verdicts import CheckVerdict
from harness.session.catalog import read_scenario
from tests.traces import load

pytestmark = [pytest.mark.live, pytest.mark.timeout(500)]

SCENARIO = Path(__file__).with_name("calls_test.py")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    (found,) = find_runs(ran(read_scenario(SCENARIO), tmp_path_factory.mktemp("calls"), POOL))
    return found


def test_each_client_does_what_it_is_asked(run: RunFolder) -> None:
    assert run.run().error is None


@pytest.mark.parametrize("client", INSTALLED)
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


@pytest.mark.parametrize("client", INSTALLED)
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


@pytest.mark.parametrize("client", INSTALLED)
def test_a_position_that_was_set_is_read_from(run: RunFolder, client: str) -> None:
    polls = pq.read_table(run.tables / "polls.parquet").to_pylist()
    again = [
        row
        for row in polls
        if (row["group"], row["partition"], row["first_offset"]) == (client, 1, WRITTEN)
    ]
    assert len(again) == 2


@pytest.mark.parametrize("client", INSTALLED)
def test_a_commit_of_admin_is_an_administrators(run: RunFolder, client: str) -> None:
    calls = pq.read_table(run.tables / "wire_calls.parquet").to_pylist()
    found = [
        (row["partition"], row["asked_offset"], row["error_code"])
        for row in calls
        if (row["api"], row["group"]) == (ALTER_OFFSETS, client)
    ]
    assert found == [(0, ALTERED, 0)]
    polls = pq.read_table(run.tables / "polls.parquet").to_pylist()
    assert ALTERED in {
        row["first_offset"]
        for row in polls
        if (row["member"], row["partition"]) == (f"{client}#2", 0)
    }


def test_members_of_three_clients_share_a_group(run: RunFolder) -> None:
    commits = pq.read_table(run.tables / "commits.parquet").to_pylist()
    mixed = [row for row in commits if row["group"] == "mixed" and row["outcome"] == "ok"]
    of_client = {(row["member"], row["worker"].rstrip("-0123456789")) for row in mixed}
    assert of_client == {
        ("mixed#1.1", "clients"),
        ("mixed#1.2", "librdkafka"),
        ("mixed#1.3", "kafka-python"),
        (REPLACED, "kafka-python"),
    }


def test_a_replaced_member_has_settings_and_a_style_of_its_own(run: RunFolder) -> None:
    commits = pq.read_table(run.tables / "commits.parquet").to_pylist()
    styles = {row["commit_epoch"] for row in commits if row["member"] == REPLACED}
    assert styles == {"none"}
    logs = [path.read_text() for path in run.path.glob("clients/kafka-python*")]
    (own,) = [log for log in logs if f"clientId={REPLACED}" in log]
    assert "'session_timeout_ms': 7000" in own


def test_a_member_that_did_not_poll_in_time_reads_on(run: RunFolder) -> None:
    events = pq.read_table(run.tables / "group_events.parquet").to_pylist()
    changes = [row["change"] for row in events if (row["group"], row["partition"]) == ("slow", 0)]
    assert changes.count("assigned") == 2
    assert changes[-1] == "caught_up"
    assert "failed" not in {row["change"] for row in events if row["group"] == "slow"}
    logs = "".join(path.read_text() for path in run.path.glob("clients/librdkafka*"))
    assert "MAXPOLL" in logs


def test_nothing_of_it_is_a_violation(run: RunFolder, tmp_path: Path) -> None:
    checks = judge(load(tmp_path, run)).checks
    assert [
        name for name, result in checks.items() if result.verdict == CheckVerdict.VIOLATED
    ] == []
