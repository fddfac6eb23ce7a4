"""Lock files: the jars that a Kafka version runs on, and their hashes, without addresses."""

import re
from dataclasses import dataclass
from pathlib import Path

from contract.errors import DistributionError
from contract.files import cache_folder
from contract.packages import IS_INSTALLED

LOCKS = Path(__file__).resolve().parent / "locks"
_LOCKS_OF_USERS = "locks"
"""In the cache: those that users of an installation make."""
_HEADER = "# Made by `fencepost versions lock`: group:artifact:version[:classifier] bytes sha256\n"
_FIELDS = 3


@dataclass(frozen=True, order=True)
class Artifact:
    """One jar in a Maven repository, with its size and hash."""

    group: str
    name: str
    version: str
    classifier: str
    size_bytes: int
    sha256: str

    @property
    def file_name(self) -> str:
        """The Maven file name, e.g. `kafka-clients-4.4.0.jar`."""
        suffix = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.version}{suffix}.jar"

    @property
    def path(self) -> str:
        """The path below a Maven repository's root."""
        return f"{self.group.replace('.', '/')}/{self.name}/{self.version}/{self.file_name}"

    def __str__(self) -> str:
        """Return the line of a lock file."""
        coordinates = [self.group, self.name, self.version]
        coordinates += [self.classifier] if self.classifier else []
        return f"{':'.join(coordinates)} {self.size_bytes} {self.sha256}"


@dataclass(frozen=True)
class Lock:
    """All jars of one Kafka version."""

    version: str
    artifacts: tuple[Artifact, ...]

    @property
    def text(self) -> str:
        """The lock file's content."""
        return _HEADER + "".join(f"{artifact}\n" for artifact in sorted(self.artifacts))

    @property
    def hashes(self) -> dict[str, str]:
        """The SHA-256 of each jar by its file name, in hexadecimal."""
        return {artifact.file_name: artifact.sha256 for artifact in sorted(self.artifacts)}

    def differences(self, other: "Lock") -> list[str]:
        """What another lock of the version has otherwise, in words, by the jars' names."""
        own = {(artifact.group, artifact.file_name): artifact for artifact in self.artifacts}
        others = {(artifact.group, artifact.file_name): artifact for artifact in other.artifacts}
        reported = []
        for key in sorted(own.keys() | others.keys()):
            if key not in others:
                reported.append(f"{key[1]} is gone")
            elif key not in own:
                reported.append(f"{key[1]} is new")
            elif own[key] != others[key]:
                reported.append(f"{key[1]} has another size or SHA-256")
        return reported


def path_of_lock(name: str, folder: Path = LOCKS) -> Path:
    """Return the path of a lock file, which need not exist.

    One that an installation does not have belongs into the user's cache.
    """
    path = folder / f"{name}.lock"
    if path.exists() or not IS_INSTALLED:
        return path
    return cache_folder() / _LOCKS_OF_USERS / path.name


def locked_versions(folder: Path = LOCKS, of: str = "kafka") -> list[str]:
    """The versions of Kafka, or of a client, that have a lock file, oldest first."""
    folders = [folder, *([cache_folder() / _LOCKS_OF_USERS] if IS_INSTALLED else [])]
    found = {path.stem for folder in folders for path in folder.glob(f"{of}-*.lock")}
    versions = [stem.removeprefix(f"{of}-") for stem in found]
    return sorted(versions, key=lambda version: [int(part) for part in re.findall(r"\d+", version)])


def read_lock(version: str, folder: Path = LOCKS) -> Lock:
    """The lock of a version.

    Raises:
        DistributionError: there is none, or a line of it is invalid.
    """
    path = path_of_lock(f"kafka-{version}", folder)
    if not path.exists():
        raise DistributionError(
            f"Kafka {version} has no lock file; there are {', '.join(locked_versions(folder))}. "
            f"Make one with: fencepost versions lock {version}"
        )
    return Lock(version, tuple(artifacts_of(path)))


def artifacts_of(path: Path) -> list[Artifact]:
    """The jars of a lock file.

    Raises:
        DistributionError: it can't be read, or a line of it is invalid.
    """
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DistributionError(f"{path} can't be read: {error}") from error
    return [_artifact(line, path) for line in lines if line and not line.startswith("#")]


def _artifact(line: str, path: Path) -> Artifact:
    fields = line.split()
    group, name, version, classifier, *rest = [*fields[0].split(":"), "", "", "", ""]
    if len(fields) != _FIELDS or not version or any(rest) or not fields[1].isdigit():
        raise DistributionError(f"{path} has an invalid line: {line!r}")
    return Artifact(group, name, version, classifier, int(fields[1]), fields[2])
