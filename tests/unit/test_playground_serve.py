"""No client of a playground can end it but by `stop`."""

import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from contract.errors import FaultError, FencepostError, NodeError, UsageError
from harness.playground import serve as serving
from harness.playground.serve import serve
from harness.playground.state import Order, Playground, tell
from harness.story.run import Run

pytestmark = pytest.mark.timeout(30)

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
STATUS = {"paused": [], "down": [], "partitions": []}


class FakeRun:
    """A run without a cluster: it heals as it is told to."""

    def __init__(self) -> None:
        self.heals = 0
        self.error: Exception | None = None
        self.may_heal = Event()
        self.may_heal.set()
        self.kafka = SimpleNamespace(topology=SimpleNamespace(broker_ids=[], server_ids=[]))
        self.plan = SimpleNamespace(topics=[])

    def inject(self, fault: object) -> None:
        raise AssertionError(fault)

    def settle(self) -> None:
        self.may_heal.wait()
        if self.error is not None:
            raise self.error
        self.heals += 1


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

    def tell(self, do: str, **order: str) -> Any:
        found = Playground(
            cluster="", kafka="", topic="", bootstrap="", jars="", servers=[], socket=str(self.path)
        )
        return tell(found, Order(do=do, **order))

    def connect(self) -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(10)
        client.connect(str(self.path))
        return client

    def ends_by_stop(self) -> bool:
        assert self.tell("status") == STATUS
        assert self.tell("stop") == "stopping"
        self.thread.join(10)
        return not self.thread.is_alive()


@pytest.fixture
def served() -> Iterator[Served]:
    """A served socket; its path is short, as a socket's has to be."""
    with TemporaryDirectory(prefix="fencepost-") as folder:
        yield Served(Path(folder) / "socket")


@pytest.mark.parametrize("name", BAD_MESSAGES)
def test_a_bad_message_is_answered_and_the_next_client_is_served(served: Served, name: str) -> None:
    with served.connect() as client:
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
    assert served.ends_by_stop()


def test_a_client_that_ends_before_its_answer_ends_nothing_else(served: Served) -> None:
    served.run.may_heal.clear()
    for _ in range(2):
        with served.connect() as client:
            client.sendall(msgspec.json.encode(Order(do="heal")) + b"\n")
    served.run.may_heal.set()
    assert served.ends_by_stop()
    assert served.run.heals == 2


def test_a_client_that_sends_nothing_lets_the_next_one_pass(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_CLIENT_SECONDS", 0.2)
    with served.connect(), served.connect() as half:
        half.sendall(b'{"do"')
        assert served.ends_by_stop()


@pytest.mark.parametrize(
    ("raised", "told", "text"),
    [
        (FaultError("no leader"), FaultError, "no leader"),
        (OSError(5, "disk"), NodeError, "unexpected OSError"),
        (ZeroDivisionError("x"), NodeError, "unexpected ZeroDivisionError: x"),
    ],
)
def test_an_error_of_an_order_is_told_and_the_cluster_stays(
    served: Served, raised: Exception, told: type[FencepostError], text: str
) -> None:
    served.run.error = raised
    with pytest.raises(told, match=text):
        served.tell("heal")
    with pytest.raises(UsageError, match="no verb"):
        served.tell("fault", verb="shoot", target="all")
    with pytest.raises(UsageError, match="unknown order"):
        served.tell("sing")
    assert served.ends_by_stop()
