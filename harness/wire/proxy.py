"""A TCP proxy between clients and brokers, which holds a response or puts an error in its place.

Of a request it reads the header, in which API, version, correlation id and client id have the same
place in each version (`RequestHeader.json`). All but what it looks for passes unchanged.
"""

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from harness.java.jvm import java_class
from harness.wire.request import Broker, read_frame, send_frame

_HEAD = struct.Struct(">hhih")
"""API key, version, correlation id, and the length of the client id, -1 without one."""
_CORRELATION_ID = struct.Struct(">i")
_API_VERSIONS = 18


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was looked for, and the outcome of its response, by the proxy's wall clock.

    Attributes:
        broker: that the request is for.
        version: of the API.
        correlation_id: of the request, on its connection.
        client: the `client.id`.
        requested_micros: when the request came.
        responded_micros: when the broker's response came; None: not yet.
        passed_micros: when a response was sent on to the client; None: not yet.
        is_closed: whether the connection was closed before that.
    """

    broker: int
    version: int
    correlation_id: int
    client: str
    requested_micros: int
    responded_micros: int | None = None
    passed_micros: int | None = None
    is_closed: bool = False


@dataclass
class Watch:
    """What the proxy looks for: the next request of an API by clients of a group.

    Attributes:
        key: the number of the API.
        client_prefix: how the `client.id` begins.
        error: the name in `Errors` of the response that the client gets at once; the broker then
            does not get the request. None: the broker's response waits for the release.
        message: what was found.
    """

    key: int
    client_prefix: str
    error: str | None = None
    message: Message | None = None
    _released: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fits(self, key: int, client: str) -> bool:
        """Whether a request is what is looked for."""
        return self.message is None and key == self.key and client.startswith(self.client_prefix)

    def release(self) -> None:
        """Let the response pass, and the connection's later ones."""
        self._released.set()

    def pass_on(self, client: socket.socket, response: bytes) -> None:
        """Send the response to the client, a held one when it is released.

        Raises:
            OSError: the connection is closed.
        """
        self._note(responded_micros=_now())
        if self.error is None:
            self._released.wait()
        if self.message is not None and self.message.is_closed:
            raise ConnectionResetError("the client closed its connection")
        send_frame(client, response)
        self._note(passed_micros=_now())

    def close(self) -> None:
        """The client's connection is closed: nothing is held any more."""
        if self.message is not None and self.message.passed_micros is None:
            self._note(is_closed=True)
        self.release()

    def _note(self, **fields: object) -> None:
        with self._lock:
            if self.message is not None:
                self.message = replace(self.message, **fields)


class Proxy:
    """Listens for the clients of each broker."""

    def __init__(self) -> None:
        """It listens nowhere yet."""
        self._watches: list[Watch] = []
        self._lock = threading.Lock()

    def listen(self, broker: int, to: Broker, at: Broker) -> None:
        """Pass on connections `at` an address `to` a broker, until the process ends."""
        server = socket.create_server((at.address, at.port))
        threading.Thread(target=self._accept, args=(server, broker, to), daemon=True).start()

    def look_for(self, watch: Watch) -> None:
        """Look for a request from now on."""
        with self._lock:
            self._watches.append(watch)

    def give_up(self, watch: Watch) -> None:
        """No longer look for a request."""
        with self._lock:
            self._watches.remove(watch)

    def found(self, broker: int, request: bytes) -> Watch | None:
        """Return what a request was looked for by, and note the request there."""
        key, version, correlation_id, length = _HEAD.unpack_from(request)
        client = request[_HEAD.size : _HEAD.size + max(length, 0)].decode()
        with self._lock:
            for watch in self._watches:
                if watch.fits(key, client):
                    watch.message = Message(
                        broker=broker,
                        version=version,
                        correlation_id=correlation_id,
                        client=client,
                        requested_micros=_now(),
                    )
                    return watch
        return None

    def _accept(self, server: socket.socket, broker: int, to: Broker) -> None:
        while True:
            client, _ = server.accept()
            try:
                upstream = socket.create_connection((to.address, to.port))
            except OSError:
                client.close()
                continue
            for side in (client, upstream):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _Connection(self, broker, client, upstream).start()


class _Connection:
    """One connection of a client, and the proxy's own to the broker."""

    def __init__(
        self, proxy: Proxy, broker: int, client: socket.socket, upstream: socket.socket
    ) -> None:
        self._proxy, self._broker = proxy, broker
        self._client, self._upstream = client, upstream
        self._watched: dict[int, Watch] = {}
        self._refusals: dict[int, bytes] = {}

    def start(self) -> None:
        """Pass on both directions, each in a thread."""
        for direction in (self._pass_requests, self._pass_responses):
            threading.Thread(target=self._until_closed, args=(direction,), daemon=True).start()

    def _until_closed(self, direction: Callable[[], None]) -> None:
        try:
            with suppress(OSError):
                direction()
        finally:
            for watch in self._watched.values():
                watch.close()
            for side in (self._client, self._upstream):
                with suppress(OSError):
                    side.shutdown(socket.SHUT_RDWR)
                side.close()

    def _pass_requests(self) -> None:
        while True:
            request = read_frame(self._client)
            watch = self._proxy.found(self._broker, request)
            if watch is not None and watch.message is not None:
                correlation_id = watch.message.correlation_id
                self._watched[correlation_id] = watch
                if watch.error is not None:
                    self._refusals[correlation_id] = refusal(request, watch.error)
                    request = _HEAD.pack(_API_VERSIONS, 0, correlation_id, -1)
            send_frame(self._upstream, request)

    def _pass_responses(self) -> None:
        while True:
            response = read_frame(self._upstream)
            (correlation_id,) = _CORRELATION_ID.unpack_from(response)
            watch = self._watched.get(correlation_id)
            if watch is None:
                send_frame(self._client, response)
            else:
                watch.pass_on(self._client, self._refusals.get(correlation_id, response))
                del self._watched[correlation_id]


def refusal(request: bytes, error: str) -> bytes:
    """Return the response with an error, as a broker makes it (`AbstractRequest.getErrorResponse`).

    The request is one frame with its header; `error` is the name in `Errors`.
    """
    buffer = java_class("java.nio.ByteBuffer").wrap(request)
    network, security = ("org.apache.kafka.common.network", "org.apache.kafka.common.security.auth")
    requests = "org.apache.kafka.common.requests"
    context = java_class(f"{requests}.RequestContext")(
        java_class(f"{requests}.RequestHeader").parse(buffer),
        "proxy",
        java_class("java.net.InetAddress").getLoopbackAddress(),
        java_class(f"{security}.KafkaPrincipal").ANONYMOUS,
        java_class(f"{network}.ListenerName")("CLIENT"),
        java_class(f"{security}.SecurityProtocol").PLAINTEXT,
        java_class(f"{network}.ClientInformation").EMPTY,
        False,  # noqa: FBT003 - Java's
    )
    exception = java_class("org.apache.kafka.common.protocol.Errors").valueOf(error).exception()
    refused = context.parseRequest(buffer).request.getErrorResponse(0, exception)
    return bytes(context.buildResponseEnvelopePayload(refused).array())


def _now() -> int:
    return time.time_ns() // 1000
