"""The driver's end of a worker: it sends commands as lines and reads results from the history."""

import itertools
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from ducktape.services.service import Service

from cluster.ducktape import node_of
from cluster.nodes.node import Node, NodeProcess
from contract.errors import FencepostError, NodeError, WaitTimeoutError, WorkerError
from contract.events import DECODER, Answered, ClientNamed, Event, WorkerStarted
from contract.packages import extras, python
from contract.software import ClassPath, Guest, client_of, version_of
from contract.waiting import wait_until
from harness.clients.command import Call
from harness.clients.worker import Role, WorkerPlan

_FINISH_SECONDS = 30
_DUMP_SECONDS = 5
_ENDED_SECONDS = 5
_PING_SECONDS = 60
_LOG_TAIL_BYTES = 2000

T = TypeVar("T")


@dataclass(frozen=True)
class WorkerKind:
    """The name of a worker, which its history has too, and its module for `python -m`.

    client: a version of the client that it is to run, or a guest, as plans name it; empty: what is
        installed.
    """

    worker: str
    module: str
    client: str = ""

    def copy(self, number: int) -> "WorkerKind":
        """Return the worker with a number, from 1: `clients`, `clients-2`, `clients-3`, ..."""
        return self if number == 1 else replace(self, worker=f"{self.worker}-{number}")


JAVA_WORKER = WorkerKind("clients", "harness.clients.java_worker")
"""The worker of the Java consumers, and of all producers."""


def worker_of(named: str) -> WorkerKind:
    """Return the worker of a client as plans name it, whose module is its program.

    Java's clients share one; each version of another client has one of its own.
    """
    client = client_of(named)
    if client.about.is_java:
        return JAVA_WORKER
    ours = f"harness.clients.{client.module}_consumer"
    module = extras("clients").get(client, ours)
    return WorkerKind(str(named), module, client=str(named) if version_of(named) else "")


@dataclass(frozen=True)
class Pending(Generic[T]):
    """A command that was sent, with the number of its request."""

    request: int
    call: Call[T]


