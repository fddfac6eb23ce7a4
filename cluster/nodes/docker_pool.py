"""The Docker pool: the nodes of docker-compose.yml, adopted if they run, else started.

The compose file is the only description of a node; this module reads from it what the Docker SDK
needs. Containers have Compose's own labels, so that Compose and this module see the same pool.
"""

import os
import re
import socket
import tarfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from enum import Enum, auto
from functools import partial
from http import HTTPStatus
from io import BytesIO
from itertools import chain, count
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import yaml
from docker.errors import APIError, ImageNotFound, NotFound

from cluster.nodes.docker_client import connect, explain_error, owned_by_root
from cluster.nodes.docker_node import CODE, FOLDER, JARS, PYTHON, DockerNode
from cluster.nodes.node import Node
from contract.errors import NodeError, PrerequisiteError
from contract.files import cache_folder
from contract.locks import HeldFolder, HeldName, Swept, hold_first, is_held, remove_unheld
from contract.packages import PACKAGES, python

_ROOT = Path(__file__).resolve().parents[2]
COMPOSE_FILE = _ROOT / "docker-compose.yml"
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_EMPTY = f"""
for process in /proc/[0-9]*; do
  id=${{process#/proc/}}
  case "$(cat $process/comm 2>/dev/null)" in
    docker-init|tini|sleep|sh|cat|'') ;;
    *) kill -9 $id ;;
  esac
done
rm -rf {FOLDER}/*
"""
"""Removes the processes and files of an earlier run from an adopted node. Its code stays: this run
overwrites it, and unchanged files keep their compiled form."""

_OWNER, _OWNERS = "fencepost.owner", "fencepost-owner-"
_PROCESS = "fencepost.process"
_BOOT, _NAMESPACE = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
_PROJECT, _SERVICE = "com.docker.compose.project", "com.docker.compose.service"
_NUMBER = "com.docker.compose.container-number"


class DockerPool:
    """Containers `<project>-node-1`, ... of one Compose project, for one run.

    Only containers of `docker compose up` are adopted, never those of another run. Containers that
    this process starts end with it, also when it is killed, since each waits for the end of a
    stream that this process holds open. Adopted ones keep running.
    """

    def __init__(self, *, size: int) -> None:
        """Adopt the project's running nodes, or start as many as are needed.

        Raises:
            PrerequisiteError: no daemon, no image, too few nodes, or a name that is taken.
        """
        self._compose = read_compose(COMPOSE_FILE)
        remove_orphans()
        self._project, self._held = take_project(str(self._compose["name"]))
        self._owner = HeldFolder(Path(gettempdir()), _OWNERS)
        found = self._running()
        if found and len(found) < size:
            raise PrerequisiteError(
                f"the run needs {size} nodes, but project {self._project} runs {len(found)}. "
                f"Start more with `docker compose up -d --scale node={size}`, or stop them all "
                "with `docker compose down`: if none runs, the run starts its own"
            )
        containers = (found or self._start(size))[:size]
        code = _archive_of_code()
        with ThreadPoolExecutor(size) as pool:
            prepare = partial(_prepare, code=code, is_adopted=bool(found))
            list(pool.map(prepare, containers))
            self._lifelines = [] if found else list(pool.map(_tie, containers))
        self.nodes: list[Node] = [self._node(container) for container in containers]

    def _running(self) -> list[Any]:
        labels = [f"{_PROJECT}={self._project}", f"{_SERVICE}=node"]
        running = connect().containers.list(filters={"label": labels}, ignore_removed=True)
        of_compose = [container for container in running if _OWNER not in container.labels]
        return sorted(of_compose, key=lambda container: int(container.labels.get(_NUMBER, 0)))

    def _start(self, size: int) -> list[Any]:
        client, service = connect(), self._compose["services"]["node"]
        try:
            client.images.get(service["image"])
        except ImageNotFound:
            raise PrerequisiteError(
                f"the Docker image {service['image']} is missing. Build it with: "
                "fencepost docker image"
            ) from None
        network = f"{self._project}_cluster"
        owner = {
            _OWNER: f"{socket.gethostname()}:{self._owner.path}",
            _PROCESS: f"{visible_processes()}:{os.getpid()}",
        }
        started: list[Any] = []
        try:
            if not client.networks.list(names=[f"^{network}$"]):
                client.networks.create(
                    network,
                    internal=bool(self._compose["networks"]["cluster"]["internal"]),
                    labels={
                        _PROJECT: self._project,
                        "com.docker.compose.network": "cluster",
                        **owner,
                    },
                )
            with ThreadPoolExecutor(size) as pool:
                starting = [
                    pool.submit(
                        _start_container,
                        service,
                        f"{self._project}-node-{number}",
                        network,
                        {_PROJECT: self._project, _SERVICE: "node", _NUMBER: str(number), **owner},
                    )
                    for number in range(1, size + 1)
                ]
            started += [start.result() for start in starting if start.exception() is None]
            for start in starting:
                start.result()
        except APIError as error:
            _remove(self._project, started)
            raise PrerequisiteError(
                f"the pool can't be started: {explain_error(error)}. {_fix(error)}"
            ) from error
        return started

    def _node(self, container: Any) -> DockerNode:
        container.reload()
        networks = container.attrs["NetworkSettings"]["Networks"]
        address = next((network["IPAddress"] for network in networks.values()), "")
        if not address:
            raise NodeError(f"container {container.name} has no IP address, so it is not running")
        mounts = {
            mount["Destination"]: Path(mount["Source"]) for mount in container.attrs["Mounts"]
        }
        return DockerNode(container.name, container.id, address, jars_mounted=mounts.get(str(JARS)))


