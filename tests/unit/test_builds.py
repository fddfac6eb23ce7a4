"""Builds of Kafka: locked downloads, and own builds."""

import hashlib
import os
import shutil
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer
from pages_of import run_folder, verdict_of

from analysis.report.page import Pictures, page
from analysis.report.run_facts import RunFacts
from cluster.kafka import distribution, own_jars
from cluster.kafka import download as download_module
from cluster.kafka.download import alone_in, download, repository_root, sha256_of
from cluster.kafka.lock import LOCKS, Artifact, Lock, locked_versions, read_lock
from cluster.kafka.own_jars import resolve, verify_jars
from cluster.nodes import agent
from cluster.nodes.docker_node import DockerNode
from cluster.nodes.doctor import diagnose
from cluster.nodes.local import LocalNode
from cluster.toolchains import javac_command
from contract.errors import DistributionError, PrerequisiteError, UsageError, WaitTimeoutError
from contract.files import CACHE_VARIABLE
from contract.nights import PlannedRun
from contract.software import (
    Build,
    Choice,
    Client,
    Jar,
    clients_of,
    digest,
    released,
    version_numbers,
)
from harness.commands import versions
from harness.invocation import Session, rerun_command
from harness.nightly.run import execute_in_ducktape
from tests.made import make_struct

# Locks and downloads, from a repository that is a folder or a server on loopback.


CONTENT = b"jar" * 50_000


def artifact(content: bytes = CONTENT) -> Artifact:
    return Artifact(
        "org.example", "tiny", "1.0", "", len(content), hashlib.sha256(content).hexdigest()
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    jar = root / artifact().path
    jar.parent.mkdir(parents=True)
    jar.write_bytes(CONTENT)
    return root


class RangeHandler(SimpleHTTPRequestHandler):
    """Serves a file, from the byte that is asked for on; remembers what was asked."""

    asked: list[str | None] = []  # noqa: RUF012 - one list for a test's server

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.asked.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        self.send_response(206 if asked else 200)
        self.end_headers()
        self.write(CONTENT[start:])

    def write(self, content: bytes) -> None:
        self.wfile.write(content)

    def log_message(self, *_args: object) -> None:
        pass


class EndlessHandler(RangeHandler):
    """Goes on sending, until nobody reads it."""

    def write(self, content: bytes) -> None:
        with suppress(OSError):
            while True:
                self.wfile.write(content)


@pytest.fixture(params=[RangeHandler])
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    RangeHandler.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), request.param) as running:
        running.daemon_threads = True
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def bring(wanted: Artifact, address: str, folder: Path) -> list[int]:
    folder.mkdir(exist_ok=True)
    steps: list[int] = []
    download(wanted, repository=address, folder=folder, advance=steps.append)
    return steps


def test_a_wrong_hash_is_refused_and_removed(repository: Path, tmp_path: Path) -> None:
    wrong = artifact(b"x" * len(CONTENT))
    with pytest.raises(DistributionError, match="must not be trusted"):
        bring(wrong, repository.as_uri(), tmp_path / "jars")
    assert list((tmp_path / "jars").iterdir()) == []


def test_a_download_goes_on_where_it_stopped(server: str, tmp_path: Path) -> None:
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / "tiny-1.0.jar.part").write_bytes(CONTENT[:1000])
    steps = bring(artifact(), server, jars)
    assert RangeHandler.asked == ["bytes=1000-"]
    assert sum(steps) == len(CONTENT)
    assert sha256_of(jars / "tiny-1.0.jar") == artifact().sha256


def test_a_damaged_jar_is_brought_again(repository: Path, tmp_path: Path) -> None:
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / "tiny-1.0.jar").write_bytes(b"damaged")
    bring(artifact(), repository.as_uri(), jars)
    assert (jars / "tiny-1.0.jar").read_bytes() == CONTENT


@pytest.mark.parametrize("server", [EndlessHandler], indirect=True)
def test_a_body_without_an_end_is_not_read_on(server: str, tmp_path: Path) -> None:
    jars = tmp_path / "jars"
    with pytest.raises(DistributionError, match=f"more than the {len(CONTENT)} bytes locked"):
        bring(artifact(), server, jars)
    assert list(jars.iterdir()) == []


