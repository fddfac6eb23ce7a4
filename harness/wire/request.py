"""One request to one broker, encoded and decoded by Kafka's own generated message classes.

Supports any version of the JVM's Kafka classes. See
`org.apache.kafka.common.protocol.ApiMessage`, `ApiKeys` and `*JsonConverter`.
"""

import itertools
import socket
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import replace

from contract.errors import WorkerError
from contract.events import WireAnswer
from harness.java.jvm import java_class
from harness.wire.requests import Login, WireRequest

_SASL_HANDSHAKE_VERSION, _SASL_AUTHENTICATE_VERSION = 1, 2
_LENGTH = struct.Struct(">i")
_correlation_ids = itertools.count(1)


class MalformedResponseError(OSError):
    """A response is not of the schema of its version, or not of its request."""


@dataclass(frozen=True)
class Broker:
    """The address of a broker's listener, and the login for it; None where it has none."""

    address: str
    port: int
    login: Login | None = None


def ask(broker: Broker, api: str, request: Any, *, version: int, timeout_seconds: float) -> Any:
    """Send one request and return the response's message.

    Args:
        broker: the receiver; the connection is for this request and its login only.
        api: the name in `ApiKeys`, e.g. `METADATA`.
        request: the request's generated message, e.g. a `MetadataRequestData`.
        version: of request and response.
        timeout_seconds: for the connection and for each read.

    Raises:
        MalformedResponseError: the response can't be decoded at this version.
        OSError: the broker can't be reached, refuses the login or closes the connection.
    """
    with socket.create_connection((broker.address, broker.port), timeout_seconds) as connection:
        if broker.login is not None:
            _log_in(connection, broker.login)
        return _ask(connection, api, request, version=version)


def _log_in(connection: socket.socket, login: Login) -> None:
    """Log in by SASL/PLAIN (RFC 4616).

    Raises:
        ConnectionError: the broker refuses it.
    """
    handshake = java_class("org.apache.kafka.common.message.SaslHandshakeRequestData")()
    handshake.setMechanism("PLAIN")
    authenticate = java_class("org.apache.kafka.common.message.SaslAuthenticateRequestData")()
    authenticate.setAuthBytes(f"\0{login.principal}\0{login.password}".encode())
    for api, version, request in (
        ("SASL_HANDSHAKE", _SASL_HANDSHAKE_VERSION, handshake),
        ("SASL_AUTHENTICATE", _SASL_AUTHENTICATE_VERSION, authenticate),
    ):
        if error := int(_ask(connection, api, request, version=version).errorCode()):
            raise ConnectionRefusedError(f"{api} of {login.principal} has error {error}")


def _ask(connection: socket.socket, api: str, request: Any, *, version: int) -> Any:
    """Send one request on a connection and return the response's message."""
    key = java_class("org.apache.kafka.common.protocol.ApiKeys").valueOf(api)
    header = java_class("org.apache.kafka.common.message.RequestHeaderData")()
    header.setRequestApiKey(key.id)
    header.setRequestApiVersion(version)
    header.setCorrelationId(next(_correlation_ids))
    header.setClientId("fencepost-observer")
    payload = encode(header, key.requestHeaderVersion(version)) + encode(request, version)
    send_frame(connection, payload)
    answer = read_frame(connection)
    return decode(key, answer, version=version, correlation_id=int(header.correlationId()))


def decode(key: Any, answer: bytes, *, version: int, correlation_id: int) -> Any:
    """Return the message of a response, given with its header and without its length.

    Raises:
        MalformedResponseError: it is not the response of this request, or bytes are missing, or
            left over.
    """
    buffer = java_class("java.nio.ByteBuffer").wrap(answer)
    readable = java_class("org.apache.kafka.common.protocol.ByteBufferAccessor")(buffer)
    message = key.messageType.newResponse()
    try:
        header = java_class("org.apache.kafka.common.message.ResponseHeaderData")(
            readable, key.responseHeaderVersion(version)
        )
        message.read(readable, version)
    except java_class("java.lang.RuntimeException") as error:
        said = str(error).partition("\n")[0]
        raise MalformedResponseError(f"{key.name} {version} can't be decoded: {said}") from error
    if int(header.correlationId()) != correlation_id:
        raise MalformedResponseError(
            f"{key.name} {version} has correlation id {header.correlationId()}, not"
            f" {correlation_id}"
        )
    if left := int(buffer.remaining()):
        raise MalformedResponseError(f"{key.name} {version} has {left} bytes too many")
    return message


