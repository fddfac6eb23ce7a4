"""A guest: a program in any language around one consumer, by the protocol of docs/guests.md."""

import enum
import itertools
import json
import os
import re
import selectors
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Annotated, Any, NoReturn

import msgspec
import psutil

from cluster.nodes.tether import tether_command
from contract.errors import WorkerError, nearest
from contract.events import NO_EPOCH, Int32, Int64
from contract.packages import environment, without_own
from contract.software import Guest

RESPONSE_SECONDS = 90
"""How long a guest may take for a response, beyond the `timeout_ms` of a poll."""
LINE_BYTES_MAX = 8 * 2**20
_END_SECONDS = 20
_SLICE_SECONDS = 0.5
_PIECE_BYTES = 2**16
_LAST_LINES = 20
_SHOWN_CHARACTERS = 200
TRANSIENT = frozenset(
    {
        "allbrokerconnectionsaredown",
        "allbrokersdown",
        "brokertransportfailure",
        "leadernotavailable",
        "maxpollexceeded",
        "notleaderforpartition",
        "notleaderorfollower",
        "operationtimedout",
        "timedout",
        "transport",
        "unknowntopicorpart",
        "unknowntopicorpartition",
    }
)
"""Errors of a poll after which a client goes on by itself, as librdkafka's bindings call them."""
_AROUND_A_NAME = re.compile(r"^(?:Local|Broker): |^_?Err|[_ *-]|(?:Exception|Error)$")
EXITED = "GuestExited"
"""The error of a guest that ended with another status than 0."""

Number = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Offset = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class Rule(enum.StrEnum):
    """What the harness requires of each response (docs/guests.md)."""

    LINE = "line"
    ID = "id"
    FIELDS = "fields"
    TIME = "time"
    STAYS = "stays"
    EXIT = "exit"
    NAMED = "named"
    LEVEL = "level"


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record that a poll returned."""

    partition: Number
    offset: Offset
    value: str
    epoch: Int32 = NO_EPOCH


class Position(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The offset of the next record of a partition."""

    partition: Number
    offset: Offset
    epoch: Int32 = NO_EPOCH


