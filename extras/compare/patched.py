"""Patched clients: a released kafka-clients with a small change, compiled here.

A patch is `patches/VERSION/NAME.patch`: what it changes in words, then a unified diff of Kafka's
own sources. The lock beside it has the hash of the sources. A build is a jar with the changed
classes alone, to be put on the class path before the released jars.
"""

import os
import re
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.kafka import distribution
from cluster.kafka.download import alone_in, download, repository_root, sha256_of
from cluster.kafka.lock import read_lock
from cluster.toolchains import javac_command
from contract.errors import DistributionError, UsageError
from contract.files import cache_folder, copy_file
from contract.locks import temporary_folder

PATCHES = Path(__file__).resolve().parent / "patches"
_SUFFIX = ".patch"
_CHANGED = re.compile(r"^\+\+\+ b/(\S+)$", re.MULTILINE)
_RELEASE = "11"
"""The oldest Java whose class library the sources need."""
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every entry, so that the same classes always make the same jar."""
_PATCH_IN_JAR = "META-INF/fencepost.patch"
_COMPILE_SECONDS = 300


@dataclass(frozen=True)
class Patch:
    """A change of the client of one Kafka version."""

    name: str
    version: str

    @property
    def path(self) -> Path:
        """Its file."""
        return PATCHES / self.version / f"{self.name}{_SUFFIX}"

    @property
    def description(self) -> str:
        """What it changes, in words."""
        return " ".join(self.path.read_text().partition("\n\n")[0].split())

    @property
    def sources(self) -> list[str]:
        """The paths of the files that it changes, below the root of the sources."""
        return _CHANGED.findall(self.path.read_text())


@dataclass(frozen=True)
class Build:
    """A built jar and its SHA-256."""

    jar: Path
    sha256: str


def patches(version: str | None = None) -> list[Patch]:
    """Return the patches of a version, or of all versions."""
    return [
        Patch(path.stem, path.parent.name)
        for path in sorted(PATCHES.glob(f"{version or '*'}/*{_SUFFIX}"))
    ]


def find_patch(name: str, version: str) -> Patch:
    """Return a patch.

    Raises:
        UsageError: there is none of that name for that version.
    """
    known = patches()
    for patch in known:
        if (patch.name, patch.version) == (name, version):
            return patch
    there = ", ".join(f"{patch.name} {patch.version}" for patch in known)
    raise UsageError(f"there is no patch {name} of Kafka {version}; there are: {there}")


def build(patch: Patch) -> Build:
    """Compile a patch against the locked jars of its version; returns the jar in the cache.

    The jar also holds the patch, so that its hash says what was built.

    Raises:
        PrerequisiteError: there is no javac.
        DistributionError: sources or jars can't be fetched or verified, or the patch does not apply
            or compile; shows the output of the tool.
    """
    javac = javac_command()
    sources, class_path = fetch_sources(patch.version), distribution.class_path(patch.version)
    folder = cache_folder() / "patched" / patch.version
    with alone_in(folder), temporary_folder("patch") as work:
        tree, classes = work / "sources", work / "classes"
        apply(patch, sources, tree)
        compiler = [javac, "-d", str(classes), "--release", _RELEASE, "-proc:none", "-nowarn"]
        jars = os.pathsep.join(map(str, class_path))
        _run(
            [*compiler, "-cp", jars, *(str(tree / source) for source in patch.sources)],
            what=f"{patch.name} does not compile",
            folder=work,
        )
        made = work / "made.jar"
        _write_jar(made, classes, patch)
        jar = folder / f"kafka-clients-{patch.version}-{patch.name}.jar"
        copy_file(made, jar)
    return Build(jar, sha256_of(jar))


def fetch_sources(version: str) -> Path:
    """Return the sources jar of a version, downloaded and verified by its lock.

    Raises:
        DistributionError: there is no lock, or the download failed or has another hash.
    """
    (artifact,) = read_lock(version, PATCHES / version).artifacts
    folder = cache_folder() / "sources" / version
    with alone_in(folder):
        download(artifact, repository=repository_root(), folder=folder, advance=lambda _: None)
    return folder / artifact.file_name


def apply(patch: Patch, sources: Path, tree: Path) -> None:
    """Write the files that a patch changes below `tree`, with the change.

    Raises:
        DistributionError: the sources are not those that the patch was made for.
    """
    with zipfile.ZipFile(sources) as archive:
        for path in patch.sources:
            archive.extract(path, tree)
    _run(["git", "apply", str(patch.path)], what=f"{patch.path} does not apply", folder=tree)


def _run(command: Sequence[str], *, what: str, folder: Path) -> None:
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
            capture_output=True,
            text=True,
            check=False,
            timeout=_COMPILE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise DistributionError(
            f"{what}: {command[0]} did not end within {_COMPILE_SECONDS} s"
        ) from None
    if ended.returncode:
        raise DistributionError(f"{what}:\n{ended.stdout}{ended.stderr}")


def _write_jar(jar: Path, classes: Path, patch: Patch) -> None:
    content = {
        str(path.relative_to(classes)): path.read_bytes() for path in classes.rglob("*.class")
    }
    content[_PATCH_IN_JAR] = patch.path.read_bytes()
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(content.items()):
            archive.writestr(zipfile.ZipInfo(name, _ZIP_EPOCH), data)
