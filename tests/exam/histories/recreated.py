"""Histories about a topic that is created again under its name."""

from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
)
from tests.exam.scenes import (
    NEW,
    consumed,
    copies,
    killed,
    leader_killed,
    returned,
    started,
    written,
)
from tests.exam.verbs import moved, same_logs, watched

CLEAN = "Kafka's documentation, Replication: an election from the in-sync replicas loses nothing"
AGAIN = "KIP-516: a topic of the same name with another id begins with nothing, at epoch 0"


@asks(
    "A topic is deleted and created again by order; its records are gone, its offsets begin anew.",
    source="KIP-516: a topic created again is another topic under one name; "
    "OffsetMetadataManager.onTopicsDeleted: a tombstone for its offsets",
    expects={
        "lost_record": NOT_VIOLATION,
        "orphan_commit": NONE,
        "epoch_regressed": NONE,
        "leader_completeness": NONE,
        "high_watermark_regressed": NOT_VIOLATION,
        "inconsistent_offset": NOT_VIOLATION,
        "nonmonotonic_send": NOT_VIOLATION,
        "retention_overreach": NOT_VIOLATION,
    },
)
def topic_created_again(h: History) -> None:
    written(h)
    h.group()
    consumed(h, 0, 99, at=5)
    h.fault("recreate", h.on_topic("t"), injected=20, proved=21)
    h.led(1, 0, at=20.5, isr=[1, 2], starts=0, topic_id="second")
    h.stored(None, -1, at=20.6, is_tombstone=True)
    h.sent(0, 59, at=25, sequence=NEW)
    h.sampled(1, at=26, end=60, isr=[1, 2])
    started(h, 0, at=30, fresh=True, member="2")
    h.polled(0, 59, at=31, member="2", sequence=NEW)
    h.changed("caught_up", at=32, position=60, member="2")
    h.commit(60, 0, at=33, member="2")
    h.changed("closed", at=34, member="2")
    copies(h, (1, 2), (0, 59, 0), sequences={0: NEW}, high_watermark=60)


def _replaced(h: History, records: int) -> None:
    """The topic is created again at 20 s, and has this many records from 25 s on."""
    h.fault("recreate", h.on_topic("t"), injected=20, proved=21)
    h.led(1, 0, at=20.5, isr=[1, 2], starts=0, topic_id="second")
    h.sent(0, records - 1, at=25, sequence=NEW)
    h.sampled(1, at=26, end=records, isr=[1, 2])


def _read_and_created_again(h: History) -> None:
    """The group has read 100 records; the new topic has 150, all written after its creation."""
    written(h)
    consumed(h, 0, 99, at=5, commit=False)
    _replaced(h, 150)
    copies(h, (1, 2), (0, 149, 0), sequences={0: NEW}, high_watermark=150)


@asks(
    "An application seeks to an offset of the old topic in the one that was created again.",
    source="KIP-516: a topic of another id; the new records below that offset are not delivered",
    expects={"skipped_record": VIOLATION, "lost_record": NOT_VIOLATION},
)
def old_offset_in_the_new_topic(h: History) -> None:
    h.group(commit_epoch="none")
    _read_and_created_again(h)
    started(h, 100, at=30, member="2")
    h.polled(100, 149, at=31, member="2", sequence=NEW + 100)
    h.changed("caught_up", at=32, position=150, member="2")
    h.changed("closed", at=34, member="2")


@asks(
    "A topic is created again while a group is away, which then starts at the end by its policy.",
    source="auto.offset.reset=latest: a group that had read the topic misses what it wrote since",
    expects={
        "skipped_record": f"{PERMITTED}: skipped by a reset: auto.offset.reset=latest "
        "skipped the records",
        "lost_record": NOT_VIOLATION,
    },
)
def end_of_the_new_topic(h: History) -> None:
    h.group(reset="latest")
    _read_and_created_again(h)
    started(h, 150, at=30, member="2", fresh=True, policy="latest")
    h.changed("caught_up", at=32, position=150, member="2")
    h.changed("closed", at=34, member="2")


@asks(
    "A topic was created again; afterwards the second topic loses acknowledged records.",
    source="KIP-516: a topic created again is another topic under one name; decision 15: an "
    "event permits only what preceded it",
    expects={"lost_record": VIOLATION, "leader_completeness": VIOLATION},
)
def second_topic_loses_records(h: History) -> None:
    h.topic()
    for broker in (1, 2):
        h.registered(broker, at=0, is_fenced=False)
    h.led(1, 0, at=0.5, isr=[1, 2], starts=0)
    h.sent(0, 9, at=2)
    h.sampled(1, at=3, end=10, isr=[1, 2])
    h.fault("recreate", h.on_topic("t"), injected=5, proved=6)
    h.led(1, 0, at=5.5, isr=[1, 2], starts=0, topic_id="second")
    h.sent(0, 99, at=10, sequence=NEW)
    h.sampled(1, at=11, end=100, isr=[1, 2])
    killed(h, 1, at=20, healed=40)
    h.led(2, 1, at=23, isr=[2], starts=50, topic_id="second")
    h.sampled(2, at=24, end=50, epoch=1, isr=[2])
    h.cut(1, 50, 99, 0, at=39, sequence=NEW + 50)
    returned(h, 1, at=40)
    h.truncated(1, 50, at=41)
    h.led(2, 1, at=43, isr=[2, 1], topic_id="second")
    h.sampled(2, at=50, end=50, epoch=1, isr=[2, 1])
    h.log(1, (0, 49, 0), sequences={0: NEW}, high_watermark=50)
    h.log(2, (0, 49, 0), sequences={0: NEW}, checkpoints={0: 0, 1: 50}, high_watermark=50)


