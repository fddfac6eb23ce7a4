"""The state file of a playground, and the client side of its socket: one line of JSON each way."""

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
    """One server of the playground: `shell` is the prefix of a command on its node."""

    id: int
    roles: str
    node: str
    address: str
    shell: list[str]
    log: str


class Playground(msgspec.Struct, frozen=True, kw_only=True):
    """A running playground, as in its state file."""

    cluster: str
    kafka: str
    topic: str
    bootstrap: str
    jars: str
    servers: list[Server]
    socket: str


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """An order to a playground: `fault` (verb, target), `heal`, `status` or `stop`."""

    do: str
    verb: str = ""
    target: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an order, or an error of the exception tree by name."""

    result: Any = None
    error: str | None = None
    message: str = ""


def find(results: Path) -> Playground:
    """Return the playground that runs below a results folder.

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
    """Send an order and return its result.

    Raises:
        NodeError: the playground has ended.
        FencepostError: any error of the order.
    """
    with socket.socket(socket.AF_UNIX) as line:
        try:
            line.connect(playground.socket)
            line.sendall(msgspec.json.encode(order) + b"\n")
            with line.makefile("rb") as answers:
                said = answers.readline()
        except OSError as error:
            raise NodeError(f"the playground does not respond ({error.strerror})") from None
    if not said:
        raise NodeError("the playground ended before it responded: see its log")
    answer = msgspec.json.decode(said, type=Answer)
    if answer.error is not None:
        raise error_named(answer.error, answer.message)
    return answer.result


def failed(error: FencepostError) -> Answer:
    """Return the `Answer` of an error."""
    return Answer(error=type(error).__name__, message=str(error))
