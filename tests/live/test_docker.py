"""The Docker pool, for real: the answers of embedded, clear errors, and nothing left behind."""

import json
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import fencepost, run_to_end
from docker_stage import COMPOSE, close, containers, image, own_project, skip_without_docker
from listening import run_and_look
from resumption import unexpected_resumptions

from cluster.kafka import distribution
from cluster.nodes import docker_client
from cluster.nodes.docker_client import connect
from cluster.nodes.docker_node import JARS
from cluster.nodes.docker_pool import DockerPool, read_compose, remove_orphans
from cluster.nodes.pool import PoolKind
from contract.errors import PrerequisiteError
from contract.waiting import wait_until

SOCKET = Path("/var/run/docker.sock")
SIZE = 5

__all__ = ["own_project"]

pytestmark = [pytest.mark.docker, pytest.mark.live, pytest.mark.timeout(500)]


skip_without_docker()


@pytest.fixture
def adopted_nodes(project: str) -> Iterator[list[Any]]:
    """Nodes as `docker compose up -d --scale node=5` leaves them."""
    started = compose_up(project, SIZE)
    yield started
    for container in started:
        container.remove(force=True)


def compose_up(name: str, size: int) -> list[Any]:
    service = read_compose(COMPOSE)["services"]["node"]
    connect().networks.create(f"{name}_cluster", internal=True)
    jars = str(distribution.ensure("4.4.0", progress=False).parent)
    return [
        connect().containers.run(
            service["image"],
            service["command"],
            detach=True,
            init=True,
            name=f"{name}-node-{number}",
            network=f"{name}_cluster",
            cap_drop=service["cap_drop"],
            cap_add=service["cap_add"],
            pids_limit=int(service["pids_limit"]),
            volumes={jars: {"bind": str(JARS), "mode": "ro"}},
            labels={
                "com.docker.compose.project": name,
                "com.docker.compose.service": "node",
                "com.docker.compose.container-number": str(number),
            },
        )
        for number in range(1, size + 1)
    ]


def run_baseline(results: Path, **env: str) -> tuple[int, str]:
    options = ("--cluster", "docker", "--results", str(results))
    return run_to_end("run", "baseline", *options, **env)


def brokers_run(name: str) -> bool:
    served = [
        container
        for container in containers(name)
        if container.status == "running"
        and any("kafka.Kafka" in " ".join(row) for row in container.top()["Processes"])
    ]
    return len(served) == 3


@pytest.mark.long
def test_the_same_resumption_table_as_embedded(tmp_path: Path, project: str) -> None:
    options = ("--cluster", "docker", "--seed", "19902", "--results", str(tmp_path))
    code, said = run_to_end("run", "commit_epoch", *options)
    assert code == 0, said
    (found,) = (tmp_path / "latest").rglob("verdict.json")
    verdict = json.loads(found.read_text())
    assert unexpected_resumptions(verdict) == {}
    assert all(fault["landed"] for fault in verdict["faults"])
    assert containers(project) == []


@pytest.mark.long
def test_a_zombie_leader_as_on_the_embedded_pool(tmp_path: Path) -> None:
    recipe = json.dumps({"recipe": "controllers"})
    options = ("--cluster", "docker", "--results", str(tmp_path), "--parameters", recipe)
    code, said = run_to_end("run", "zombie_leader", *options)
    assert code == 0, said
    (found,) = (tmp_path / "latest").rglob("verdict.json")
    verdict = json.loads(found.read_text())
    assert [fault["landed"] for fault in verdict["faults"]] == [True]
    assert verdict["faults"][0]["evidence"]["dropped_packets"] > 0
    lost = verdict["checks"]["lost_record"]
    assert lost["verdict"] == "permitted"
    assert {example["kind"] for example in lost["examples"]} == {"truncated"}
    assert verdict["checks"]["served_under_fenced_epoch"]["verdict"] == "permitted"


def test_nodes_are_adopted_open_to_no_other_machine_and_left_running(
    adopted_nodes: list[Any], tmp_path: Path
) -> None:
    seen = run_and_look(PoolKind.DOCKER, tmp_path, "baseline")
    assert seen.code == 0, seen.said
    assert seen.elsewhere == set()
    assert "ports" not in read_compose(COMPOSE)["services"]["node"]
    for container in adopted_nodes:
        container.reload()
        assert container.status == "running"
        assert not any("kafka" in " ".join(row) for row in container.top()["Processes"])


