"""The server side of the playground's socket.

No client can end the playground but by `stop`: one that sends no order, leaves before its answer,
or orders what raises an error costs the next client nothing but time.
"""

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from contract.encodable import as_json
from contract.errors import FencepostError, NodeError, UsageError
from contract.program import unexpected
from harness.clients.command import Line, command, command_named
from harness.clients.views import PartitionState
from harness.faults.language import parse_fault
from harness.playground.state import Answer, failed
from harness.story.run import Run

_CLIENT_SECONDS = 10.0
"""For a client to send its order, and to take its answer."""
_ORDER_BYTES = 100_000


class Injected(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that was injected, by its verb."""

    fault: str
    target: str
    landed: bool
    evidence: dict[str, Any]


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The paused brokers, the servers that are down, and the partitions as far as they are seen."""

    paused: list[int]
    down: list[int]
    partitions: list[PartitionState | None]


class Orders:
    """What a playground does when `tell` asks for it.

    Attributes:
        is_stopped: whether `stop` was carried out.
    """

    def __init__(self, run: Run) -> None:
        """Act on the cluster of a run."""
        self._run = run
        self.is_stopped = False

    @command
    def fault(self, verb: str, target: str) -> Injected:
        """Inject a fault, which holds until `heal`."""
        held = self._run.inject(parse_fault(verb, target))
        return Injected(
            fault=held.fault.verb,
            target=str(held.fault.target),
            landed=held.evidence.landed,
            evidence=dict(held.evidence.facts),
        )

    @command
    def heal(self) -> None:
        """Heal all faults, and wait until all replicas are in sync."""
        self._run.settle()

    @command
    def status(self) -> Status:
        """Return what is paused, down and led."""
        kafka = self._run.kafka
        topics = self._run.plan.topics
        views = [(topic, self._run.observer.partitions(topic.topic)) for topic in topics]
        return Status(
            paused=[i for i in kafka.topology.broker_ids if kafka.host(i).is_paused],
            down=[i for i in kafka.topology.server_ids if not kafka.is_running(i)],
            partitions=[seen.get(one) for topic, seen in views for one in range(topic.partitions)],
        )

    @command
    def stop(self) -> str:
        """End the playground once this is answered."""
        self.is_stopped = True
        return "stopping"


def serve(run: Run, path: Path, *, ready: Callable[[], None]) -> None:
    """Carry out orders in sequence until `stop`; calls `ready` when the socket accepts them."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        ready()
        orders = Orders(run)
        while not orders.is_stopped:
            connection, _ = server.accept()
            # The client may have ended: what it ordered is done, and its answer has no reader.
            with suppress(OSError), connection:
                connection.settimeout(_CLIENT_SECONDS)
                with connection.makefile("rwb") as line:
                    try:
                        answer = _answer(orders, _read(line.readline(_ORDER_BYTES)))
                    except UsageError as error:
                        answer = failed(error)
                    line.write(as_json(answer) + b"\n")


def _read(line: bytes) -> Line:
    try:
        return msgspec.json.decode(line, type=Line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"this is no order to a playground: {error}") from None


def _answer(orders: Orders, line: Line) -> Answer:
    order = command_named(line.do, Orders)
    if order is None:
        return failed(UsageError(f"unknown order {line.do!r}"))
    try:
        return Answer(result=order.carried_out(orders, line.arguments))
    except FencepostError as error:
        return failed(error)
    except Exception as error:  # noqa: BLE001 - it is the client's answer, and the cluster stays
        return failed(NodeError(unexpected(error)))