def read_compose(path: Path) -> dict[str, Any]:
    """Read the compose file, with `${NAME:-default}` resolved from the environment.

    The folder of jars is this harness's cache, unless the environment names another.
    """
    given = {"FENCEPOST_JARS": str(cache_folder() / "kafka"), **os.environ}
    filled = _VARIABLE.sub(lambda m: given.get(m[1]) or m[2] or "", path.read_text())
    content: dict[str, Any] = yaml.safe_load(filled)
    return content


def take_project(name: str) -> tuple[str, HeldName]:
    """Lock and return the first of `name`, `name-2`, ... that no run of this user holds.

    Containers of another user's run, or of one that holds its name elsewhere, have theirs.
    """
    taken = {container.labels.get(_PROJECT) for container in _owned()}
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return hold_first((free for free in names if free not in taken), "project-")


def _owned() -> list[Any]:
    """The containers that runs have started."""
    owned = connect().containers.list(all=True, filters={"label": _OWNER}, ignore_removed=True)
    return list(owned)


def remove_orphans() -> Swept:
    """Remove the containers and networks whose harness has ended; returns that of containers."""
    client = connect()
    dead = [container for container in _owned() if _life(container.labels) is _Life.ENDED]
    networks = [
        network
        for network in client.networks.list(filters={"label": _OWNER})
        if _life(network.attrs["Labels"]) is _Life.ENDED
    ]
    swept = Swept()
    for container in dead:
        swept += _remove_orphan(container)
    for network in networks:
        swept += _remove_network(network)
    return swept + Swept(kept=remove_unheld(Path(gettempdir()), _OWNERS).kept)


def unseen() -> list[str]:
    """What may be of a run that this process can't see: a line each, with what to do."""
    found = [(container, container.labels, "docker rm --force") for container in _owned()] + [
        (network, network.attrs["Labels"], "docker network rm")
        for network in connect().networks.list(filters={"label": _OWNER})
    ]
    return [
        f"{known.name} stays: its run is on host {labels[_OWNER].partition(':')[0]}, and may be "
        f"alive, but its lock can't be seen here. If it has ended: {remove} {known.name}"
        for known, labels, remove in found
        if _life(labels) is _Life.UNKNOWN
    ]


class _Life(Enum):
    """What is known of the harness that started a container."""

    ALIVE = auto()
    ENDED = auto()
    UNKNOWN = auto()


def _life(labels: Mapping[str, str]) -> _Life:
    """Return whether the harness of a container or network is alive.

    Its folder is gone when it has ended, but also if temporary files were removed, and cannot be
    seen by a process that has others, as a service of systemd or a container. Then its process
    decides, if this one would see it.
    """
    host, _, folder = labels[_OWNER].partition(":")
    if host == socket.gethostname():
        if os.path.lexists(folder):
            return _Life.ALIVE if is_held(Path(folder)) else _Life.ENDED
        processes, _, process = labels.get(_PROCESS, "").rpartition(":")
        if processes == visible_processes() and process.isdigit() and not _runs(int(process)):
            return _Life.ENDED
    return _Life.UNKNOWN


def visible_processes() -> str:
    """Return which processes this one sees: those of a boot of this machine, in a namespace."""
    with suppress(OSError):
        return f"{_BOOT.read_text().strip()}:{_NAMESPACE.readlink()}"
    return ""


