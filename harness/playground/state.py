"""Where a playground is found, and how one talks to it: a line of JSON each way."""

import socket
from pathlib import Path
from typing import Any

import msgspec

from contract.errors import FencepostError, NodeError, UsageError
from contract.refusal import error_named

FOLDER = Path(".playground")
FILE = FOLDER / "state.json"
LOG = FOLDER / "log"
KEEPER = FOLDER / "keeper.pid"
"""The id of the process that keeps it up, below the results folder."""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One server of the playground: `shell` goes before a command that runs on its node."""

    id: int
    roles: str
    node: str
    address: str
    shell: list[str]
    log: str


class Playground(msgspec.Struct, frozen=True, kw_only=True):
    """A running playground, as its state file tells."""

    cluster: str
    kafka: str
    topic: str
    bootstrap: str
    jars: str
    servers: list[Server]
    socket: str


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a playground is told: `fault` (verb, target), `heal`, `status` or `stop`."""

    do: str
    verb: str = ""
    target: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What it answers: a result, or an error of the exception tree by name."""

    result: Any = None
    error: str | None = None
    message: str = ""


def find(results: Path) -> Playground:
    """The playground that runs below a results folder.

    Raises:
        UsageError: none does.
    """
    try:
        found = msgspec.json.decode((results / FILE).read_bytes(), type=Playground)
    except FileNotFoundError:
        raise UsageError("no playground runs here: make playground") from None
    if not Path(found.socket).exists():
        raise UsageError("the playground has ended: make playground starts a new one")
    return found


def tell(playground: Playground, order: Order) -> Any:
    """Send an order and wait for what comes of it.

    Raises:
        NodeError: the playground has ended.
        FencepostError: whatever error the order met there.
    """
    with socket.socket(socket.AF_UNIX) as line:
        try:
            line.connect(playground.socket)
            line.sendall(msgspec.json.encode(order) + b"\n")
            with line.makefile("rb") as answers:
                said = answers.readline()
        except OSError as error:
            raise NodeError(f"the playground does not answer ({error.strerror})") from None
    if not said:
        raise NodeError("the playground ended before it answered: see its log")
    answer = msgspec.json.decode(said, type=Answer)
    if answer.error is not None:
        raise error_named(answer.error, answer.message)
    return answer.result


def failed(error: FencepostError) -> Answer:
    """The answer that tells an error."""
    return Answer(error=type(error).__name__, message=str(error))
