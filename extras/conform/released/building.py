"""Guests of released clients (extras/conform/released/guests): their locks, and how they are built.

A guest is one source for each client, and a lock for each release: a `go.mod` with its `go.sum`, a
`package.json` or a `Cargo.toml` with its lock, or a list of Python packages or of jars with their
hashes. None names a registry.
What is built is a folder in the cache, where Kafka's jars are, too.

A client that has a `features-consumer.yml` is also built as another one, `franz-go-consumer`, from
the same source and locks: its groups use KIP-848's protocol.

`python -m extras.conform.released.building [RELEASE...]` builds them and prints the command of
each, or why it can't be built. `... --lock RELEASE...` makes locks.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packaging.version import Version

from cluster.kafka.download import download_all, repository_root
from cluster.kafka.lock import artifacts_of
from cluster.kafka.resolve import Module, resolve_jars
from cluster.made import made_once
from cluster.toolchains import (
    CARGO,
    GCC,
    GO,
    GXX,
    JAVAC,
    MAKE,
    NODE,
    NODE_HEADERS,
    NPM,
    Tool,
    javac_command,
    problem_of,
)
from contract.errors import (
    DistributionError,
    FencepostError,
    PrerequisiteError,
    UsageError,
    lacking,
)
from contract.files import cache_folder, copy_file, replace_text
from contract.locks import temporary_folder
from contract.packages import python
from contract.processes import java_command, run_group

GUESTS = Path(__file__).resolve().parent / "guests"
Language = Literal["go", "java", "javascript", "python", "rust"]
_VERSIONS = "versions"
_LOCKS: Mapping[Language, str] = {
    "go": "*.mod",
    "java": "*.lock",
    "javascript": "*",
    "python": "*.lock",
    "rust": "*.lock",
}
_LINES: Mapping[Language, str] = {
    "go": "lines/lines.go",
    "java": "Lines.java",
    "javascript": "lines.mjs",
    "python": "lines.py",
    "rust": "lines.rs",
}
_TOOLS: Mapping[Language, tuple[Tool, ...]] = {
    "go": (GO,),
    "java": (JAVAC,),
    "javascript": (NODE, NPM),
    "python": (),
    "rust": (CARGO,),
}
_TOOLS_OF: Mapping[str, tuple[Tool, ...]] = {
    "confluent-kafka-go": (GCC,),
    "confluentinc-kafka-javascript": (NODE_HEADERS, GXX, MAKE),
    "node-rdkafka": (NODE_HEADERS, GXX, MAKE),
    "rdkafka": (GCC, GXX, MAKE),
}
"""What single clients need beside these."""
_MODULES = {
    "franz-go": "github.com/twmb/franz-go",
    "sarama": "github.com/IBM/sarama",
    "kafka-go": "github.com/segmentio/kafka-go",
    "kafkajs": "kafkajs",
    "platformatic-kafka": "@platformatic/kafka",
    "aiokafka": "aiokafka",
    "confluent-kafka": "confluent-kafka",
    "confluent-kafka-go": "github.com/confluentinc/confluent-kafka-go/v2",
    "confluentinc-kafka-javascript": "@confluentinc/kafka-javascript",
    "node-rdkafka": "node-rdkafka",
    "rdkafka": "rdkafka",
    "kafka-clients": "org.apache.kafka:kafka-clients",
    "kafka-streams": "org.apache.kafka:kafka-streams",
    "kafka-connect": "org.apache.kafka:connect-runtime",
    "spring-kafka": "org.springframework.kafka:spring-kafka",
    "spark": "org.apache.spark:spark-sql-kafka-0-10_2.13",
}
"""What a client's folder is called in its registry."""
_NODE_OF_NPM = ("linux-x64", "linux-arm64")
_RUNS_ON_NODE = {"platformatic-kafka": "24.21.0"}
"""Clients that need a newer Node than others, and the one that is locked with them."""
_CONSUMER = "consumer"
"""The argument, or the tag of Go's build, of a guest whose group uses KIP-848's protocol."""
_CONSUMER_SINCE = {"franz-go": "1.22.0"}
"""Clients with earlier locked releases that can't be built so: the first that can."""
_BESIDE: Mapping[str, tuple[Module, ...]] = {
    "kafka-clients": (
        ("com.fasterxml.jackson.core", "jackson-databind", "2.21.2"),
        ("org.slf4j", "slf4j-simple", "1.7.36"),
    ),
    "kafka-streams": (("org.slf4j", "slf4j-simple", "1.7.36"),),
    "spring-kafka": (
        ("com.fasterxml.jackson.core", "jackson-databind", "2.21.2"),
        ("org.slf4j", "slf4j-simple", "1.7.36"),
    ),
    "spark": (("org.apache.spark", "spark-sql_2.13", ""),),
}
"""Jars that a guest needs and its client does not bring; without a version, that of the client."""
_BELOW_TMPDIR = 'exec "$0" -Djava.io.tmpdir="${TMPDIR:-/tmp}" "$@"'
"""Java does not read TMPDIR itself."""
_JAVA = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_OPENED = (
    "java.lang",
    "java.lang.invoke",
    "java.nio",
    "java.util",
    "sun.nio.ch",
    "sun.util.calendar",
)
"""Packages of Java that Spark needs opened (its `JavaModuleOptions`)."""
_CARGO = """\
[package]
name = "guest"
version = "0.0.0"
edition = "2021"

[[bin]]
name = "guest"
path = "main.rs"

[dependencies]
{module} = {{ version = "={version}", default-features = false }}
serde_json = "1"
"""
_SOURCE = re.compile(r'^source = ".*"\n', re.MULTILINE)
_BUILD_SECONDS = 900
_SAID_CHARACTERS = 2000
_MADE = "made.json"
_GUEST = "guest"


