"""The server side of the playground's socket."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from contract.errors import FencepostError, UsageError
from harness.faults.language import parse_fault
from harness.playground.state import Answer, Order, failed
from harness.story.run import Run


def serve(run: Run, path: Path, *, ready: Callable[[], None]) -> None:
    """Carry out orders in sequence until `stop`; calls `ready` when the socket accepts them."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        ready()
        order = Order(do="start")
        while order.do != "stop":
            connection, _ = server.accept()
            with connection, connection.makefile("rwb") as line:
                order = msgspec.json.decode(line.readline(), type=Order)
                line.write(msgspec.json.encode(_answer(run, order)) + b"\n")


def _answer(run: Run, order: Order) -> Answer:
    try:
        return Answer(result=_carry_out(run, order))
    except FencepostError as error:
        return failed(error)


def _carry_out(run: Run, order: Order) -> Any:
    match order.do:
        case "fault":
            held = run.inject(parse_fault(order.verb, order.target))
            return {
                "fault": held.fault.verb,
                "target": held.fault.target,
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
