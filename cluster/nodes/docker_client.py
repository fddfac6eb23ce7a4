"""A connection to the Docker daemon, made per process: it must not be shared across a fork."""

import os

import docker
from docker.errors import DockerException

from contract.errors import PrerequisiteError

API_MIN = (1, 40)
_TIMEOUT_SECONDS = 120

_clients: dict[int, docker.DockerClient] = {}


def connect() -> docker.DockerClient:
    """This process's client.

    Raises:
        PrerequisiteError: no daemon responds, or it is too old; says what to do.
    """
    if os.getpid() not in _clients:
        _clients[os.getpid()] = _connect()
    return _clients[os.getpid()]


def docker_problem() -> str | None:
    """Return why a Docker pool can't run here; None if it can."""
    try:
        connect()
    except PrerequisiteError as error:
        return str(error)
    return None


def explained(error: Exception) -> str:
    """Return the daemon's explanation of an error, else the error's text."""
    return str(getattr(error, "explanation", None) or error)


def _connect() -> docker.DockerClient:
    try:
        client = docker.from_env(timeout=_TIMEOUT_SECONDS)
        version = client.version()["ApiVersion"]
    except DockerException as error:
        if "Permission denied" in str(error):
            raise PrerequisiteError(
                "this user may not use the Docker daemon: add it to the group docker and log in "
                "again (sudo usermod -aG docker $USER), or run with --cluster embedded."
            ) from error
        raise PrerequisiteError(
            f"no Docker daemon responds ({error}). Start Docker Desktop, or `systemctl start "
            "docker` (Debian: apt-get install docker.io), or run with --cluster embedded."
        ) from error
    if tuple(int(part) for part in version.split(".")) < API_MIN:
        wanted = ".".join(map(str, API_MIN))
        raise PrerequisiteError(f"Docker's API is {version}; {wanted} or newer is needed")
    return client
