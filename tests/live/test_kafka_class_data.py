"""An archive of Kafka's classes is made once, and servers and workers map it."""

import sys
from pathlib import Path

import pytest

from cluster.kafka import class_data, distribution
from cluster.nodes.local import LoopbackPool
from tests.programs import ran_python

VERSION = "4.4.0"
WORKER = """\
import sys
from pathlib import Path
sys.prefix = sys.argv[1]
from harness.java.jvm import java_class, start_jvm
start_jvm(sys.argv[3:], log=Path(sys.argv[2]))
java_class("org.apache.kafka.clients.consumer.ConsumerConfig").configDef()
print(Path("/proc/self/maps").read_text())
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc shows what a JVM maps")


def test_servers_and_workers_map_the_archive_that_was_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    reported: list[str] = []
    assert class_data.ensure(VERSION, on_phase=reported.append) is None
    assert class_data.ensure(VERSION, on_phase=reported.append) is None
    assert reported == [f"recording the class data of Kafka {VERSION}, once"]
    (archive,) = (tmp_path / "venv" / "share" / "fencepost").glob("*.jsa")
    class_path = distribution.class_path(VERSION)

    node = LoopbackPool(size=1, root=tmp_path).nodes[0]
    with class_data.lone_server(class_path, flags=node.class_data(class_path)) as server:
        assert str(archive) in Path(f"/proc/{server.pid}/maps").read_text()

    ended = ran_python("-c", WORKER, tmp_path / "venv", tmp_path / "jvm.log", *class_path)
    assert str(archive) in ended.stdout
    assert "cds" not in ended.stdout.replace(str(archive), "") + ended.stderr


def test_a_server_that_does_not_start_fails_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.setattr(class_data, "_properties", lambda _home: "no=properties\n")
    problem = class_data.ensure(VERSION, on_phase=print)
    assert problem is not None
    assert "can't be formatted" in problem
    assert list((tmp_path / "venv").rglob("*.jsa")) == []
