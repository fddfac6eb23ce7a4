"""The driver's connection to an agent in a container: one per container and driver process."""

import itertools
import os
import socket
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

import msgspec
from docker.errors import APIError, DockerException
from docker.utils.socket import frames_iter

from cluster.nodes.agent import ENCODER, REPLIES, Reply, Request, raise_error
from cluster.nodes.docker_client import connect, explained
from contract.errors import NodeError

REPLY_SECONDS = 30
_STDOUT = 1
_SAID_BYTES = 2000

_WHAT_TO_DO = (
    "its container or the Docker daemon ended. See `docker ps --all`; `make clean` removes the rest"
)

_links: dict[tuple[int, str], "AgentLink"] = {}
_lock = threading.Lock()


def link_to(container: str, *, name: str, command: list[str]) -> "AgentLink":
    """Return this process's link to a container's agent, which `command` starts if needed.

    Raises:
        NodeError: the container can't run commands.
    """
    key = (os.getpid(), container)
    with _lock:
        if key not in _links or not _links[key].is_alive:
            _links[key] = AgentLink(container, name=name, command=command)
        return _links[key]


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream of pieces, each as soon as it is complete.

    A line of n bytes costs n steps, however small its pieces are: a reply can hold a file of many
        megabytes, and arrives in kilobytes.
    """
    begun = bytearray()
    for piece in pieces:
        *ends, rest = piece.split(b"\n")
        for end in ends:
            yield bytes(begun) + end
            begun.clear()
        begun += rest


class AgentLink:
    """Sends requests and returns replies; safe to use from several threads."""

    def __init__(self, container: str, *, name: str, command: list[str]) -> None:
        """Start the agent by an exec; its input ends with this process."""
        self._name = name
        self._ids = itertools.count(1)
        self._waiting: dict[int, Future[Reply]] = {}
        self._sending = threading.Lock()
        self._said = b""
        self.is_alive = True
        try:
            api = connect().api
            created = api.exec_create(container, command, stdin=True)
            self._stream = api.exec_start(created, socket=True)
        except (APIError, DockerException, OSError) as error:
            raise NodeError(
                f"{name} can't run commands ({explained(error)}): {_WHAT_TO_DO}"
            ) from error
        self._socket: socket.socket = self._stream._sock  # noqa: SLF001 - docker's way
        self._socket.settimeout(None)
        threading.Thread(target=self._receive, daemon=True).start()

    def ask(self, request: Request, *, timeout_seconds: float = REPLY_SECONDS) -> Any:
        """Send a request and wait for its result.

        Raises:
            NodeError: the node does not reply; or any error of the request on the node.
        """
        numbered = msgspec.structs.replace(request, id=next(self._ids))
        answer: Future[Reply] = Future()
        with self._sending:
            self._waiting[numbered.id] = answer
            if not self.is_alive:
                raise NodeError(self._why())
            try:
                self._socket.sendall(ENCODER.encode(numbered) + b"\n")
            except OSError:
                self._give_up()
        try:
            reply = answer.result(timeout_seconds)
        except FutureTimeoutError:
            raise NodeError(
                f"{self._name} did not reply to {type(request).__name__} within "
                f"{timeout_seconds:g} s: is its container paused, or the machine overloaded?"
            ) from None
        finally:
            self._waiting.pop(numbered.id, None)
        raise_error(reply, where=self._name)
        return reply.result

    def _receive(self) -> None:
        """Pass replies to their callers until the stream ends."""
        try:
            for line in lines_of(self._pieces()):
                reply = REPLIES.decode(line)
                waiting = self._waiting.get(reply.id)
                if waiting is not None:
                    waiting.set_result(reply)
        except (OSError, ValueError):
            pass
        self._give_up()

    def _pieces(self) -> Iterator[bytes]:
        """The agent's standard output, piece by piece; standard error is kept."""
        for kind, payload in frames_iter(self._stream, tty=False):
            if kind == _STDOUT:
                yield payload
            else:
                self._said = (self._said + payload)[-_SAID_BYTES:]

    def _give_up(self) -> None:
        """Fail all waiting requests after the stream has ended."""
        self.is_alive = False
        for answer in list(self._waiting.values()):
            if not answer.done():
                answer.set_exception(NodeError(self._why()))

    def _why(self) -> str:
        said = self._said.decode(errors="replace").strip()
        return f"{self._name} closed the connection{f' ({said})' if said else ''}: {_WHAT_TO_DO}"
