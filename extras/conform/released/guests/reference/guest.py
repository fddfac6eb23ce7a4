"""The reference guest: Java's consumer, with a fault that is planted.

It runs in the project's folder:
`python -m extras.conform.released.guests.reference.guest --kafka 4.4.0 --fault repeats=10`.
What comes out otherwise than its fault is a mistake of the harness.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jpype

from cluster.kafka import distribution
from contract.software import Level
from harness.java.jvm import (
    exception_name,
    java_class,
    java_partition,
    kafka_consumer,
    kafka_version,
    start_jvm,
)

FAULTS = ("keeps", "repeats", "skips", "stands-still", "raises")
_POSITION_MS = 100
_REFUSED = ("CommitFailedException", "RebalanceInProgressException", "FencedInstanceIdException")
_PLANTED = {"name": "PlantedException", "message": "a fault that is planted"}


class Guest:
    """One consumer, and the fault that it has once on each partition.

    The fault comes where the records of a partition go on behind a hazard: a first batch that does
    not begin at 0, or a later one that does not begin at the position, or has a newer leader epoch.
    """

    def __init__(self, *, fault: str, records: int, level: Level) -> None:
        """`records`: how many are repeated or skipped; `level`: what the guest shows."""
        self._fault = fault
        self._records = records
        self._level = level
        self._done: set[int] = set()
        self._raises = False
        self._read: dict[int, tuple[int, int]] = {}
        self._assigned: list[int] = []

    def open(self, request: dict[str, Any]) -> dict[str, Any]:
        """Make the consumer, and subscribe it."""
        self._topic = request["topic"]
        settings = {
            "bootstrap.servers": request["bootstrap"],
            "group.id": request["group"],
            "client.id": request["member"],
            "auto.offset.reset": request["reset"],
            "isolation.level": request["isolation"],
            "enable.auto.commit": "true" if request["commit"] == "automatic" else "false",
            **{name: str(value) for name, value in request["settings"].items()},
        }
        known = java_class("org.apache.kafka.clients.consumer.ConsumerConfig").configNames()
        for name in request["settings"]:
            if not known.contains(name):
                return {"error": {"name": "ConfigException", "message": f"unknown: {name}"}}
        self._consumer = kafka_consumer(settings)
        listener = jpype.JProxy(
            "org.apache.kafka.clients.consumer.ConsumerRebalanceListener",
            inst=_Listener(self._on_assigned),
        )
        self._consumer.subscribe(java_class("java.util.List").of(self._topic), listener)
        return {"client": "kafka-clients", "version": kafka_version()}

    def poll(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return what one poll returned, but for a partition on which the fault comes now."""
        if self._raises:
            return {"error": _PLANTED}
        try:
            polled = self._consumer.poll(_millis(request["timeout_ms"]))
        except jpype.JException as error:
            return {"error": _error(error)}
        records: list[dict[str, Any]] = []
        for tp in polled.partitions():
            batch = [_record(record) for record in polled.records(tp)]
            if self._is_due(batch):
                self._plant(tp, batch[0]["offset"])
            else:
                last = batch[-1]
                self._read[last["partition"]] = (last["offset"] + 1, last["epoch"])
                records += batch
        if self._raises:
            return {"error": _PLANTED}
        if self._level is not Level.POSITIONS:
            return {"records": records}
        rebalanced, self._assigned = self._assigned, []
        have = sorted(int(tp.partition()) for tp in self._consumer.assignment())
        positions = {partition: self._position(partition) for partition in have}
        return {
            "records": records,
            "assigned": have,
            "positions": [
                {"partition": partition, "offset": at}
                for partition, at in positions.items()
                if at is not None
            ],
            "rebalanced": rebalanced,
        }

    def commit(self, _request: dict[str, Any]) -> dict[str, Any]:
        """Commit by `commitSync()`, which does not return what it committed."""
        if self._level is Level.DELIVERS:
            return {"unsupported": True}
        try:
            self._consumer.commitSync()
        except jpype.JException as error:
            return {"error": {**_error(error), "definite": exception_name(error) in _REFUSED}}
        return {}

    def close(self, _request: dict[str, Any]) -> dict[str, Any]:
        """Leave the group."""
        self._consumer.close()
        return {}

    def _on_assigned(self, partitions: Any) -> None:
        for tp in partitions:
            self._assigned.append(int(tp.partition()))
            self._read.pop(int(tp.partition()), None)

    def _position(self, partition: int) -> int | None:
        try:
            of = java_partition(self._topic, partition)
            return int(self._consumer.position(of, _millis(_POSITION_MS)))
        except jpype.JException:
            return None

    def _is_due(self, batch: list[dict[str, Any]]) -> bool:
        partition = batch[0]["partition"]
        if self._fault == "keeps" or partition in self._done:
            return False
        at, epoch = self._read.get(partition, (0, batch[0]["epoch"]))
        is_newer = partition in self._read and batch[-1]["epoch"] > epoch
        return bool(batch[0]["offset"] != at or is_newer)

    def _plant(self, partition: Any, offset: int) -> None:
        """Move the consumer instead of returning what it read."""
        number = int(partition.partition())
        self._done.add(number)
        self._read.pop(number, None)
        moved = {"repeats": -self._records, "skips": self._records}.get(self._fault, 0)
        self._consumer.seek(partition, max(offset + moved, 0))
        self._raises = self._fault == "raises"
        if self._fault == "stands-still":
            self._consumer.pause(java_class("java.util.List").of(partition))


class _Listener:
    """A `ConsumerRebalanceListener`."""

    def __init__(self, assigned: Callable[[Any], None]) -> None:
        self._assigned = assigned

    def onPartitionsAssigned(self, partitions: Any) -> None:  # noqa: N802 - the interface's name
        """Called in a poll."""
        self._assigned(partitions)

    def onPartitionsRevoked(self, partitions: Any) -> None:  # noqa: N802 - the interface's name
        """Commit nothing."""

    def onPartitionsLost(self, partitions: Any) -> None:  # noqa: N802 - the interface's name
        """Commit nothing."""


def _millis(milliseconds: int) -> Any:
    return java_class("java.time.Duration").ofMillis(milliseconds)


def _record(record: Any) -> dict[str, Any]:
    epoch = record.leaderEpoch()
    return {
        "partition": int(record.partition()),
        "offset": int(record.offset()),
        "epoch": int(epoch.get()) if epoch.isPresent() else -1,
        "value": str(record.value()),
    }


def _error(error: Any) -> dict[str, Any]:
    return {"name": exception_name(error), "message": str(error.getMessage())}


def _planted(text: str) -> tuple[str, int]:
    fault, _, records = text.partition("=")
    if fault not in FAULTS:
        raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(FAULTS)}")
    return fault, int(records or 0)


def main() -> None:
    """Respond to each request until `close`, or until the end of the input."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--fault", type=_planted, default=("keeps", 0), metavar="FAULT[=RECORDS]")
    options.add_argument("--level", type=Level, default=Level.POSITIONS)
    options.add_argument("--kafka", required=True, help="the locked version that it runs")
    given = options.parse_args()
    log = Path(tempfile.mkdtemp()) / "client.log"
    start_jvm(map(str, distribution.class_path(given.kafka)), log=log)
    fault, records = given.fault
    guest = Guest(fault=fault, records=records, level=given.level)
    for line in sys.stdin:
        request = json.loads(line)
        response = getattr(guest, request["do"])(request)
        print(json.dumps({"id": request["id"], **response}), flush=True)
        if request["do"] == "close":
            break


if __name__ == "__main__":
    main()
