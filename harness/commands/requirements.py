"""Checks of the command line, and of what a run needs of this machine."""

import os
import re
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from cluster.nodes.pool import PoolKind
from cluster.nodes.sandbox import sandbox_problem
from cluster.prerequisites import command, java_problem
from contract.errors import PrerequisiteError, StorageError, UsageError
from contract.files import is_of_storage, place
from contract.processes import require_open_files, require_spark_home
from contract.run_folder import SEED_BITS, require_outside
from contract.written import read_json

DEFAULT_KAFKA = "4.4.0"
_VERSION = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}(-[A-Za-z0-9.-]{1,60})?")
_OWN_BITS = 0o700
_SHOWN = 200
"""Characters."""


def require_runs(results: Path, cluster: PoolKind) -> Path:
    """Check all that a run needs of this machine; returns the absolute path of its results folder.

    Raises:
        UsageError: the folder is none, or can't hold the files of servers.
        StorageError: the folder can't be written.
        PrerequisiteError: the pool, Java or a limit does not suffice; says what to do.
    """
    _require_umask()
    results = require_writable(results)
    if cluster is not PoolKind.DOCKER and "," in str(results):
        raise UsageError(
            f"--results {shorten(str(results))} has a comma, at which Kafka splits the names of "
            "its log directories: name another folder"
        )
    require_pool(cluster)
    require_programs()
    return results


def require_pool(kind: PoolKind) -> None:
    """Check that a pool works on this machine.

    Raises:
        PrerequisiteError: it does not; says why, and which pools work.
    """
    problem = None
    if kind is PoolKind.EMBEDDED:
        problem = sandbox_problem()
    elif kind is PoolKind.DOCKER:
        from cluster.nodes.docker_client import docker_problem  # noqa: PLC0415 - slow to load

        problem = docker_problem()
    if problem is not None:
        raise PrerequisiteError(problem)


def require_programs() -> None:
    """Check that servers, clients and Spark can be started: Java, Spark, the open files.

    The soft limit of open files is raised where the hard one permits that.

    Raises:
        PrerequisiteError: they can't; says what to do.
    """
    problem = java_problem()
    if problem is not None:
        fix = f"; install it with: {command([problem])}" if problem.is_installable else ""
        raise PrerequisiteError(f"{problem.message}{fix}")
    require_spark_home()
    _require_umask()
    require_open_files()


def _require_umask() -> None:
    """Check that files which this process makes can be used by itself.

    Raises:
        PrerequisiteError: they can't.
    """
    umask = os.umask(_OWN_BITS)
    os.umask(umask)
    if umask & _OWN_BITS:
        raise PrerequisiteError(
            f"with umask {umask:04o} this user can't use its own new files and folders: set "
            "another one with: umask 022"
        )


def require_seed(seed: int | None) -> None:
    """Check that a seed has at most SEED_BITS bits.

    Raises:
        UsageError: it has more.
    """
    if seed is not None and seed >= 1 << SEED_BITS:
        raise UsageError(f"--seed {seed} has more than {SEED_BITS} bits")


def require_kafka(version: str, *, option: str = "--kafka") -> None:
    """Check the form of a Kafka version.

    Raises:
        UsageError: it is invalid.
    """
    if not _VERSION.fullmatch(version):
        raise UsageError(
            f"{option} takes a version such as {DEFAULT_KAFKA}, not {shorten(version)}"
        )


def require_store(store: str | None) -> None:
    """Check that a store can be written, if it is on this machine, without making it.

    Raises:
        UsageError: it is no folder, or in a run's folder.
        StorageError: it can't be written.
    """
    found = None if store is None else place(store)
    if not isinstance(found, Path):
        return
    require_outside(found, what="--store")
    above = next(path for path in (found.absolute(), *found.absolute().parents) if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        kind = StorageError if above.is_dir() else UsageError
        raise kind(
            f"--store {shorten(str(found))} can't be written ({above} is no folder that this "
            "user can write): name another folder"
        )


def require_writable(folder: Path, *, option: str = "--results", is_run: bool = False) -> Path:
    """Create a folder; returns its absolute path.

    Args:
        folder: its path.
        option: that names it.
        is_run: it may be that of a run, which is made again.

    Raises:
        UsageError: it is no folder, or in a run's folder.
        StorageError: it can't be written (full, read-only, not allowed).
    """
    try:
        folder = folder.resolve()
        require_outside(folder.parent if is_run else folder, what=option)
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        kind = StorageError if is_of_storage(error) else UsageError
        raise kind(
            f"{option} {shorten(str(folder))} can't be written ({why}): name another folder"
        ) from error


def parameters_of(text: str | None) -> dict[str, Any]:
    """Return a scenario's parameters from a JSON object; none for None.

    Raises:
        UsageError: it is none.
    """
    parsed = {} if text is None else read_json(text, what="--parameters")
    if not isinstance(parsed, dict):
        shown = shorten(str(text))
        raise UsageError(f'--parameters must be a JSON object like {{"name": 1}}, not {shown}')
    return parsed


def shorten(text: str) -> str:
    """Shorten a long text for a message."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
