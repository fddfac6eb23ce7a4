"""Versions of the clients under test that are Python packages: their locks, and how they are kept.

A plan names a version with its client: `kafka-python@3.0.8`. `librdkafka@2.13.0` names the version
of confluent-kafka, the package that brings librdkafka along and that an application installs; its
librdkafka has the same version, but for the last number: confluent-kafka 2.16.1 has 2.16.0.

The packages of a version are a folder in the cache, where Kafka's jars are, too. A worker has it
before the installed packages on its path (`contract.packages`).
"""

import base64
import csv
import hashlib
import platform
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cluster.kafka.lock import locked_versions, path_of_lock
from cluster.made import made_once
from contract.errors import DistributionError, UsageError
from contract.files import cache_folder
from contract.packages import environment, python
from contract.processes import run_group
from contract.software import Client, client_of, version_of

LOCKS = Path(__file__).resolve().parent / "locks"
PACKAGES = {client: client.about.package for client in Client if client.about.package}
_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}((a|b|rc)[0-9]{1,4})?")
_SAID_CHARACTERS = 2000
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def machine() -> str:
    """Return this machine's architecture, as the names of Linux wheels have it."""
    found = platform.machine().lower()
    return _MACHINES.get(found, found)


def is_version(text: str) -> bool:
    """Return whether a text names a version of a client."""
    client, at, version = text.partition("@")
    return client in PACKAGES and bool(at and _VERSION.fullmatch(version))


def require_form(named: str) -> None:
    """Check that a text names a version of a client.

    Raises:
        UsageError: it does not.
    """
    if not is_version(named):
        raise UsageError(
            f"{named[:100]!r} names no version of a client: it has to be "
            f"{' or '.join(f'{package}@VERSION' for package in PACKAGES)}, the version of its "
            "package "
            f"({' or '.join(PACKAGES.values())}); Java's has an option of its own, --client-version"
        )


def lock_file(named: str) -> Path:
    """Return the path of a version's lock file, which need not exist."""
    return path_of_lock(f"{client_of(named)}-{version_of(named)}", LOCKS)


def versions_locked(client: Client) -> list[str]:
    """Return the versions of a client that have a lock file, oldest first."""
    return locked_versions(LOCKS, client)


def require_locked(named: str) -> Path:
    """Return the lock file of a version.

    Raises:
        UsageError: the text names no version.
        DistributionError: it has no lock file; the message has those that have.
    """
    require_form(named)
    lock, client = lock_file(named), client_of(named)
    if not lock.is_file():
        raise DistributionError(
            f"{named} has no lock file; of {client} there are "
            f"{', '.join(versions_locked(client))}. "
            f"Make one with: fencepost versions lock {named}"
        )
    return lock


def require_choice(names: Sequence[str]) -> None:
    """Check that these are versions that groups can be given: locked, each of another client.

    Raises:
        UsageError: one names no version, or two are of one client.
        DistributionError: one has no lock file.
    """
    for named in names:
        require_locked(named)
    if twice := [client for client, count in Counter(map(client_of, names)).items() if count > 1]:
        raise UsageError(
            f"{', '.join(names)} has several versions of {', '.join(twice)}, of which each group "
            "has one: a scenario whose groups name theirs has them side by side (client_versions)"
        )


def make_lock(named: str) -> str:
    """Resolve a version and what it needs; returns the lock file's text, without addresses.

    Raises:
        UsageError: the text names no version.
        DistributionError: the version does not exist, or the resolver failed; shows its output.
    """
    require_form(named)
    command = python("uv", "pip", "compile", "-", "--quiet", "--universal")
    command += ["--python-version=3.11", "--generate-hashes", "--no-annotate"]
    command += ["--no-emit-index-url", "--no-header"]
    wanted = f"{PACKAGES[client_of(named)]}=={version_of(named)}\n"
    return _output_of(command, what=f"{named} can't be resolved", given=wanted)


def is_fetched(named: str) -> bool:
    """Return whether the cache has the packages of a version for this Python, unchanged."""
    return _is_whole(_folder(require_locked(named), is_for_nodes=False))


def ensure(named: str, *, is_for_nodes: bool = False) -> Path:
    """Return the folder with the packages of a version, installed if they are not there unchanged.

    Args:
        named: a version that has a lock file.
        is_for_nodes: for the Python of the Docker nodes, instead of this one.

    Raises:
        UsageError: the text names no version.
        DistributionError: it has no lock file, or its packages can't be installed.
    """
    lock = require_locked(named)
    folder = _folder(lock, is_for_nodes=is_for_nodes)
    return made_once(
        folder,
        is_whole=lambda: _is_whole(folder),
        make=lambda made: _install(lock, made, is_for_nodes=is_for_nodes),
    )


def _folder(lock: Path, *, is_for_nodes: bool) -> Path:
    """The name has the lock's hash: a changed lock file is another folder."""
    of = f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"
    if is_for_nodes:
        of = f"nodes-{machine()}"
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    return cache_folder() / "clients" / f"{lock.stem}-{of}-{digest}"


def _install(lock: Path, made: Path, *, is_for_nodes: bool) -> None:
    command = python("uv", "pip", "install", f"--python={sys.executable}", "--quiet", "--no-cache")
    command += [
        "--no-deps",
        "--require-hashes",
        "--only-binary=:all:",
        f"--target={made}",
        f"-r{lock}",
    ]
    if is_for_nodes:
        command += ["--python-version=3.11", f"--python-platform={machine()}-manylinux_2_28"]
    what = (
        f"{lock.stem} is not in the cache and can't be installed. Check the network and start "
        "the command again; a mirror is set as for uv (UV_DEFAULT_INDEX), and a Python without a "
        "wheel of this version can't run it"
    )
    _output_of(command, what=what)


def _is_whole(folder: Path) -> bool:
    """Return whether each module has the hash that its package recorded (PEP 376, RECORD).

    Programs of a package, recorded beside the folder, are left out: no worker runs one.
    """
    records = list(folder.glob("*.dist-info/RECORD"))
    try:
        return bool(records) and all(
            _hash_of(folder / path) == recorded
            for record in records
            for path, recorded, _size in csv.reader(record.read_text().splitlines())
            if recorded and not path.startswith("..")
        )
    except (OSError, ValueError):
        return False


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    return f"sha256={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def _output_of(command: list[str], *, what: str, given: str = "") -> str:
    """Run a command and return what it prints.

    Raises:
        DistributionError: it failed; `what` in words, and its last output.
    """
    ended = run_group(command, env=environment(), given=given)
    if ended.returncode != 0:
        said = ended.stderr.strip()[-_SAID_CHARACTERS:]
        raise DistributionError(f"{what}: {said}")
    return ended.stdout
