"""The driver's end of an agent in a container: one per container and process of the driver."""

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

from cluster.nodes.agent import ENCODER, REPLIES, AnyRequest, Reply, raise_error
from cluster.nodes.docker_client import connect, explained
from contract.errors import NodeError

_REPLY_SECONDS = 30
_STDOUT = 1
_SAID_BYTES = 2000

_WHAT_TO_DO = (
    "its container ended, or the Docker daemon did. See `docker ps --all`; `make clean` removes "
    "what is left"
)

_links: dict[tuple[int, str], "AgentLink"] = {}
_lock = threading.Lock()


def link_to(container: str, *, name: str, command: list[str]) -> "AgentLink":
    """This process's link to a container's agent, which `command` starts where it does not run.

    Raises:
        NodeError: the container runs no command.
    """
    key = (os.getpid(), container)
    with _lock:
        if key not in _links or not _links[key].is_alive:
            _links[key] = AgentLink(container, name=name, command=command)
        return _links[key]


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The whole lines that the pieces make, each as soon as its end is there.

    A line of n bytes costs n steps, however small its pieces are: a reply carries a file of many
    megabytes, and comes by kilobytes.
    """
    begun = bytearray()
    for piece in pieces:
        *ends, rest = piece.split(b"\n")
        for end in ends:
            yield bytes(begun) + end
            begun.clear()
        begun += rest


class AgentLink:
    """Sends requests and hands out replies; safe to use from several threads."""

    def __init__(self, container: str, *, name: str, command: list[str]) -> None:
        """Start the agent by an exec; its end of the line dies with this process."""
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
                f"{name} takes no command ({explained(error)}): {_WHAT_TO_DO}"
            ) from error
        self._socket: socket.socket = self._stream._sock  # noqa: SLF001 - docker's way
        self._socket.settimeout(None)
        threading.Thread(target=self._receive, daemon=True).start()

    def ask(self, request: AnyRequest, *, timeout_seconds: float = _REPLY_SECONDS) -> Any:
        """Send a request and wait for its result.

        Raises:
            NodeError: the node does not answer; or whatever error the request met there.
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
                f"{self._name} gave no answer to {type(request).__name__} within "
                f"{timeout_seconds:g} s: is its container paused, or the machine overloaded?"
            ) from None
        finally:
            self._waiting.pop(numbered.id, None)
        raise_error(reply, where=self._name)
        return reply.result

    def _receive(self) -> None:
        """Hand out replies until the stream ends."""
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
        """The agent's standard output, piece by piece; what it says otherwise is kept aside."""
        for kind, payload in frames_iter(self._stream, tty=False):
            if kind == _STDOUT:
                yield payload
            else:
                self._said = (self._said + payload)[-_SAID_BYTES:]

    def _give_up(self) -> None:
        """Nobody will answer any more: tell all who wait."""
        self.is_alive = False
        for answer in list(self._waiting.values()):
            if not answer.done():
                answer.set_exception(NodeError(self._why()))

    def _why(self) -> str:
        said = self._said.decode(errors="replace").strip()
        return f"{self._name} hung up{f' ({said})' if said else ''}: {_WHAT_TO_DO}"