def test_two_pools_side_by_side(project: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = DockerPool(size=1)
    monkeypatch.setenv("FENCEPOST_PROJECT", f"{project}-other")
    second = DockerPool(size=1)
    try:
        assert {node.name for node in (*first.nodes, *second.nodes)} == {
            f"{project}-node-1",
            f"{project}-other-node-1",
        }
    finally:
        close(first)
        close(second)
        connect().networks.list(names=[f"^{project}-other_cluster$"])[0].remove()


def test_without_a_daemon(tmp_path: Path) -> None:
    code, said = run_baseline(tmp_path, DOCKER_HOST="unix:///nowhere/docker.sock")
    assert code == PrerequisiteError.exit_code
    assert "no Docker daemon responds" in said
    assert "--cluster embedded" in said


def test_without_an_image(tmp_path: Path) -> None:
    code, said = run_baseline(tmp_path, FENCEPOST_IMAGE="fencepost-nowhere:0")
    assert code == PrerequisiteError.exit_code
    assert said.count("error:") == 1
    assert "fencepost docker image" in said


def test_an_old_daemon_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as old:
        old.setattr(docker_client, "API_MIN", (99, 0))
        old.setattr(docker_client, "_clients", {})
        with pytest.raises(PrerequisiteError, match=r"99\.0 or newer is needed"):
            docker_client.connect()


def test_too_few_running_nodes(project: str, tmp_path: Path) -> None:
    (only,) = compose_up(project, 1)
    try:
        code, said = run_baseline(tmp_path)
        assert code == PrerequisiteError.exit_code
        assert "docker compose up -d --scale node=5" in said
    finally:
        only.remove(force=True)


def test_a_taken_name(project: str, tmp_path: Path) -> None:
    taken = connect().containers.create(image(), ["true"], name=f"{project}-node-2")
    try:
        code, said = run_baseline(tmp_path)
        assert code == PrerequisiteError.exit_code
        assert "FENCEPOST_PROJECT" in said
    finally:
        taken.remove(force=True)


@pytest.mark.long
def test_a_node_that_dies_in_the_middle(project: str, tmp_path: Path) -> None:
    process = fencepost("run", "baseline", "--cluster", "docker", "--results", str(tmp_path))
    wait_until(lambda: brokers_run(project), what="brokers", timeout_seconds=90)
    connect().containers.get(f"{project}-node-1").kill()
    said, _ = process.communicate()
    assert process.returncode == 2, said
    (run,) = (tmp_path / "latest").rglob("run.json")
    assert "its container or the Docker daemon ended" in json.loads(run.read_text())["error"]
    assert f"{project}-node-1" in said


@pytest.mark.long
def test_a_playground_pauses_and_heals(project: str, tmp_path: Path) -> None:
    options = ("--results", str(tmp_path))
    orders = (
        ("play", "start", "--cluster", "docker"),
        ("play", "fault", "pause", "leader:orders-0", "--for", "500ms"),
        ("play", "shell", "1", "hostname"),
        ("play", "stop"),
    )
    said = ""
    for order in orders:
        code, reported = run_to_end(*order[:2], *options, *order[2:])
        assert code == 0, reported
        said += reported
    assert "landed=True" in said
    assert "1, 2, 3" in said
    assert f"{project}-node-1" in said


class Relay:
    """Stands between the harness and the daemon, so that the daemon can go away and come back."""

    def __init__(self, path: Path) -> None:
        self._open: list[socket.socket] = []
        self._path = path
        self._server = self._listen()

    def _listen(self) -> socket.socket:
        self._path.unlink(missing_ok=True)
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(self._path))
        server.listen(64)
        threading.Thread(target=self._accept, args=(server,), daemon=True).start()
        return server

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                here, _ = server.accept()
            except OSError:
                return
            there = socket.socket(socket.AF_UNIX)
            there.connect(str(SOCKET))
            self._open += [here, there]
            for source, target in ((here, there), (there, here)):
                threading.Thread(target=pump, args=(source, target), daemon=True).start()

    def restart(self) -> None:
        self.stop()
        self._server = self._listen()

    def stop(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for connection in self._open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self._open.clear()


def pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while content := source.recv(1 << 16):
            target.sendall(content)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


@pytest.mark.long
@pytest.mark.skipif(not SOCKET.exists(), reason="the daemon is not behind the usual socket")
def test_a_daemon_that_restarts_in_the_middle(project: str, tmp_path: Path) -> None:
    path = tmp_path / "docker.sock"
    relay = Relay(path)
    arguments = ("run", "baseline", "--cluster", "docker", "--results", str(tmp_path / "results"))
    process = fencepost(*arguments, DOCKER_HOST=f"unix://{path}")
    wait_until(lambda: brokers_run(project), what="brokers", timeout_seconds=90)
    relay.restart()
    said, _ = process.communicate()
    relay.stop()
    assert process.returncode == 2, said
    (run,) = (tmp_path / "results" / "latest").rglob("run.json")
    assert "the Docker daemon ended" in json.loads(run.read_text())["error"]
    assert "the Docker daemon ended" in said
    wait_until(lambda: not containers(project), what="no containers", timeout_seconds=30)


def test_a_killed_harness_leaves_no_container(project: str, tmp_path: Path) -> None:
    process = fencepost("run", "baseline", "--cluster", "docker", "--results", str(tmp_path))
    wait_until(lambda: brokers_run(project), what="brokers", timeout_seconds=90)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not containers(project), what="no containers", timeout_seconds=30)
    remove_orphans()
    assert connect().networks.list(names=[f"^{project}_cluster$"]) == []


def test_a_second_run_leaves_the_nodes_of_the_first_alone(project: str) -> None:
    first = DockerPool(size=1)
    second = DockerPool(size=1)
    assert [node.name for node in first.nodes] == [f"{project}-node-1"]
    assert [node.name for node in second.nodes] == [f"{project}-2-node-1"]
    remove_orphans()
    for pool in (first, second):
        (node,) = pool.nodes
        assert node.run(["true"], timeout_seconds=10).status == 0
        close(pool)
    for network in connect().networks.list(names=[f"^{project}-2_cluster$"]):
        network.remove()
