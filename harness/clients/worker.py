"""The worker loop: a program on a node that reads commands as lines and writes its history."""

import faulthandler
import os
import signal
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from contract.events import Answered, WorkerStarted, WorkerStopped
from harness.clients.command import Command
from harness.clients.commands import DECODER, Finish, Ping, WorkerPlan
from harness.clients.history import HistoryWriter


class Role(ABC):
    """The commands of a worker; one instance serves the whole process."""

    client: str
    client_version: str

    @abstractmethod
    def carry_out(self, command: Command) -> Any:
        """Carry out a command; returns its result as plain lists, dicts and scalars."""

    @abstractmethod
    def close(self) -> None:
        """Close every client that is still open."""


def run_worker(make_role: Callable[[WorkerPlan, HistoryWriter], Role]) -> None:
    """The whole program of a worker: serve the plan that the driver wrote to its only argument."""
    plan = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=WorkerPlan)
    history = HistoryWriter(Path(plan.history))
    serve(plan, make_role(plan, history), history, sys.stdin)


def serve(plan: WorkerPlan, role: Role, history: HistoryWriter, lines: Iterable[str]) -> None:
    """Carry out one command per line until `Finish` or the end of the input.

    A failed command has its error in `Answered`; the worker continues. On SIGQUIT it prints the
    stacks of its threads, by the JVM if one runs, else by Python.
    """
    history.write(
        WorkerStarted,
        worker=plan.worker,
        role=plan.role,
        node=plan.node,
        client=role.client,
        client_version=role.client_version,
        pid=os.getpid(),
    )
    if "jpype" not in sys.modules:
        faulthandler.register(signal.SIGQUIT)
    for line in lines:
        command = DECODER.decode(line)
        is_last = isinstance(command, Finish)
        try:
            result = _done(role, command)
        except Exception as error:  # noqa: BLE001 - the driver reports every error
            traceback.print_exception(error, file=sys.stderr)
            history.write(Answered, request=command.request, error=_with_causes(error))
        else:
            history.write(Answered, request=command.request, result=result)
        if is_last:
            break
    history.write(WorkerStopped)
    history.close()


def _done(role: Role, command: Command) -> Any:
    match command:
        case Ping():
            return None
        case Finish():
            return role.close()
        case _:
            return role.carry_out(command)


def _with_causes(error: BaseException) -> str:
    """Return an error with its causes; JPype chains a Java exception's causes as Python's own."""
    cause = error.__cause__
    text = f"{type(error).__name__}: {error}"
    return text if cause is None else f"{text}; because of {_with_causes(cause)}"
