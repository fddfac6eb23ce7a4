"""The Docker daemon's client, made per process, and archives of containers.

A connection must not be shared across a fork.
"""

import os
import shutil
import tarfile
from pathlib import Path
from typing import IO

import docker
from docker.errors import DockerException

from contract.errors import NodeError, PrerequisiteError
from contract.files import replacing

API_MIN = (1, 40)
_FIRST_SECONDS = 20
"""For the first response of a daemon, which has nothing to do for it."""
_TIMEOUT_SECONDS = 120
_HOST = "DOCKER_HOST"
_SOCKET = Path("/var/run/docker.sock")

_clients: dict[int, docker.DockerClient] = {}


def connect() -> docker.DockerClient:
    """This process's client.

    Raises:
        PrerequisiteError: no daemon responds, or it is too old; says what to do.
    """
    if os.getpid() not in _clients:
        _clients[os.getpid()] = _connect()
    return _clients[os.getpid()]


def is_docker_expected() -> bool:
    """Whether a daemon was named, or has a socket on this machine; it need not respond."""
    return bool(os.environ.get(_HOST)) or _SOCKET.exists()


def docker_problem() -> str | None:
    """Return why a Docker pool can't run here; None if it can."""
    try:
        connect()
    except PrerequisiteError as error:
        return str(error)
    return None


def explain_error(error: Exception) -> str:
    """Return the daemon's explanation of an error, else the error's text."""
    return str(getattr(error, "explanation", None) or error)


def _connect() -> docker.DockerClient:
    try:
        client = docker.from_env(timeout=_FIRST_SECONDS)
        version = client.version()["ApiVersion"]
    except (DockerException, OSError) as error:
        if "Permission denied" in str(error):
            raise PrerequisiteError(
                "this user may not use the Docker daemon: add it to the group docker and log in "
                "again (sudo usermod -aG docker $USER), or run with --cluster embedded."
            ) from error
        named = os.environ.get(_HOST)
        fix = f"Check {_HOST}, which is {named!r}, or unset it. " if named else ""
        raise PrerequisiteError(
            f"no Docker daemon responds ({error}). {fix}Start Docker Desktop, or `systemctl start "
            "docker` (Debian: apt-get install docker.io), or run with --cluster embedded."
        ) from error
    client.api.timeout = _TIMEOUT_SECONDS
    if tuple(int(part) for part in version.split(".")) < API_MIN:
        wanted = ".".join(map(str, API_MIN))
        raise PrerequisiteError(f"Docker's API is {version}; {wanted} or newer is needed")
    return client


def unpack(archive: IO[bytes], target: Path) -> None:
    """Write the files and folders of an archive below `target`, without its first folder's name.

    Links and devices are skipped: they have no meaning outside of their node.

    Raises:
        NodeError: the archive is damaged, or a name in it leads out of `target`. Other members are
            written nevertheless.
    """
    outside = []
    try:
        with tarfile.open(fileobj=archive) as tar:
            for member in tar:
                _, _, below = member.name.partition("/")
                place = target / below if below else target
                if place.resolve().is_relative_to(target.resolve()):
                    _write(tar, member, place)
                else:
                    outside.append(member.name)
    except tarfile.TarError as error:
        raise NodeError(f"an archive for {target} is damaged ({error})") from None
    if outside:
        names = ", ".join(map(repr, outside))
        raise NodeError(f"an archive for {target} has names that lead out of it: {names}")


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
    elif member.isfile() and (content := tar.extractfile(member)) is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        with replacing(place) as file:
            shutil.copyfileobj(content, file)


def owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Set root as a member's owner: a container's root can't access files of other owners.

    For `TarFile.add`.
    """
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member
