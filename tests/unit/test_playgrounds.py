"""Playgrounds: how they are known and served."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from types import SimpleNamespace
from typing import TypeVar, cast
from unittest.mock import Mock

import msgspec
import psutil
import pytest

from cluster.nodes.node import NodeState
from cluster.nodes.pool import PoolKind
from contract.errors import FaultError, FencepostError, NodeError, UsageError
from contract.locks import HeldName, is_held
from contract.terms import BY_HAND, Stage
from harness.clients.command import Call
from harness.commands import clean as cleaning
from harness.commands import playground as commands
from harness.commands.clean import end_playground
from harness.commands.playground import start, stop
from harness.playground import serve as serving
from harness.playground.serve import Orders, Views, serve
from harness.playground.shape import shape_of
from harness.playground.state import (
    FILE,
    FOLDER,
    KEEPER,
    Playground,
    find,
    forget,
    forget_ended,
    keeper,
    look,
    tell,
    write_down,
)
from harness.story.run import Run
from tests.made import make_struct
from tests.programs import waiting_python

T = TypeVar("T")

# A playground is known by its lock; what a killed one left in its files counts for nothing.


pytestmark = pytest.mark.timeout(30)

PLAYGROUND = make_struct(
    Playground, cluster="embedded", kafka="4.4.0", topics=["orders"], socket="/nonexistent"
)
SHAPE = shape_of()
HOLDER = (
    "import sys; from pathlib import Path; from contract.locks import HeldName\n"
    "held = HeldName(Path(sys.argv[2])); print('held', flush=True); sys.stdin.read()"
)
GARBAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(b'{"cluster": "embed'),
    "binary": lambda path: path.write_bytes(b"\xff\x00\xfe"),
    "number": lambda path: path.write_text("99999999"),
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "loop": lambda path: path.symlink_to(path),
}


@pytest.fixture(params=sorted(GARBAGE))
def garbage(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A results folder whose playground files are damaged."""
    (tmp_path / FOLDER).mkdir()
    GARBAGE[request.param](tmp_path / FILE)
    return tmp_path


