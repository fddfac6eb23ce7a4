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
from harness.faults.language import parse_fault
from harness.playground.state import Answer, Order, failed
from harness.story.run import Run

_CLIENT_SECONDS = 10.0
"""For a client to send its order, and to take its answer."""
_ORDER_BYTES = 100_000


def serve(run: Run, path: Path, *, ready: Callable[[], None]) -> None:
    """Carry out orders in sequence until `stop`; calls `ready` when the socket accepts them."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        ready()
        order = Order(do="start")
        while order.do != "stop":
            connection, _ = server.accept()
            # The client may have ended: what it ordered is done, and its answer has no reader.
            with suppress(OSError), connection:
                connection.settimeout(_CLIENT_SECONDS)
                with connection.makefile("rwb") as line:
                    try:
                        order = _read(line.readline(_ORDER_BYTES))
                    except UsageError as error:
                        answer = failed(error)
                    else:
                        answer = _answer(run, order)
                    line.write(as_json(answer) + b"\n")


def _read(line: bytes) -> Order:
    try:
        return msgspec.json.decode(line, type=Order)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"this is no order to a playground: {error}") from None


def _answer(run: Run, order: Order) -> Answer:
    try:
        return Answer(result=_carry_out(run, order))
    except FencepostError as error:
        return failed(error)
    except Exception as error:  # noqa: BLE001 - it is the client's answer, and the cluster stays
        return failed(NodeError(unexpected(error)))


def _carry_out(run: Run, order: Order) -> Any:
    match order.do:
        case "fault":
            held = run.inject(parse_fault(order.verb, order.target))
            return {
                "fault": held.fault.verb,
                "target": str(held.fault.target),
                "landed": held.evidence.landed,
                "evidence": held.evidence.facts,
            }
        case "heal":
            return run.settle()
        case "status":
            return {
                "paused": [i for i in run.kafka.topology.broker_ids if run.kafka.host(i).is_paused],
                "down": [i for i in run.kafka.topology.server_ids if not run.kafka.is_running(i)],
                "partitions": [
                    msgspec.to_builtins(seen.get(partition))
                    for topic in run.plan.topics
                    for seen in [run.observer.partitions(topic.topic)]
                    for partition in range(topic.partitions)
                ],
            }
        case "stop":
            return "stopping"
        case _:
            raise UsageError(f"unknown order {order.do!r}")