def _runs(process: int) -> bool:
    """Return whether a process of any user runs, also one that is hidden from this user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _fix(error: APIError) -> str:
    """Return what to do about a container or network that the daemon refused."""
    said = explain_error(error)
    if error.status_code == HTTPStatus.CONFLICT:
        return "Free the name with `docker rm`, or set FENCEPOST_PROJECT to another one."
    if "no space left" in said:
        return "Free some disk, e.g. with `docker system prune`."
    if "address pool" in said:
        return "Remove unused networks: docker network prune."
    return "See the log of the Docker daemon."


def _start_container(
    service: dict[str, Any], name: str, network: str, labels: dict[str, str]
) -> Any:
    mounts = [volume.rsplit(":", 2) for volume in service["volumes"]]
    for source, _, _ in mounts:
        Path(source).expanduser().mkdir(parents=True, exist_ok=True)
    return connect().containers.run(
        service["image"],
        service["command"],
        detach=True,
        auto_remove=True,
        name=name,
        hostname=name,
        init=service["init"],
        network=network,
        labels=labels,
        cap_drop=service["cap_drop"],
        cap_add=service["cap_add"],
        security_opt=service["security_opt"],
        mem_limit=service["mem_limit"],
        pids_limit=int(service["pids_limit"]),
        nano_cpus=int(float(service["cpus"]) * 1e9),
        volumes={
            str(Path(source).expanduser()): {"bind": target, "mode": mode}
            for source, target, mode in mounts
        },
    )


def _prepare(container: Any, code: bytes, *, is_adopted: bool) -> None:
    """Copy this run's code, and remove what an earlier run left in an adopted node.

    Raises:
        NodeError: it can't run commands or receive files.
    """
    try:
        if is_adopted:
            container.reload()
            if container.status == "paused":
                container.unpause()
            container.exec_run(["sh", "-c", _EMPTY])
        container.put_archive("/", code)
        if is_adopted:
            container.exec_run(python("cluster.nodes.firewall", program=PYTHON))
    except (APIError, OSError) as error:
        raise NodeError(f"{container.name} can't be prepared: {explain_error(error)}") from error


def _tie(container: Any) -> Any:
    """Make a container end and disappear with this process; returns the stream to hold open."""
    api = connect().api
    created = api.exec_create(container.id, ["sh", "-c", "cat >/dev/null; kill 1"], stdin=True)
    return api.exec_start(created, socket=True)


def _remove(project: str, containers: list[Any]) -> None:
    for container in containers:
        _remove_container(container)
    for network in connect().networks.list(names=[f"^{project}_cluster$"]):
        _remove_network(network)


def _remove_container(container: Any) -> None:
    """Remove a container and wait until it is gone; it may already be ending."""
    with suppress(NotFound):
        try:
            container.remove(force=True)
        except APIError as error:
            if error.status_code != HTTPStatus.CONFLICT:
                raise
            container.wait(condition="removed")


def _remove_orphan(container: Any) -> Swept:
    try:
        _remove_container(container)
    except APIError as error:
        why = explain_error(error)
        fix = f"docker rm --force {container.name}"
        line = f"container {container.name} of a dead run stays ({why}). Remove it: {fix}"
        return Swept(kept=(line,))
    return Swept(removed=1)


def _remove_network(network: Any) -> Swept:
    """Remove a network if it is there, unless a container is in it; returns why it stays.

    A run takes the network that has its name, also if a dead one made it. It stays for that run.
    """
    try:
        network.remove()
    except NotFound:
        return Swept()
    except APIError as error:
        return _why_used(network, error)
    return Swept()


def _why_used(network: Any, error: APIError) -> Swept:
    inside = connect().containers.list(filters={"network": network.id}, ignore_removed=True)
    project = (network.attrs["Labels"] or {}).get(_PROJECT)
    if project and any(container.labels.get(_PROJECT) == project for container in inside):
        return Swept()
    free = [
        f"docker network disconnect --force {network.name} {container.name}" for container in inside
    ]
    names = ", ".join(container.name for container in inside)
    why = f"container {names} is in it" if names else explain_error(error)
    fix = " && ".join([*free, f"docker network rm {network.name}"])
    return Swept(kept=(f"network {network.name} of a dead run stays ({why}). Remove it: {fix}",))


def _archive_of_code() -> bytes:
    archive = BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        # `contract.terms` has the names of the statements.
        for files in (
            "contract/**/*.py",
            "harness/**/*.py",
            "cluster/**/*.py",
            "analysis/checks/*.sql",
        ):
            for path in sorted(_ROOT.glob(files)):
                place = CODE / path.relative_to(PACKAGES)
                tar.add(path, arcname=str(place.relative_to("/")), filter=owned_by_root)
    return archive.getvalue()
