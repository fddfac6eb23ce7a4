"""A guest is read and judged as its client is: guest_reads_test.py."""

import sys
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from command import POOL, ROOT, ran

from analysis.verdict.judge import judge
from contract.run_folder import RunFolder, find_runs
from contract.software import Choice, Guest, released
from contract.verdicts import RunVerdict
from harness.session.catalog import read_scenario
from tests.traces import load

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

SCENARIO = Path(__file__).with_name("guest_reads_test.py")
PROGRAM = "extras/conform/released/guests/python/confluent-kafka/guest.py"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    guest = Guest(name="librdkafka", command=[sys.executable, PROGRAM], folder=str(ROOT))
    build = msgspec.structs.replace(released("4.4.0"), choice=Choice(kafka="4.4.0", guests=[guest]))
    folder = ran(read_scenario(SCENARIO), tmp_path_factory.mktemp("guest"), POOL, build=build)
    (found,) = find_runs(folder)
    return found


def test_a_guest_reads_and_commits_as_its_client_does(run: RunFolder) -> None:
    polls = pq.read_table(run.tables / "polls.parquet").to_pylist()
    commits = pq.read_table(run.tables / "commits.parquet").to_pylist()
    read = {
        group: sorted(
            (row["partition"], row["first_offset"], row["last_offset"], row["leader_epoch"])
            for row in polls
            if row["group"] == group
        )
        for group in ("own", "guest")
    }
    assert sum(last - first + 1 for _, first, last, _ in read["guest"]) == 400
    committed = {
        group: [
            (row["partition"], row["offset"], row["committed_epoch"], row["outcome"])
            for row in commits
            if row["group"] == group
        ]
        for group in ("own", "guest")
    }
    assert committed["guest"] == committed["own"]
    assert sorted(row[1] for row in committed["guest"]) == [100, 100, 200, 200]


def test_a_guest_names_its_client(run: RunFolder) -> None:
    clients = run.run().clients
    own = clients["librdkafka"].partition(" ")[0]
    assert clients["guest@librdkafka"] == f"librdkafka {own}"


def test_no_check_accuses_a_guest(run: RunFolder, tmp_path: Path) -> None:
    assert run.run().error is None
    assert judge(load(tmp_path, run)).verdict is RunVerdict.PASS
