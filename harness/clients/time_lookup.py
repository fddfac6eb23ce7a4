"""`offsetsForTimes` of the clients under test, each opened for the calls of one command."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from contract.clients import Client
from contract.errors import WorkerError
from contract.events import WireAnswer, WireCalled
from contract.protocol import NO_API_KEY, NO_BROKER, OFFSETS_FOR_TIMES
from harness.clients.history import HistoryWriter
from harness.clients.observer_commands import OffsetsForTimes
from harness.java.jvm import java_class, java_properties

_GROUP = "fencepost-time-lookup"
_DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_SECONDS = 30


@dataclass(frozen=True)
class Found:
    """The first record at or after a time: its offset, and its leader epoch if the client has it.

    Both are None if there is no such record.
    """

    offset: int | None = None
    epoch: int | None = None


Lookup = Callable[[int], Found]
"""From a time in milliseconds."""


def look_up_times(order: OffsetsForTimes, *, bootstrap: str, history: HistoryWriter) -> int:
    """Call the client once for each time, and write each call; returns how many found an offset.

    Raises:
        WorkerError: librdkafka returned an error.
    """
    opened = _librdkafka if order.client is Client.LIBRDKAFKA else _java
    with opened(order, bootstrap) as look_up:
        return sum(_call(order, one, look_up, history) for one in order.timestamps_ms)


def _call(
    order: OffsetsForTimes, timestamp_ms: int, look_up: Lookup, history: HistoryWriter
) -> bool:
    began_micros = time.time_ns() // 1000
    found = look_up(timestamp_ms)
    answer = WireAnswer(
        topic=order.topic,
        partition=order.partition,
        asked_timestamp=timestamp_ms,
        error_code=0,
        offset=found.offset,
        epoch=found.epoch,
    )
    history.write(
        WireCalled,
        broker=NO_BROKER,
        api=OFFSETS_FOR_TIMES,
        api_key=NO_API_KEY,
        version=0,
        request=json.dumps({"timestamp": timestamp_ms}),
        response=json.dumps({"offset": found.offset, "leaderEpoch": found.epoch}),
        began_micros=began_micros,
        answers=[answer],
        client=str(order.client),
    )
    return found.offset is not None


@contextmanager
def _java(order: OffsetsForTimes, bootstrap: str) -> Iterator[Lookup]:
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": _GROUP,
        "enable.auto.commit": "false",
        "key.deserializer": _DESERIALIZER,
        "value.deserializer": _DESERIALIZER,
    }
    if order.client is Client.JAVA_CONSUMER:
        settings["group.protocol"] = "consumer"
    asked = java_class("org.apache.kafka.common.TopicPartition")(order.topic, order.partition)
    timeout = java_class("java.time.Duration").ofSeconds(_SECONDS)
    consumer: Any = java_class("org.apache.kafka.clients.consumer.KafkaConsumer")(
        java_properties(settings)
    )

    def look_up(timestamp_ms: int) -> Found:
        times = java_class("java.util.HashMap")()
        times.put(asked, java_class("java.lang.Long").valueOf(timestamp_ms))
        found = consumer.offsetsForTimes(times, timeout).get(asked)
        if found is None:
            return Found()
        epoch = found.leaderEpoch()
        return Found(int(found.offset()), int(epoch.get()) if epoch.isPresent() else None)

    with closing(consumer):
        yield look_up


@contextmanager
def _librdkafka(order: OffsetsForTimes, bootstrap: str) -> Iterator[Lookup]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": _GROUP})

    def look_up(timestamp_ms: int) -> Found:
        asked = TopicPartition(order.topic, order.partition, timestamp_ms)
        (found,) = consumer.offsets_for_times([asked], timeout=_SECONDS)
        if found.error is not None:
            raise WorkerError(f"librdkafka found no offset for {asked}: {found.error}")
        return Found() if found.offset < 0 else Found(found.offset, found.leader_epoch)

    with closing(consumer):
        yield look_up
