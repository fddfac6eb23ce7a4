"""A guest of librdkafka through confluent-kafka, which needs nothing else (docs/guests.md).

With the argument `consumer` its group uses KIP-848's protocol.
"""

import json
import sys
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition, libversion

PROTOCOL = "consumer" if sys.argv[1:] == ["consumer"] else "classic"
RECORDS_MAX = 500
AT_END = KafkaError._PARTITION_EOF
HANDLED = (
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._MAX_POLL_EXCEEDED,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)
"""librdkafka retries, or joins its group again at the next poll."""
REFUSED = (
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.STALE_MEMBER_EPOCH,
    KafkaError.UNKNOWN_MEMBER_ID,
)
"""By the group: the commit surely was not stored."""


class Guest:
    def open(self, request: dict[str, Any]) -> dict[str, Any]:
        self.topic = request["topic"]
        self.assigned: list[int] = []  # Since the last poll.
        self.ends: dict[int, int] = {}  # Of partitions without a record yet: their position.
        self.errors: list[KafkaError] = []  # To be reported by the next poll.
        settings = {
            "bootstrap.servers": request["bootstrap"],
            "group.id": request["group"],
            "group.protocol": PROTOCOL,
            "client.id": request["member"],
            "auto.offset.reset": request["reset"].replace("none", "error"),
            "isolation.level": request["isolation"],
            "enable.auto.commit": request["commit"] == "automatic",
            "enable.partition.eof": True,
            **request["settings"],
        }
        try:
            self.consumer = Consumer(settings)
        except KafkaException as raised:
            return {"error": named(raised.args[0])}
        self.consumer.subscribe([self.topic], on_assign=self.on_assign)
        return {"client": "librdkafka", "version": libversion()[0]}

    def on_assign(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self.ends.pop(partition.partition, None)
        self.assigned += [partition.partition for partition in partitions]

    def poll(self, request: dict[str, Any]) -> dict[str, Any]:
        records = []
        found = []
        if not self.errors:
            found = self.consumer.consume(1, request["timeout_ms"] / 1000)
            found += self.consumer.consume(RECORDS_MAX, 0) if found else []
        for message in found:
            error, partition = message.error(), message.partition() or 0
            if error is None:
                self.ends.pop(partition, None)
                records.append(
                    {
                        "partition": partition,
                        "offset": message.offset(),
                        "epoch": epoch_of(message.leader_epoch()),
                        "value": (message.value() or b"").decode(),
                    }
                )
            elif error.code() == AT_END:
                self.ends[partition] = message.offset() or 0
            elif error.code() not in HANDLED:
                self.errors.append(error)
        if self.errors and not records:
            return {"error": named(self.errors.pop(0))}
        rebalanced, self.assigned = self.assigned, []
        have = self.consumer.assignment()
        return {
            "records": records,
            "assigned": [tp.partition for tp in have],
            "positions": [at for tp in self.consumer.position(have) if (at := self.place(tp))],
            "rebalanced": rebalanced,
        }

    def place(self, tp: TopicPartition) -> dict[str, int] | None:
        offset = tp.offset if tp.offset >= 0 else self.ends.get(tp.partition, -1)
        if offset < 0:
            return None
        return {
            "partition": tp.partition,
            "offset": offset,
            "epoch": epoch_of(tp.leader_epoch),
        }

    def commit(self, _request: dict[str, Any]) -> dict[str, Any]:
        try:
            stored = self.consumer.commit(asynchronous=False) or []
        except KafkaException as raised:
            error = raised.args[0]
            if error.code() == KafkaError._NO_OFFSET:  # There is nothing new to commit.
                return {"committed": []}
            return {"error": {**named(error), "definite": error.code() in REFUSED}}
        return {"committed": [at for tp in stored if (at := self.place(tp))]}

    def close(self, _request: dict[str, Any]) -> dict[str, Any]:
        self.consumer.close()
        return {}


def epoch_of(epoch: int | None) -> int:
    return -1 if epoch is None else epoch


def named(error: KafkaError) -> dict[str, str]:
    return {"name": error.name(), "message": error.str()}


guest = Guest()
for line in sys.stdin:
    request = json.loads(line)
    response = getattr(guest, request["do"])(request)
    print(json.dumps({"id": request["id"], **response}), flush=True)
    if request["do"] == "close":
        break
