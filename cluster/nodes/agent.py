"""The agent in a container: it reads requests and writes replies, one per line.

`python -m cluster.nodes.agent FOLDER` is the one exec of a driver in a container; it saves the tens
of milliseconds that each further exec would take. When its input ends, because the driver closed it
or ended, it kills everything that it spawned, and ends.
"""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from cluster.nodes.host import Host, HostProcess
from cluster.nodes.traffic import Traffic
from contract.errors import FencepostError, error_named
from contract.events import decoder_of

_THREADS = 16


class Request(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag=True):
    """A request; its reply carries the same id."""

    id: int = -1


class RunCommand(Request, frozen=True, kw_only=True):
    """Run a command to its end; the result is [status, output]."""

    argv: list[str]
    timeout_seconds: float
    env: dict[str, str]


class Spawn(Request, frozen=True, kw_only=True):
    """Start a process; the result is its id."""

    argv: list[str]
    log: str
    env: dict[str, str]
    cwd: str | None


class SendLine(Request, frozen=True, kw_only=True):
    """Write a line to a process's standard input."""

    pid: int
    line: str


class SignalGroup(Request, frozen=True, kw_only=True):
    """Signal a process's group."""

    pid: int
    number: int


class AskStatus(Request, frozen=True, kw_only=True):
    """A process's exit status, null while it runs."""

    pid: int


class ReadFile(Request, frozen=True, kw_only=True):
    """A file's bytes from an offset on, in base64."""

    path: str
    offset: int


class HashFiles(Request, frozen=True, kw_only=True):
    """The SHA-256 of files by their paths, in hexadecimal; empty for one that is not there."""

    paths: list[str]


class WriteFile(Request, frozen=True, kw_only=True):
    """Create or replace a file."""

    path: str
    content: bytes


class RemovePath(Request, frozen=True, kw_only=True):
    """Remove a file or folder."""

    path: str


class KillAll(Request, frozen=True, kw_only=True):
    """SIGKILL everything that was spawned."""


class Block(Request, frozen=True, kw_only=True):
    """Drop traffic."""

    traffic: Traffic


class Unblock(Request, frozen=True, kw_only=True):
    """Let traffic pass."""

    traffic: Traffic


class CountPackets(Request, frozen=True, kw_only=True):
    """Count packets since they were blocked; the result is null where no rule exists."""

    traffic: Traffic


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A request's result, or its error: the name of its class in the exception tree, and text."""

    id: int
    result: Any = None
    error: str | None = None
    message: str = ""


ENCODER = msgspec.json.Encoder()
_DECODER = decoder_of(Request)
REPLIES: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)


def raise_error(reply: Reply, *, where: str) -> None:
    """Raise a reply's error as the exception it was on the node; return where it has none."""
    if reply.error is not None:
        raise error_named(reply.error, f"{where}: {reply.message}")


class _Agent:
    """Carries out requests, several at a time."""

    def __init__(self, folder: Path) -> None:
        self._host = Host(folder)
        self._processes: dict[int, HostProcess] = {}
        self._lock = threading.Lock()

    def serve(self) -> None:
        """Serve requests until the input ends."""
        with ThreadPoolExecutor(_THREADS) as pool:
            for line in sys.stdin.buffer:
                pool.submit(self._answer, _DECODER.decode(line))
            self._host.kill_all()

    def _answer(self, request: Request) -> None:
        try:
            reply = Reply(id=request.id, result=self._carry_out(request))
        except FencepostError as error:
            reply = Reply(id=request.id, error=type(error).__name__, message=str(error))
        except Exception as error:  # noqa: BLE001 - the driver reports every error
            reply = Reply(id=request.id, error="NodeError", message=f"{error!r}")
        with self._lock:
            sys.stdout.buffer.write(ENCODER.encode(reply) + b"\n")
            sys.stdout.buffer.flush()

    def _carry_out(self, request: Request) -> Any:  # noqa: C901, PLR0911 - one a request
        match request:
            case RunCommand(argv=argv, timeout_seconds=timeout_seconds, env=env):
                ended = self._host.run(argv, timeout_seconds=timeout_seconds, env=env)
                return [ended.status, ended.output]
            case Spawn(argv=argv, log=log, env=env, cwd=cwd):
                place = Path(cwd) if cwd else None
                if place is not None:
                    place.mkdir(parents=True, exist_ok=True)
                process = self._host.spawn(argv, log=Path(log), env=env, cwd=place)
                self._processes[process.pid] = process
                return process.pid
            case SendLine(pid=pid, line=line):
                return self._processes[pid].send_line(line)
            case SignalGroup(pid=pid, number=number):
                return self._processes[pid].signal(number)
            case AskStatus(pid=pid):
                return self._processes[pid].status()
            case ReadFile(path=path, offset=offset):
                return self._host.read(Path(path), offset=offset)
            case HashFiles(paths=paths):
                return {path: self._host.sha256(Path(path)) for path in paths}
            case WriteFile(path=path, content=content):
                return self._host.write(Path(path), content)
            case RemovePath(path=path):
                return self._host.remove(Path(path))
            case KillAll():
                return self._host.kill_all()
            case Block() | Unblock() | CountPackets():
                return _filter(request)


def _filter(request: Block | Unblock | CountPackets) -> Any:
    from cluster.nodes import firewall  # noqa: PLC0415 - slow, and most agents never need it

    match request:
        case Block(traffic=traffic):
            return firewall.block(traffic)
        case Unblock(traffic=traffic):
            return firewall.unblock(traffic)
        case CountPackets(traffic=traffic):
            return msgspec.to_builtins(firewall.packets(traffic))


if __name__ == "__main__":
    _Agent(Path(sys.argv[1])).serve()
