"""Histories about order: what groups get twice, out of order, or in two versions."""

from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
)
from tests.exam.scenes import NEW, consumed, copies, forget_elections, started, torn, written
from tests.exam.verbs import cluster, cut, joined, left, plain, reads_to, watched

UNCLEAN = "unclean.leader.election.enable: such a leader may lack committed records"
POSITION = "KafkaConsumer Javadoc, Offsets and Consumer Position"
SEMANTICS = "Kafka's documentation, Message Delivery Semantics: delivery is at least once"
IN_FLIGHT = "max.in.flight.requests.per.connection: above 1, retries may reorder; else not"
ORDER = "`max.in.flight.requests.per.connection`: with 1, a retry is not overtaken"


@asks(
    "Member 1 leaves after 50 records without a commit; member 2 resumes at the stored commit 20.",
    source="Consumer Javadoc, at-least-once delivery: a successor starts at the last commit",
    expects={
        "duplicate_delivery": PERMITTED,
        "reprocessing_amplification": PERMITTED,
        "nonmonotonic_poll": NONE,
        "skipped_record": NONE,
        "duplicate_append": NONE,
        "inconsistent_offset": NONE,
    },
)
def redelivery_after_a_crash(h: History) -> None:
    written(h)
    h.group()
    started(h, 0, at=5, fresh=True)
    h.polled(0, 19, at=6)
    h.commit(20, 0, at=7)
    h.polled(20, 49, at=8)
    h.changed("revoked", at=15, position=50)
    consumed(h, 20, 99, at=20, fresh=False, member="2")
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "One session gets ten records twice, with no seek, reset or rebalance in between.",
    source="KafkaConsumer Javadoc: the position moves past each record that poll returns",
    expects={"duplicate_delivery": VIOLATION, "nonmonotonic_poll": VIOLATION, "poll_skip": NONE},
)
def redelivery_within_a_session(h: History) -> None:
    written(h)
    h.group()
    started(h, 0, at=5, fresh=True)
    h.polled(0, 49, at=6)
    h.polled(40, 99, at=7)
    h.changed("caught_up", at=8, position=100)
    h.commit(100, 0, at=9)
    h.changed("closed", at=10)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "Two groups read the same records, and one group reads two partitions in turn.",
    source="Kafka's documentation, Introduction: a topic has many subscribers; the events of a "
    "partition are read in their order",
    expects={
        "duplicate_delivery": NONE,
        "reprocessing_amplification": NONE,
        "nonmonotonic_poll": NONE,
        "poll_skip": NONE,
        "divergent_readers": NONE,
        "inconsistent_offset": NONE,
        "nonmonotonic_send": NONE,
        "skipped_record": NONE,
    },
)
def two_groups_and_two_partitions(h: History) -> None:
    h.topic(partitions=2)
    for partition in (0, 1):
        h.led(1, 0, at=0.5, isr=[1, 2], starts=0, partition=partition)
        h.sent(0, 49, at=2 + partition, sequence=500 * (1 - partition), partition=partition)
        h.sampled(1, at=4, end=50, isr=[1, 2], partition=partition)
        sequences = {0: 500 * (1 - partition)}
        copies(h, (1, 2), (0, 49, 0), sequences=sequences, partition=partition)
    for at, group in ((5, "g"), (15, "other")):
        h.group(group)
        h.changed("opened", at=at, group=group)
        for partition in (0, 1):
            h.changed("assigned", at=at + 0.3, position=0, group=group, partition=partition)
        for half in (0, 25):
            for partition in (0, 1):
                h.polled(
                    half,
                    half + 24,
                    at=at + 1 + half / 25,
                    sequence=500 * (1 - partition) + half,
                    group=group,
                    partition=partition,
                )
        for partition in (0, 1):
            h.changed("caught_up", at=at + 3, position=50, group=group, partition=partition)
        for partition in (0, 1):
            h.commit(50, 0, at=at + 4, group=group, partition=partition)
        h.changed("closed", at=at + 5, group=group)


@asks(
    "A member resets to 100 after a truncation; offsets 100 to 199 come a second time, rewritten.",
    source="KIP-320: after a detected truncation the position goes back to the divergence",
    expects={
        "nonmonotonic_poll": NOT_VIOLATION,
        "inconsistent_offset": PERMITTED,
        "nonmonotonic_send": NOT_VIOLATION,
        "poll_skip": NONE,
        "skipped_record": NONE,
        "truncation_detected": PERMITTED,
        "truncation_undetected": NONE,
        "false_truncation": NONE,
        "unjustified_reset": NONE,
    },
)
def goes_back_after_a_truncation(h: History) -> None:
    epoch = torn(h)
    h.group()
    started(h, 0, at=8, fresh=True)
    h.polled(0, 199, at=9)
    h.changed("caught_up", at=10, position=200)
    h.commit(200, 0, at=11)
    h.reset("truncation", 200, 100, at=28, epoch=0, member="1")
    h.polled(100, 349, at=32, epoch=epoch, sequence=100 + NEW)
    h.changed("caught_up", at=33, position=350)
    h.commit(350, epoch, at=34)
    h.changed("closed", at=35)


