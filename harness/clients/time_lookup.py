"""`offsetsForTimes` of the clients under test, each opened for the calls of one command."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from contract.errors import WorkerError
from contract.events import WireAnswer, WireCalled
from contract.protocol import NO_API_KEY, NO_BROKER, OFFSETS_FOR_TIMES
from contract.software import Client
from harness.clients.history import HistoryWriter
from harness.clients.member import Partition
from harness.java.jvm import java_class, java_partition, kafka_consumer

_GROUP = "fencepost-time-lookup"
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


def look_up_times(
    client: Client,
    partition: Partition,
    timestamps_ms: Iterable[int],
    *,
    bootstrap: str,
    history: HistoryWriter,
) -> int:
    """Call the client once for each time, and write each call; returns how many found an offset.

    Raises:
        WorkerError: librdkafka returned an error.
    """
    opened = (
        _librdkafka(partition, bootstrap)
        if client is Client.LIBRDKAFKA
        else _java(partition, bootstrap, is_new_protocol=client is Client.JAVA_CONSUMER)
    )
    offsets = 0
    with opened as look_up:
        for timestamp_ms in timestamps_ms:
            began_micros = time.time_ns() // 1000
            found = look_up(timestamp_ms)
            answer = WireAnswer(
                topic=partition[0],
                partition=partition[1],
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
                client=str(client),
            )
            offsets += found.offset is not None
    return offsets


@contextmanager
def _java(partition: Partition, bootstrap: str, *, is_new_protocol: bool) -> Iterator[Lookup]:
    settings = {"bootstrap.servers": bootstrap, "group.id": _GROUP}
    if is_new_protocol:
        settings["group.protocol"] = "consumer"
    asked = java_partition(*partition)
    timeout = java_class("java.time.Duration").ofSeconds(_SECONDS)
    consumer = kafka_consumer(settings)

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
def _librdkafka(partition: Partition, bootstrap: str) -> Iterator[Lookup]:
    # The driver imports this module with the observer's role, and loads no client under test.
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": _GROUP})

    def look_up(timestamp_ms: int) -> Found:
        asked = TopicPartition(*partition, timestamp_ms)
        (found,) = consumer.offsets_for_times([asked], timeout=_SECONDS)
        if found.error is not None:
            raise WorkerError(f"librdkafka found no offset for {asked}: {found.error}")
        return Found() if found.offset < 0 else Found(found.offset, found.leader_epoch)

    with closing(consumer):
        yield look_up