@dataclass(frozen=True, order=True)
class Release:
    """A client's release, which has a lock."""

    language: Language
    client: str
    version: str

    @property
    def named(self) -> str:
        """Its name on the command line, as `franz-go@1.22.3`."""
        return f"{self.client}@{self.version}"

    @property
    def has_consumer_protocol(self) -> bool:
        """Whether its groups use KIP-848's protocol."""
        return self.client.endswith(f"-{_CONSUMER}")

    @property
    def source(self) -> Path:
        """The folder of its client."""
        return GUESTS / self.language / self.client.removesuffix(f"-{_CONSUMER}")

    @property
    def features(self) -> Path:
        """The client's features file."""
        return self.source / f"features{self.client.removeprefix(self.source.name)}.yml"

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What it is built and run with."""
        return (*_TOOLS[self.language], *_TOOLS_OF.get(self.source.name, ()))

    @property
    def module(self) -> str:
        """What its client is called in its registry."""
        return _MODULES[self.source.name]

    @property
    def locks(self) -> list[Path]:
        """Return its lock files; what depends on them is first."""
        folder = self.source / _VERSIONS
        match self.language:
            case "go":
                return [folder / f"{self.version}.mod", folder / f"{self.version}.sum"]
            case "javascript":
                below = folder / self.version
                return [below / "package.json", below / "package-lock.json"]
            case "java" | "python":
                return [folder / f"{self.version}.lock"]
            case "rust":
                return [folder / f"{self.version}.toml", folder / f"{self.version}.lock"]

    @property
    def sources(self) -> list[Path]:
        """Return the files of its guest, without locks."""
        of_client = [path for path in self.source.glob(f"*{self._suffix}") if path.is_file()]
        return [GUESTS / self.language / _LINES[self.language], *sorted(of_client)]

    @property
    def _suffix(self) -> str:
        return Path(_LINES[self.language]).suffix


def releases() -> list[Release]:
    """Return all releases that have a lock: by language and client, the newest first."""
    return [release for client in clients() for release in releases_of(client)]


def clients() -> list[str]:
    """Return the names of all clients that have a guest."""
    files = [path for language in _LOCKS for path in (GUESTS / language).glob("*/features*.yml")]
    return sorted(path.parent.name + path.stem.removeprefix("features") for path in files)


def releases_of(client: str) -> list[Release]:
    """Return the releases of a client that have a lock, the newest first.

    Raises:
        UsageError: there is no such client.
    """
    for language, pattern in _LOCKS.items():
        of_client = Release(language, client, "")
        if of_client.features.is_file():
            names = [
                path.name if language == "javascript" else path.stem
                for path in (of_client.source / _VERSIONS).glob(pattern)
            ]
            if of_client.has_consumer_protocol:
                since = Version(_CONSUMER_SINCE.get(of_client.source.name, "0"))
                names = [name for name in names if Version(name) >= since]
            newest = sorted(names, key=Version, reverse=True)
            return [Release(language, client, version) for version in newest]
    raise UsageError(lacking("client", client, clients()))


def release_of(named: str) -> Release:
    """Return the release that a text names: `franz-go@1.22.3`, or `franz-go` for the newest.

    Raises:
        UsageError: there is none that has a lock.
    """
    client, _, version = named.partition("@")
    known = {release.version: release for release in releases_of(client)}
    if not version:
        return next(iter(known.values()))
    if version not in known:
        raise UsageError(lacking(f"release of {client}", version, list(known)))
    return known[version]


def problem(release: Release) -> str | None:
    """Return why a release can't be built or run here and what to do; None if it can.

    A build may fail all the same: `ensure` raises then.
    """
    needs = {GO: _go_of(release)} if release.language == "go" else {}
    for tool in release.tools:
        if (found := problem_of(tool, needs.get(tool))) is not None:
            return f"{release.named}: {found}"
    return None


def ensure(release: Release) -> list[str]:
    """Return the command of a release's guest, which is built if it is not there unchanged.

    The command needs no network, no variable of the environment and no folder of its own.

    Raises:
        PrerequisiteError: its toolchain is missing.
        DistributionError: it can't be built; shows what was printed.
    """
    if (lack := problem(release)) is not None:
        raise PrerequisiteError(lack)
    folder = _folder(release)
    made_once(folder, is_whole=lambda: _is_whole(folder), make=lambda made: _build(release, made))
    arguments = [_CONSUMER] if release.has_consumer_protocol else []
    match release.language:
        case "go" | "rust":
            return [str(folder / _GUEST)]
        case "java":
            opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED]
            java = [java_command(), *_JAVA, *opened]
            return ["sh", "-c", _BELOW_TMPDIR, *java, "-cp", f"{folder}/*:{folder}", "Guest"]
        case "javascript":
            return [_node(folder), str(folder / "guest.mjs"), *arguments]
        case "python":
            return [sys.executable, "-E", str(folder / "guest.py"), *arguments]


def make_locks(release: Release) -> None:
    """Resolve a release and what it needs, and write its locks.

    Raises:
        PrerequisiteError: its toolchain is missing.
        DistributionError: it does not exist, or its resolver failed; shows its output.
    """
    for tool in release.tools:
        if (lack := problem_of(tool)) is not None:
            raise PrerequisiteError(lack)
    first = release.locks[0]
    first.parent.mkdir(parents=True, exist_ok=True)
    module = release.module
    match release.language:
        case "go":
            wanted = f"module guests\n\ngo 1.24\n\nrequire {module} v{release.version}\n"
            replace_text(first, wanted)
            _go(release, "get", f"{module}@v{release.version}")
            _go(release, "build", "-mod=mod", "-o", os.devnull)
        case "java":
            group, name = module.split(":")
            modules = [(group, name, ""), *_BESIDE.get(release.client, ())]
            modules = [(*module[:2], module[2] or release.version) for module in modules]
            with temporary_folder("lock") as work:
                artifacts = resolve_jars(modules, work / "guest")
            replace_text(first, "".join(f"{artifact}\n" for artifact in sorted(artifacts)))
        case "javascript":
            replace_text(first, _package(release, module))
            _output_of(
                ["npm", "install", "--package-lock-only", "--omit-lockfile-registry-resolved"],
                release,
                cwd=first.parent,
            )
        case "python":
            command = python("uv", "pip", "compile", "-", "--quiet", "--universal")
            command += ["--python-version=3.11", "--generate-hashes", "--no-annotate"]
            command += ["--no-emit-index-url", "--no-header"]
            given = f"{module}=={release.version}\n"
            replace_text(first, _output_of(command, release, given=given))
        case "rust":
            replace_text(first, _CARGO.format(module=module, version=release.version))
            with temporary_folder("lock") as work:
                _package_of_rust(release, work)
                lock = _locked_by_cargo(release, work)
            replace_text(release.locks[1], _SOURCE.sub("", lock))


def _package(release: Release, module: str) -> str:
    """The optional packages have Node itself; npm installs the one of the machine."""
    package: dict[str, object] = {
        "name": release.client,
        "private": True,
        "dependencies": {module: release.version},
    }
    if node := _RUNS_ON_NODE.get(release.client):
        package["optionalDependencies"] = {f"node-{of}": node for of in _NODE_OF_NPM}
    return json.dumps(package, indent=2) + "\n"


def _package_of_rust(release: Release, folder: Path) -> None:
    for path in release.sources:
        copy_file(path, folder / path.name)
    copy_file(release.locks[0], folder / "Cargo.toml")


def _locked_by_cargo(release: Release, folder: Path) -> str:
    """Let cargo choose versions for a package, and return its lock."""
    _output_of(["cargo", "generate-lockfile", "--quiet"], release, cwd=folder)
    return (folder / "Cargo.lock").read_text()


def _go_of(release: Release) -> str:
    """The Go that a release asks for in its `go.mod`."""
    lines = release.locks[0].read_text().splitlines()
    return next(line.removeprefix("go ") for line in lines if line.startswith("go "))


def _folder(release: Release) -> Path:
    """The name has the hash of what it is made of: a changed source or lock is another folder."""
    digest = hashlib.sha256(sysconfig.get_platform().encode())
    if release.language == "python":
        digest.update(str(sys.implementation.cache_tag).encode())
    for path in [*release.sources, *release.locks]:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    built = release.client if release.language == "go" else release.source.name
    name = f"{built}-{release.version}-{digest.hexdigest()[:12]}"
    return cache_folder() / "guests" / name


def _build(release: Release, made: Path) -> None:
    made.mkdir()
    match release.language:
        case "go":
            tags = [f"-tags={_CONSUMER}"] if release.has_consumer_protocol else []
            _go(release, "build", "-trimpath", *tags, "-o", str(made / _GUEST))
        case "java":
            download_all(
                artifacts_of(release.locks[0]),
                repository=repository_root(),
                folder=made,
                advance=lambda _: None,
            )
            command = [javac_command(), "--release", "17", "-cp", f"{made}/*", "-d", str(made)]
            _output_of([*command, *map(str, release.sources)], release)
        case "javascript":
            for path in [*release.sources, *release.locks]:
                copy_file(path, made / path.name)
            command = ["npm", "ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund"]
            command += ["--loglevel=error"]
            _output_of(command, release, cwd=made)
            if GXX in release.tools:
                _compile(release, made)
        case "python":
            command = python("pip", "install", "--quiet", "--disable-pip-version-check")
            command += ["--no-deps", "--require-hashes", "--only-binary=:all:"]
            command += ["--no-warn-conflicts", f"--target={made}", f"-r{release.locks[0]}"]
            _output_of(command, release)
            for path in release.sources:
                copy_file(path, made / path.name)
        case "rust":
            _cargo(release, made)
    replace_text(made / _MADE, json.dumps(dict(_hashes(made))))


def _cargo(release: Release, made: Path) -> None:
    """Build by the lock, whose packages get the address that cargo itself gives its registry."""
    with temporary_folder("guest") as work:
        _package_of_rust(release, work)
        found = _SOURCE.search(_locked_by_cargo(release, work))
        source = "" if found is None else found[0]
        lock = release.locks[1].read_text().replace("checksum = ", f"{source}checksum = ")
        replace_text(work / "Cargo.lock", lock)
        command = ["cargo", "build", "--release", "--locked", "--quiet"]
        _output_of([*command, f"--target-dir={work}/target"], release, cwd=work)
        copy_file(work / "target" / "release" / _GUEST, made / _GUEST)


def _compile(release: Release, made: Path) -> None:
    """Compile the C++ part of a package by its own script, and remove what the guest does not load.

    The script of @confluentinc/kafka-javascript would load the part from another host than the
    registry, or the sources of OpenSSL and others, which its `CKJS_LINKING` replaces by the
    machine's.
    """
    node = Path(shutil.which(NODE.program) or NODE.program).resolve()
    extra = {
        "CKJS_LINKING": "dynamic",
        "MAKEFLAGS": f"--max-load={os.cpu_count()}",
        "npm_config_build_from_source": "true",
        "npm_config_nodedir": str(node.parents[1]),
    }
    _output_of(["npm", "rebuild", release.module], release, cwd=made, extra=extra)
    package = made / "node_modules" / release.module
    shutil.rmtree(package / "deps")
    shutil.rmtree(package / "build" / "Release" / "obj.target")


def _go(release: Release, command: str, *arguments: str) -> None:
    package = [] if command == "get" else [f"./{release.source.name}"]
    _output_of(
        ["go", command, f"-modfile={release.locks[0]}", *arguments, *package],
        release,
        cwd=GUESTS / release.language,
        extra={
            "CGO_ENABLED": str(int(GCC in release.tools)),
            "GOTOOLCHAIN": "local",
            "GOFLAGS": "-buildvcs=false",
        },
    )


def _node(folder: Path) -> str:
    """The Node that is locked with the client, or the machine's."""
    own = [folder / "node_modules" / f"node-{of}" / "bin" / "node" for of in _NODE_OF_NPM]
    found = next((str(path) for path in own if path.is_file()), shutil.which(NODE.program))
    return found or NODE.program


