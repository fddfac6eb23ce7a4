"""The Java that runs brokers, clients and Spark on this machine, and its class data (decision 18).

A class data archive holds the classes that a program loaded, parsed and verified. A JVM that maps
it starts with them. It is made once for a program, a class path and a Java.
"""

import fcntl
import glob
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from contract.errors import PrerequisiteError

CLASS_DATA_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")
"""Flags of a JVM that is to print nothing about archives, whether it reads or writes one."""

_JAVA_MIN = 17
_MAPPED = ("-Xshare:auto", "-XX:+VerifySharedSpaces", *CLASS_DATA_QUIET)
"""Without the archive where it does not fit; its checksums are compared with its content."""

_LOCK = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_RELEASE = re.compile(r'^JAVA_VERSION="((\d+)[\w.+-]*)"$', re.MULTILINE)
_OF_JAVA = ("release", "lib/modules", "lib/server/classes.jsa")
"""Below a Java's home: its version, its own classes, and their archive, which others build on."""

_HASH_DIGITS = 12


def java_command() -> str:
    """The `java` of JAVA_HOME, else that of the PATH.

    Raises:
        PrerequisiteError: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(str(Path(home) / "bin" / "java")) if home else shutil.which("java")
    if found is None:
        raise PrerequisiteError(
            "no java in JAVA_HOME or on PATH; Debian: apt-get install openjdk-17-jre-headless"
        )
    return found


@dataclass(frozen=True)
class ClassData:
    """Where the class data archive of a program lies, once it is made.

    Its file's name ends with its size, since a JVM crashes on an archive that was truncated.

    Attributes:
        folder: of all archives.
        program: a name, with a version.
        java: a version, e.g. `17.0.15`.
        digest: of the jars' and the Java's paths, sizes and times, in hexadecimal.
    """

    folder: Path
    program: str
    java: str
    digest: str

    @property
    def archive(self) -> Path | None:
        """The archive; None if there is none, or only one of another size than it had."""
        for path in self.folder.glob(f"{glob.escape(self._stem)}-*.jsa"):
            with suppress(FileNotFoundError):
                if path.stem.rpartition("-")[2] == str(path.stat().st_size):
                    return path
        return None

    @contextmanager
    def making(self) -> Iterator[Path | None]:
        """A path to write the archive to; at the end it gets its name, if it was written.

        None where another process writes one of the same program, or the folder takes no files.
        Archives of the same program and Java that fit no more are removed.
        """
        with ExitStack() as stack:
            part: Path | None = None
            with suppress(OSError):
                self.folder.mkdir(parents=True, exist_ok=True)
                lock = os.open(self.folder / f"{self.program}.lock", _LOCK, 0o600)
                stack.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                (self.folder / f"{self.program}.part").unlink(missing_ok=True)
                part = self.folder / f"{self.program}.part"
            if part is None:
                yield None
                return
            try:
                yield part
                if part.exists():
                    self._keep(part)
            finally:
                part.unlink(missing_ok=True)

    def _keep(self, part: Path) -> None:
        for old in self.folder.glob(f"{glob.escape(self._of_program)}-*.jsa"):
            old.unlink()
        part.replace(self.folder / f"{self._stem}-{part.stat().st_size}.jsa")

    @property
    def _of_program(self) -> str:
        return f"{self.program}-java-{self.java}"

    @property
    def _stem(self) -> str:
        return f"{self._of_program}-{self.digest}"


def class_data(
    program: str, jars: Sequence[Path], *, java_home: Path | None = None
) -> ClassData | None:
    """The class data of a program on a class path; None where Java can't have any.

    It is code, so it lies where installed code does: in the virtual environment.

    Args:
        program: a name for files, with a version, e.g. `kafka-4.4.0`.
        jars: its class path; further jars may follow when it starts.
        java_home: of the JVM; None: of `java_command`.
    """
    folder = Path(sys.prefix) / "share" / "fencepost"
    if sys.prefix == sys.base_prefix or os.pathsep in str(folder):
        return None
    try:
        home = java_home or Path(java_command()).resolve().parents[1]
        version = _RELEASE.search((home / "release").read_text())
        if version is None or int(version[2]) < _JAVA_MIN:
            return None
        digest = _digest([*jars, *(home / name for name in _OF_JAVA)])
    except (OSError, IndexError, PrerequisiteError):
        return None
    return ClassData(folder, program, version[1], digest)


def with_class_data(of: ClassData | None) -> list[str]:
    """The flags of a JVM that starts with this class data; none if there is no archive of it.

    A JVM that the archive does not fit starts without it, and prints nothing.
    """
    archive = None if of is None else of.archive
    return [] if archive is None else [f"-XX:SharedArchiveFile={archive}", *_MAPPED]


def _digest(files: Sequence[Path]) -> str:
    """Return a digest of the values that a JVM compares before it maps an archive."""
    seen = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:_HASH_DIGITS]