def _created_again(h: History, records: int) -> None:
    """A group read 100 records of a topic, which is created again with this many of them."""
    written(h)
    h.group()
    consumed(h, 0, 99, at=5, commit=False, closed=False)
    _replaced(h, records)


@asks(
    "A group commits what it read of a topic after this was created again, with fewer records.",
    source="KIP-1319: clients look up a topic's id by its name; KIP-516: the former topic is "
    "another one",
    expects={"commit_beyond_log": VIOLATION, "orphan_commit": NONE, "commit_mismatch": NONE},
)
def offset_of_the_former_topic(h: History) -> None:
    _created_again(h, 60)
    h.commit(100, 0, at=30)
    h.sampled(1, at=32, end=60, isr=[1, 2])
    h.led(2, 1, at=40, isr=[1, 2], starts=60, topic_id="second")
    h.sampled(2, at=41, end=60, epoch=1, isr=[1, 2])
    h.changed("closed", at=45)
    copies(h, (1, 2), (0, 59, 0), sequences={0: NEW}, checkpoints={0: 0, 1: 60}, high_watermark=60)


@asks(
    "A group commits what it read of a topic after this was created again, with more records.",
    source="KIP-1319: clients look up a topic's id by its name; the group skips what it has there",
    expects={"commit_beyond_processed": VIOLATION, "commit_beyond_log": NONE},
)
def offset_of_the_former_topic_skips(h: History) -> None:
    _created_again(h, 150)
    h.commit(100, 0, at=30)
    h.changed("closed", at=45)
    copies(h, (1, 2), (0, 149, 0), sequences={0: NEW}, high_watermark=150)


@asks(
    "A group without a commit is reset to the end of a topic that was created again.",
    source="ConsumerConfig.auto.offset.reset: latest; the offset is one that it read before, too",
    expects={"commit_beyond_processed": NONE, "commit_beyond_log": NONE},
)
def end_of_the_second_topic(h: History) -> None:
    _created_again(h, 100)
    h.changed("closed", at=27)
    started(h, 100, at=30, fresh=True, policy="latest", member="2")
    h.changed("caught_up", at=31, position=100, member="2")
    h.commit(100, 0, at=32, member="2")
    h.changed("closed", at=33, member="2")
    copies(h, (1, 2), (0, 99, 0), sequences={0: NEW}, high_watermark=100)


def _truncation_reported(
    h: History, epoch: int, *, has_read: bool = False, position_epoch: int | None = None
) -> None:
    """A group has read 100 records of a topic, the second half of an epoch; then of a new one.

    has_read: it read the new topic's records up to its position, 100, as well.
    position_epoch: that its position has; else the epoch that it read.
    """
    written(h, 50)
    if epoch:
        h.led(2, epoch, at=3.2, isr=[1, 2], starts=50)
    h.sent(50, 99, at=3.5)
    h.group()
    started(h, 0, at=5, fresh=True)
    h.polled(0, 99, at=5.5)
    h.polled(50, 99, at=5.6, epoch=epoch)
    h.changed("caught_up", at=6, position=100)
    h.changed("closed", at=8)
    _replaced(h, 150)
    started(h, 0 if has_read else 100, at=30, member="2")
    if has_read:
        h.polled(0, 99, at=30.5, member="2", sequence=NEW)
    h.reset("truncation", 100, 50, at=31, epoch=epoch if position_epoch is None else position_epoch)
    h.polled(50, 149, at=32, member="2", sequence=NEW + 50)
    h.changed("caught_up", at=33, position=150, member="2")
    h.changed("closed", at=34, member="2")
    copies(h, (1, 2), (0, 149, 0), sequences={0: NEW}, high_watermark=150)


@asks(
    "A position in an epoch of the old topic, which the new one lacks, is told to be truncated.",
    source="KIP-320, KIP-516: the record before the position is of another topic",
    expects={"false_truncation": PERMITTED},
)
def old_epoch_in_the_new_topic(h: History) -> None:
    _truncation_reported(h, 1)


@asks(
    "The same, of an epoch that both topics have; the group has not read the new topic's record.",
    source="KIP-320: the epoch is that of the record before the position, which nothing shows here",
    expects={"false_truncation": UNDECIDED},
)
def epoch_of_both_topics(h: History) -> None:
    _truncation_reported(h, 0)


