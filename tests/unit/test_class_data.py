"""Class data archives: which one fits, how it gets its name, and that a bad one does no harm."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from cluster.kafka.service import KafkaService
from cluster.kafka.topology import Topology
from cluster.nodes.docker_node import DockerNode
from cluster.nodes.local import LoopbackPool
from cluster.nodes.node import Node
from contract.processes import ClassData, class_data, java_command, with_class_data
from contract.software import ClassPath
from tests.programs import ran

RELEASE = 'IMPLEMENTOR="Nobody"\nJAVA_VERSION="17.0.15"\n'
PROGRAM = "program-1.0"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java's home, and a virtual environment without archives."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    made = tmp_path / "java"
    (made / "lib" / "server").mkdir(parents=True)
    for name in ("lib/modules", "lib/server/classes.jsa"):
        (made / name).touch()
    (made / "release").write_text(RELEASE)
    return made


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    made = tmp_path / "classes.jar"
    with ZipFile(made, "w") as archive:
        archive.writestr("nothing", "")
    return made


def place(jar: Path, home: Path | None) -> ClassData:
    found = class_data(PROGRAM, [jar], java_home=home)
    assert found is not None
    return found


def make(of: ClassData, content: bytes) -> Path:
    with of.making() as part:
        assert part is not None
        part.write_bytes(content)
    assert of.archive is not None
    return of.archive


def test_an_archive_is_used_once_it_is_made(home: Path, jar: Path, tmp_path: Path) -> None:
    assert with_class_data(place(jar, home)) == []
    archive = make(place(jar, home), b"classes")
    assert archive.parent == tmp_path / "venv" / "share" / "fencepost"
    assert archive.name.startswith(f"{PROGRAM}-java-17.0.15-")
    flags = with_class_data(place(jar, home))
    assert flags[:2] == [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"]


def test_a_truncated_archive_is_not_used(home: Path, jar: Path) -> None:
    """A JVM would end with SIGBUS."""
    os.truncate(make(place(jar, home), b"classes"), 3)
    assert with_class_data(place(jar, home)) == []
    make(place(jar, home), b"more classes")


@pytest.mark.parametrize("changed", ["classes.jar", "java/lib/modules", "java/release"])
def test_what_changed_asks_for_another_archive(
    home: Path, jar: Path, tmp_path: Path, changed: str
) -> None:
    outdated = make(place(jar, home), b"classes")
    os.utime(tmp_path / changed, (1, 1))
    assert with_class_data(place(jar, home)) == []
    made = make(place(jar, home), b"classes")
    assert list(made.parent.glob("*.jsa")) == [made]
    assert made != outdated


def test_no_part_of_an_archive_gets_its_name(home: Path, jar: Path) -> None:
    def broken_off() -> None:
        with place(jar, home).making() as part:
            assert part is not None
            part.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert [path.suffix for path in place(jar, home).folder.iterdir()] == [".lock"]


def test_of_two_at_once_one_makes_the_archive(home: Path, jar: Path) -> None:
    with place(jar, home).making() as first:
        assert first is not None
        first.write_bytes(b"classes")
        with place(jar, home).making() as second:
            assert second is None
    assert place(jar, home).archive is not None


def test_where_no_file_can_be_made_there_is_no_archive(home: Path, jar: Path) -> None:
    folder = place(jar, home).folder
    folder.parent.mkdir(parents=True)
    folder.write_text("in the way")
    with place(jar, home).making() as part:
        assert part is None
    assert with_class_data(place(jar, home)) == []


@pytest.mark.parametrize("release", ['JAVA_VERSION="11.0.2"\n', 'JAVA_VERSION="1.8.0_402"\n', ""])
def test_an_old_java_has_none(home: Path, jar: Path, release: str) -> None:
    (home / "release").write_text(release)
    assert class_data(PROGRAM, [jar], java_home=home) is None
    assert with_class_data(None) == []


def test_outside_a_virtual_environment_there_is_none(
    home: Path, jar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert class_data(PROGRAM, [jar], java_home=home) is None


def run_java(jar: Path, flags: Sequence[str]) -> tuple[int, str]:
    ended = ran(java_command(), *flags, "-cp", jar, "NoSuchClass")
    return ended.returncode, ended.stdout + ended.stderr


def record_archive(jar: Path) -> bytes:
    """The archive of a JVM with this class path."""
    archive = jar.with_suffix(".recorded")
    run_java(jar, [f"-XX:ArchiveClassesAtExit={archive}"])
    return archive.read_bytes()


def flip_byte(archive: bytes) -> bytes:
    middle = len(archive) // 2
    return (
        archive[:middle]
        + bytes(255 - b for b in archive[middle : middle + 64])
        + (archive[middle + 64 :])
    )


@pytest.mark.usefixtures("home")
def test_a_foreign_or_damaged_archive_does_no_harm(jar: Path, tmp_path: Path) -> None:
    """Java prints nothing of it, and ends as it does without."""
    other = tmp_path / "other.jar"
    other.write_bytes(jar.read_bytes())
    genuine, foreign = record_archive(jar), record_archive(other)
    expected = run_java(jar, [])
    assert "NoSuchClass" in expected[1]
    for content in (genuine, foreign, flip_byte(genuine), b"", b"no archive at all" * 1000):
        make(place(jar, None), content)
        flags = with_class_data(place(jar, None))
        assert flags
        assert run_java(jar, flags) == expected


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return LoopbackPool(size=1, root=tmp_path).nodes[0]


def test_servers_on_this_machine_start_with_the_archive(
    node: Node, home: Path, jar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del home
    started: list[str] = []
    monkeypatch.setattr(node, "class_path", lambda _version, _own: [jar])
    for start in ("run", "spawn"):
        monkeypatch.setattr(node, start, lambda argv, **_: started.append(" ".join(argv)))
    service: Any = KafkaService.__new__(KafkaService)
    service.topology, service._classes = Topology(brokers=1), {1: ClassPath(locked="9.9.9")}  # noqa: SLF001 - without ducktape
    service._hosts, service._processes, service.proxy = {1: node}, {}, None  # noqa: SLF001 - same
    service.start_server(1, fresh=True)
    kafka = class_data(f"kafka-{jar.parent.name}", [jar])
    assert kafka is not None
    archive = make(kafka, b"classes")
    service._processes = {}  # noqa: SLF001
    service.start_server(1, fresh=True)
    *without, format_, serve = started
    assert len(without) == len(["format", "serve"])
    assert not any("SharedArchiveFile" in command for command in without)
    assert all(f"-XX:SharedArchiveFile={archive}" in command for command in (format_, serve))


def test_a_container_has_no_archive(jar: Path) -> None:
    docker = DockerNode("node-1", "container", "10.88.0.11", jars_mounted=None)
    assert docker.class_data([jar]) == []