@asks(
    "A clean election replaces records that groups had read: one offset, two values.",
    source="Kafka's documentation, Replication: only committed records are given to consumers, "
    "and a clean election loses none of them",
    expects={
        "inconsistent_offset": VIOLATION,
        "divergent_readers": VIOLATION,
        "lost_record": VIOLATION,
        "leader_completeness": VIOLATION,
    },
)
def rewritten_by_a_clean_election(h: History) -> None:
    torn(h, clean=True)
    h.group()
    h.group("late")
    consumed(h, 0, 199, at=8)
    late(h, 1)


@asks(
    "An unclean election replaces records: an early and a late group read different values.",
    source="unclean.leader.election.enable: records may be lost; KIP-101: the next epoch writes "
    "their offsets again",
    expects={"inconsistent_offset": PERMITTED, "divergent_readers": PERMITTED},
)
def rewritten_by_an_unclean_election(h: History) -> None:
    epoch = torn(h)
    h.group()
    h.group("late")
    consumed(h, 0, 199, at=8)
    late(h, epoch)


def late(h: History, epoch: int) -> None:
    """A second group reads the whole log at the end."""
    started(h, 0, at=50, fresh=True, group="late")
    h.polled(0, 99, at=51, group="late")
    h.polled(100, 349, at=52, epoch=epoch, sequence=100 + NEW, group="late")
    h.changed("caught_up", at=53, position=350, group="late")
    h.commit(350, epoch, at=54, group="late")
    h.changed("closed", at=55, group="late")


@asks(
    "Two groups read different values at one offset of one epoch.",
    source="KIP-101: an epoch has one leader, which writes an offset once",
    expects={"inconsistent_offset": VIOLATION, "divergent_readers": VIOLATION},
)
def two_values_in_one_epoch(h: History) -> None:
    written(h)
    h.sent(None, at=4, sequence=700, outcome="unknown", error="TimeoutException")
    h.group()
    h.group("late")
    consumed(h, 0, 99, at=5)
    started(h, 0, at=15, fresh=True, group="late")
    h.polled(0, 49, at=16, group="late")
    h.polled(50, at=17, sequence=700, group="late")
    h.polled(51, 99, at=18, group="late")
    h.changed("caught_up", at=19, position=100, group="late")
    h.commit(100, 0, at=20, group="late")
    h.changed("closed", at=21, group="late")
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "A group without commits is assigned the partition 300 times, and reads it each time.",
    source="Kafka's documentation, Message Delivery Semantics: delivery is at least once",
    expects={
        "duplicate_delivery": PERMITTED,
        "reprocessing_amplification": PERMITTED,
        "nonmonotonic_poll": NONE,
        "phantom_record": NONE,
        "lost_record": NONE,
        "inconsistent_offset": NONE,
    },
)
def one_bucket_read_300_times(h: History) -> None:
    written(h, 5)
    h.group()
    h.changed("opened", at=4)
    for turn in range(300):
        at = 5 + turn / 4
        h.changed("assigned", at=at, position=0, generation=turn + 1)
        h.polled(0, 4, at=at + 0.1)
        h.changed("revoked", at=at + 0.2, position=5, generation=turn + 1)
    h.changed("closed", at=81)
    copies(h, (1, 2), (0, 4, 0), high_watermark=5)


@asks(
    "One poll returns records 50 to 99, and after them 0 to 49.",
    source="ConsumerRecords.records: the records of a partition are in the order of their offsets",
    expects={"nonmonotonic_poll": VIOLATION},
)
def poll_returns_its_records_in_another_order(h: History) -> None:
    written(h)
    h.group()
    started(h, 0, at=5, fresh=True)
    h.polled(50, 99, at=6)
    poll = h.rows["polls"][-1]["seq"]
    h.polled(0, 49, at=6)
    for place, row in enumerate(h.rows["polls"]):
        row.update(seq=poll, position_in_poll=place)
    h.changed("closed", at=10)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "Two groups read on both sides of a truncation, by an election that nobody has recorded.",
    source="contract/tables_of_servers.py, leaderships; unclean.leader.election.enable: an "
    "election decides whether the loss is permitted",
    expects={"inconsistent_offset": UNDECIDED, "divergent_readers": UNDECIDED},
)
def groups_read_both_sides_of_an_unknown_election(h: History) -> None:
    _on_both_sides(h, epochs=(0, 1))
    forget_elections(h)


@asks(
    "Two groups read on both sides of an unclean election; their clients are told no epochs.",
    source="ConsumerRecord.leaderEpoch: empty where the record's format has none; "
    "unclean.leader.election.enable: records may be lost",
    expects={"inconsistent_offset": NOT_VIOLATION, "divergent_readers": NOT_VIOLATION},
)
def groups_without_epochs_read_both_sides_of_an_election(h: History) -> None:
    _on_both_sides(h, epochs=(-1, -1))


