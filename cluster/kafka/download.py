"""Verified, resumable downloads of locked jars, several at a time."""

import fcntl
import hashlib
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from cluster.kafka.lock import Artifact
from contract.errors import DistributionError

_PARALLEL = 8
_CHUNK_BYTES = 1 << 16
_TIMEOUT_SECONDS = 60
_PARTIAL_CONTENT = 206

Advance = Callable[[int], None]


def download_all(
    artifacts: list[Artifact], *, repository: str, folder: Path, advance: Advance
) -> None:
    """Download artifacts into a folder; `advance` is called with the number of bytes of each chunk.

    Raises:
        DistributionError: a download failed, or its hash is not the lock's; the other artifacts are
            kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(_PARALLEL) as pool:
        downloads = [
            pool.submit(download, artifact, repository=repository, folder=folder, advance=advance)
            for artifact in artifacts
        ]
        for finished in downloads:
            finished.result()


def download(artifact: Artifact, *, repository: str, folder: Path, advance: Advance) -> None:
    """Download one artifact into a folder, resuming an earlier attempt.

    Raises:
        DistributionError: the download failed, or its hash is not the lock's.
    """
    target = folder / artifact.file_name
    if target.exists():
        if sha256_of(target) == artifact.sha256:
            advance(artifact.size_bytes)
            return
        target.unlink()
    part = folder / f"{artifact.file_name}.part"
    try:
        _fetch(f"{repository.rstrip('/')}/{artifact.path}", part, artifact, advance)
    except OSError as error:
        raise DistributionError(
            f"{artifact.file_name} can't be downloaded ({error}). Check the network and run the "
            "command again: it resumes the download. Behind a mirror, set "
            "FENCEPOST_MAVEN_MIRROR to the address of its Maven repository."
        ) from error
    found = sha256_of(part)
    if found != artifact.sha256:
        part.unlink()
        raise DistributionError(
            f"{artifact.file_name} has sha256 {found}, but the lock file says {artifact.sha256}: "
            "the download was removed. Run the command again; if the hash differs again, the "
            "repository or mirror serves another file, which must not be trusted."
        )
    part.replace(target)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder's lock, so that only one process writes its files."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def sha256_of(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(address: str, part: Path, artifact: Artifact, advance: Advance) -> None:
    have = part.stat().st_size if part.exists() else 0
    if have >= artifact.size_bytes:
        have = 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    request = urllib.request.Request(address, headers=headers)  # noqa: S310 - https, or the user's mirror
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310
        resumed = have > 0 and answer.status == _PARTIAL_CONTENT
        advance(have if resumed else 0)
        with part.open("ab" if resumed else "wb") as file:
            while chunk := answer.read(_CHUNK_BYTES):
                file.write(chunk)
                advance(len(chunk))
