"""The worker contract: a program on a node, told what to do by lines, answering in its history."""

import faulthandler
import os
import signal
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from contract.events import Answered, WorkerStarted, WorkerStopped
from harness.clients.commands import DECODER, AnyCommand, Finish, Ping, WorkerPlan
from harness.clients.history import HistoryWriter


class Role(ABC):
    """What a worker can do; one instance serves a worker's whole life."""

    client: str
    client_version: str

    @abstractmethod
    def carry_out(self, command: AnyCommand) -> Any:
        """Do as told and return the answer's result, made of plain lists, dicts and scalars."""

    @abstractmethod
    def close(self) -> None:
        """Close every client that is still open."""


def read_plan(path: Path) -> WorkerPlan:
    """The plan that the driver wrote for this worker."""
    return msgspec.json.decode(path.read_bytes(), type=WorkerPlan)


def serve(plan: WorkerPlan, role: Role, history: HistoryWriter, lines: Iterable[str]) -> None:
    """Carry out one command a line until `Finish` or the end of the lines.

    A command that fails is answered with its error; the worker goes on. On SIGQUIT it prints the
    stacks of its threads: the JVM does where one runs, else Python.
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
        except Exception as error:  # noqa: BLE001 - whatever it is, the driver must learn of it
            traceback.print_exception(error, file=sys.stderr)
            history.write(Answered, request=command.request, error=_with_causes(error))
        else:
            history.write(Answered, request=command.request, result=result)
        if is_last:
            break
    history.write(WorkerStopped)
    history.close()


def _done(role: Role, command: AnyCommand) -> Any:
    match command:
        case Ping():
            return None
        case Finish():
            return role.close()
        case _:
            return role.carry_out(command)


def _with_causes(error: BaseException) -> str:
    """An error and what caused it; JPype chains a Java exception's causes as Python's own."""
    cause = error.__cause__
    text = f"{type(error).__name__}: {error}"
    return text if cause is None else f"{text}; because of {_with_causes(cause)}"
