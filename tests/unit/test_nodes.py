"""Nodes: folders on this machine, and the files that come from them."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.image.build import PUBLIC_BASE
from cluster.kafka.config import property_value, server_properties
from cluster.kafka.topology import Topology
from cluster.nodes.docker_client import unpack
from cluster.nodes.docker_node import lines_of
from cluster.nodes.docker_pool import read_compose
from cluster.nodes.local import LoopbackPool
from cluster.nodes.node import Node
from cluster.nodes.traffic import Direction, Traffic
from cluster.prerequisites import java_version
from contract.errors import (
    CommandFailedError,
    FaultError,
    InterruptError,
    NodeError,
    StorageError,
    UsageError,
    WaitTimeoutError,
)
from contract.locks import Swept
from contract.waiting import wait_until
from harness.session.node_root import node_root, sweep
from tests.programs import waiting_python

# Nodes that are folders on this machine, and what a machine is told that lacks something.


COMPOSE = Path(__file__).resolve().parents[2] / "docker-compose.yml"


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return LoopbackPool(size=1, root=tmp_path).nodes[0]


@given(lines=st.lists(st.binary(max_size=4).map(lambda b: b.replace(b"\n", b""))), data=st.data())
def test_lines_come_whole_however_they_are_cut(lines: list[bytes], data: st.DataObject) -> None:
    sent = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sent)))))
    pieces = [sent[start:end] for start, end in pairwise([0, *cuts, len(sent)])]
    assert list(lines_of(pieces)) == lines
    assert list(lines_of([*pieces, b"torn"])) == lines


def test_a_line_is_given_before_more_comes() -> None:
    came = iter([b"on", b"e\ntw", b"o\n"])
    reported = lines_of(came)
    assert (next(reported), next(came)) == (b"one", b"o\n")


def test_a_failed_command_shows_what_it_said(node: Node) -> None:
    with pytest.raises(CommandFailedError, match="status 3: why"):
        node.run(["sh", "-c", "echo why; exit 3"], timeout_seconds=10)
    assert node.run(["false"], timeout_seconds=10, check=False).status == 1


def test_a_command_has_its_time(node: Node) -> None:
    with pytest.raises(WaitTimeoutError):
        node.run(["sleep", "30"], timeout_seconds=0.2)


def test_a_process_takes_lines_and_signals(node: Node) -> None:
    log = node.folder / "log"
    process = node.spawn(["cat"], log=log)
    process.send_line("hello")
    wait_until(lambda: node.read(log) == b"hello\n", what="the echo", timeout_seconds=10)
    assert process.status() is None
    process.signal(signal.SIGKILL)
    assert process.wait(10) == -signal.SIGKILL
    with pytest.raises(NodeError):
        process.send_line("too late")


def test_files_come_and_go(node: Node, tmp_path: Path) -> None:
    path = node.folder / "a" / "b"
    node.write(path, b"12345")
    assert node.read(path, offset=3) == b"45"
    node.copy_from(node.folder / "a", tmp_path / "copy")
    assert (tmp_path / "copy" / "b").read_bytes() == b"12345"
    node.remove(node.folder / "a")
    assert node.read(path) == b""
    with pytest.raises(NodeError):
        node.copy_from(path, tmp_path / "copy")


def test_a_folder_has_no_network_to_cut(tmp_path: Path) -> None:
    one, other = LoopbackPool(size=2, root=tmp_path).nodes
    assert one.address != other.address
    with pytest.raises(FaultError, match="embedded"):
        one.block(Traffic(peer=other.address, direction=Direction.OUT))


def test_two_pools_of_loopback_at_once_share_no_address(tmp_path: Path) -> None:
    pools = [LoopbackPool(size=2, root=tmp_path / name) for name in ("one", "other")]
    assert len({node.address for pool in pools for node in pool.nodes}) == 4


def test_a_process_dies_with_its_owner(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from cluster.nodes.local import LoopbackPool\n"
        f"root = Path({str(tmp_path)!r}); node = LoopbackPool(size=1, root=root).nodes[0]\n"
        "print(node.spawn(['sleep', '600'], log=root / 'log').pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with waiting_python("-c", script, cwd=COMPOSE.parent) as (_, line):
        pid = int(line)
    wait_until(
        lambda: not Path(f"/proc/{pid}/exe").exists(), what="the orphan's end", timeout_seconds=10
    )


def test_a_process_outlives_the_thread_that_started_it_also_in_a_fork(tmp_path: Path) -> None:
    script = (
        "import os, sys, threading; from pathlib import Path\n"
        "from cluster.nodes.local import LoopbackPool\n"
        f"root = Path({str(tmp_path)!r}); node = LoopbackPool(size=1, root=root).nodes[0]\n"
        "node.spawn(['true'], log=root / 'log').wait(10); forked = os.fork()\n"
        "if forked:\n"
        "    sys.exit(os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]))\n"
        "held = []; ask = ['sh', '-c', 'read word; exit 7']\n"
        "def start(): held.append(node.spawn(ask, log=root / 'log'))\n"
        "thread = threading.Thread(target=start); thread.start(); thread.join()\n"
        "held[0].send_line('go'); os._exit(held[0].wait(10) % 256)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=COMPOSE.parent, check=False, timeout=60
    )
    assert ended.returncode == 7


def properties(topology: Topology) -> dict[int, str]:
    """Of each server, which have the addresses 10.0.0.1 and so on."""
    addresses = {server: f"10.0.0.{at}" for at, server in enumerate(topology.server_ids, 1)}
    return {
        server: server_properties(
            topology, server_id=server, addresses=addresses, data=Path("/data")
        )
        for server in addresses
    }


def test_server_properties_of_a_broker_and_a_controller() -> None:
    texts = properties(Topology(brokers=1, controllers=1, settings={"num.io.threads": "9"}))
    assert "controller.quorum.voters=101@10.0.0.2:9093\n" in texts[1]
    assert "listeners=CLIENT://10.0.0.1:9092,REPLICATION://10.0.0.1:9094\n" in texts[1]
    assert "listeners=CONTROLLER://10.0.0.2:9093\n" in texts[101]
    assert "advertised" not in texts[101]
    assert "process.roles=broker\n" in texts[1]
    assert "process.roles=controller\n" in texts[101]
    assert "process.roles=broker,controller\n" in properties(Topology(brokers=1))[1]
    assert "num.io.threads=9\n" in texts[1]


def test_each_broker_has_a_rack_of_its_own_and_a_controller_has_none() -> None:
    for server, text in properties(Topology(brokers=2, controllers=1, has_racks=True)).items():
        assert (f"broker.rack=rack-{server}\n" in text) == (server in (1, 2))


def test_principals_have_a_listener_and_an_authorizer_of_their_own() -> None:
    texts = properties(Topology(brokers=1, controllers=1, principals=("reader", "stranger")))
    assert "SECURED://10.0.0.1:9095" in texts[1]
    assert "SECURED:SASL_PLAINTEXT" in texts[1]
    assert 'user_reader="fencepost" user_stranger="fencepost";' in texts[1]
    assert "SECURED://" not in texts[101]
    for text in texts.values():
        assert "StandardAuthorizer\n" in text
        assert "super.users=User:ANONYMOUS\n" in text


def test_a_dead_sessions_folder_is_swept_and_a_living_ones_is_not(tmp_path: Path) -> None:
    nodes = tmp_path / ".nodes"
    dead, foreign = nodes / f"session-1@{socket.gethostname()}", nodes / "session-1@another-host"
    dead.mkdir(parents=True)
    foreign.mkdir()
    with node_root(tmp_path) as living:
        assert not dead.exists()
        assert foreign.exists()
        assert sweep(tmp_path) == Swept()
        assert living.exists()
    assert not living.exists()


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ("command not found", None),
    ],
)
def test_java_versions_are_read(output: str, version: int | None) -> None:
    assert java_version(output) == version


def test_docker_nodes_mount_the_jars_from_where_this_harness_keeps_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def mounted_folder() -> str:
        (volume,) = read_compose(COMPOSE)["services"]["node"]["volumes"]
        return str(volume)

    monkeypatch.setenv("FENCEPOST_CACHE", "/somewhere")
    assert mounted_folder() == "/somewhere/kafka:/opt/fencepost/kafka:ro"
    monkeypatch.setenv("FENCEPOST_JARS", "/elsewhere")
    assert mounted_folder() == "/elsewhere:/opt/fencepost/kafka:ro"


def test_a_container_has_the_rights_that_the_compose_file_explains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FENCEPOST_NODE_PIDS", raising=False)
    service = read_compose(COMPOSE)["services"]["node"]
    assert (service["cap_drop"], service["cap_add"]) == (["ALL"], ["NET_ADMIN"])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert int(service["pids_limit"]) > 0
    for capability in service["cap_add"]:
        assert f"# {capability}: " in COMPOSE.read_text()


def test_a_base_image_that_is_pulled_is_named_by_digest() -> None:
    assert re.fullmatch(r"[\w.:/-]+@sha256:[0-9a-f]{64}", PUBLIC_BASE)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("/plain/path-1_a.b", "/plain/path-1_a.b"),
        ("a b'c$(d);%41", "a b'c$(d);%41"),
        ("a\\b", r"a\\b"),
        ("ü", r"\u00fc"),
        ("𝄞", r"\ud834\udd1e"),
        ("a\nb", r"a\nb"),
    ],
)
def test_a_path_is_written_as_java_reads_properties(text: str, written: str) -> None:
    assert property_value(text) == written


def test_a_log_directory_that_kafka_would_split_is_refused() -> None:
    with pytest.raises(UsageError, match="comma"):
        server_properties(
            Topology(brokers=1), server_id=1, addresses={1: "a"}, data=Path("/one,two/data")
        )


# The folder of a run's nodes, and what is told if it is taken away.


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_results_folder_that_is_taken_away_is_named(tmp_path: Path, *, is_moved: bool) -> None:
    results = tmp_path / "results"

    def take_away() -> None:
        with node_root(results):
            if is_moved:
                results.rename(tmp_path / "elsewhere")
            else:
                shutil.rmtree(results)
            raise NodeError("ducktape ran no scenario; its last output:\nOSError: EROFS")

    with pytest.raises(StorageError, match=r"^.*/results was removed or moved while"):
        take_away()


def test_another_error_is_reported_as_it_is(tmp_path: Path) -> None:
    def fail(error: Exception) -> None:
        with node_root(tmp_path / "results"):
            if isinstance(error, InterruptError):
                shutil.rmtree(tmp_path / "results")
            raise error

    for error in (NodeError("a"), InterruptError("b")):
        with pytest.raises(type(error)):
            fail(error)


# Files that come from a node stay in the folder that they are for.


CONTENT = b"content"


def archive(
    *names: str, links: dict[str, str] | None = None, kind: bytes = tarfile.SYMTYPE
) -> BytesIO:
    """One with a file of each name, after the links."""
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, leads_to in (links or {}).items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = kind, leads_to
            tar.addfile(link)
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(CONTENT)
            tar.addfile(member, BytesIO(CONTENT))
    packed.seek(0)
    return packed


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_single_file_becomes_the_target(tmp_path: Path) -> None:
    unpack(archive("server.log"), tmp_path / "target.log")
    assert files(tmp_path) == ["target.log"]


@pytest.mark.parametrize(
    "name", ["data/../../escaped", "data/a/../../../escaped", "data//{root}/escaped"]
)
def test_a_name_that_leads_out_is_refused_and_the_others_are_written(
    tmp_path: Path, name: str
) -> None:
    target = tmp_path / "deep" / "target"
    target.mkdir(parents=True)
    named = name.format(root=tmp_path)
    with pytest.raises(NodeError, match="escaped"):
        unpack(archive("data/first", named, "data/last"), target)
    assert files(tmp_path) == ["deep/target/first", "deep/target/last"]


@pytest.mark.parametrize("name", ["{root}/escaped", "../escaped"])
def test_a_name_from_above_stays_in_the_folder(tmp_path: Path, name: str) -> None:
    """Its first folder is left out, whatever it is called."""
    unpack(archive(name.format(root=tmp_path)), tmp_path / "target")
    assert files(tmp_path)
    assert all(found.startswith("target/") for found in files(tmp_path))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_are_left_out_and_lead_nowhere(tmp_path: Path, kind: bytes) -> None:
    target, outside = tmp_path / "target", tmp_path / "outside"
    outside.mkdir()
    unpack(archive("data/link/file", links={"data/link": str(outside)}, kind=kind), target)
    assert files(tmp_path) == ["target/link/file"]


def test_a_link_that_lies_in_the_target_is_not_followed_out_of_it(tmp_path: Path) -> None:
    target, outside = tmp_path / "target", tmp_path / "outside"
    target.mkdir()
    outside.mkdir()
    (target / "link").symlink_to(outside)
    with pytest.raises(NodeError, match="data/link/file"):
        unpack(archive("data/link/file"), target)
    assert files(tmp_path) == []


def test_a_damaged_archive_is_an_error_of_the_node(tmp_path: Path) -> None:
    whole = archive(*(f"data/{number}" for number in range(99))).getvalue()
    with pytest.raises(NodeError, match="damaged"):
        unpack(BytesIO(whole[:20_100]), tmp_path / "target")
    with pytest.raises(NodeError, match="damaged"):
        unpack(BytesIO(b"x" * 1024), tmp_path / "target")


def test_a_local_node_copies_no_link_and_no_pipe(tmp_path: Path) -> None:
    """A pipe would be read forever, a link leads to what is not the node's."""
    node = LoopbackPool(size=1, root=tmp_path / "nodes").nodes[0]
    secret = tmp_path / "secret"
    secret.write_bytes(CONTENT)
    data = node.folder / "data"
    node.write(data / "file", CONTENT)
    (data / "link").symlink_to(secret)
    (data / "loop").symlink_to(data)
    (data / "dangling").symlink_to(tmp_path / "nowhere")
    os.mkfifo(data / "pipe")
    node.copy_from(data, tmp_path / "copy")
    assert files(tmp_path / "copy") == ["file"]


@pytest.mark.parametrize(
    "module",
    ["cluster.nodes.agent", "harness.clients.java_worker", "harness.clients.observer_worker"],
)
def test_a_program_of_a_node_needs_no_package_that_its_image_lacks(module: str) -> None:
    """Of an image: `_WHEELS` of cluster/image/build.py."""
    code = "import sys; sys.modules |= dict.fromkeys(sys.argv[2:]); __import__(sys.argv[1])"
    lacking = [
        "docker",
        "duckdb",
        "ducktape",
        "filelock",
        "pandas",
        "psutil",
        "pyspark",
        "rich",
        "typer",
        "yaml",
    ]
    ended = subprocess.run(
        [sys.executable, "-c", code, module, *lacking], check=False, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
