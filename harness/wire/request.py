"""One request to one broker, encoded and decoded by Kafka's own generated message classes.

Supports any version of the JVM's Kafka classes. See
`org.apache.kafka.common.protocol.ApiMessage` and `ApiKeys`.
"""

import itertools
import socket
import struct
from dataclasses import dataclass
from typing import Any

from harness.java.jvm import java_class

_LENGTH = struct.Struct(">i")
_correlation_ids = itertools.count(1)


@dataclass(frozen=True)
class Broker:
    """The address of a broker."""

    address: str
    port: int


def ask(broker: Broker, api: str, request: Any, *, version: int, timeout_seconds: float) -> Any:
    """Send one request and return the response's message.

    Args:
        broker: the receiver; the connection is for this request only.
        api: the name in `ApiKeys`, e.g. `METADATA`.
        request: the request's generated message, e.g. a `MetadataRequestData`.
        version: of request and response.
        timeout_seconds: for the connection and for each read.

    Raises:
        OSError: the broker can't be reached or closes the connection.
    """
    key = java_class("org.apache.kafka.common.protocol.ApiKeys").valueOf(api)
    header = java_class("org.apache.kafka.common.message.RequestHeaderData")()
    header.setRequestApiKey(key.id)
    header.setRequestApiVersion(version)
    header.setCorrelationId(next(_correlation_ids))
    header.setClientId("fencepost-observer")
    payload = _encode(header, key.requestHeaderVersion(version)) + _encode(request, version)
    with socket.create_connection((broker.address, broker.port), timeout_seconds) as connection:
        connection.sendall(_LENGTH.pack(len(payload)) + payload)
        (length,) = _LENGTH.unpack(_read(connection, _LENGTH.size))
        answer = _read(connection, length)
    buffer = java_class("java.nio.ByteBuffer").wrap(answer)
    readable = java_class("org.apache.kafka.common.protocol.ByteBufferAccessor")(buffer)
    name = str(request.getClass().getName()).replace("RequestData", "ResponseData")
    java_class("org.apache.kafka.common.message.ResponseHeaderData")(
        readable, key.responseHeaderVersion(version)
    )
    return java_class(name)(readable, version)


def _encode(message: Any, version: int) -> bytes:
    cache = java_class("org.apache.kafka.common.protocol.ObjectSerializationCache")()
    size = message.size(cache, version)
    buffer = java_class("java.nio.ByteBuffer").allocate(size)
    message.write(
        java_class("org.apache.kafka.common.protocol.ByteBufferAccessor")(buffer), cache, version
    )
    return bytes(buffer.array())


def _read(connection: socket.socket, length: int) -> bytes:
    parts = []
    while length > 0:
        part = connection.recv(min(length, 1 << 16))
        if not part:
            raise ConnectionResetError("the broker closed the connection within a response")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
