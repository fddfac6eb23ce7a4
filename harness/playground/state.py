"""The state file of a playground, and the client side of its socket: one line of JSON each way."""

import os
import select
import shutil
import socket
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import psutil

from contract.errors import FencepostError, NodeError, UsageError, error_named
from contract.files import read_file, replace_file
from contract.locks import HeldName, is_held
from harness.clients.command import Call

FOLDER = Path(".playground")
FILE = FOLDER / "state.json"
LOG = FOLDER / "log"
SOCKET_FOLDER = "FENCEPOST_SOCKET_FOLDER"
"""In the environment of the playground's scenario: where its socket is, by a short path."""
KEEPER = FOLDER / "keeper.lock"
"""A file that the playground's process holds until it ends."""
_PROGRAM = "harness.playground.keep"
_LOOK_SECONDS = 2.0
"""How often it is asked whether a playground that has not answered yet is stopped."""

T = TypeVar("T")


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One server of the playground: `shell` is the prefix of a command on its node."""

    id: int
    roles: str
    node: str
    address: str
    shell: list[str]
    log: str


class Playground(msgspec.Struct, frozen=True, kw_only=True):
    """A running playground, as in its state file.

    client_shell: the prefix of a command on the node of its Java clients, which has no server.
    """

    cluster: str
    kafka: str
    topics: list[str]
    bootstrap: str
    jars: str
    servers: list[Server]
    client_shell: list[str]
    socket: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an order, or an error of the exception tree by name."""

    result: Any = None
    error: str | None = None
    message: str = ""


def find(results: Path) -> Playground:
    """Return the playground that runs below a results folder.

    A playground runs if its process holds its lock; the state file of a killed one is ignored.

    Raises:
        UsageError: there is none, or it is not up yet.
        NodeError: there is one, and its state file is damaged.
    """
    if not is_held(results / KEEPER):
        if os.path.lexists(results / FILE):
            raise UsageError("the playground has ended: fencepost play start")
        raise UsageError("no playground runs here: fencepost play start")
    try:
        return msgspec.json.decode(read_file(results / FILE), type=Playground)
    except FileNotFoundError:
        raise UsageError(
            "the playground is not up yet, or is about to end: wait, or end it with: "
            "fencepost clean"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        file = results / FILE
        raise NodeError(
            f"{file} is damaged ({error}): end the playground: fencepost clean"
        ) from None


def write_down(playground: Playground, results: Path) -> None:
    """Write the state file of a playground, for `find`."""
    (results / FOLDER).mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(playground), indent=2)
    replace_file(results / FILE, text)


def forget(results: Path) -> None:
    """Remove the state file of a playground, also if a folder has its name."""
    file = results / FILE
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)


def forget_ended(results: Path) -> None:
    """Remove the state file of a killed playground; that of one that runs or starts is left."""
    (results / FOLDER).mkdir(parents=True, exist_ok=True)
    with suppress(BlockingIOError):
        held = HeldName(results / KEEPER)
        forget(results)
        held.release()


def keeper(results: Path) -> psutil.Process | None:
    """Return the process of the playground below a results folder; None if none runs."""
    if not is_held(results / KEEPER):
        return None
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if _PROGRAM in words and words[-1] == str(results.resolve()):
            return process
    return None


def views_of(path: Path) -> Path:
    """Return where a playground is only looked at, whose orders come to a socket."""
    return path.with_suffix(".views")


def look(playground: Playground, order: Call[T]) -> T:
    """Send an order of `harness.playground.serve.Views`, as `tell` does; nothing delays it."""
    views = str(views_of(Path(playground.socket)))
    return tell(msgspec.structs.replace(playground, socket=views), order)


def tell(playground: Playground, order: Call[T]) -> T:
    """Send an order of `harness.playground.serve.Orders` and return its result.

    Raises:
        UsageError: the playground has ended, or is stopped.
        FencepostError: any error of the order.
    """
    with socket.socket(socket.AF_UNIX) as line:
        try:
            line.connect(playground.socket)
            line.sendall(order.line(0).encode() + b"\n")
            while not select.select([line], [], [], _LOOK_SECONDS)[0]:
                _require_going_on(line)
            with line.makefile("rb") as answers:
                said = answers.readline()
        except OSError:
            said = b""
    if not said:
        raise UsageError(
            "the playground is ending, or was killed: `fencepost clean` removes what is left of it"
        )
    answer = msgspec.json.decode(said, type=Answer)
    if answer.error is not None:
        raise error_named(answer.error, answer.message)
    return order.result(answer.result)


def _require_going_on(line: socket.socket) -> None:
    """Raise if the process at the other end of a socket is stopped: it would never answer.

    Only Linux names that process.

    Raises:
        UsageError: it is.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return
    size = struct.calcsize("3i")
    pid, _, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    with suppress(psutil.NoSuchProcess):
        if psutil.Process(pid).status() == psutil.STATUS_STOPPED:
            raise UsageError(
                f"the playground's process is stopped: let it go on with `kill -CONT {pid}`, or "
                "end it: fencepost clean"
            )


def answer_of_error(error: FencepostError) -> Answer:
    """Return the `Answer` of an error."""
    return Answer(error=type(error).__name__, message=str(error))
