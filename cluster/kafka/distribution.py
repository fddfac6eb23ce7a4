"""Kafka distributions: the locked jars of a version, in a cache that all runs share.

Other processes can write to the cache, so the hash of each jar is verified at every use.
"""

import os
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from cluster.kafka.download import alone_in, download_all, repository_root, sha256_of
from cluster.kafka.lock import Artifact, Lock, locked_versions, read_lock
from contract.errors import DistributionError
from contract.files import CACHE_VARIABLE, cache_folder
from contract.program import Terminal

__all__ = ["class_path", "ensure", "is_fetched", "locked_versions"]


def is_fetched(version: str) -> bool:
    """Return whether the cache has all jars of a version, with the hashes of its lock file."""
    return _is_complete(_folder(version), read_lock(version))


def ensure(version: str, *, progress: bool = True) -> Path:
    """Return the folder with all jars of a version, after downloading and verifying missing ones.

    Raises:
        DistributionError: there is no lock for the version, or a jar can't be downloaded or
            verified.
    """
    lock, folder = read_lock(version), _folder(version)
    if _is_complete(folder, lock):
        return folder
    with alone_in(folder):
        if not _is_complete(folder, lock):
            _bring(lock, folder, progress=progress)
    return folder


def class_path(version: str) -> list[Path]:
    """Return the class path of exactly the jars that a version's lock file names, verified now.

    Raises:
        DistributionError: as in `ensure`; or the cache's path has a separator of class paths.
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
        console=Terminal(stderr=True),
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