@pytest.fixture
def holder(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that holds the lock of a playground, and looks like what keeps one up."""
    (tmp_path / FOLDER).mkdir(exist_ok=True)
    words = ["harness.playground.keep", str(tmp_path / KEEPER), str(tmp_path)]
    with waiting_python("-c", HOLDER, *words) as (process, _):
        yield process


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is to keep a playground up ends at once."""
    ended = subprocess.Popen([sys.executable, "-c", "raise SystemExit('one runs already')"])
    ended.wait()
    monkeypatch.setattr(commands.subprocess, "Popen", lambda *_, **__: ended)


def test_none_runs_by_files_alone(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no playground runs here"):
        find(tmp_path)
    write_down(PLAYGROUND, tmp_path)
    with pytest.raises(UsageError, match="has ended"):
        find(tmp_path)
    assert keeper(tmp_path) is None


def test_garbage_of_a_dead_one_is_none_and_is_removed(garbage: Path) -> None:
    with pytest.raises(UsageError, match="has ended"):
        find(garbage)
    end_playground(garbage)
    assert not os.path.lexists(garbage / FILE)
    forget(garbage)


def test_a_damaged_lock_file_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    for name, make in GARBAGE.items():
        if name == "loop":
            continue
        make(tmp_path / KEEPER)
        assert not is_held(tmp_path / KEEPER)
        HeldName(tmp_path / KEEPER).release()
        end_playground(tmp_path)
        if (tmp_path / KEEPER).is_dir():
            (tmp_path / KEEPER).rmdir()
        else:
            (tmp_path / KEEPER).unlink()


@pytest.mark.usefixtures("holder", "refused")
def test_of_two_that_start_at_once_the_second_shows_the_first(tmp_path: Path) -> None:
    write_down(PLAYGROUND, tmp_path)
    assert start(PoolKind.EMBEDDED, "4.4.0", tmp_path, SHAPE) == PLAYGROUND


@pytest.mark.usefixtures("refused")
def test_one_that_does_not_come_up_is_reported(tmp_path: Path) -> None:
    write_down(PLAYGROUND, tmp_path)
    forget_ended(tmp_path)
    assert not (tmp_path / FILE).exists()
    with pytest.raises(NodeError, match="did not come up"):
        start(PoolKind.EMBEDDED, "4.4.0", tmp_path, SHAPE)


def test_garbage_of_a_living_one_names_the_mend(
    garbage: Path, holder: "subprocess.Popen[str]"
) -> None:
    with pytest.raises(NodeError, match="fencepost clean"):
        find(garbage)
    found = keeper(garbage)
    assert found is not None
    assert found.pid == holder.pid


def test_a_living_one_is_found_and_ended(tmp_path: Path, holder: "subprocess.Popen[str]") -> None:
    with pytest.raises(UsageError, match="not up yet"):
        find(tmp_path)
    with pytest.raises(UsageError, match="fencepost clean"):
        stop(results=tmp_path)
    write_down(PLAYGROUND, tmp_path)
    forget_ended(tmp_path)
    assert find(tmp_path) == PLAYGROUND
    end_playground(tmp_path)
    assert holder.poll() is not None
    with pytest.raises(UsageError, match="no playground runs here"):
        find(tmp_path)


def test_one_that_is_stopped_is_ended_too(
    tmp_path: Path, holder: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    holder.send_signal(signal.SIGSTOP)
    end_playground(tmp_path)
    assert holder.poll() is not None
    deaf = Mock(pid=7, wait=Mock(side_effect=psutil.TimeoutExpired(60)))
    monkeypatch.setattr(cleaning, "keeper", lambda _: deaf)
    with pytest.raises(NodeError, match="end process 7, with kill -KILL"):
        end_playground(tmp_path)


# No client of a playground can end it but by `stop`.


BAD_MESSAGES = {
    "empty line": b"\n",
    "nothing": b"",
    "no JSON": b"fault kill all\n",
    "half": b'{"do": "sta',
    "no UTF-8": b'{"do": "\xff"}\n',
    "number": b'{"do": 3}\n',
    "deep": b"[" * 50_000 + b"\n",
    "endless": b" " * 300_000,
}


class FakeRun:
    """A run without a cluster: it heals as it is told to."""

    def __init__(self) -> None:
        self.heals = 0
        self.error: Exception | None = None
        self.may_heal = Event()
        self.may_heal.set()
        self.held: list[object] = []
        self.kafka = SimpleNamespace(
            topology=SimpleNamespace(broker_ids=[], server_ids=[], controller_ids=[])
        )
        self.observer = SimpleNamespace(look=list)
        self.consumers = SimpleNamespace(by_name={"clients": SilentWorker()})
        self.plan = SimpleNamespace(topics=[])
        self.entered: list[tuple[Stage, str]] = []
        self.phases = SimpleNamespace(enter=lambda *phase: self.entered.append(phase))

    def inject(self, fault: object) -> None:
        raise AssertionError(fault)

    def settle(self) -> None:
        self.may_heal.wait()
        if self.error is not None:
            raise self.error
        self.heals += 1


class SilentWorker:
    """A worker on a paused node."""

    worker = "clients"
    host = SimpleNamespace(state=NodeState.SUSPENDED)


class Served:
    """A playground's socket, served in a thread."""

    def __init__(self, path: Path) -> None:
        self.run = FakeRun()
        self.path = path
        ready = Event()
        self.thread = Thread(
            target=lambda: serve(cast("Run", self.run), path, ready=ready.set), daemon=True
        )
        self.thread.start()
        assert ready.wait(10)

    def tell(self, order: Call[T]) -> T:
        return tell(self._found, order)

    def look(self, order: Call[T]) -> T:
        return look(self._found, order)

    @property
    def _found(self) -> Playground:
        return make_struct(Playground, socket=str(self.path))

    def connect(self) -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(10)
        client.connect(str(self.path))
        return client

    def ends_by_stop(self) -> bool:
        assert self.look(Views.status()).silent == ["clients"]
        assert self.tell(Orders.stop()) == "stopping"
        self.thread.join(10)
        return not self.thread.is_alive()


@pytest.fixture
def served_socket() -> Iterator[Served]:
    """A served socket; its path is short, as a socket's has to be."""
    with TemporaryDirectory(prefix="fencepost-") as folder:
        yield Served(Path(folder) / "socket")


@pytest.mark.parametrize("name", BAD_MESSAGES)
def test_a_bad_message_is_answered_and_the_next_client_is_served(
    served_socket: Served, name: str
) -> None:
    with served_socket.connect() as client:
        try:
            client.sendall(BAD_MESSAGES[name])
            client.shutdown(socket.SHUT_WR)
        except OSError:
            assert name == "endless"
        said = b"" if name == "endless" else client.makefile("rb").readline()
    if said:
        answer = msgspec.json.decode(said)
        assert answer["error"] == "UsageError"
        assert "no order" in answer["message"]
    assert served_socket.ends_by_stop()


def test_a_client_that_ends_before_its_answer_ends_nothing_else(served_socket: Served) -> None:
    served_socket.run.may_heal.clear()
    for _ in range(2):
        with served_socket.connect() as client:
            client.sendall(Orders.heal().line(0).encode() + b"\n")
    served_socket.run.may_heal.set()
    assert served_socket.ends_by_stop()
    assert served_socket.run.heals == 2


STOPPED = (
    "import signal, socket, sys, os; server = socket.socket(socket.AF_UNIX)\n"
    "server.bind(sys.argv[1]); server.listen(); print('ready', flush=True)\n"
    "os.kill(os.getpid(), signal.SIGSTOP)"
)


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="the process is known on Linux")
def test_one_that_is_stopped_or_was_killed_is_not_waited_for(tmp_path: Path) -> None:
    found = make_struct(Playground, socket=str(tmp_path / "socket"))
    with (
        waiting_python("-c", STOPPED, found.socket) as (process, _),
        pytest.raises(UsageError, match=f"is stopped.*kill -CONT {process.pid}"),
    ):
        tell(found, Orders.stop())
    with pytest.raises(UsageError, match="was killed: `fencepost clean`"):
        tell(found, Orders.stop())


def test_it_is_seen_while_an_order_takes_its_time(served_socket: Served) -> None:
    served_socket.run.may_heal.clear()
    with served_socket.connect() as client:
        client.sendall(Orders.heal().line(0).encode() + b"\n")
        assert served_socket.look(Views.status()).partitions == []
        assert served_socket.run.heals == 0
        served_socket.run.may_heal.set()
        assert client.makefile("rb").readline()
    assert served_socket.run.heals == 1
    assert served_socket.ends_by_stop()
    assert served_socket.run.entered == [(Stage.STEADY, BY_HAND)] * 2, "and no longer at its end"


def test_a_client_that_sends_nothing_lets_the_next_one_pass(
    served_socket: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_CLIENT_SECONDS", 0.2)
    with served_socket.connect(), served_socket.connect() as half:
        half.sendall(b'{"do"')
        assert served_socket.ends_by_stop()


@pytest.mark.parametrize(
    ("raised", "reported", "text"),
    [
        (FaultError("no leader"), FaultError, "no leader"),
        (OSError(5, "disk"), NodeError, "unexpected OSError"),
        (ZeroDivisionError("x"), NodeError, "unexpected ZeroDivisionError: x"),
    ],
)
def test_an_error_of_an_order_is_reported_and_the_cluster_stays(
    served_socket: Served, raised: Exception, reported: type[FencepostError], text: str
) -> None:
    served_socket.run.error = raised
    with pytest.raises(reported, match=text):
        served_socket.tell(Orders.heal())
    with pytest.raises(UsageError, match="no verb"):
        served_socket.tell(Orders.fault("shoot", "all"))
    with served_socket.connect() as client:
        client.sendall(b'{"request": 0, "do": "sing", "arguments": {}}\n')
        assert b"unknown order 'sing'" in client.makefile("rb").readline()
    with served_socket.connect() as client:
        client.sendall(b'{"request": 0, "do": "stop", "arguments": {"soon": true}}\n')
        assert b"unknown field `soon`" in client.makefile("rb").readline()
    assert served_socket.ends_by_stop()