def api_key(api: str) -> int:
    """Return the number of an API by its name in `ApiKeys`."""
    return int(java_class("org.apache.kafka.common.protocol.ApiKeys").valueOf(api).id)


def encode(message: Any, version: int) -> bytes:
    """Return a message's bytes at a version."""
    cache = java_class("org.apache.kafka.common.protocol.ObjectSerializationCache")()
    size = message.size(cache, version)
    buffer = java_class("java.nio.ByteBuffer").allocate(size)
    message.write(
        java_class("org.apache.kafka.common.protocol.ByteBufferAccessor")(buffer), cache, version
    )
    return bytes(buffer.array())


def read_frame(connection: socket.socket) -> bytes:
    """Return the next request or response on a connection, without its length.

    Raises:
        ConnectionResetError: the other side closed the connection.
    """
    (length,) = _LENGTH.unpack(_read(connection, _LENGTH.size))
    return _read(connection, length)


def send_frame(connection: socket.socket, frame: bytes) -> None:
    """Send a request or a response, with its length before it."""
    connection.sendall(_LENGTH.pack(len(frame)) + frame)


def _read(connection: socket.socket, length: int) -> bytes:
    parts = []
    while length > 0:
        part = connection.recv(min(length, 1 << 16))
        if not part:
            raise ConnectionResetError("the broker closed the connection within a response")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


@dataclass(frozen=True)
class Exchange:
    """What was sent, and what came back.

    Attributes:
        api_key: the number of the API.
        request, response: the fields of that version; no response if the call failed.
        failure: why there is no response.
        began_micros: when the request was sent, on this node's wall clock.
    """

    api_key: int
    request: dict[str, Any]
    response: dict[str, Any] | None
    failure: str | None
    began_micros: int


def exchange(broker: Broker, asked: WireRequest, *, timeout_seconds: float) -> Exchange:
    """Send a request and wait for its response; a failed exchange is returned, too.

    Raises:
        WorkerError: Kafka's schema of that version refuses the fields.
    """
    key = java_class("org.apache.kafka.common.protocol.ApiKeys").valueOf(asked.api)
    message, request = encode_request(key, asked)
    began_micros = time.time_ns() // 1000
    response: dict[str, Any] | None = None
    failure: str | None = None
    try:
        found = ask(
            broker, asked.api, message, version=asked.version, timeout_seconds=timeout_seconds
        )
        response = _fields(found, asked.version)
    except OSError as error:
        failure = f"{type(error).__name__}: {error}"
    return Exchange(int(key.id), request, response, failure, began_micros)


def encode_request(key: Any, asked: WireRequest) -> tuple[Any, dict[str, Any]]:
    """Return a request's message, and its fields at its version.

    Raises:
        WorkerError: Kafka's schema of that version refuses the fields.
    """
    name = str(key.messageType.newRequest().getClass().getName())
    mapper = java_class("com.fasterxml.jackson.databind.ObjectMapper")()
    tree = mapper.readTree(msgspec.json.encode(asked.fields).decode())
    try:
        message = java_class(f"{name}JsonConverter").read(tree, asked.version)
        return message, _fields(message, asked.version)
    except java_class("java.lang.RuntimeException") as error:
        said = str(error).partition("\n")[0]
        raise WorkerError(f"{asked.api} {asked.version}: {said}") from error


def with_error_classes(answers: Iterable[WireAnswer]) -> list[WireAnswer]:
    """Add to each answer with an error whether the client library has a retriable exception."""
    return [
        replace(answer, is_retriable=_is_retriable(answer.error_code))
        if answer.error_code
        else answer
        for answer in answers
    ]


@cache
def _is_retriable(code: int) -> bool:
    error = java_class("org.apache.kafka.common.protocol.Errors").forCode(code)
    retriable = java_class("org.apache.kafka.common.errors.RetriableException")
    return isinstance(error.exception(), retriable)


def _fields(message: Any, version: int) -> dict[str, Any]:
    """Return the fields of a message at a version. Of records it has only their size."""
    converter = java_class(f"{message.getClass().getName()}JsonConverter")
    text = str(converter.write(message, version, False).toString())  # noqa: FBT003 - Java's
    found: dict[str, Any] = msgspec.json.decode(text)
    return found
