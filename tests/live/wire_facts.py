"""Prints what Kafka's message classes make of requests, and of responses with changed bytes.

A program of its own, since a process has one JVM: `wire_facts.py KAFKA FOLDER`. Needs no broker.
"""

import json
import struct
import sys
from pathlib import Path
from typing import Any

from cluster.kafka import distribution
from contract.errors import WorkerError
from harness.java.jvm import java_class, start_jvm
from harness.wire.request import MalformedResponseError, decode, encode_request
from harness.wire.requests import (
    WireRequest,
    fetch,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
)

REQUESTS = {
    "FETCH": fetch,
    "LIST_OFFSETS": list_offsets,
    "METADATA": metadata,
    "OFFSET_FOR_LEADER_EPOCH": lambda **fields: offset_for_leader_epoch(epoch=0, **fields),
}
FIRST = {"METADATA": 4}
VERSION, CORRELATION_ID, END_OFFSET = 2, 7, 50
PARTITION = {"errorCode": 0, "partition": 0, "leaderEpoch": 0, "endOffset": END_OFFSET}


def key_of(api: str) -> Any:
    return java_class("org.apache.kafka.common.protocol.ApiKeys").valueOf(api)


def versions_with_an_epoch() -> dict[str, list[int]]:
    """By API: the first and last version at which it is encoded, and the first with an epoch."""
    found = {}
    for api, request in REQUESTS.items():
        key = key_of(api)
        versions = range(max(FIRST.get(api, 0), key.oldestVersion()), key.latestVersion() + 1)
        sent = {
            version: str(encode_request(key, request(topic="t", version=version))[1])
            for version in versions
        }
        first = [version for version, fields in sent.items() if "currentLeaderEpoch" in fields]
        found[api] = [versions[0], versions[-1], *first[:1]]
    return found


def refusal() -> str:
    """Why a field that a version does not have can't be sent."""
    asked = fetch(topic="t", version=11, last_fetched_epoch=3)
    try:
        encode_request(key_of("FETCH"), WireRequest(api="FETCH", version=11, fields=asked.fields))
    except WorkerError as error:
        return str(error)
    return ""


def genuine() -> bytes:
    """An OffsetForLeaderEpoch response as a broker encodes it, with its correlation id."""
    name = "org.apache.kafka.common.message.OffsetForLeaderEpochResponseData"
    fields = {"throttleTimeMs": 0, "topics": [{"topic": "t", "partitions": [PARTITION]}]}
    tree = java_class("com.fasterxml.jackson.databind.ObjectMapper")().readTree(json.dumps(fields))
    message = java_class(f"{name}JsonConverter").read(tree, VERSION)
    cache = java_class("org.apache.kafka.common.protocol.ObjectSerializationCache")()
    buffer = java_class("java.nio.ByteBuffer").allocate(message.size(cache, VERSION))
    accessor = java_class("org.apache.kafka.common.protocol.ByteBufferAccessor")(buffer)
    message.write(accessor, cache, VERSION)
    return struct.pack(">i", CORRELATION_ID) + bytes(buffer.array())


def read(answer: bytes) -> int | str:
    """The end offset of a response, or why it is malformed."""
    key = key_of("OFFSET_FOR_LEADER_EPOCH")
    try:
        found = decode(key, answer, version=VERSION, correlation_id=CORRELATION_ID)
    except MalformedResponseError as error:
        return str(error)
    return int(found.topics().iterator().next().partitions().get(0).endOffset())


def main() -> None:
    """Print them as one line of JSON."""
    kafka, folder = sys.argv[1], Path(sys.argv[2])
    start_jvm(map(str, distribution.class_path(kafka)), log=folder / "jvm.log")
    whole = genuine()
    reported = {
        "versions": versions_with_an_epoch(),
        "refused": refusal(),
        "responses": {
            "whole": read(whole),
            "without its last byte": read(whole[:-1]),
            "with a byte too many": read(whole + b"\0"),
            "without the throttle time": read(whole[:4] + whole[8:]),
            "of another request": read(struct.pack(">i", 8) + whole[4:]),
        },
    }
    print(json.dumps(reported))


if __name__ == "__main__":
    main()
