"""A TCP proxy between a client and brokers, which changes one message of each connection.

`tampering_proxy.py PLAN`: a program of its own, since it decodes messages by Kafka's classes. The
connections come one after the other, and the first is about the first tampering.
"""

import socket
import struct
import sys
from pathlib import Path

import msgspec
from every_tampering import Facts, every_tampering
from wire_tamperings import Message, WireTampering

from cluster.kafka.topology import SECURED_PORT
from harness.java.jvm import java_class, start_jvm
from harness.wire.request import decode, encode, read_frame, send_frame

_HEAD = struct.Struct(">hhi")
"""What every request header begins with: API key, version, correlation id."""


class ProxyPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What the proxy needs to know: its own address, those of the brokers, and the facts."""

    address: str
    brokers: dict[int, str]
    facts: Facts
    jars: list[str]
    log: str


def changed_request(tampering: WireTampering, request: bytes) -> bytes:
    """Return a request as the tampering has it."""
    number, version, _ = _HEAD.unpack_from(request)
    key = java_class("org.apache.kafka.common.protocol.ApiKeys").valueOf(tampering.request.api)
    if tampering.change_request is None or number != int(key.id):
        return request
    buffer = java_class("java.nio.ByteBuffer").wrap(request)
    readable = java_class("org.apache.kafka.common.protocol.ByteBufferAccessor")(buffer)
    header_version = key.requestHeaderVersion(version)
    header: Message = java_class("org.apache.kafka.common.message.RequestHeaderData")(
        readable, header_version
    )
    message = key.messageType.newRequest()
    message.read(readable, version)
    tampering.change_request(message)
    return encode(header, header_version) + encode(message, version)


def change_response(tampering: WireTampering, request: bytes, response: bytes) -> bytes:
    """Return a response as the tampering has it; one of another API, as of a login, as it is."""
    number, version, correlation_id = _HEAD.unpack_from(request)
    key = java_class("org.apache.kafka.common.protocol.ApiKeys").valueOf(tampering.request.api)
    if tampering.change is None or number != int(key.id):
        return response
    message = decode(key, response, version=version, correlation_id=correlation_id)
    tampering.change(message)
    header = java_class("org.apache.kafka.common.message.ResponseHeaderData")()
    header.setCorrelationId(correlation_id)
    return encode(header, key.responseHeaderVersion(version)) + encode(message, version)


def serve(client: socket.socket, broker: socket.socket, tampering: WireTampering) -> None:
    """Pass on requests and responses until the client closes the connection."""
    while True:
        try:
            request = read_frame(client)
        except ConnectionResetError:
            return
        send_frame(broker, changed_request(tampering, request))
        send_frame(client, change_response(tampering, request, read_frame(broker)))


def main() -> None:
    """Serve one connection for each tampering."""
    plan = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=ProxyPlan)
    start_jvm(plan.jars, log=Path(plan.log))
    with socket.create_server((plan.address, 0)) as server:
        print(f"listening on {server.getsockname()[1]}", flush=True)
        for tampering in every_tampering(plan.facts):
            port = tampering.port if tampering.principal is None else SECURED_PORT
            client, _ = server.accept()
            with client, socket.create_connection((plan.brokers[tampering.broker], port)) as broker:
                serve(client, broker, tampering)


if __name__ == "__main__":
    main()
