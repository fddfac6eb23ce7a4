"""Nodes in containers, for real: their rights, their files and jars, and what cuts them."""

from pathlib import Path

import pytest
from command import ROOT
from docker_stage import close, image, own_project, skip_without_docker
from inside import check

from cluster.nodes.docker_client import connect
from cluster.nodes.docker_node import FOLDER, JARS, DockerNode
from cluster.nodes.docker_pool import DockerPool
from cluster.nodes.node import Node
from contract.errors import NodeError

__all__ = ["own_project"]

PIDS = 2048
CAP_NET_ADMIN = 12
FORKS = """
import os, signal
children = []
try:
    while len(children) < 99:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError as error:
    print(error)
for child in children:
    os.kill(child, signal.SIGKILL)
"""

pytestmark = [pytest.mark.docker, pytest.mark.live, pytest.mark.timeout(500)]
skip_without_docker()


def test_nodes_have_no_more_rights_than_they_need() -> None:
    pool = DockerPool(size=2)
    try:
        for node in pool.nodes:
            assert isinstance(node, DockerNode)
            inspected = connect().api.inspect_container(node.container)
            host = inspected["HostConfig"]
            assert host["Privileged"] is False
            assert [added.removeprefix("CAP_") for added in host["CapAdd"]] == ["NET_ADMIN"]
            assert host["CapDrop"] == ["ALL"]
            assert host["PidsLimit"] == PIDS
            assert effective_capabilities(node) == 1 << CAP_NET_ADMIN
            assert not host["PortBindings"]
            assert not any(inspected["NetworkSettings"]["Ports"].values())
            mounts = [(mount["Destination"], mount["RW"]) for mount in inspected["Mounts"]]
            assert mounts == [(str(JARS), False)]
            assert host["SecurityOpt"] == ["no-new-privileges:true"]
            assert host["Memory"] > 0
            assert host["Init"] is True
            (network,) = inspected["NetworkSettings"]["Networks"]
            assert connect().networks.get(network).attrs["Internal"] is True
    finally:
        close(pool)


def effective_capabilities(node: Node) -> int:
    """Of a process on the node, as the kernel tells."""
    status = node.run(["cat", "/proc/self/status"], timeout_seconds=10).output
    (line,) = [line for line in status.splitlines() if line.startswith("CapEff:")]
    return int(line.split()[1], 16)


def test_a_node_has_no_more_processes_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_NODE_PIDS", "40")
    pool = DockerPool(size=1)
    try:
        (node,) = pool.nodes
        ended = node.run([node.python, "-c", FORKS], timeout_seconds=30)
        assert "Resource temporarily unavailable" in ended.output
    finally:
        close(pool)


def test_jars_that_the_container_sees_otherwise_are_not_used() -> None:
    pool = DockerPool(size=1)
    try:
        (node,) = pool.nodes
        assert isinstance(node, DockerNode)
        jar = node.class_path("4.4.0")[0]
        assert jar.is_relative_to(JARS)
        other = DockerNode(node.name, node.container, node.address, jars_mounted=None)
        copied = other.class_path("4.4.0")[0]
        assert not copied.is_relative_to(JARS)
        other.write(copied, b"changed")
        assert other.class_path("4.4.0")[0] == copied
        assert other.read(copied) == node.read(jar)
    finally:
        close(pool)


def test_links_on_a_node_stay_there(tmp_path: Path) -> None:
    pool = DockerPool(size=1)
    try:
        (node,) = pool.nodes
        data = node.folder / "data"
        node.write(data / "file", b"content")
        node.run(["ln", "-s", "/etc/passwd", str(data / "link")], timeout_seconds=10)
        node.run(["mkfifo", str(data / "pipe")], timeout_seconds=10)
        node.copy_from(data, tmp_path / "copy")
        assert [path.name for path in (tmp_path / "copy").iterdir()] == ["file"]
    finally:
        close(pool)


def test_cuts_pauses_and_kills_bite() -> None:
    pool = DockerPool(size=3)
    try:
        check(pool.nodes)
    finally:
        close(pool)


def test_a_large_file_is_read_while_its_node_may_take_to_answer() -> None:
    pool = DockerPool(size=1)
    try:
        (node,) = pool.nodes
        file, count = node.folder / "large", 64 << 20
        node.run(
            [node.python, "-c", f"open({str(file)!r}, 'wb').write(bytes({count}))"],
            timeout_seconds=30,
        )
        assert node.read(file) == bytes(count)
    finally:
        close(pool)


def test_a_full_disk_is_reported(project: str) -> None:
    container = connect().containers.run(
        image(),
        ["sleep", "infinity"],
        detach=True,
        init=True,
        name=f"{project}-full",
        tmpfs={str(FOLDER): "size=1m"},
        volumes={str(ROOT): {"bind": "/opt/fencepost/code", "mode": "ro"}},
    )
    try:
        node = DockerNode(container.name, container.id, "", jars_mounted=None)
        with pytest.raises(NodeError, match="No space left"):
            node.write(Path(FOLDER / "big"), b"0" * (2 << 20))
    finally:
        container.remove(force=True)