def _on_both_sides(h: History, *, epochs: tuple[int, int]) -> None:
    """One group reads 100 to 199 before they are replaced, and another one those in their place."""
    torn(h)
    old, new = epochs
    h.group()
    started(h, 0, at=6, fresh=True)
    h.polled(0, 99, at=7, epoch=min(old, 0))
    h.polled(100, 199, at=8, epoch=old)
    h.changed("closed", at=10)
    h.group("other")
    started(h, 0, at=50, fresh=True, group="other")
    h.polled(0, 99, at=51, epoch=min(old, 0), group="other")
    h.polled(100, 349, at=52, epoch=new, sequence=100 + NEW, group="other")
    h.changed("caught_up", at=53, position=350, group="other")
    h.changed("closed", at=54, group="other")


@asks(
    "One poll returns 0 to 9 and 20 to 29; the log has the ones between.",
    source="KafkaConsumer: the records of a partition are returned in the order of their offsets",
    expects={"poll_skip": VIOLATION, "nonmonotonic_poll": NONE},
)
def poll_leaves_records_out(h: History) -> None:
    _passes(h, in_one_poll=True)


@asks(
    "One poll leaves out records of a transaction; nothing shows how it ended.",
    source="isolation.level=read_committed; decision 15",
    expects={"poll_skip": UNDECIDED},
)
def poll_leaves_out_an_unknown_transaction(h: History) -> None:
    _passes(h, in_one_poll=True, transaction=0)


@asks(
    "Two polls leave out records of a transaction; nothing shows how it ended.",
    source="isolation.level=read_committed; decision 15",
    expects={"poll_skip": UNDECIDED},
)
def polls_leave_out_an_unknown_transaction(h: History) -> None:
    _passes(h, in_one_poll=False, transaction=0)


def _passes(h: History, *, in_one_poll: bool, transaction: int | None = None) -> None:
    """A session gets 0 to 9 and 20 to 29 of 100 records."""
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    h.sent(0, 9, at=2.0)
    h.sent(10, 19, at=2.1, transaction=transaction)
    h.sent(20, 99, at=2.2)
    watched(h, 1, 100)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)
    reads_to(h, 9)
    poll = h.rows["polls"][-1]["seq"]
    h.polled(20, 29, at=6.0 if in_one_poll else 6.5)
    if in_one_poll:
        for place, row in enumerate(h.rows["polls"]):
            row.update(seq=poll, position_in_poll=place)
    h.changed("closed", at=10.0)


@asks(
    "With one request in flight, a later value is written at the offset that a lost one had left.",
    source=UNCLEAN + ": the new leader writes at its own log end; " + IN_FLIGHT,
    expects={"nonmonotonic_send": NONE, "lost_record": PERMITTED},
)
def later_value_takes_an_offset_that_a_loss_had_freed(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    for row in h.rows["sends"]:
        row.update(is_idempotent=False, in_flight_max=1)


@asks(
    "Between two polls a member goes back to the last commit of its group.",
    source=SEMANTICS + "; ConsumerCoordinator: after a rebalance a member starts at the commit",
    expects={"nonmonotonic_poll": PERMITTED, "duplicate_delivery": PERMITTED, "poll_skip": NONE},
)
def member_goes_back_to_the_commit_of_its_group(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=-1)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=8.0, brokers=(1, 2))
    h.polled(50, 79, at=10.0)
    h.polled(50, 99, at=14.0)
    h.commit(100, 0, at=16.0, brokers=(1, 2))
    left(h, 100, at=80.0, generation=-1, caught_up=True)


@asks(
    "A member goes back to an offset that only another group had committed.",
    source=POSITION + ": the position moves past each record that poll returns",
    expects={"nonmonotonic_poll": VIOLATION, "duplicate_delivery": VIOLATION},
)
def member_goes_back_to_the_commit_of_another_group(h: History) -> None:
    h.topic()
    h.group()
    h.group("other")
    plain(h, 99)
    joined(h, 0, at=4.0, group="other")
    h.polled(0, 49, at=5.0, group="other")
    h.commit(50, 0, at=7.0, group="other", brokers=(1, 2), generation=1)
    h.polled(50, 99, at=9.0, group="other")
    left(h, 100, at=81.0, group="other", caught_up=True)
    reads_to(h, 19)
    h.commit(20, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(20, 79, at=10.0)
    h.polled(50, 99, at=14.0)
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "A producer with one request in flight has two values in reverse, 16 s after an unclean "
    "election that lost others.",
    source=ORDER,
    expects={
        "nonmonotonic_send": VIOLATION,
        "lost_record": PERMITTED,
        "duplicate_append": NONE,
    },
)
def order_is_broken_after_an_unclean_election(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    h.sent(151, at=40.0, sequence=200)
    h.sent(150, at=40.2, sequence=201)
    for row in h.rows["sends"]:
        row.update(is_idempotent=False, in_flight_max=1)
    for table in ("replica_records", "replica_batches", "log_starts", "epoch_checkpoints"):
        h.rows[table].clear()
    spans = ((0, 49, 0), (50, 149, 1), (150, 150, 1), (151, 151, 1))
    copies(h, (1, 2), *spans, sequences={50: 100, 150: 201, 151: 200}, high_watermark=152)
    for row in h.rows["samples"]:
        if row["at_micros"] > h.at(41.0):
            row["log_end_offset"] = 152
