"""A cluster by hand: faults measured by what they do, heals, and an end that leaves nothing."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from cluster.nodes.sandbox import sandbox_problem
from contract.waiting import wait_until
from harness.playground.serve import Views
from harness.playground.state import FILE, find, keeper, look
from harness.playground.status import PartitionStatus, Status
from tests.conftest import Fencepost
from tests.programs import ran_python

ROOT = Path(__file__).resolve().parents[2]
GROUPS = {"readers", "others"}

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]
if sandbox_problem() is not None:
    pytest.skip(str(sandbox_problem()), allow_module_level=True)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("playground")
    started = ran_python("-m", "harness", "play", "start", "--results", folder, cwd=ROOT)
    assert started.returncode == 0, started.stderr
    assert "fencepost play shell node-1" in started.stdout
    yield folder
    assert ran_python("-m", "harness", "clean", "--results", folder, cwd=ROOT).returncode == 0


def status_of(results: Path) -> Status:
    return look(find(results), Views.status())


def partition(results: Path, index: int = 0) -> PartitionStatus:
    return status_of(results).partitions[index]


@pytest.mark.parametrize("verb", ["pause", "stop", "cut-in"])
def test_a_fault_on_the_leader_moves_the_leadership(
    fencepost: Fencepost, results: Path, verb: str
) -> None:
    before = partition(results)
    injected = fencepost("play", "fault", verb, "leader:orders-0", "--results", str(results))
    assert injected.returncode == 0, injected.stderr
    assert "landed=True" in injected.stdout
    during = partition(results)
    assert during.leader != before.leader
    assert during.leader_epoch > before.leader_epoch
    assert before.leader not in during.isr
    healed = fencepost("play", "heal", "--results", str(results))
    assert healed.returncode == 0, healed.stderr
    assert partition(results).isr == [1, 2, 3]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_client_that_ends_early_leaves_the_playground_and_its_fault(
    fencepost: Fencepost, results: Path, number: signal.Signals
) -> None:
    before = partition(results)
    words = ("fault", "pause", "leader:orders-0", "--for", "100s", "--results", str(results))
    command = [sys.executable, "-m", "harness", "play", *words]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        wait_until(
            lambda: status_of(results).paused == [before.leader] or process.poll() is not None,
            what="the pause of the leader",
            timeout_seconds=60,
        )
        process.send_signal(number)
    assert status_of(results).paused == [before.leader]
    assert fencepost("play", "heal", "--results", str(results)).returncode == 0
    assert partition(results).isr == [1, 2, 3]


@pytest.mark.parametrize(
    "target",
    ["leader:nosuch-0", "leader:orders-99", "client:nobody"],
)
def test_a_target_that_there_is_not_is_a_wrong_use(
    fencepost: Fencepost, results: Path, target: str
) -> None:
    refused = fencepost("play", "fault", "pause", target, "--results", str(results))
    assert refused.returncode == 64, refused.stderr


def test_a_cut_of_replication_keeps_the_leader(fencepost: Fencepost, results: Path) -> None:
    """Its ISR would shrink only with writes that the follower then lacks."""
    before = partition(results)
    words = ("fault", "cut-replication", "leader:orders-0", "--results", str(results))
    injected = fencepost("play", *words)
    assert "landed=True" in injected.stdout, injected.stderr
    during = partition(results)
    assert (during.leader, during.leader_epoch) == (before.leader, before.leader_epoch)
    assert fencepost("play", "heal", "--results", str(results)).returncode == 0


@pytest.fixture
def load(fencepost: Fencepost, results: Path) -> Iterator[None]:
    """Two producers and two groups that have committed."""
    for words in (
        ("produce", "--acks", "1"),
        ("produce", "orders", "--acks", "all", "--rate", "50"),
        ("consume",),
        ("consume", "others", "--client", "librdkafka"),
    ):
        started = fencepost("play", *words, "--results", str(results))
        assert started.returncode == 0, started.stderr
    wait_until(
        lambda: {group.group for group in status_of(results).groups if group.commits} == GROUPS,
        what="both groups to commit",
        timeout_seconds=60,
    )
    yield
    for command in ("produce", "consume"):
        stopped = fencepost("play", command, "--stop", "--results", str(results))
        assert stopped.returncode == 0, stopped.stderr
    assert status_of(results).producers == []
    assert status_of(results).readers == []


@pytest.mark.usefixtures("load")
def test_a_deposed_leader_is_seen_beside_its_successor(fencepost: Fencepost, results: Path) -> None:
    before = partition(results)
    words = ("play", "fault", "cut-controllers", "leader:orders-0", "--results", str(results))
    assert "heal it: fencepost play heal" in fencepost(*words).stdout
    during = status_of(results)
    (fault,) = during.faults
    assert fault.landed
    (deposed,) = during.partitions[0].other_views
    assert (deposed.broker, deposed.leader_epoch) == (before.leader, before.leader_epoch)
    assert during.partitions[0].leader_epoch > before.leader_epoch
    again = fencepost("play", "fault", "cut-controllers", f"broker:{before.leader}", *words[4:])
    assert again.returncode == 64
    assert f"fencepost play heal {fault.number}" in again.stderr
    shown = fencepost("play", "status", "--results", str(results)).stdout
    assert f"seen by broker {before.leader}" in shown
    assert {(producer.acks, producer.ok > 0) for producer in during.producers} == {
        ("1", True),
        ("all", True),
    }
    assert {reader.member.partition("#")[0] for reader in during.readers} == GROUPS
    healed = fencepost("play", "heal", str(fault.number), "--results", str(results))
    assert healed.returncode == 0, healed.stderr
    assert status_of(results).faults == []
    assert partition(results).other_views == []


def test_a_bounced_broker_is_back_under_another_process(
    fencepost: Fencepost, results: Path
) -> None:
    injected = fencepost("play", "fault", "bounce", "follower:orders-0", "--results", str(results))
    assert "landed=True" in injected.stdout, injected.stderr
    assert fencepost("play", "heal", "--results", str(results)).returncode == 0
    assert partition(results).isr == [1, 2, 3]


def test_a_shell_runs_on_the_node(fencepost: Fencepost, results: Path) -> None:
    shown = fencepost("play", "shell", "--results", str(results), "2", "--", "ip", "-j", "addr")
    assert "10.88.0.12" in json.dumps(json.loads(shown.stdout))


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("fault", "shoot", "leader:orders-0"), "there is no verb shoot"),
        (("fault", "pause", "broker:7"), "the brokers are [1, 2, 3]"),
        (("fault", "wipe", "broker:1"), "votes in the metadata quorum"),
        (("shell", "node-9"), "there is no node node-9"),
    ],
)
def test_what_makes_no_sense_is_reported(
    fencepost: Fencepost, results: Path, words: tuple[str, ...], reported: str
) -> None:
    refused = fencepost("play", *words, "--results", str(results))
    assert refused.returncode != 0
    assert reported in refused.stderr


def test_nothing_runs_here(fencepost: Fencepost, tmp_path: Path) -> None:
    refused = fencepost("play", "fault", "pause", "broker:1", "--results", str(tmp_path))
    assert refused.returncode == 64
    assert "fencepost play start" in refused.stderr


def test_its_end_leaves_nothing(fencepost: Fencepost, results: Path) -> None:
    kept_by = keeper(results)
    assert kept_by is not None
    family = [kept_by, *kept_by.children(recursive=True)]
    assert fencepost("play", "stop", "--results", str(results)).returncode == 0
    assert not (results / FILE).exists()
    _, alive = psutil.wait_procs(family, timeout=20)
    assert [p for p in alive if p.is_running() and p.status() != psutil.STATUS_ZOMBIE] == []