def _is_whole(folder: Path) -> bool:
    try:
        recorded = json.loads((folder / _MADE).read_text())
        return bool(recorded == dict(_hashes(folder)))
    except (OSError, ValueError):
        return False


def _hashes(folder: Path) -> Iterator[tuple[str, str]]:
    """Each file of a built guest, with its SHA-256; what Python compiles later is left out."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != _MADE and path.suffix != ".pyc":
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            yield str(path.relative_to(folder)), digest


def _output_of(
    command: list[str],
    release: Release,
    *,
    cwd: Path | None = None,
    extra: Mapping[str, str] | None = None,
    given: str = "",
) -> str:
    """Run a command and return what it prints.

    Raises:
        DistributionError: it failed, or took too long.
    """
    try:
        ended = run_group(
            command,
            cwd=cwd,
            env={**os.environ, **(extra or {})},
            given=given,
            timeout_seconds=_BUILD_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise DistributionError(
            f"{release.named}: {command[0]} took more than {_BUILD_SECONDS} s"
        ) from None
    if ended.returncode != 0:
        said = (ended.stderr.strip() or ended.stdout.strip())[:_SAID_CHARACTERS]
        raise DistributionError(
            f"{release.named} can't be built. Check the network and start the command again; a "
            f"mirror is set as for {command[0]}: {said}"
        )
    return ended.stdout


def main() -> None:
    """Build, or lock, what the command line names; all releases by default."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help="such as franz-go@1.22.3")
    parser.add_argument("--lock", action="store_true", help="make their locks instead")
    options = parser.parse_args()
    failed = False
    for named in options.releases or [release.named for release in releases()]:
        try:
            if options.lock:
                client, _, version = named.partition("@")
                language = next(each for each in _LOCKS if (GUESTS / each / client).is_dir())
                make_locks(Release(language, client, version))
            else:
                print(f"{release_of(named).named}: {shlex.join(ensure(release_of(named)))}")
        except FencepostError as error:
            failed = True
            print(error, file=sys.stderr)
    sys.exit(failed)


if __name__ == "__main__":
    main()