@asks(
    "The same, and the group has read the new topic's record before its position, still there.",
    source="KIP-320: truncation is where the requested epoch ends below the position",
    expects={"false_truncation": VIOLATION},
)
def truncation_told_of_the_new_topic(h: History) -> None:
    _truncation_reported(h, 0, has_read=True)


@asks(
    "The same, of an epoch that only the old topic has.",
    source="KIP-320: a position's epoch is that of the record before it, which is of the new topic",
    expects={"false_truncation": VIOLATION},
)
def old_epoch_though_the_new_topic_was_read(h: History) -> None:
    _truncation_reported(h, 1, has_read=True)


@asks(
    "A position has an epoch that no record of the old topic or the new one had.",
    source="KIP-320: the epoch is that of the record before the position, which nothing shows here",
    expects={"false_truncation": f"{UNDECIDED}: unread"},
)
def epoch_of_no_topic(h: History) -> None:
    _truncation_reported(h, 1, position_epoch=7)


@asks(
    "One group reads a topic, and another one that which was created under its name since.",
    source="KIP-516: a topic created again is another topic under one name",
    expects={"divergent_readers": PERMITTED, "inconsistent_offset": PERMITTED},
)
def groups_read_the_former_topic_and_the_present_one(h: History) -> None:
    h.group()
    _read_and_created_again(h)
    h.group("other")
    started(h, 0, at=30, fresh=True, group="other")
    h.polled(0, 149, at=31, group="other", sequence=NEW)
    h.changed("caught_up", at=32, position=150, group="other")
    h.changed("closed", at=34, group="other")


@asks(
    "Two seconds after its topic was created again, a record is acknowledged that no log has.",
    source="KIP-516; BrokerMetadataPublisher.onMetadataUpdate: a broker serves the former topic "
    "until it hears of the deletion",
    expects={"lost_record": UNDECIDED},
)
def record_is_acknowledged_just_after_the_creation(h: History) -> None:
    _acknowledged_in_vain(h, at=22.5)


@asks(
    "It is acknowledged half a minute after that.",
    source="KIP-516: a topic created again is another topic under one name; KIP-101",
    expects={"lost_record": f"{VIOLATION}: unexplained"},
)
def record_is_acknowledged_long_after_the_creation(h: History) -> None:
    _acknowledged_in_vain(h, at=50.5)


def _acknowledged_in_vain(h: History, *, at: float) -> None:
    """Record 60 is acknowledged, and no replica of the topic that was created again has it."""
    written(h)
    _replaced(h, 60)
    h.sent(60, at=at, sequence=NEW + 60)
    h.sampled(1, at=60, end=60, isr=[1, 2])
    copies(h, (1, 2), (0, 59, 0), sequences={0: NEW}, high_watermark=60)


@asks(
    "A topic of two epochs is created again: epoch, offsets and high watermark begin anew.",
    source=AGAIN,
    expects={
        "epoch_regressed": NONE,
        "high_watermark_regressed": NONE,
        "leader_completeness": NONE,
        "lost_record": f"{PERMITTED}: deleted with its topic: created again at metadata offset",
        "nonmonotonic_send": NONE,
    },
)
def second_topic_of_a_name_begins_anew(h: History) -> None:
    _created_after_two_epochs(h)
    h.sent(0, 29, at=56.0, sequence=100)
    for row in h.rows["sends"]:
        row.update(is_idempotent=False, in_flight_max=1)
    watched(h, 1, 30, times=(58.0, 65.0, 75.0, 85.0))
    same_logs(h, (0, 29, 0), sequences={0: 100})


@asks(
    "A clean election loses records of the topic that was created again.",
    source=AGAIN + "; " + CLEAN,
    expects={"lost_record": VIOLATION, "leader_completeness": VIOLATION},
)
def second_topic_of_a_name_loses_by_itself(h: History) -> None:
    _created_after_two_epochs(h)
    h.sent(0, 59, at=56.0, sequence=100)
    watched(h, 1, 60, times=(58.0, 60.0))
    leader_killed(h, at=62.0, starts=40, topic_id="id2")
    h.sent(40, 49, at=70.0, sequence=160)
    watched(h, 2, 50, times=(72.0,), epoch=1, isr=(2,))
    watched(h, 2, 50, times=(85.0,), epoch=1)
    same_logs(h, (0, 39, 0), (40, 49, 1), sequences={0: 100, 40: 160})


def _created_after_two_epochs(h: History) -> None:
    """A topic of two epochs and 100 records is deleted, and created again at second 52."""
    h.topic()
    h.group()
    moved(h)
    for table in ("replica_records", "replica_batches", "log_starts", "epoch_checkpoints"):
        h.rows[table].clear()
    h.rows["samples"] = [row for row in h.rows["samples"] if row["at_micros"] < h.at(50.0)]
    h.fault("recreate", h.on_topic("t"), injected=50.0, proved=53.0)
    h.led(1, 0, at=52.0, isr=(1, 2), topic_id="id2", starts=0)
    watched(h, 1, 0, times=(54.0,))
