"""Verified, resumable downloads of locked jars, several at a time, from the repository for jars.

That is the user's mirror, else Ivy's own default. PySpark includes Ivy, whose `IBiblioResolver` has
the address of Maven's central repository as a constant. Reading it there keeps addresses out of
this project.
"""

import hashlib
import http.client
import importlib.util
import os
import re
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cluster.kafka.lock import Artifact
from contract.errors import DistributionError, PrerequisiteError
from contract.files import open_to_append
from contract.locks import alone_by

MIRROR_VARIABLE = "FENCEPOST_MAVEN_MIRROR"
_RESOLVER = "org/apache/ivy/plugins/resolver/IBiblioResolver.class"
_DEFAULT_M2_ROOT = re.compile(rb"https://[\x21-\x7e]+?/maven2/")


def ivy_jar() -> Path:
    """Return the path of the Ivy jar that PySpark includes.

    Raises:
        DistributionError: PySpark is not installed here.
    """
    spec = importlib.util.find_spec("pyspark")
    folders = list(spec.submodule_search_locations or []) if spec else []
    jars = [jar for folder in folders for jar in Path(folder).glob("jars/ivy-*.jar")]
    if not jars:
        raise DistributionError(
            "PySpark with its Ivy is not installed here: install Fencepost again"
        )
    return jars[0]


def repository_root() -> str:
    """Return the address of the repository.

    Raises:
        DistributionError: no mirror is set and this Ivy has no default.
    """
    if mirror := os.environ.get(MIRROR_VARIABLE):
        return mirror if "://" in mirror else Path(mirror).resolve().as_uri()
    with zipfile.ZipFile(ivy_jar()) as jar:
        found = _DEFAULT_M2_ROOT.search(jar.read(_RESOLVER))
    if found is None:
        raise DistributionError(
            f"this Ivy names no default repository: set {MIRROR_VARIABLE} to a Maven repository"
        )
    return found.group().decode()


_PARALLEL = 8
_CHUNK_BYTES = 1 << 16
_TIMEOUT_SECONDS = 60
_LIMIT_SECONDS = 1800
"""Of a jar, however slowly it comes: the largest one has 15 MB."""
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
    except (OSError, http.client.HTTPException) as error:
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
    """Hold a folder's lock, so that only one process writes its files.

    Raises:
        DistributionError: the folder takes no files.
        WaitTimeoutError: another process held it too long.
    """
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            what = f"the jars that another process fetches into {folder}"
            alone = alone_by(folder / ".lock", what=what, timeout_seconds=_LIMIT_SECONDS)
            held.enter_context(alone)
        except (OSError, PrerequisiteError) as error:
            raise DistributionError(
                f"{folder} can't be written ({error}): name another cache in FENCEPOST_CACHE"
            ) from error
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
        left = artifact.size_bytes - (have if resumed else 0)
        ends = time.monotonic() + _LIMIT_SECONDS
        with open_to_append(part) as file:
            if not resumed:
                file.truncate(0)
            while chunk := answer.read1(min(_CHUNK_BYTES, left + 1)):
                left -= len(chunk)
                if left < 0:
                    raise _remove_part(
                        part, f"it has more than the {artifact.size_bytes} bytes locked"
                    )
                if time.monotonic() > ends:
                    raise TimeoutError(f"it takes more than {_LIMIT_SECONDS} s")
                file.write(chunk)
                advance(len(chunk))


def _remove_part(part: Path, why: str) -> OSError:
    """Remove what was downloaded, which no later attempt may resume."""
    part.unlink()
    return OSError(why)
