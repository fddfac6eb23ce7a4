"""Clusters in tests of users, and pytest's fixture, without a cluster."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pages_of import finding, make_unexpected, result, verdict_of

from contract.errors import NodeError, NotLandedError, UsageError
from contract.verdicts import CheckVerdict
from fencepost import testing
from fencepost.testing import Cluster, Judged, cluster
from harness.clients.command import Call
from harness.playground.serve import Injected
from harness.playground.state import Playground, Server
from tests.made import make_struct

pytest_plugins = ["pytester"]
SERVERS = [make_struct(Server, id=number, roles="broker", shell=[]) for number in (1, 2)]


def of_pool(pool: str, folder: Path) -> Cluster:
    found = make_struct(
        Playground,
        cluster=pool,
        bootstrap="127.0.0.1:9092",
        jars="/jars",
        servers=SERVERS,
        client_shell=[],
    )
    return Cluster(found, folder)


@pytest.fixture
def here(tmp_path: Path) -> Cluster:
    """A cluster whose nodes are this machine."""
    return of_pool("loopback", tmp_path)


def test_only_nodes_without_a_network_of_their_own_have_an_address(
    here: Cluster, tmp_path: Path
) -> None:
    assert here.bootstrap == here.bootstrap_inside == "127.0.0.1:9092"
    for pool in ("embedded", "docker"):
        inside = of_pool(pool, tmp_path)
        with pytest.raises(UsageError, match=rf"pool {pool} .*exec.*, with 127.0.0.1:9092"):
            _ = inside.bootstrap
        assert inside.bootstrap_inside == "127.0.0.1:9092"


def test_a_program_has_the_address_reads_and_prints(
    here: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    program = (
        "import os, sys; print(os.environ['BOOTSTRAP_SERVERS'], os.environ['X'], sys.stdin.read());"
        "print('wrong', file=sys.stderr); sys.exit(3)"
    )
    ended = here.exec([sys.executable, "-c", program], on=2, stdin="in", variables={"X": "x"})
    assert ended.exit_code == 3
    assert sorted(ended.output.splitlines()) == ["127.0.0.1:9092 x in", "wrong"]
    assert capsys.readouterr().out == ended.output
    assert here.exec(["true"], is_shown=False).exit_code == 0


def test_a_program_has_the_users_environment(
    here: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    show = ["sh", "-c", "echo ${PYTHONPATH-none} ${PYTHONSAFEPATH-none}"]
    monkeypatch.setenv("PYTHONPATH", "theirs:/other")
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    assert here.exec(show).output == "theirs:/other none\n"
    monkeypatch.delenv("PYTHONPATH")
    assert here.exec(show).output == "none none\n"


def test_a_program_that_does_not_end_is_killed(here: Cluster) -> None:
    with pytest.raises(NodeError, match=r"(?s)did not end within 2 s; it printed:\nbegun"):
        here.exec(["sh", "-c", "echo begun; sleep 60; echo ended"], timeout_seconds=2)


def test_a_program_runs_on_a_server_that_there_is(here: Cluster) -> None:
    with pytest.raises(UsageError, match="there is no server 3; there are: 1, 2"):
        here.exec(["true"], on=3)


@pytest.fixture
def told_orders(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a cluster was told; a fault lands unless it is a pause."""
    orders: list[Any] = []

    def tell(_found: Playground, order: Call[Any]) -> Any:
        orders.append((order.command.name, order.arguments))
        if order.command.name != "fault":
            return None
        return make_struct(
            Injected, landed=order.arguments["verb"] != "pause", evidence={}, number=7
        )

    monkeypatch.setattr(testing, "tell", tell)
    return orders


def test_a_fault_holds_for_a_block(here: Cluster, told_orders: list[Any]) -> None:
    with pytest.raises(RuntimeError), here.fault("kill leader:orders-0"):
        raise RuntimeError
    assert told_orders == [
        ("fault", {"verb": "kill", "target": "leader:orders-0"}),
        ("heal", {"name": "7"}),
    ]


def test_a_fault_without_an_effect_is_healed_and_reported(
    here: Cluster, told_orders: list[Any]
) -> None:
    with (
        pytest.raises(NotLandedError, match="pause broker:1 did not land"),
        here.fault("pause broker:1"),
    ):
        pass
    assert told_orders[-1] == ("heal", {"name": "7"})


