"""What the tests of Docker's nodes share: why they are skipped, a project of their own."""

import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from command import ROOT
from docker.errors import ImageNotFound

from cluster.nodes.docker_client import connect, docker_problem
from cluster.nodes.docker_node import DockerNode
from cluster.nodes.docker_pool import DockerPool, read_compose

COMPOSE = ROOT / "docker-compose.yml"


def image() -> str:
    return str(read_compose(COMPOSE)["services"]["node"]["image"])


def skip_without_docker() -> None:
    if (lack := missing()) is None:
        return
    if os.environ.get("FENCEPOST_REQUIRE_DOCKER") == "1":
        pytest.fail(f"FENCEPOST_REQUIRE_DOCKER=1, but {lack}", pytrace=False)
    pytest.skip(lack, allow_module_level=True)


def missing() -> str | None:
    if (problem := docker_problem()) is not None:
        return problem
    try:
        connect().images.get(image())
    except ImageNotFound:
        return "the nodes' image is not built: fencepost docker image"
    return None


@pytest.fixture(autouse=True, name="project")
def own_project(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A project of the test's own, of which nothing is left at its end."""
    name = f"fencepost-test-{uuid.uuid4().hex[:8]}"
    monkeypatch.setenv("FENCEPOST_PROJECT", name)
    yield name
    assert containers(name) == []
    for network in connect().networks.list(names=[f"^{name}_cluster$"]):
        network.remove()


def containers(name: str) -> list[Any]:
    label = f"com.docker.compose.project={name}"
    return list(connect().containers.list(all=True, filters={"label": label}, ignore_removed=True))


def close(pool: DockerPool) -> None:
    for node in pool.nodes:
        assert isinstance(node, DockerNode)
        connect().containers.get(node.container).remove(force=True)
