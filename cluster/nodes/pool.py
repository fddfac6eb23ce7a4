"""The kinds of pools."""

import enum

CONTAINERS_FILE = "containers"
"""In the folder of a session's nodes on the Docker pool: the names of its containers."""


class PoolKind(enum.StrEnum):
    """Where nodes come from."""

    EMBEDDED = "embedded"
    DOCKER = "docker"
    LOOPBACK = "loopback"