def test_a_body_that_comes_too_slowly_is_not_waited_for(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download_module, "_LIMIT_SECONDS", 0)
    with pytest.raises(DistributionError, match="takes more than 0 s"):
        bring(artifact(), server, tmp_path / "jars")


@pytest.mark.usefixtures("cache")
def test_a_cache_that_takes_no_files_is_reported_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "file"))
    with pytest.raises(DistributionError, match=r"can't be written .*FENCEPOST_CACHE"):
        distribution.ensure("9.9.9", progress=False)


def test_a_lock_that_is_held_too_long_is_reported(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download_module, "_LIMIT_SECONDS", 0)
    reported = "the jars that another process fetches into "
    with alone_in(cache), pytest.raises(WaitTimeoutError, match=reported), alone_in(cache):
        pass


def test_without_a_network_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DistributionError, match="FENCEPOST_MAVEN_MIRROR"):
        bring(artifact(), (tmp_path / "nowhere").as_uri(), tmp_path / "jars")


@pytest.fixture
def cache(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lock = Lock("9.9.9", (artifact(),))
    monkeypatch.setattr(distribution, "read_lock", lambda _version: lock)
    monkeypatch.setenv("FENCEPOST_MAVEN_MIRROR", str(repository))
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kafka" / "9.9.9"


def test_a_class_path_has_the_locked_jars_and_no_others(cache: Path) -> None:
    distribution.ensure("9.9.9", progress=False)
    (cache / "foreign.jar").write_bytes(b"foreign")
    assert distribution.class_path("9.9.9") == [cache / "tiny-1.0.jar"]


@pytest.mark.parametrize("content", [b"x" * len(CONTENT), CONTENT[:-1], b"", None])
def test_a_jar_that_changed_in_the_cache_is_brought_anew(
    cache: Path, content: bytes | None
) -> None:
    """Even one of the same size and time."""
    assert not distribution.is_fetched("9.9.9")
    (jar,) = distribution.class_path("9.9.9")
    times = (jar.stat().st_atime_ns, jar.stat().st_mtime_ns)
    jar.unlink() if content is None else jar.write_bytes(content)
    if content is not None:
        os.utime(jar, ns=times)
    assert not distribution.is_fetched("9.9.9")
    assert distribution.class_path("9.9.9") == [jar]
    assert jar.read_bytes() == CONTENT
    assert list(cache.glob("*.jar")) == [jar]


@pytest.mark.usefixtures("cache")
def test_a_jar_that_changed_is_not_used_where_none_can_be_had(repository: Path) -> None:
    (jar,) = distribution.class_path("9.9.9")
    jar.write_bytes(b"x" * len(CONTENT))
    shutil.rmtree(repository)
    with pytest.raises(DistributionError, match=r"tiny-1\.0\.jar"):
        distribution.class_path("9.9.9")


def test_a_cache_whose_path_java_would_split_is_refused(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", f"{cache}:more")
    with pytest.raises(DistributionError, match="FENCEPOST_CACHE"):
        distribution.class_path("9.9.9")


def test_several_may_fetch_at_once(cache: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        folders = list(pool.map(lambda _: distribution.ensure("9.9.9", progress=False), range(4)))
    assert folders == [cache] * 4
    assert (cache / "tiny-1.0.jar").read_bytes() == CONTENT


def test_a_version_without_a_lock_names_those_that_have_one() -> None:
    with pytest.raises(DistributionError, match=r"4\.4\.0.*fencepost versions lock 1\.2\.3"):
        read_lock("1.2.3")


def test_a_line_that_is_no_artifact_is_shown(tmp_path: Path) -> None:
    (tmp_path / "kafka-1.0.0.lock").write_text("not an artifact\n")
    with pytest.raises(DistributionError, match="not an artifact"):
        read_lock("1.0.0", tmp_path)


@pytest.mark.parametrize("content", [b"not an artifact\n", b"\xff\n", None])
def test_a_broken_lock_breaks_no_other(
    content: bytes | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(versions, "locked_versions", lambda: locked_versions(tmp_path))
    monkeypatch.setattr(versions, "read_lock", lambda version: read_lock(version, tmp_path))
    shutil.copy(LOCKS / "kafka-4.4.0.lock", tmp_path)
    broken = tmp_path / "kafka-1.0.0.lock"
    broken.mkdir() if content is None else broken.write_bytes(content)
    with pytest.raises(typer.Exit) as ended:
        versions.list_versions()
    assert ended.value.exit_code == DistributionError.exit_code
    said = capsys.readouterr()
    assert "4.4.0" in said.out
    assert "kafka-1.0.0.lock" in said.err


@pytest.mark.parametrize("version", ["3.9.0", "3.9.2", "4.3.1", "4.4.0"])
def test_the_locks_hold_brokers_and_a_log_binding(version: str) -> None:
    assert version in locked_versions()
    lock = read_lock(version)
    names = {locked.name for locked in lock.artifacts}
    assert {"kafka_2.13", "kafka-clients", "kafka-group-coordinator", "kafka-metadata"} <= names
    assert names & {"slf4j-reload4j", "log4j-slf4j-impl"}
    assert (LOCKS / f"kafka-{version}.lock").read_text() == lock.text


def test_the_default_repository_comes_from_ivy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FENCEPOST_MAVEN_MIRROR", raising=False)
    assert repository_root().startswith("https://")


HASH = "0" * 64


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("a:b:1.0 10 1", "b-1.0.jar has another size or SHA-256"),
        (f"a:b:1.1 10 {HASH}", "b-1.0.jar is new, b-1.1.jar is gone"),
        (f"a:b:1.0 11 {HASH}", "b-1.0.jar has another size or SHA-256"),
        ("no artifact", "has an invalid line"),
    ],
)
def test_a_lock_that_differs_is_kept_unless_it_is_to_be_updated(
    line: str, reported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Lock("9.9.9", (Artifact("a", "b", "1.0", "", 10, HASH),))
    monkeypatch.setattr(versions, "path_of_lock", lambda name: tmp_path / f"{name}.lock")
    monkeypatch.setattr(versions, "make_lock", lambda _: made)
    path = tmp_path / "kafka-9.9.9.lock"
    versions.lock("9.9.9")
    versions.lock("9.9.9")
    assert path.read_text() == made.text
    path.write_text(f"{line}\n")
    with pytest.raises(DistributionError, match=f"{reported}.*versions lock 9.9.9 --update"):
        versions.lock("9.9.9")
    assert path.read_text() == f"{line}\n"
    versions.lock("9.9.9", is_update=True)
    assert path.read_text() == made.text


# Own builds of Kafka: what is found in them, and what is said of those that can't run.


CONSUMER = "org/apache/kafka/clients/consumer/KafkaConsumer.class"


@pytest.fixture(autouse=True)
def _new_files_each_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own_jars.forget()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))


def jar(path: Path, **content: str) -> Path:
    """A jar with these entries."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as made:
        for name, text in (content or {"empty": ""}).items():
            made.writestr(name, text)
    return path


def clients_jar(path: Path, version: str = "4.5.0-SNAPSHOT") -> Path:
    about = f"commitId=unknown\nversion={version}\n"
    return jar(path, **{"kafka/kafka-version.properties": about, CONSUMER: "classes"})


def build(folder: Path, version: str = "4.5.0-SNAPSHOT") -> Path:
    """A folder with what a distribution's libs/ must have."""
    jar(folder / f"kafka_2.13-{version}.jar")
    jar(folder / "scala-library-2.13.16.jar")
    clients_jar(folder / f"kafka-clients-{version}.jar", version)
    return folder


def own(folder: Path, **named: str | list[str]) -> Build:
    return resolve(msgspec.convert({"kafka_dir": str(folder), **named}, Choice))


def test_a_distribution_is_read_from_its_libs(tmp_path: Path) -> None:
    folder = build(tmp_path / "kafka" / "libs").parent
    found = own(folder)
    assert (found.kafka, found.client) == ("4.5.0-SNAPSHOT", "4.5.0-SNAPSHOT")
    assert [found_jar.name for found_jar in found.server_jars] == [
        "kafka-clients-4.5.0-SNAPSHOT.jar",
        "kafka_2.13-4.5.0-SNAPSHOT.jar",
        "scala-library-2.13.16.jar",
    ]
    assert found.of_clients == found.of_servers
    assert f"servers of {folder} (jars " in found.note


def test_jars_of_sources_and_tests_are_left_out(tmp_path: Path) -> None:
    folder = build(tmp_path)
    for kind in ("sources", "javadoc", "test", "test-sources", "scaladoc"):
        jar(folder / f"kafka-clients-4.5.0-SNAPSHOT-{kind}.jar")
    assert len(own(folder).server_jars) == 3


def test_the_observer_has_the_release_where_it_is_locked_and_else_the_build(tmp_path: Path) -> None:
    of_release, of_snapshot = own(build(tmp_path / "a", "4.4.0")), own(build(tmp_path / "b"))
    assert of_release.of_observer.locked == "4.4.0"
    assert of_release.of_observer.own == []
    assert of_snapshot.of_observer == of_snapshot.of_servers
    assert of_snapshot.locked == []


def test_client_jars_come_first_and_the_rest_is_the_servers(tmp_path: Path) -> None:
    patch = jar(tmp_path / "patch.jar", **{"org/apache/kafka/A.class": "a"})
    found = resolve(Choice(kafka="4.4.0", client_jars=[str(patch)]))
    assert found.of_servers == released("4.4.0").of_servers
    assert [found_jar.path for found_jar in found.of_clients.own] == [str(patch)]
    assert found.of_clients.locked == "4.4.0"
    assert (found.client, found.observer) == ("4.4.0", "4.4.0")
    assert found.note.startswith("Java clients 4.4.0 with patch.jar first (jars ")
    on_build = own(build(tmp_path / "build"), client_jars=[str(patch)])
    assert next(found_jar.name for found_jar in on_build.of_clients.own) == "patch.jar"
    assert on_build.of_clients.own[1:] == on_build.server_jars


def test_a_client_version_replaces_the_servers_jars_for_clients_only(tmp_path: Path) -> None:
    found = own(build(tmp_path), client_version="3.9.2")
    assert (found.of_clients.own, found.of_clients.locked) == ([], "3.9.2")
    assert (found.kafka, found.client) == ("4.5.0-SNAPSHOT", "3.9.2")
    assert found.note.endswith("; Java clients 3.9.2")


def test_the_version_of_client_jars_is_read_from_them(tmp_path: Path) -> None:
    patched = clients_jar(tmp_path / "kafka-clients.jar", "4.4.0-patched")
    found = resolve(Choice(kafka="4.4.0", client_version="3.9.2", client_jars=[str(patched)]))
    assert found.client == "4.4.0-patched"
    assert found.of_clients.locked == "3.9.2"


def test_folders_of_jars_and_of_classes_are_client_jars(tmp_path: Path) -> None:
    clients_jar(tmp_path / "jars" / "b.jar")
    jar(tmp_path / "jars" / "a.jar")
    classes = tmp_path / "out" / "org" / "apache" / "kafka"
    classes.mkdir(parents=True)
    (classes / "A.class").write_bytes(b"a")
    named = [str(tmp_path / "jars"), str(tmp_path / "out")]
    found = resolve(Choice(kafka="4.4.0", client_jars=named))
    assert [found_jar.name for found_jar in found.client_jars[:2]] == ["a.jar", "b.jar"]
    packed = Path(found.client_jars[2].path)
    assert packed.is_relative_to(tmp_path / "cache")
    with zipfile.ZipFile(packed) as content:
        assert content.namelist() == ["org/apache/kafka/A.class"]
    own_jars.forget()
    assert resolve(Choice(kafka="4.4.0", client_jars=named)).client_jars == found.client_jars
    (classes / "A.class").write_bytes(b"b")
    own_jars.forget()
    assert resolve(Choice(kafka="4.4.0", client_jars=named)).note != found.note


@pytest.mark.parametrize(
    ("prepare", "hint"),
    [
        (lambda folder: folder.rmdir(), "can't be read (No such file or directory)"),
        (lambda _: None, "no kafka_2.13 jar found there"),
        (lambda folder: jar(folder / "kafka_2.13-4.5.0.jar"), "no kafka-clients jar found there"),
        (
            lambda folder: (build(folder) / "scala-library-2.13.16.jar").unlink(),
            "no scala-library jar",
        ),
        (
            lambda folder: clients_jar(build(folder) / "kafka-clients-4.4.0.jar", "4.4.0"),
            "several builds of a jar: kafka-clients-4.4.0.jar, kafka-clients-4.5.0-SNAPSHOT.jar",
        ),
        (
            lambda folder: jar(build(folder) / "kafka-clients-4.5.0-SNAPSHOT.jar"),
            "its version is not known: no jar has kafka/kafka-version.properties",
        ),
        (
            lambda folder: build(folder, "2026-11"),
            "the version of kafka-clients-2026-11.jar is not known",
        ),
        (
            lambda folder: (build(folder) / "kafka-clients-4.5.0-SNAPSHOT.jar").write_text("x"),
            "can't be read as a jar (File is not a zip file)",
        ),
    ],
)
def test_a_kafka_dir_that_can_not_run_is_refused_with_what_to_do(
    tmp_path: Path, prepare: Callable[[Path], object], hint: str
) -> None:
    folder = tmp_path / "kafka"
    folder.mkdir()
    prepare(folder)
    with pytest.raises(UsageError) as refused:
        own(folder)
    assert f"--kafka-dir {folder}" in str(refused.value)
    assert hint in str(refused.value)


@pytest.mark.parametrize(
    ("prepare", "hint"),
    [
        (lambda _: None, "does not exist. Name a jar"),
        (lambda path: path.mkdir(), "has neither jars nor classes"),
        (lambda path: path.write_text("x"), "is no jar. Name a jar"),
        (lambda path: jar(path / "other.jar"), "no class of org.apache.kafka.* is there"),
        (lambda path: clients_jar(path / "a.jar", "unspecified"), "the version of a.jar is not"),
        (lambda path: clients_jar(path / "a:b.jar"), "at which Java splits class paths"),
    ],
)
def test_client_jars_that_can_not_run_are_refused_with_what_to_do(
    tmp_path: Path, prepare: Callable[[Path], object], hint: str
) -> None:
    path = tmp_path / "mine"
    prepare(path)
    with pytest.raises(UsageError) as refused:
        resolve(Choice(kafka="4.4.0", client_jars=[str(path)]))
    assert hint in str(refused.value)


def test_own_jars_are_compared_at_each_use(tmp_path: Path) -> None:
    patch = clients_jar(tmp_path / "patch.jar")
    (found,) = resolve(Choice(kafka="4.4.0", client_jars=[str(patch)])).client_jars
    assert verify_jars([found]) == [patch]
    patch.write_bytes(b"built again")
    with pytest.raises(DistributionError, match="has changed since the command started"):
        verify_jars([found])
    patch.unlink()
    with pytest.raises(DistributionError, match="can't be read any more"):
        verify_jars([found])


def test_a_node_has_own_jars_before_those_of_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch = clients_jar(tmp_path / "patch.jar")
    (found,) = resolve(Choice(kafka="4.4.0", client_jars=[str(patch)])).client_jars
    released_jar = tmp_path / "cache" / "released.jar"
    monkeypatch.setattr(distribution, "class_path", lambda _version: [released_jar])
    node = LocalNode("n", "127.0.0.1", tmp_path, frozenset())
    assert node.class_path("4.4.0", [found]) == [patch, released_jar]
    assert node.class_path("", [found]) == [patch]
    assert node.class_path("4.4.0") == [released_jar]


def test_a_session_carries_the_build_and_a_rerun_names_it(tmp_path: Path) -> None:
    patch = clients_jar(tmp_path / "my patch.jar")
    found = own(build(tmp_path / "k"), client_version="3.9.2", client_jars=[str(patch)])
    session = make_struct(Session, seed=1, kafka=found.kafka, cluster="embedded", build=found)
    assert Session.from_globals(msgspec.json.decode(session.as_globals())) == session
    assert session.rerun("baseline", {}) == (
        f"fencepost run baseline --cluster embedded --kafka-dir {tmp_path}/k "
        f"--client-version 3.9.2 --client-jars '{patch}' --seed 1"
    )
    assert session.rerun("own/my lost_test.py::test", {}).startswith(
        "fencepost run 'own/my lost_test.py::test' --cluster embedded"
    )
    plain = rerun_command("baseline", {}, cluster="docker", choice=Choice(kafka="4.4.0"), seed=2)
    assert plain == "fencepost run baseline --cluster docker --kafka 4.4.0 --seed 2"


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("4.4.0", (4, 4, 0)),
        ("4.5.0-SNAPSHOT", (4, 5, 0)),
        ("4.4.0-x", (4, 4, 0)),
        ("3.9.2.7", None),
        ("4.4", None),
        ("latest", None),
    ],
)
def test_the_numbers_of_a_version(version: str, numbers: tuple[int, int, int] | None) -> None:
    if numbers is None:
        with pytest.raises(ValueError, match="three numbers"):
            version_numbers(version)
    else:
        assert version_numbers(version) == numbers


