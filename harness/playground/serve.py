"""The server side of the playground's sockets.

Orders are carried out one after the other. What only looks has a socket of its own, so that it
responds while a fault is injected or healed. No client can end the playground but by `stop`: one
that sends no order, leaves before its answer, or orders what raises an error costs the next client
nothing but time.
"""

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec

from contract.errors import FencepostError, NodeError, TargetError, UsageError
from contract.events import as_json
from contract.program import report_unexpected
from contract.run_folder import ProducerPlan, TopicPlan
from contract.terms import BY_HAND, Stage
from harness.clients.command import Line, command, command_named
from harness.faults.language import parse_fault
from harness.faults.overlap import describe_fault, names_of, require_compatible
from harness.playground.chronicle import Happening, chronicle
from harness.playground.load import LoadOrders
from harness.playground.state import Answer, answer_of_error, views_of
from harness.playground.status import Status, status_of
from harness.story.run import Run

_CLIENT_SECONDS = 10.0
"""For a client to send its order, and to take its answer."""
_ORDER_BYTES = 100_000


class Injected(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that was injected, by its verb.

    number: by which it is healed; None if it took an instant, and is over.
    beside: the other faults that hold.
    """

    fault: str
    target: str
    landed: bool
    evidence: dict[str, Any]
    number: int | None
    beside: list[str]


class Views:
    """What a playground returns at any time."""

    is_stopped = False

    def __init__(self, run: Run, producers: dict[str, ProducerPlan]) -> None:
        """Look at the cluster of a run, and at its producers."""
        self._run = run
        self._producers = producers

    def await_order(self) -> None:
        """See `Orders`: to look is no phase."""

    @command
    def status(self) -> Status:
        """Return what runs, leads, holds, writes and reads."""
        return status_of(self._run, self._producers)

    @command
    def chronicle(self, subject: str) -> list[Happening]:
        """Return what happened to a partition or a group so far."""
        return chronicle(self._run, subject)


class Orders(LoadOrders):
    """What a playground does when `tell` asks for it.

    Attributes:
        is_stopped: whether `stop` was carried out.
    """

    is_stopped = False

    @command
    def fault(self, verb: str, target: str) -> Injected:
        """Inject a fault, which holds until `heal`; one that takes an instant is healed at once.

        Raises:
            TargetError: it can have no effect beside a fault that holds.
        """
        before = self._run.held
        held = self._run.inject(
            parse_fault(verb, target), require=lambda new: require_compatible(new, before)
        )
        if held.fault.is_instant:
            held.heal()
        return Injected(
            fault=held.fault.verb,
            target=str(held.fault.target),
            landed=held.evidence.landed,
            evidence=dict(held.evidence.facts),
            number=held.number if held.holds else None,
            beside=list(map(describe_fault, before)),
        )

    @command
    def heal(self, name: str | None = None) -> list[str]:
        """Heal a fault by one of its names, or all, the last one first; returns what was healed.

        With the last one it waits until all replicas are in sync.

        Raises:
            TargetError: no fault of this name holds, or several do.
        """
        held = self._run.held
        chosen = [fault for fault in held if name is None or name in names_of(fault)]
        if name is not None and len(chosen) != 1:
            there = ", ".join(map(describe_fault, held)) or "none"
            found = "several faults are" if chosen else "no fault that holds is"
            raise TargetError(f"{found} called {name}; there are: {there}")
        if len(chosen) == len(held):
            self._run.settle()
        for fault in chosen:
            fault.heal()
        return list(map(describe_fault, chosen))

    @command
    def create_topic(self, plan: TopicPlan, settings: dict[str, str]) -> None:
        """Create a further topic, spread over all brokers.

        Raises:
            UsageError: it can't be as it is wanted, or there is one of its name.
        """
        self._run.add_topic(plan, settings)

    def await_order(self) -> None:
        """Begin a phase that has no limit: until the next order, time is a person's."""
        self._run.phases.enter(Stage.HELD if self._run.held else Stage.STEADY, BY_HAND)

    @command
    def stop(self) -> str:
        """End the playground once this is answered."""
        self.is_stopped = True
        return "stopping"


def serve(run: Run, path: Path, *, ready: Callable[[], None]) -> None:
    """Carry out orders in sequence until `stop`; calls `ready` when the sockets accept them."""
    orders = Orders(run)
    with _listening(path) as server, _listening(views_of(path)) as views:
        looking = Views(run, orders.producers)
        Thread(target=_serve_until_closed, args=(views, looking), daemon=True).start()
        ready()
        _serve(server, orders)


def _serve_until_closed(server: socket.socket, role: Views) -> None:
    with suppress(OSError):
        _serve(server, role)


def _listening(path: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    return server


def _serve(server: socket.socket, role: Views | Orders) -> None:
    while not role.is_stopped:
        role.await_order()
        connection, _ = server.accept()
        # The client may have ended: what it ordered is done, and its answer has no reader.
        with suppress(OSError), connection:
            try:
                answer = _answer(role, _read(_line_of(connection)))
            except UsageError as error:
                answer = answer_of_error(error)
            connection.settimeout(_CLIENT_SECONDS)
            connection.sendall(as_json(answer) + b"\n")


def _line_of(connection: socket.socket) -> bytes:
    """What a client sent up to its first line feed, within `_CLIENT_SECONDS` as a whole."""
    ends = time.monotonic() + _CLIENT_SECONDS
    line = b""
    while b"\n" not in line and len(line) < _ORDER_BYTES:
        if (left_seconds := ends - time.monotonic()) <= 0:
            raise TimeoutError
        connection.settimeout(left_seconds)
        if not (piece := connection.recv(_ORDER_BYTES - len(line))):
            break
        line += piece
    return line.partition(b"\n")[0]


def _read(line: bytes) -> Line:
    try:
        return msgspec.json.decode(line, type=Line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"this is no order to a playground: {error}") from None


def _answer(role: Views | Orders, line: Line) -> Answer:
    order = command_named(line.do, type(role))
    if order is None:
        return answer_of_error(UsageError(f"unknown order {line.do!r}"))
    try:
        return Answer(result=order.carried_out(role, line.arguments))
    except FencepostError as error:
        return answer_of_error(error)
    except Exception as error:  # noqa: BLE001 - it is the client's answer, and the cluster stays
        return answer_of_error(NodeError(report_unexpected(error)))
