"""Own builds of Kafka: their jars, verified at each use, and the versions that these name."""

import hashlib
import os
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path

from cluster.kafka.download import sha256_of
from cluster.kafka.lock import locked_versions
from contract.errors import DistributionError, UsageError
from contract.files import cache_folder, replace_file
from contract.software import Build, Choice, Jar, version_numbers

_BROKER = re.compile(r"kafka_2\.1\d-\d.*")
_CLIENTS = re.compile(r"kafka-clients-\d.*")
_OF_KAFKA = re.compile(r"(kafka[a-z0-9_.-]*?)-(\d+\.\d+\.\d+.*)")
_NOT_RUN = re.compile(r".*-(?:sources?|src|javadoc|scaladoc|tests?|test-sources)")
"""Jars of a build that are not on the class path of a server, by their stems."""
_SCALA = re.compile(r"scala-library-\d.*")
_VERSION_FILE = "kafka/kafka-version.properties"
_VERSION_LINE = re.compile(r"^version\s*=\s*(\S+)\s*$", re.MULTILINE)
_CLASSES = "org/apache/kafka/"
_SOME_TIME = (1980, 1, 1, 0, 0, 0)
"""Of each entry of a jar that is packed here, so that the same classes give the same jar."""
_DISTRIBUTION = "An unpacked Kafka release has them in libs/; ./gradlew releaseTarGz makes one"


def resolve(choice: Choice) -> Build:
    """Find the jars and versions of a choice; own jars are hashed once in a process.

    The observer gets the release of the servers' version if that is locked, so that a changed
    class does not judge itself; else the jars of the servers, whose formats may be new.

    Raises:
        UsageError: a path has not what it must have; says what is missing, and what to do.
    """
    server_jars = list(_server_jars(choice.kafka_dir)) if choice.kafka_dir else []
    kafka = _version_of_servers(server_jars, choice.kafka_dir) if server_jars else choice.kafka
    client_jars = [jar for path in choice.client_jars for jar in _client_jars(path)]
    named = f"--client-jars {' '.join(choice.client_jars)}"
    if client_jars and not any(_has_kafka_classes(Path(jar.path)) for jar in client_jars):
        raise UsageError(
            f"{named}: no class of {_CLASSES.replace('/', '.')}* is there, so that nothing would "
            "change. Name the jar or the folder with the changed classes of kafka-clients"
        )
    return Build(
        choice=choice,
        kafka=kafka,
        client=_version_of(client_jars, named=named) or choice.client_version or kafka,
        observer=kafka if not server_jars or kafka in locked_versions() else "",
        server_jars=server_jars,
        client_jars=client_jars,
    )


def forget() -> None:
    """Hash jars again, which may have been built again, at the next `resolve`."""
    _server_jars.cache_clear()
    _client_jars.cache_clear()


def verify_jars(jars: Sequence[Jar]) -> list[Path]:
    """Return the paths of own jars, whose hashes are compared now.

    Raises:
        DistributionError: one is missing, or has another content than when the command started.
    """
    for jar in jars:
        try:
            found = sha256_of(Path(jar.path))
        except OSError as error:
            raise DistributionError(
                f"{jar.path} can't be read any more ({error.strerror}): keep own jars in place "
                "until the command ends, and start it again"
            ) from error
        if found != jar.sha256:
            raise DistributionError(
                f"{jar.path} has changed since the command started. Copy the jars of a build to a "
                "folder that no build writes to, and start the command again"
            )
    return [Path(jar.path) for jar in jars]


@cache
def _server_jars(folder: str) -> tuple[Jar, ...]:
    named = f"--kafka-dir {folder}"
    libs = Path(folder) / "libs"
    paths = _jars_in(libs if libs.is_dir() else Path(folder), named)
    for pattern, what in ((_BROKER, "kafka_2.13"), (_CLIENTS, "kafka-clients")):
        if not any(pattern.fullmatch(path.stem) for path in paths):
            raise UsageError(f"{named}: no {what} jar found there. {_DISTRIBUTION}")
    if not any(_SCALA.fullmatch(path.stem) for path in paths):
        raise UsageError(
            f"{named}: Kafka's jars are there, and not the libraries that they need "
            f"(no scala-library jar). {_DISTRIBUTION}"
        )
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        if found := _OF_KAFKA.fullmatch(path.stem):
            by_name[found[1]].append(path.name)
    for names in by_name.values():
        if len(names) > 1:
            raise UsageError(
                f"{named} has several builds of a jar: {', '.join(names)}. Remove all but one"
            )
    return _hash_jars(paths, named)


