"""A real producer whose requests go through a TCP proxy, which notes its TxnOffsetCommits.

`committing_producer.py PLAN`: a program of its own, with the JVM of the release. The proxy has a
port for each broker, and replaces the brokers' addresses in responses by its own, so that the
producer connects to no broker directly. The last line of the output is a list of `Sent` as JSON.
"""

import os
import socket
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from cluster.kafka.topology import CLIENT_PORT
from contract.waiting import wait_until
from harness.java.jvm import java_class, java_properties, start_jvm
from harness.wire.request import decode, encode, read_frame, send_frame

Message = Any

_HEAD = struct.Struct(">hhi")
_METADATA, _COORDINATOR, _COMMIT = "METADATA", "FIND_COORDINATOR", "TXN_OFFSET_COMMIT"
_NAMED = {_METADATA: "brokers", _COORDINATOR: "coordinators"}
"""By API: the field of its responses that has brokers with their addresses."""
_SERIALIZER = "org.apache.kafka.common.serialization.ByteArraySerializer"
_GROUP = "falling-back"
_BLOCK_MS = 60_000
_SENT_SECONDS = 60


class ProducerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The proxy's address, those of the brokers, and the topics of each sendOffsetsToTransaction.

    Each is of a transaction of its own, in their order.
    """

    address: str
    brokers: dict[int, str]
    topics: list[list[str]]
    jars: list[str]
    log: str


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A TxnOffsetCommit: its version, and the names and ids of its topics."""

    version: int
    names: list[str]
    ids: list[str]


class Proxy:
    """Passes on requests and responses of one client, each connection in a thread of its own."""

    def __init__(self, address: str, brokers: dict[int, str]) -> None:
        """Listen at a port for each broker."""
        self.sent: list[Sent] = []
        self._address = address
        self._listening = {broker: socket.create_server((address, 0)) for broker in brokers}
        self.ports = {one: int(server.getsockname()[1]) for one, server in self._listening.items()}
        self._keys: dict[int, Any] = {
            int(key.id): key
            for key in java_class("org.apache.kafka.common.protocol.ApiKeys").values()
        }
        for broker, server in self._listening.items():
            _in_background(self._accept, server, brokers[broker])

    def _accept(self, server: socket.socket, broker: str) -> None:
        while True:
            client, _ = server.accept()
            _in_background(self._serve, client, broker)

    def _serve(self, client: socket.socket, address: str) -> None:
        with client, socket.create_connection((address, CLIENT_PORT)) as broker:
            while True:
                try:
                    request = read_frame(client)
                except ConnectionResetError:
                    return
                number, version, correlation_id = _HEAD.unpack_from(request)
                key = self._keys[number]
                if str(key.name) == _COMMIT:
                    self.sent.append(_sent(key, version, request))
                send_frame(broker, request)
                response = read_frame(broker)
                if str(key.name) in _NAMED:
                    response = self._renamed(key, version, correlation_id, response)
                send_frame(client, response)

    def _renamed(self, key: Any, version: int, correlation_id: int, response: bytes) -> bytes:
        """Return a response with the proxy's address for each broker that it names."""
        message = decode(key, response, version=version, correlation_id=correlation_id)
        for node in getattr(message, _NAMED[str(key.name)])():
            if int(node.nodeId()) in self.ports:
                node.setHost(self._address).setPort(self.ports[int(node.nodeId())])
        header = java_class("org.apache.kafka.common.message.ResponseHeaderData")()
        header.setCorrelationId(correlation_id)
        return encode(header, key.responseHeaderVersion(version)) + encode(message, version)


def _in_background(act: Callable[..., None], *arguments: Any) -> None:
    threading.Thread(target=act, args=arguments, daemon=True).start()


def _sent(key: Any, version: int, request: bytes) -> Sent:
    buffer = java_class("java.nio.ByteBuffer").wrap(request)
    readable = java_class("org.apache.kafka.common.protocol.ByteBufferAccessor")(buffer)
    header = java_class("org.apache.kafka.common.message.RequestHeaderData")
    header(readable, key.requestHeaderVersion(version))
    message: Message = key.messageType.newRequest()
    message.read(readable, version)
    topics = list(message.topics())
    return Sent(
        version=version,
        names=sorted(str(topic.name()) for topic in topics if topic.name()),
        ids=sorted(str(topic.topicId()) for topic in topics if not topic.name()),
    )


def commit_in_transactions(bootstrap: str, topics: list[list[str]]) -> None:
    """Send an offset of partition 0 of each topic to a transaction, for each list of topics."""
    settings = {
        "bootstrap.servers": bootstrap,
        "transactional.id": _GROUP,
        "max.block.ms": str(_BLOCK_MS),
        "key.serializer": _SERIALIZER,
        "value.serializer": _SERIALIZER,
    }
    producer = java_class("org.apache.kafka.clients.producer.KafkaProducer")(
        java_properties(settings)
    )
    group = java_class("org.apache.kafka.clients.consumer.ConsumerGroupMetadata")(_GROUP)
    offset = java_class("org.apache.kafka.clients.consumer.OffsetAndMetadata")(1)
    partition = java_class("org.apache.kafka.common.TopicPartition")
    producer.initTransactions()
    for names in topics:
        offsets = java_class("java.util.HashMap")()
        for name in names:
            offsets.put(partition(name, 0), offset)
        producer.beginTransaction()
        producer.sendOffsetsToTransaction(offsets, group)
        producer.commitTransaction()


def main() -> None:
    """Commit, and print what was sent once there is a request for each list of topics.

    The last list may have a topic that there is not, for which the producer sends it over and over.
    """
    plan = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=ProducerPlan)
    start_jvm(plan.jars, log=Path(plan.log))
    proxy = Proxy(plan.address, plan.brokers)
    bootstrap = ",".join(f"{plan.address}:{port}" for port in proxy.ports.values())
    _in_background(commit_in_transactions, bootstrap, plan.topics)
    wait_until(
        lambda: len(set(map(str, proxy.sent))) >= len(plan.topics),
        what="a request for each list of topics",
        timeout_seconds=_SENT_SECONDS,
        last_seen=lambda: proxy.sent,
    )
    print(f"sent {msgspec.json.encode(proxy.sent).decode()}", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
