"""When a wait for the commits of groups ends, and which producer could not be stopped."""

import itertools
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.nodes.local import LoopbackPool
from cluster.nodes.node import Node, NodeProcess
from contract.errors import UsageError, WorkerError
from contract.events import Answered
from contract.waiting import wait_until
from harness.clients.command import Call
from harness.clients.process import Pending, WorkerService
from harness.story.topics import durable_topic
from harness.story.workload import Workload, writer
from tests.made import make_struct

GROUPS = {"g": ["g#1", "g#2"], "h": ["h#1"]}


class Members:
    """Members whose counts of commits advance with each request."""

    def __init__(
        self,
        *counts: dict[str, int],
        ended: dict[str, str] | None = None,
        suspended: tuple[str, ...] = (),
    ) -> None:
        self.counts = list(counts)
        self.ended = ended or {}
        self._suspended = suspended

    def suspended(self, members: list[str]) -> list[str]:
        return [name for name in members if name in self._suspended]

    def call(self, members: list[str], share: Callable[[list[str]], Call[Any]]) -> list[Any]:
        if share(members).command.name == "count_commits":
            return [self.counts.pop(0)]
        assert not self.suspended(members), "one that is suspended responds to nothing"
        return [{name: self.ended[name] for name in members if name in self.ended}]


def await_that(reached: Callable[[], bool], **_options: Any) -> None:
    while not reached():
        pass


@pytest.mark.parametrize(("are_new", "left"), [(False, 3), (True, 0)])
def test_commits_before_the_wait_count_unless_they_have_to_be_new(
    *, are_new: bool, left: int
) -> None:
    members = Members(
        {"g#1": 1, "g#2": 0, "h#1": 2},
        {"g#1": 1, "g#2": 0, "h#1": 3},
        {"g#1": 1, "g#2": 0, "h#1": 9},
        {"g#1": 1, "g#2": 1, "h#1": 9},
    )
    consumers: Any = members
    observer: Any = SimpleNamespace(await_that=await_that)
    Workload(consumers, observer, ()).await_commits(GROUPS, are_new=are_new)
    assert len(members.counts) == left


def test_members_that_all_have_ended_are_not_waited_for() -> None:
    none = {"g#1": 0, "g#2": 0, "h#1": 1}
    both = dict.fromkeys(GROUPS["g"], "UnsupportedCodecError: lz4")
    consumers: Any = Members(none, ended=both)
    observer: Any = SimpleNamespace(await_that=await_that)
    with pytest.raises(WorkerError, match=r"^g#2 reads no more, .* raised UnsupportedCodecError"):
        Workload(consumers, observer, ()).await_commits(GROUPS)
    consumers = Members(none, none | {"g#2": 1}, ended={"g#1": both["g#1"], "h#1": "late"})
    Workload(consumers, observer, ()).await_commits(GROUPS)


def test_a_suspended_member_is_waited_for_and_not_asked() -> None:
    none = {"g#1": 0, "g#2": 0, "h#1": 1}
    consumers: Any = Members(none, {**none, "g#2": 1}, suspended=("g#1",))
    observer: Any = SimpleNamespace(await_that=await_that)
    Workload(consumers, observer, ()).await_commits(GROUPS)


class StuckWorker(WorkerService):
    """A worker that starts every producer, and stops only `p1`."""

    def __init__(self) -> None:
        self.worker = "clients"
        self._calls: list[Call[Any]] = []

    def send(self, call: Call[Any]) -> Pending[Any]:
        self._calls.append(call)
        return Pending(len(self._calls), call)

    def _answer(self, request: int) -> Answered:
        asked = self._calls[request - 1]
        error = "values are left" if asked.arguments == {"producer": "p2"} else None
        outcomes: dict[str, Any] | None = {} if asked.command.name == "stop_producer" else None
        return make_struct(Answered, request=request, error=error, result=outcomes)

    def _output(self) -> str:
        return ""


@pytest.mark.parametrize("stop", [Workload.stop_producers, lambda load: load.stop_producer("p2")])
def test_a_producer_that_does_not_stop_is_named(stop: Callable[[Workload], object]) -> None:
    worker = StuckWorker()
    consumers: Any = SimpleNamespace(producing=lambda _: worker)
    observer: Any = None
    load = Workload(consumers, observer, [durable_topic("orders", partitions=1)])
    for name in ("p1", "p2"):
        load.start_producer(writer(name, "orders"), records_per_second=1)
    with pytest.raises(WorkerError, match=r"^clients could not stop producer p2: values"):
        stop(load)


class IdleWorker(WorkerService):
    """A worker on a real node that prints a line and then reads commands."""

    def __init__(self, node: Node) -> None:
        self.worker = "observer"
        self._node = node
        self._requests = itertools.count(1)
        self._lock = threading.Lock()
        self._answers = {}
        self._read_to = 0
        # Without `exec` a child keeps the input open for a moment after the shell's end.
        program = ["sh", "-c", "echo out of memory; exec cat"]
        self._process: NodeProcess = node.spawn(program, log=self.folder / "output.log")

    @property
    def host(self) -> Node:
        return self._node

    def kill(self) -> None:
        wait_until(lambda: bool(self._output()), what="its line", timeout_seconds=10)
        self._process.signal(signal.SIGKILL)


def test_a_killed_worker_that_had_nothing_to_do_is_named(tmp_path: Path) -> None:
    worker = IdleWorker(LoopbackPool(size=1, root=tmp_path).nodes[0])
    worker.kill()
    wait_until(lambda: worker.status() is not None, what="its end", timeout_seconds=10)
    ended = r"^worker observer ended with status -9; .*\(observer\.output\.log\): out of memory$"
    with pytest.raises(WorkerError, match=ended):
        worker.clock_micros()


def test_a_producer_that_begins_anew_has_another_name() -> None:
    worker: Any = StuckWorker()
    consumers: Any = SimpleNamespace(producing=lambda _producer: worker)
    observer: Any = None
    load = Workload(consumers, observer, [durable_topic("t", partitions=1)])
    assert [load.numbers.take(*of) for of in (("p", 10), ("p", 5), ("q", 1))] == [0, 10, 0]
    load.start_producer(writer("r", "t"), records_per_second=1)
    for again in (
        lambda: load.start_producer(writer("r", "t"), records_per_second=1),
        lambda: load.start_producer(writer("p", "t"), records_per_second=1),
        lambda: load.numbers.take("r", 1),
    ):
        with pytest.raises(UsageError, match="has written before, and numbers its values from 0"):
            again()