def test_a_client_without_kip_848_is_not_tested_on_new_brokers() -> None:
    assert Client.JAVA_CONSUMER not in clients_of("4.4.0", java="3.9.2")
    assert Client.JAVA_CONSUMER not in clients_of("3.9.2", java="4.4.0")
    assert Client.JAVA_CONSUMER in clients_of("4.5.0-SNAPSHOT", java="4.4.0")


def test_a_digest_is_of_names_contents_and_order() -> None:
    one, other = Jar("/a/x.jar", "1"), Jar("/a/y.jar", "2")
    assert digest([one, other]) == digest([Jar("/b/x.jar", "1"), other])
    assert digest([one, other]) != digest([other, one])
    assert digest([one]) != digest([Jar("/a/x.jar", "3")])


class Container(DockerNode):
    """A node whose files are a dictionary; `copied` are the names that were copied to it."""

    def __init__(self) -> None:
        super().__init__("n", "c", "127.0.0.1", jars_mounted=None)
        self.files: dict[str, str] = {}
        self.copied: list[str] = []

    def ask(self, request: Any, *, timeout_seconds: float = 0) -> Any:  # noqa: ARG002
        assert isinstance(request, agent.HashFiles)
        return {path: self.files.get(path) for path in request.paths}

    def copy_to(self, source: Path, target: Path) -> None:
        self.copied.append(target.name)
        self.files[str(target)] = sha256_of(source)