@cache
def _client_jars(name: str) -> tuple[Jar, ...]:
    """Return the jar; or the jars of a folder, by name; or a folder of classes as one jar."""
    path, named = Path(name), f"--client-jars {name}"
    if path.is_dir():
        jars = _jars_in(path, named)
        if jars:
            return _hash_jars(jars, named)
        try:
            classes = pack_jar(path, cache_folder() / "classes")
        except OSError as error:
            raise UsageError(f"{named} can't be read: {error.strerror}: {error.filename}") from None
        if classes is None:
            raise UsageError(
                f"{named} has neither jars nor classes in {_CLASSES}. Name a jar, or a folder of "
                "jars, or the folder that javac -d wrote to"
            )
        return _hash_jars([classes], named)
    if path.suffix != ".jar":
        what = "is no jar" if path.exists() else "does not exist"
        raise UsageError(f"{named} {what}. Name a jar, or a folder of jars or classes")
    return _hash_jars([path], named)


def _jars_in(folder: Path, named: str) -> list[Path]:
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix == ".jar")
    except OSError as error:
        raise UsageError(
            f"{named} can't be read ({error.strerror}). Name a folder of this machine"
        ) from error
    return [path for path in found if not _NOT_RUN.fullmatch(path.stem)]


def _hash_jars(paths: Iterable[Path], named: str) -> tuple[Jar, ...]:
    jars = []
    for path in paths:
        if os.pathsep in str(path):
            raise UsageError(
                f"{path} has a {os.pathsep!r}, at which Java splits class paths: rename the folder"
            )
        try:
            with zipfile.ZipFile(path):
                pass
            jars.append(Jar(str(path), sha256_of(path)))
        except (OSError, zipfile.BadZipFile) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise UsageError(
                f"{named}: {path.name} can't be read as a jar ({why}). Build it again, or remove it"
            ) from error
    return tuple(jars)


def _version_of_servers(jars: Iterable[Jar], folder: str) -> str:
    version = _version_of(jars, named=f"--kafka-dir {folder}")
    if version is None:
        raise UsageError(
            f"--kafka-dir {folder}: its version is not known: no jar has {_VERSION_FILE}. Build "
            "kafka-clients with Kafka's own build, which writes it"
        )
    return version


def _version_of(jars: Iterable[Jar], *, named: str) -> str | None:
    """Return the version that the first jar with Kafka's version file names; None without one.

    Raises:
        UsageError: it is no version.
    """
    for jar in jars:
        with zipfile.ZipFile(jar.path) as content:
            if _VERSION_FILE not in content.namelist():
                continue
            text = content.read(_VERSION_FILE).decode(errors="replace")
        found = _VERSION_LINE.search(text)
        version = found[1] if found else ""
        try:
            version_numbers(version)
        except ValueError as error:
            raise UsageError(
                f"{named}: the version of {jar.name} is not known: {_VERSION_FILE} has {error}. "
                "Set version in gradle.properties of the build, as Kafka has it"
            ) from error
        return version
    return None


def _has_kafka_classes(jar: Path) -> bool:
    with zipfile.ZipFile(jar) as content:
        return any(
            name.startswith(_CLASSES) and name.endswith(".class") for name in content.namelist()
        )


def pack_jar(folder: Path, cache: Path) -> Path | None:
    """Pack all files below a folder into a jar; None if it has no class of Kafka in its place.

    Its name has the hash of its content, so that the same classes give the same jar.

    Raises:
        OSError: a file can't be read, or the cache can't be written.
    """
    if not any((folder / _CLASSES).rglob("*.class")):
        return None
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as jar:
        for path in files:
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _SOME_TIME)
            jar.writestr(entry, path.read_bytes())
    whole = content.getvalue()
    cache.mkdir(parents=True, exist_ok=True)
    made = cache / f"{folder.name}-{hashlib.sha256(whole).hexdigest()[:12]}.jar"
    replace_file(made, whole)
    return made
