"""Prints what is read from the Java clients' own fields. Needs no broker.

A program of its own, since a process has one JVM: `java_facts.py KAFKA FOLDER WHAT`, which is
producers, consumers or records.
"""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from cluster.kafka import distribution
from contract.software import clients_of
from harness.clients.history import HistoryWriter
from harness.clients.java_consumer import JavaMember, columns_of
from harness.clients.java_producer import JavaProducer
from harness.clients.member import Member, OffsetAndEpoch
from harness.clients.producers import Opening
from harness.java.jvm import java_class, start_jvm

BOOTSTRAP = "127.0.0.1:9"
SETTINGS: dict[str, dict[str, str | int]] = {
    "acks=all": {"acks": "all"},
    "acks=1": {"acks": "1"},
    "acks=0": {"acks": "0"},
    "without idempotence": {"acks": "all", "enable.idempotence": "false"},
    "one in flight": {"acks": "all", "max.in.flight.requests.per.connection": "1"},
    "ten in flight": {
        "enable.idempotence": "false",
        "max.in.flight.requests.per.connection": "10",
    },
    "transactional": {"acks": "all", "transactional.id": "t"},
}
VALUES = (("a:1", 3), ("", None), ("\u00e9\U0001f388", 0), ("b\0c", 7))


class AssignedMember(JavaMember):
    """A member that is given a partition by hand, so that it needs no group."""

    def take_over(self, offset: int, *, epoch: int, leader_epoch: int | None) -> dict[str, Any]:
        """Take a position over; returns the state that is read then.

        With the epoch of its leader, a position awaits validation: nobody answers here.
        """
        partition = java_class("org.apache.kafka.common.TopicPartition")("t", 0)
        if not self._assignment():
            self._consumer.unsubscribe()
            self._consumer.assign(java_class("java.util.List").of(partition))
        leader = java_class("org.apache.kafka.clients.Metadata$LeaderAndEpoch")
        position = java_class(
            "org.apache.kafka.clients.consumer.internals.SubscriptionState$FetchPosition"
        )
        self._subscriptions.seekUnvalidated(
            partition,
            position(offset, optional(epoch), leader(optional(None), optional(leader_epoch))),
        )
        (state,) = self._states([("t", 0)]).values()
        reported: dict[str, Any] = msgspec.to_builtins(state)
        return reported | {"generation": self._generation()}

    def commit_beyond_markers(self) -> list[Any]:
        """Process up to 3 under epoch 1, while the position is 6; returns what is committed."""
        self._processed[("t", 0)] = OffsetAndEpoch(3, 1)
        offsets, _ = self.positions_to_commit()
        return [
            (int(at.offset()), int(at.leaderEpoch().orElse(-1))) for at in list(offsets.values())
        ]

    def overtake(self) -> dict[str, Any]:
        """Take position 5 over; returns its state if a leader comes once positions are read."""
        self.take_over(5, epoch=3, leader_epoch=None)
        self._subscriptions = Overtaken(self._subscriptions, self)
        (state,) = self._states([("t", 0)]).values()
        reported: dict[str, Any] = msgspec.to_builtins(state)
        return reported


class Overtaken:
    """A `SubscriptionState` of which a position has a new leader once the positions are read."""

    def __init__(self, real: Any, member: AssignedMember) -> None:
        """`member` has the position."""
        self._real = real
        self._member = member

    def __getattr__(self, name: str) -> Any:
        """As the real one."""
        return getattr(self._real, name)

    def allConsumed(self) -> Any:  # noqa: N802 - Kafka's name
        """Read the positions, of which one is invalid then."""
        consumed = self._real.allConsumed()
        self._member._subscriptions = self._real  # noqa: SLF001
        self._member.take_over(5, epoch=3, leader_epoch=4)
        return consumed


def optional(number: int | None) -> Any:
    """Return a `java.util.Optional`."""
    optional = java_class("java.util.Optional")
    if number is None:
        return optional.empty()
    return optional.of(java_class("java.lang.Integer")(number))


def producers() -> dict[str, Any]:
    """The settings in force, by those that were given."""
    reported = {}
    for name, settings in SETTINGS.items():
        producer = JavaProducer(Opening(producer=name, bootstrap=BOOTSTRAP, settings=settings))
        reported[name] = msgspec.to_builtins(producer.settings)
        producer.close()
    return reported


def consumers(kafka: str, folder: Path) -> dict[str, Any]:
    """By client: its state at 5 without a known leader, and at 6 under leader epoch 4.

    Then what it commits in a transaction, and its state if a leader comes while it is read.
    """
    reported = {}
    for client in clients_of(kafka):
        if not client.startswith("java"):
            continue
        plan = Member(group="g", member="g#1", topic="t", reset="none", client=client)
        member = AssignedMember(plan, BOOTSTRAP, HistoryWriter(folder / f"{client}.jsonl"))
        reported[str(client)] = [
            member.take_over(5, epoch=3, leader_epoch=None),
            member.take_over(6, epoch=3, leader_epoch=4),
            member.commit_beyond_markers(),
            member.overtake(),
        ]
        member.close()
    return reported


def records() -> dict[str, Any]:
    """The columns of records, by the values and epochs that were put into them."""
    record = java_class("org.apache.kafka.clients.consumer.ConsumerRecord")
    created = java_class("org.apache.kafka.common.record.TimestampType").CREATE_TIME
    headers = java_class("org.apache.kafka.common.header.internals.RecordHeaders")
    poll = java_class("java.util.ArrayList")()
    for offset, (value, epoch) in enumerate(VALUES):
        poll.add(
            record("t", 0, offset, 0, created, -1, -1, None, value, headers(), optional(epoch))
        )
    return {"whole": columns_of(poll), "ordinary": columns_of(poll.subList(0, 3))}


def main() -> None:
    """Print them as one line of JSON."""
    kafka, folder, what = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    start_jvm(map(str, distribution.class_path(kafka)), log=folder / "jvm.log")
    told = {"producers": producers, "records": records}
    print(json.dumps(told[what]() if what in told else consumers(kafka, folder)))


if __name__ == "__main__":
    main()