class WorkerService(Service):  # type: ignore[misc]
    """A worker on a node of its own, as a ducktape service.

    The worker writes results to its history only. After a worker has died the next command fails
    with its last output. Several threads may send commands at a time.

    Attributes:
        client_version: of the worker's client, from its history; "" until it has answered. Of a
            guest it is what its first member named: `franz-go 1.22.3`.
    """

    def __init__(
        self,
        context: Any,
        kind: WorkerKind,
        *,
        classes: ClassPath | None = None,
        guest: Guest | None = None,
    ) -> None:
        """Allocate the node.

        Args:
            context: ducktape's.
            kind: its name, what `python -m` runs there, and which version of a client.
            classes: its class path; None: that of the Kafka version that `launch` names.
            guest: the program that plays its clients; None: it has a client of its own.
        """
        super().__init__(context, num_nodes=1)
        self.worker = kind.worker
        self._classes = classes
        self._guest = guest
        self.client_version = ""
        self._kind = kind
        self._process: NodeProcess | None = None
        self._requests = itertools.count(1)
        self._answers: dict[int, Answered] = {}
        self._read_to = 0
        self._lock = threading.Lock()

    @property
    def host(self) -> Node:
        """The node that the worker runs on."""
        node: Node = node_of(self.nodes[0])
        return node

    @property
    def folder(self) -> Path:
        """The worker's folder on its node."""
        return self.host.folder / "workers" / self.worker

    @property
    def history_file(self) -> Path:
        """Its history, on its node."""
        return self.folder / "history.jsonl"

    @property
    def log_file(self) -> Path:
        """Its clients' log, on its node."""
        return self.folder / "client.log"

    def launch(self, *, bootstrap: str, kafka: str) -> None:
        """Start the worker; it needs no broker until its first command."""
        classes = ClassPath(locked=kafka) if self._classes is None else self._classes
        plan = WorkerPlan(
            worker=self.worker,
            role=self._kind.module.rpartition(".")[2],
            node=self.host.name,
            history=str(self.history_file),
            log=str(self.log_file),
            bootstrap=bootstrap,
            jars=[str(jar) for jar in self.host.class_path(classes.locked, classes.own)],
            guest=self._guest,
        )
        plan_file = self.folder / "plan.json"
        self.host.write(plan_file, msgspec.json.encode(plan))
        client = "" if self._guest else self._kind.client
        command = python(
            self._kind.module,
            str(plan_file),
            program=self.host.python,
            packages=self.host.packages(client) if client else None,
        )
        self._process = self.host.spawn(command, log=self.folder / "output.log")

    def status(self) -> int | None:
        """Return the exit status of the process; None while it runs.

        Raises:
            WorkerError: it was not launched.
        """
        if self._process is None:
            raise WorkerError(f"worker {self.worker} was not launched")
        return self._process.status()

    def send(self, call: Call[T]) -> Pending[T]:
        """Send a command without waiting for its result.

        Raises:
            WorkerError: the worker was not launched, or died.
        """
        if self._process is None:
            raise WorkerError(f"worker {self.worker} was not launched")
        request = next(self._requests)
        try:
            with self._lock:
                self._process.send_line(call.line(request))
        except NodeError as error:
            # Its input is closed before its status is known.
            with suppress(WaitTimeoutError):
                raise self._ended(self._process.wait(_ENDED_SECONDS)) from error
            raise
        return Pending(request, call)

    def result(self, pending: Pending[T], *, timeout_seconds: float, what: str = "") -> T:
        """Wait for a command's `Answered` and return its result.

        Args:
            pending: the command.
            timeout_seconds: for the result.
            what: the command in the messages of errors, by default in the words of its name.

        Raises:
            WorkerError: the worker reported an error, or died.
        """
        answered = self._await_response(
            pending, what=what or pending.call.what, timeout_seconds=timeout_seconds
        )
        return pending.call.result(answered.result)

    def clock_micros(self) -> int:
        """Return the worker's wall clock at a `ping`, in microseconds since 1970."""
        pending = self.send(Role.ping())
        what = pending.call.what
        return self._await_response(pending, what=what, timeout_seconds=_PING_SECONDS).wall_micros

    def _await_response(
        self, pending: Pending[Any], *, what: str, timeout_seconds: float
    ) -> Answered:
        answer = wait_until(
            lambda: self._answer(pending.request),
            what=f"{self.worker}'s response to {what}",
            timeout_seconds=timeout_seconds,
            recent=self._output,
        )
        if answer.error is not None:
            raise WorkerError(f"{self.worker} could not {what}: {answer.error}")
        return answer

    def call(self, call: Call[T], *, timeout_seconds: float = 60) -> T:
        """Send a command and wait for its result."""
        return self.result(self.send(call), timeout_seconds=timeout_seconds)

    def finish(self) -> None:
        """Let the worker close its clients and end.

        One that hangs prints the stacks of its threads, which `collect_worker` collects, and is
        killed.

        Raises:
            WorkerError: it could not close its clients, or died.
            WaitTimeoutError: it hung.
        """
        if self._process is None or self._process.status() is not None:
            return
        try:
            self.call(Role.finish(), timeout_seconds=_FINISH_SECONDS)
            self._process.wait(_FINISH_SECONDS)
        except FencepostError:
            self._dump_threads()
            self.stop()
            raise

    def _dump_threads(self) -> None:
        """Let a running worker print the stacks of its threads; a paused one can't."""
        if self._process is None or self._process.status() is not None:
            return
        before = len(self._read_output())
        self._process.signal(signal.SIGQUIT)
        with suppress(WaitTimeoutError):
            wait_until(
                lambda: len(self._read_output()) > before,
                what=f"the stacks of {self.worker}'s threads",
                timeout_seconds=_DUMP_SECONDS,
            )

    def start(self, **_kwargs: Any) -> None:
        """Do nothing; see `launch`, which has the arguments of a worker."""

    def stop(self, **_kwargs: Any) -> None:
        """Kill the worker if `finish` did not end it."""
        if self._process is not None and self._process.status() is None:
            self._process.signal(signal.SIGKILL)
            self._process.wait(_FINISH_SECONDS)

    def clean(self, **_kwargs: Any) -> None:
        """Remove the worker's folder from its node."""
        self.host.remove(self.folder)

    def _answer(self, request: int) -> Answered | None:
        with self._lock:
            for event in self._new_events():
                if isinstance(event, Answered):
                    self._answers[event.request] = event
                elif isinstance(event, WorkerStarted):
                    self.client_version = event.client_version
                elif isinstance(event, ClientNamed):
                    self.client_version = f"{event.client} {event.version}"
        answer = self._answers.pop(request, None)
        if answer is None and self._process is not None and self._process.status() is not None:
            raise self._ended(self._process.status())
        return answer

    def _ended(self, status: int | None) -> WorkerError:
        """The error that says how the worker ended, with the end of its output."""
        said = self._output().strip()
        return WorkerError(
            f"worker {self.worker} ended with status {status}; its last output "
            f"({self.worker}.output.log): {said or 'none'}"
        )

    def _new_events(self) -> Iterator[Event]:
        content = self.host.read(self.history_file, offset=self._read_to)
        whole, newline, _ = content.rpartition(b"\n")
        self._read_to += len(whole) + len(newline)
        for line in whole.splitlines():
            yield DECODER.decode(line)

    def _read_output(self) -> bytes:
        return self.host.read(self.folder / "output.log")

    def _output(self) -> str:
        return self._read_output()[-_LOG_TAIL_BYTES:].decode(errors="replace")
