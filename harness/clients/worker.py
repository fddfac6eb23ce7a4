"""The worker loop: a program on a node that reads commands as lines and writes its history."""

import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from contract.errors import WorkerError
from contract.events import Answered, WorkerStarted, WorkerStopped, WorkerSuspended
from contract.software import Guest
from harness.clients.command import Line, command, command_named
from harness.clients.history import HistoryWriter

PULSE_SECONDS = 0.5
SUSPENDED_SECONDS_MIN = 2.0
"""Less may be a busy machine; no wait is judged that is shorter."""
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux's goes on while the machine sleeps."""
_LINES = msgspec.json.Decoder(Line)


class WorkerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's settings, in a file on its node whose path is the worker's only argument.

    bootstrap: `address:port` of each broker, joined by commas.
    jars: the class path of the Kafka whose classes it uses.
    guest: the program that plays its clients; None: it has a client of its own.
    """

    worker: str
    role: str
    node: str
    history: str
    log: str
    bootstrap: str
    jars: list[str]
    guest: Guest | None = None


class Role(ABC):
    """The commands of a worker; one instance serves the whole process."""

    client: str
    client_version: str
    is_finished = False

    @command
    def ping(self) -> str:
        """Return the client; that the worker responds is what the driver wants to know."""
        return self.client

    @command
    def finish(self) -> None:
        """Close everything and end, also if something does not close."""
        self.is_finished = True
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close every client that is still open."""


def run_worker(make_role: Callable[[WorkerPlan, HistoryWriter], Role]) -> None:
    """The whole program of a worker: serve the plan that the driver wrote to its only argument."""
    plan = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=WorkerPlan)
    history = HistoryWriter(Path(plan.history))
    serve(plan, make_role(plan, history), history, sys.stdin)


def serve(plan: WorkerPlan, role: Role, history: HistoryWriter, lines: Iterable[str]) -> None:
    """Carry out one command per line until `finish` or the end of the input.

    A failed command has its error in `Answered`; the worker continues, also after a `finish` whose
    arguments were refused. On SIGQUIT it prints the stacks of its threads, by the JVM if one runs,
    else by Python.
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
    has_ended = threading.Event()
    pulse = threading.Thread(target=_watch_process, args=(history, has_ended), daemon=True)
    pulse.start()
    for text in lines:
        line = _LINES.decode(text)
        try:
            result = carry_out(role, line)
        except Exception as error:  # noqa: BLE001 - the driver reports every error
            traceback.print_exception(error, file=sys.stderr)
            history.write(Answered, request=line.request, error=_with_causes(error))
        else:
            history.write(Answered, request=line.request, result=result)
        if role.is_finished:
            break
    has_ended.set()
    pulse.join()
    history.write(WorkerStopped)
    history.close()


def _watch_process(history: HistoryWriter, has_ended: threading.Event) -> None:
    """Write each time in which this process did not run, for which no broker is to blame."""
    last = time.clock_gettime(_CLOCK)
    is_last = False
    while not is_last:
        is_last = has_ended.wait(PULSE_SECONDS)
        now = time.clock_gettime(_CLOCK)
        seconds, last = now - last, now
        if seconds >= SUSPENDED_SECONDS_MIN:
            began = time.time() - seconds
            history.write(WorkerSuspended, began_micros=int(began * 1_000_000))


def carry_out(role: Role, line: Line) -> Any:
    """Carry out one command and return its result.

    Raises:
        WorkerError: the role has no such command, or not with these arguments; or as the command.
    """
    found = command_named(line.do, type(role))
    if found is None:
        raise WorkerError(f"the {role.client} worker does not know {line.do}")
    return found.carried_out(role, line.arguments)


def _with_causes(error: BaseException) -> str:
    """Return an error with its causes; JPype chains a Java exception's causes as Python's own."""
    cause = error.__cause__
    text = f"{type(error).__name__}: {error}"
    return text if cause is None else f"{text}; because of {_with_causes(cause)}"
