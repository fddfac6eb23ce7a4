"""Kafka distributions: the locked jars of a version, in a cache that all runs share.

A cache can be written to by others: a jar is trusted by its hash alone, each time anew.
"""

import os
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from cluster.kafka.download import alone_in, download_all, sha256_of
from cluster.kafka.lock import Artifact, Lock, locked_versions, read_lock
from cluster.kafka.repository import repository_root
from contract.errors import DistributionError

__all__ = [
    "CACHE_VARIABLE",
    "cache_folder",
    "class_path",
    "ensure",
    "is_fetched",
    "locked_versions",
]

CACHE_VARIABLE = "FENCEPOST_CACHE"


def cache_folder() -> Path:
    """`$FENCEPOST_CACHE`, else `fencepost` in the user's cache folder."""
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fencepost"


def is_fetched(version: str) -> bool:
    """Whether all jars of a version lie in the cache, with the hashes of its lock file."""
    return _is_complete(_folder(version), read_lock(version))


def ensure(version: str, *, progress: bool = True) -> Path:
    """The folder with all jars of a version; what is missing is downloaded and verified first.

    Raises:
        DistributionError: there is no lock for the version, or a jar can't be had or verified.
    """
    lock, folder = read_lock(version), _folder(version)
    if _is_complete(folder, lock):
        return folder
    with alone_in(folder):
        if not _is_complete(folder, lock):
            _bring(lock, folder, progress=progress)
    return folder


def class_path(version: str) -> list[Path]:
    """The jars of a version that its lock file names, and no others, their hashes checked now.

    Raises:
        DistributionError: as of `ensure`; or Java would read the cache's path as several.
    """
    folder = ensure(version, progress=False)
    if os.pathsep in str(folder):
        raise DistributionError(
            f"{folder} has a {os.pathsep!r}, at which Java splits class paths: set "
            f"{CACHE_VARIABLE} to another folder"
        )
    return [folder / artifact.file_name for artifact in read_lock(version).artifacts]


def _folder(version: str) -> Path:
    return cache_folder() / "kafka" / version


def _is_complete(folder: Path, lock: Lock) -> bool:
    return all(_is_as_locked(folder / artifact.file_name, artifact) for artifact in lock.artifacts)


def _is_as_locked(jar: Path, artifact: Artifact) -> bool:
    try:
        return sha256_of(jar) == artifact.sha256
    except OSError:
        return False


def _bring(lock: Lock, folder: Path, *, progress: bool) -> None:
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=Console(stderr=True),
        disable=not progress,
    )
    with bar:
        total = sum(artifact.size_bytes for artifact in lock.artifacts)
        task = bar.add_task(f"Kafka {lock.version}", total=total)
        download_all(
            list(lock.artifacts),
            repository=repository_root(),
            folder=folder,
            advance=lambda count: bar.advance(task, count),
        )
    wanted = {artifact.file_name for artifact in lock.artifacts}
    for stale in folder.glob("*.jar"):
        if stale.name not in wanted:
            stale.unlink()