def test_a_container_gets_own_jars_once_and_in_their_order(tmp_path: Path) -> None:
    jars = [jar(tmp_path / "b" / "x.jar"), clients_jar(tmp_path / "a" / "x.jar")]
    choice = Choice(kafka="4.4.0", client_jars=[str(path) for path in jars])
    own_jars_of = resolve(choice).client_jars
    node = Container()
    places = node.class_path("", own_jars_of)
    assert [place.name for place in places] == ["000-x.jar", "001-x.jar"]
    assert node.class_path("", own_jars_of) == places
    assert node.copied == ["000-x.jar", "001-x.jar"]
    node.files[str(places[1])] = "damaged"
    node.class_path("", own_jars_of)
    assert node.copied[2:] == ["001-x.jar"]


def test_a_night_stops_where_a_jar_was_built_again(tmp_path: Path) -> None:
    patch = clients_jar(tmp_path / "patch.jar")
    choice = Choice(kafka="4.4.0", client_jars=[str(patch)])
    planned = make_struct(PlannedRun, kafka="4.4.0", choice=choice, build=resolve(choice).note)
    session = make_struct(Session, seed=1, kafka="4.4.0", cluster="embedded")
    clients_jar(patch, "4.6.0")
    own_jars.forget()
    with pytest.raises(UsageError, match="have changed since the night began"):
        execute_in_ducktape(
            planned, tmp_path, results=tmp_path, session=session, on_phase=lambda _: None
        )


def test_a_run_page_names_the_build_and_each_own_jar(tmp_path: Path) -> None:
    patch = clients_jar(tmp_path / "patch.jar", "4.4.0-patched")
    found = resolve(Choice(kafka="4.4.0", client_jars=[str(patch)]))
    folder = run_folder(tmp_path / "run", build=found)
    assert folder.run().build == found
    assert folder.run().on == f"4.4.0, {found.note}"
    text = page(RunFacts(folder), verdict_of({}, build=found.note), Pictures())
    assert f"Kafka 4.4.0, {found.note}" in text
    assert f"{patch} {found.client_jars[0].sha256}" in text
    assert "Kafka 4.4.0" in text.partition("observer&#39;s jars")[2]
    plain = page(RunFacts(run_folder(tmp_path / "plain")), verdict_of({}), Pictures())
    assert "own jars" not in plain


def test_without_a_compiler_the_doctor_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(PrerequisiteError, match="openjdk-17-jdk"):
        javac_command()
    (found,) = [finding for finding in diagnose() if finding.what == "javac"]
    assert not found.is_good
    assert "openjdk-17-jdk" in found.fix
