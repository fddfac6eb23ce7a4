"""Locks and downloads, from a repository that is a folder or a server on loopback."""

import hashlib
import os
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import typer

from cluster.kafka import distribution
from cluster.kafka import download as download_module
from cluster.kafka.download import alone_in, download, sha256_of
from cluster.kafka.lock import LOCKS, Artifact, Lock, locked_versions, read_lock
from cluster.kafka.repository import repository_root
from contract.errors import DistributionError, WaitTimeoutError
from harness.commands import kafka

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
        self.wfile.write(CONTENT[start:])

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    RangeHandler.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), RangeHandler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def bring(one: Artifact, address: str, folder: Path) -> list[int]:
    folder.mkdir(exist_ok=True)
    steps: list[int] = []
    download(one, repository=address, folder=folder, advance=steps.append)
    return steps


def test_a_jar_is_brought_and_verified(repository: Path, tmp_path: Path) -> None:
    steps = bring(artifact(), repository.as_uri(), tmp_path / "jars")
    assert (tmp_path / "jars" / "tiny-1.0.jar").read_bytes() == CONTENT
    assert sum(steps) == len(CONTENT)


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


class EndlessHandler(SimpleHTTPRequestHandler):
    """Goes on sending, until nobody reads it."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(CONTENT)

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def endless() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), EndlessHandler) as running:
        running.daemon_threads = True
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def test_a_body_without_an_end_is_not_read_on(endless: str, tmp_path: Path) -> None:
    jars = tmp_path / "jars"
    with pytest.raises(DistributionError, match=f"more than the {len(CONTENT)} bytes locked"):
        bring(artifact(), endless, jars)
    assert list(jars.iterdir()) == []


def test_a_body_that_comes_too_slowly_is_not_waited_for(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download_module, "_LIMIT_SECONDS", 0)
    with pytest.raises(DistributionError, match="takes more than 0 s"):
        bring(artifact(), server, tmp_path / "jars")


@pytest.mark.usefixtures("cache")
def test_a_cache_that_takes_no_files_is_told_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "file"))
    with pytest.raises(DistributionError, match=r"can't be written .*FENCEPOST_CACHE"):
        distribution.ensure("9.9.9", progress=False)


def test_a_lock_that_is_held_too_long_is_told(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download_module, "_LIMIT_SECONDS", 0)
    told = "the jars that another process fetches into "
    with alone_in(cache), pytest.raises(WaitTimeoutError, match=told), alone_in(cache):
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


def test_a_version_is_complete_only_with_all_its_jars(cache: Path) -> None:
    assert not distribution.is_fetched("9.9.9")
    assert distribution.ensure("9.9.9", progress=False) == cache
    assert distribution.is_fetched("9.9.9")
    (cache / "tiny-1.0.jar").unlink()
    assert not distribution.is_fetched("9.9.9")
    distribution.ensure("9.9.9", progress=False)
    assert distribution.is_fetched("9.9.9")


def test_a_class_path_has_the_locked_jars_and_no_others(cache: Path) -> None:
    distribution.ensure("9.9.9", progress=False)
    (cache / "foreign.jar").write_bytes(b"foreign")
    assert distribution.class_path("9.9.9") == [cache / "tiny-1.0.jar"]


@pytest.mark.parametrize("content", [b"x" * len(CONTENT), CONTENT[:-1], b""])
def test_a_jar_that_changed_in_the_cache_is_brought_anew(cache: Path, content: bytes) -> None:
    """Even one of the same size and time."""
    (jar,) = distribution.class_path("9.9.9")
    times = (jar.stat().st_atime_ns, jar.stat().st_mtime_ns)
    jar.write_bytes(content)
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
    with pytest.raises(DistributionError, match=r"4\.4\.0.*fencepost kafka lock 1\.2\.3"):
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
    monkeypatch.setattr(kafka, "locked_versions", lambda: locked_versions(tmp_path))
    monkeypatch.setattr(kafka, "read_lock", lambda version: read_lock(version, tmp_path))
    shutil.copy(LOCKS / "kafka-4.4.0.lock", tmp_path)
    broken = tmp_path / "kafka-1.0.0.lock"
    broken.mkdir() if content is None else broken.write_bytes(content)
    with pytest.raises(typer.Exit) as ended:
        kafka.list_versions()
    assert ended.value.exit_code == DistributionError.exit_code
    said = capsys.readouterr()
    assert "4.4.0" in said.out
    assert "kafka-1.0.0.lock" in said.err


@pytest.mark.parametrize("version", ["3.9.0", "3.9.2", "4.3.1", "4.4.0"])
def test_the_locks_hold_brokers_and_a_log_binding(version: str) -> None:
    assert version in locked_versions()
    lock = read_lock(version)
    names = {one.name for one in lock.artifacts}
    assert {"kafka_2.13", "kafka-clients", "kafka-group-coordinator", "kafka-metadata"} <= names
    assert names & {"slf4j-reload4j", "log4j-slf4j-impl"}
    assert (LOCKS / f"kafka-{version}.lock").read_text() == lock.text


def test_the_default_repository_comes_from_ivy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FENCEPOST_MAVEN_MIRROR", raising=False)
    assert repository_root().startswith("https://")


HASH = "0" * 64


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("a:b:1.0 10 1", "b-1.0.jar has another size or SHA-256"),
        (f"a:b:1.1 10 {HASH}", "b-1.0.jar is new, b-1.1.jar is gone"),
        (f"a:b:1.0 11 {HASH}", "b-1.0.jar has another size or SHA-256"),
        ("no artifact", "has an invalid line"),
    ],
)
def test_a_lock_that_differs_is_kept_unless_it_is_to_be_updated(
    line: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Lock("9.9.9", (Artifact("a", "b", "1.0", "", 10, HASH),))
    monkeypatch.setattr(kafka, "LOCKS", tmp_path)
    monkeypatch.setattr(kafka, "make_lock", lambda _: made)
    path = tmp_path / "kafka-9.9.9.lock"
    kafka.lock("9.9.9")
    kafka.lock("9.9.9")
    assert path.read_text() == made.text
    path.write_text(f"{line}\n")
    with pytest.raises(DistributionError, match=f"{told}.*fencepost kafka lock 9.9.9 --update"):
        kafka.lock("9.9.9")
    assert path.read_text() == f"{line}\n"
    kafka.lock("9.9.9", is_update=True)
    assert path.read_text() == made.text