class Reported(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An error that the client reported to its application.

    definite: of a commit: it surely was not stored.
    """

    name: str
    message: str = ""
    partition: Number | None = None
    offset: Int64 | None = None
    definite: bool = False


class Response(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A response to any request; None: the guest left the field out."""

    id: Int32
    client: str = ""
    version: str = ""
    records: list[Record] = []
    assigned: list[Number] | None = None
    positions: list[Position] | None = None
    rebalanced: bool | list[Number] = False
    committed: list[Position] | None = None
    unsupported: bool = False
    error: Reported | None = None


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a request.

    response: None where there is none.
    took_ms: until it came.
    rule: that the guest broke; empty: none.
    problem: how it broke it, or ended.
    """

    response: Response | None
    took_ms: int
    rule: str = ""
    problem: str = ""


_DECODER = msgspec.json.Decoder(Response)
_UNKNOWN = re.compile(r"unknown field `([^`]*)`(?: - at `\$\.(\w+))?")
_FIELDS = {
    "records": Record,
    "positions": Position,
    "committed": Position,
    "error": Reported,
}
"""Of a response: what is in them."""


class ReportedError(Exception):
    """What a guest reports of its client."""

    def __init__(self, reported: Reported) -> None:
        """The client's error."""
        super().__init__(f"{reported.name}: {reported.message}")
        self.reported = reported


def is_transient(error: Reported) -> bool:
    """Whether a client goes on by itself after an error of a poll (docs/guests.md)."""
    return _AROUND_A_NAME.sub("", error.name.rpartition(".")[2]).lower() in TRANSIENT


class BrokenRuleError(WorkerError):
    """A guest broke a rule of its protocol.

    Attributes:
        rule: which one.
    """

    def __init__(self, rule: Rule, message: str) -> None:
        """The message names the guest and its request."""
        super().__init__(message)
        self.rule = rule


class GuestProcess:
    """A running guest, which one thread asks at a time.

    It ends with this process, and with the group of processes that this one is in.

    Attributes:
        name: in messages.
    """

    def __init__(
        self,
        guest: Guest,
        name: str,
        *,
        log: Callable[[str], None],
        response_seconds: float = RESPONSE_SECONDS,
    ) -> None:
        """Start it.

        Args:
            guest: the program.
            name: of its member.
            log: called with each line of its standard error, in a thread of its own.
            response_seconds: how long it may take for a response.

        Raises:
            WorkerError: it can't be started.
        """
        self.name = f"{guest.named} ({name})"
        self.response_seconds = response_seconds
        self._ids = itertools.count(1)
        self._last = "its start"
        self._received = bytearray()
        self._said: deque[str] = deque(maxlen=_LAST_LINES)
        self._broken: BrokenRuleError | ReportedError | None = None
        try:
            self._process = subprocess.Popen(
                tether_command(without_own(guest.command)),
                cwd=guest.folder,
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
            )
        except OSError as error:
            raise WorkerError(f"{self.name} can't be started: {error}") from None
        self._listener = threading.Thread(target=self._listen, args=(log,), daemon=True)
        self._listener.start()

    def ask(self, do: str, **fields: Any) -> Response:
        """Send a request, and return the response.

        Raises:
            BrokenRuleError: the guest broke a rule; it is killed.
            ReportedError: it ended with another status than 0.
        """
        if self._broken is not None:
            raise self._broken
        request = {"id": next(self._ids), "do": do, **fields}
        text = json.dumps(request)
        if self._received:
            self.refuse(
                Rule.ID, f"printed a line that no request asked for: {self._received_text()}"
            )
        self._last = text
        try:
            self._send(text.encode() + b"\n")
        except BrokenPipeError:
            self._raise_ended("input")
        seconds = self.response_seconds + fields.get("timeout_ms", 0) / 1000
        return self._decode(self._line(seconds), request)

    def close(self) -> Response:
        """Let it close its consumer and exit.

        Raises:
            BrokenRuleError: it broke a rule.
            ReportedError: the client reported an error, or the guest ended with a status.
        """
        response = self.ask("close")
        self.leave()
        if response.error is not None:
            raise ReportedError(response.error)
        return response

    def leave(self) -> Response:
        """End its standard input, and wait until it has exited; an empty response.

        Raises:
            BrokenRuleError: it did not exit, or with another status than 0, or printed something.
        """
        started = self._started()
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.refuse(Rule.EXIT, f"did not exit within {_END_SECONDS} s")
        _end(started)
        with selectors.DefaultSelector() as ready:
            if self._process.stdout is not None:
                ready.register(self._process.stdout, selectors.EVENT_READ)
                if ready.select(0):
                    self._received += os.read(self._process.stdout.fileno(), _PIECE_BYTES)
        if self._received:
            self.refuse(
                Rule.ID, f"printed a line that no request asked for: {self._received_text()}"
            )
        if status != 0:
            self.refuse(Rule.EXIT, f"ended with {_status(status)}, not with status 0")
        return Response(id=0)

    def kill(self) -> None:
        """End it by SIGKILL, as a member of a group is killed, and what it started."""
        started = self._started()
        self._process.kill()
        self._process.wait()
        _end(started)

    def refuse(self, rule: Rule, what: str) -> NoReturn:
        """Kill it, and say which rule it broke, and how.

        Raises:
            BrokenRuleError: always.
        """
        self.kill()
        self._listener.join(_END_SECONDS)
        message = f"{self.name} {what}; its request was {self._last}{self._last_said()}"
        self._broken = BrokenRuleError(rule, message)
        raise self._broken

    def _started(self) -> list[psutil.Process]:
        """The processes that it has started, and that run."""
        started: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            started = psutil.Process(self._process.pid).children(recursive=True)
        return started

    def _send(self, line: bytes) -> None:
        if self._process.stdin is not None:
            view = memoryview(line)
            while view:
                view = view[self._process.stdin.write(view) or 0 :]

    def _line(self, seconds: float) -> bytes:
        """Wait for a line; time in which this process was stopped does not count."""
        if self._process.stdout is None:
            return b""
        waited_seconds = 0.0
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._received:
                if len(self._received) > LINE_BYTES_MAX:
                    self.refuse(Rule.LINE, f"printed a line of more than {LINE_BYTES_MAX} bytes")
                if waited_seconds > seconds:
                    self.refuse(Rule.TIME, f"has not responded within {seconds:g} s")
                began = time.monotonic()
                found = ready.select(_SLICE_SECONDS)
                waited_seconds += min(time.monotonic() - began, _SLICE_SECONDS)
                if not found:
                    continue
                piece = os.read(self._process.stdout.fileno(), _PIECE_BYTES)
                if not piece:
                    self._raise_ended("output")
                self._received += piece
        line, _, rest = bytes(self._received).partition(b"\n")
        self._received = bytearray(rest)
        return line

    def _decode(self, line: bytes, request: dict[str, Any]) -> Response:
        try:
            response = _DECODER.decode(line)
        except (msgspec.ValidationError, UnicodeDecodeError) as error:
            rule, what = (Rule.FIELDS, "response") if _is_json(line) else (Rule.LINE, "JSON")
            logs = "" if rule is Rule.FIELDS else " (logs go to standard error)"
            problem = f"printed {_short(line)}, which is no {what}: {_explain_response(error)}"
            self.refuse(rule, f"{problem}{logs}")
        except msgspec.DecodeError as error:
            problem = f"printed {_short(line)}, which is no JSON: {error}"
            self.refuse(Rule.LINE, f"{problem} (logs go to standard error)")
        if response.id != request["id"]:
            wanted = f"the id {response.id}, not {request['id']}"
            self.refuse(Rule.ID, f"printed {_short(line)}, with {wanted}")
        is_named = response.client and response.version
        if request["do"] == "open" and not response.error and not is_named:
            problem = "without the name and the version of its client"
            self.refuse(Rule.NAMED, f"printed {_short(line)}, {problem}")
        return response

    def _raise_ended(self, closed: str) -> NoReturn:
        """Its standard input or output has ended: an error of the client, if it ended by a status.

        Raises:
            ReportedError: it did.
            BrokenRuleError: it ended with status 0, or runs on.
        """
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.refuse(Rule.STAYS, f"closed its standard {closed}")
        if status == 0:
            self.refuse(Rule.STAYS, "exited with status 0 before `close`")
        self._listener.join(_END_SECONDS)
        said = f"{_status(status)}{self._last_said()}"
        self._broken = ReportedError(Reported(name=EXITED, message=said))
        raise self._broken

    def _listen(self, log: Callable[[str], None]) -> None:
        """Pass the lines of its standard error on, and keep the last ones."""
        if self._process.stderr is None:
            return
        # The pipes have no buffer, so that a response is not waited for in one.
        for line in os.fdopen(self._process.stderr.fileno(), "rb", closefd=False):
            text = line.decode(errors="replace").rstrip()
            self._said.append(text[:_SHOWN_CHARACTERS])
            log(text)

    def _last_said(self) -> str:
        said = "\n".join(self._said)
        return f"; its last lines on standard error:\n{said}" if said else ""

    def _received_text(self) -> str:
        return _short(bytes(self._received).partition(b"\n")[0])


def _is_json(line: bytes) -> bool:
    """Whether a line is JSON of another kind; a log that begins with `[` is none."""
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError:
        return False
    except UnicodeDecodeError:
        pass
    return True


def _explain_response(error: Exception) -> str:
    """Say what is wrong with a response, and of an unknown field which one is probably meant."""
    if (unknown := _UNKNOWN.search(str(error))) is None:
        return str(error)
    name, within = unknown.groups()
    known = _FIELDS.get(within, Response).__struct_fields__
    meant = nearest(name, known)
    fields = ", ".join(f"`{field}`" for field in known)
    return f"{error}; {f'did you mean `{meant}`?' if meant else f'its fields are {fields}'}"


def _short(line: bytes | str) -> str:
    text = line if isinstance(line, str) else line.decode(errors="backslashreplace")
    shown = text[:_SHOWN_CHARACTERS]
    return f"{shown}{'...' if len(text) > len(shown) else ''}"


def _end(started: Iterable[psutil.Process]) -> None:
    """End those of its processes that it left running."""
    for process in started:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _status(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"