@pytest.mark.parametrize(
    ("fault", "reported"),
    [
        ("kil leader:orders-0", "there is no verb kil; the nearest is kill"),
        ("kill orders", "'orders' names no target: leader:TOPIC"),
        ("cut-controllers leader:orders-0", "cut-controllers needs nodes with a network"),
    ],
)
def test_a_fault_that_can_not_be_is_refused_at_once(
    here: Cluster, told_orders: list[Any], fault: str, reported: str
) -> None:
    with pytest.raises(UsageError, match=reported), here.fault(fault):
        pass
    assert told_orders == []


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"pool": "embeded"}, "there is no pool embeded; the nearest is embedded"),
        ({"kafka": "four"}, "kafka takes a version such as"),
        ({"brokers": 0}, "brokers=0 has to be a number"),
        ({"topics": ["orders:x"]}, "is no topic: write NAME:PARTITIONS:REPLICATION"),
        ({"settings": {"log.retention.byte": "1"}}, "the nearest is log.retention.bytes"),
    ],
)
def test_a_cluster_that_can_not_be_is_refused_before_the_start(
    tmp_path: Path, options: dict[str, Any], reported: str
) -> None:
    with pytest.raises(UsageError, match=reported), cluster(**options, results=tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_a_verdict_is_asserted(tmp_path: Path) -> None:
    lost = finding("lost_record", cause="it was lost", group="g")
    verdict = verdict_of(
        {
            "lost_record": result(lost),
            "poll_skip": result(),
            "reset": result(verdict=CheckVerdict.NOT_EVALUABLE, reason="no resets"),
        },
        unexpected=[make_unexpected(lost)],
    )
    judged = Judged(verdict, tmp_path / "index.html")
    judged.assert_holds("poll_skip")
    assert judged.violations == ["lost_record of group g: 1, first: it was lost"]
    for call, reported in (
        (judged.assert_no_violations, r"it was lost; report: .*index\.html"),
        (lambda: judged.assert_holds("lost_record"), "lost_record: violated .it was lost."),
        (lambda: judged.assert_holds("reset"), "reset: .* .no resets."),
    ):
        with pytest.raises(AssertionError, match=reported):
            call()
    with pytest.raises(UsageError, match="no check lost_recrod; the nearest is lost_record"):
        judged.assert_holds("lost_recrod")


MARKED = """
import pytest

@pytest.fixture(scope="session")
def fencepost_cluster_options():
    return {"kafka": "3.9.2", "brokers": 1}

@pytest.mark.fencepost_cluster(brokers=5)
def test_first(fencepost_cluster):
    assert fencepost_cluster == {"kafka": "3.9.2", "brokers": 5}

def test_second(fencepost_cluster):
    assert fencepost_cluster == {"kafka": "3.9.2", "brokers": 1}
"""


@pytest.fixture
def started_clusters(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The options of each cluster that was started."""
    found: list[dict[str, Any]] = []

    @contextmanager
    def start(*, results: Path, **options: Any) -> Iterator[dict[str, Any]]:
        assert results.is_dir()
        found.append(options)
        yield options

    monkeypatch.setattr(testing, "cluster", start)
    return found


def test_the_fixture_takes_the_options_of_a_marker(
    pytester: pytest.Pytester, started_clusters: list[dict[str, Any]]
) -> None:
    pytester.makepyfile(MARKED)
    ended = pytester.runpytest_inprocess("-p", "fencepost.pytest_plugin", "--strict-markers")
    ended.assert_outcomes(passed=2)
    assert [options["brokers"] for options in started_clusters] == [5, 1]


def test_as_many_tests_share_a_cluster_as_the_user_says(
    pytester: pytest.Pytester, started_clusters: list[dict[str, Any]]
) -> None:
    pytester.makeini("[pytest]\nfencepost_cluster_scope = session\n")
    pytester.makepyfile("def test_a(fencepost_cluster): ...\ndef test_b(fencepost_cluster): ...\n")
    ended = pytester.runpytest_inprocess("-p", "fencepost.pytest_plugin")
    ended.assert_outcomes(passed=2)
    assert len(started_clusters) == 1
