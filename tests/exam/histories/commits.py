"""Commits: what a group may commit, and when its committed offset may go back."""

from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
    asks_each,
)
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import Batch, first_transaction, replicas, step, written
from tests.exam.verbs import (
    begun,
    cluster,
    cut,
    first_start,
    joined,
    left,
    plain,
    reads_to,
    watched,
)

OFFSETS = "KafkaConsumer Javadoc, section Offsets and Consumer Position"
MARKERS = "KIP-98, section Data Flow: markers take an offset; KAFKA-15344"
POSITION = "KafkaConsumer Javadoc, Offsets and Consumer Position"


@asks(
    "A member commits 50, reads on to 79, and commits 30 with no seek and no reset.",
    source=OFFSETS + ": a position only advances as records are polled",
    expects={"commit_regressed": VIOLATION, "commit_beyond_processed": NONE, "lost_commit": NONE},
)
def commit_goes_back(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, 49)
    h.commit(50, 0, at=10.0, brokers=(1, 2))
    h.polled(50, 79, at=14.0)
    h.commit(30, 0, at=20.0, brokers=(1, 2))
    left(h, 80, at=80.0)


@asks(
    "A second member starts at the first one's commit 60, reads on, and commits 40.",
    source=OFFSETS + ": a position only advances as records are polled",
    expects={"commit_regressed": VIOLATION, "start_mismatch": NONE, "double_ownership": NONE},
)
def commit_goes_back_in_another_member(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 59, at=6.0)
    h.commit(60, 0, at=10.0, brokers=(1, 2), generation=1)
    left(h, 60, at=20.0, generation=1)
    joined(h, 60, at=30.0, member="2", generation=3)
    h.polled(60, 89, at=32.0, member="2")
    h.commit(40, 0, at=40.0, member="2", brokers=(1, 2), generation=3)
    left(h, 90, at=80.0, member="2", generation=3)


CHOSEN = f"{PERMITTED}: over no record"
BACK = f"{VIOLATION}: silent"


@asks_each(
    "After a position behind a marker, the offset behind the last record is committed.",
    source="`KafkaConsumer.commitSync`: an application commits the offset of the last record plus "
    "one; " + MARKERS,
    check="commit_regressed",
    cases={
        "The application chooses the offset, and commits no epoch.": (CHOSEN, {"style": "none"}),
        "It commits the epoch before.": (CHOSEN, {"style": "stale"}),
        "It commits the partition's epoch.": (CHOSEN, {"style": "forced"}),
        "It commits the epoch of the record.": (CHOSEN, {"style": "application"}),
        "The offset is that of the client.": (BACK, {"style": "record"}),
        "The offset is that of the client, and the epoch of its metadata.": (
            BACK,
            {"style": "metadata"},
        ),
        "The offset is that of the client, and the epoch of its position.": (
            BACK,
            {"style": "position"},
        ),
        "The offset is that of the client, and the epoch the larger one.": (BACK, {"style": "max"}),
        "An aborted transaction lies between, which the group is not given.": (
            CHOSEN,
            {"style": "none", "to": 12},
        ),
        "An aborted transaction lies between, which the group was given.": (
            BACK,
            {"style": "none", "to": 12, "isolation": "read_uncommitted"},
        ),
        "One more record, the last one, is before the offset as it was.": (
            BACK,
            {"style": "none", "back": 4},
        ),
        "The group had not been given the record before it.": (
            BACK,
            {"style": "none", "first": 5},
        ),
    },
)
def commit_behind_the_last_record(
    h: History,
    *,
    style: str,
    to: int = 6,
    back: int = 5,
    first: int = 0,
    isolation: str = "read_committed",
) -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, control="commit"),
        Batch(6, 10, pid=1, base_sequence=5, sequence=5),
        Batch(11, 11, pid=1, control="abort"),
        isolation=isolation,
    )
    first_transaction(h)
    step(h, "begin", "begun", at=11.0, transaction=1)
    h.sent(6, 10, at=12.0, sequence=5, transaction=1)
    step(h, "abort", "aborted", at=13.0, transaction=1)
    joined(h, first, at=20.0)
    if first < 5:
        h.polled(0, 4, at=22.0)
    if isolation == "read_uncommitted":
        h.polled(6, 10, at=23.0, sequence=5)
    h.commit(to, 0, at=25.0, brokers=(1, 2))
    h.commit(back, 0, at=30.0, style=style, brokers=(1, 2))
    left(h, 12, at=80.0)


@asks(
    "One group commits 90 and 20 on two partitions in turn, and each of them grows.",
    source="OffsetMetadataManager.Offsets: offsets are keyed by group, topic and partition",
    expects={
        "commit_regressed": NONE,
        "commit_beyond_processed": NONE,
        "commit_beyond_log": NONE,
        "commit_mismatch": NONE,
    },
)
def two_partitions_in_turn(h: History) -> None:
    h.topic(partitions=2)
    h.group()
    plain(h, 99)
    plain(h, 49, partition=1)
    joined(h, 0, at=5.0, partitions=(0, 1))
    for second, (first, last), (low, high) in (
        (6.0, (0, 49), (0, 9)),
        (16.0, (50, 89), (10, 19)),
    ):
        h.polled(first, last, at=second)
        h.polled(low, high, at=second + 0.1, partition=1, producer="p1")
        h.commit(last + 1, 0, at=second + 2, brokers=(1, 2))
        h.commit(high + 1, 0, at=second + 2.5, partition=1, brokers=(1, 2))
    left(h, 90, at=80.0)


@asks(
    "A commit of 80 times out and is stored nowhere; the successor starts at 50 and commits 60.",
    source="contract/outcomes.py: unknown, the response leaves both possible",
    expects={
        "commit_regressed": NONE,
        "lost_commit": NONE,
        "start_mismatch": NONE,
        "commit_mismatch": NONE,
    },
)
def unknown_commit_was_never_stored(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(50, 79, at=10.0)
    h.commit(
        80,
        0,
        at=40.0,
        stored=False,
        outcome="unknown",
        error="TimeoutException",
        generation=1,
    )
    left(h, 80, at=45.0, generation=1)
    joined(h, 50, at=50.0, member="2", generation=3)
    h.polled(50, 59, at=51.0, member="2")
    h.commit(60, 0, at=55.0, member="2", brokers=(1, 2), generation=3)
    h.polled(60, 99, at=56.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "An unclean election takes 50 to 99; the group is set back to 50 and commits 70 after 100.",
    source="KIP-320, section Consumer: truncation detection resets the position",
    expects={
        "commit_regressed": NOT_VIOLATION,
        "commit_beyond_log": NOT_VIOLATION,
        "start_mismatch": NOT_VIOLATION,
        "orphan_commit": PERMITTED,
        "record_epoch_regressed": NONE,
    },
)
def commit_goes_back_after_a_truncation(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 49, at=6.0)
    h.polled(50, 99, at=13.0)
    h.commit(100, 0, at=15.0, brokers=(1, 2), generation=1)
    h.reset("truncation", 100, 50, at=32.0, epoch=0, member="1")
    h.polled(50, 69, at=33.0, epoch=1, sequence=100)
    h.commit(70, 1, at=40.0, brokers=(1, 2), generation=1)
    h.polled(70, 149, at=42.0, epoch=1, sequence=120)
    h.commit(150, 1, at=50.0, brokers=(1, 2), generation=1)
    left(h, 150, at=80.0, generation=1, caught_up=True)


@asks(
    "A topic is deleted and created again by order; the group commits 20 after 80.",
    source="KIP-516: a topic created again is another topic under one name",
    expects={
        "commit_regressed": NOT_VIOLATION,
        "committed_epoch_regressed": NOT_VIOLATION,
        "record_epoch_regressed": NOT_VIOLATION,
        "orphan_commit": NONE,
    },
)
def commit_goes_back_since_the_topic_is_new(h: History) -> None:
    h.topic()
    h.group()
    cluster(h)
    h.led(2, 1, at=1.0, isr=(1, 2), starts=0)
    h.sent(0, 79, at=2.0)
    watched(h, 2, 80, times=(4.0, 10.0), epoch=1)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 79, at=6.0, epoch=1)
    h.commit(80, 1, at=10.0, brokers=(1, 2), generation=1)
    h.fault("recreate", h.on_topic("t"), injected=20.0, proved=22.0, heal_began=22.5, healed=22.5)
    h.led(1, 0, at=22.0, isr=(1, 2), topic_id="id2", starts=0)
    h.sent(0, 39, at=25.0, sequence=100)
    watched(h, 1, 40, times=(30.0, 40.0, 50.0, 60.0, 70.0, 80.0))
    h.reset("out_of_range", 80, 0, at=27.0, epoch=1, member="1")
    h.polled(0, 19, at=28.0, sequence=100)
    h.commit(20, 0, at=30.0, brokers=(1, 2), generation=1)
    h.polled(20, 39, at=31.0, sequence=120)
    left(h, 40, at=80.0, generation=1, caught_up=True)
    copies(h, (1, 2), (0, 39, 0), sequences={0: 100}, high_watermark=40, at=25.0)


@asks(
    "A member was delivered 0 to 49 and commits 70; the log has records from 50 to 99.",
    source=OFFSETS + ": the position is one above the last record given out",
    expects={
        "commit_beyond_processed": VIOLATION,
        "commit_beyond_log": NONE,
        "commit_regressed": NONE,
    },
)
def commit_ahead_of_the_deliveries(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, 49)
    h.commit(70, 0, at=10.0, brokers=(1, 2))
    left(h, 70, at=80.0)


@asks(
    "One member commits for a partition what only another group was delivered.",
    source="KafkaConsumer Javadoc, section Consumer Groups and Topic Subscriptions: each group "
    "is a subscriber of its own",
    expects={"commit_beyond_processed": VIOLATION, "commit_beyond_log": NONE},
)
def deliveries_of_another_group_do_not_count(h: History) -> None:
    h.topic()
    h.group()
    h.group("other")
    plain(h, 99)
    joined(h, 0, at=4.0, group="other")
    joined(h, 0, at=5.0)
    h.polled(0, 99, at=6.0, group="other")
    h.polled(0, 29, at=6.5)
    h.commit(100, 0, at=10.0, group="other", brokers=(1, 2))
    h.commit(100, 0, at=11.0, brokers=(1, 2))
    left(h, 100, at=80.0, group="other", caught_up=True)
    left(h, 100, at=82.0)


@asks(
    "A read_committed group is given 0 to 39; an aborted batch and two markers follow; it "
    "commits 52.",
    source=MARKERS + "; isolation.level: the position passes what is filtered",
    expects={
        "commit_beyond_processed": NONE,
        "commit_beyond_log": NONE,
        "committed_epoch_ahead": NONE,
        "committed_epoch_stale": NONE,
    },
)
def commit_passes_control_and_aborted_batches(h: History) -> None:
    h.topic()
    h.group(isolation="read_committed")
    begun(h)
    h.sent(0, 39, at=2.0, transaction=0)
    h.sent(41, 50, at=3.0, sequence=40, transaction=1)
    watched(h, 1, 52)
    replicas(
        h,
        Batch(0, 39, pid=1, base_sequence=0),
        Batch(40, 40, pid=1, control="commit"),
        Batch(41, 50, pid=1, base_sequence=40, sequence=40),
        Batch(51, 51, pid=1, control="abort"),
    )
    reads_to(h, 39)
    h.commit(52, 0, at=10.0, brokers=(1, 2))
    left(h, 52, at=80.0, caught_up=True)


@asks(
    "A group with `latest` starts without a commit at the log end 100 and commits 100 unread.",
    source="auto.offset.reset=latest; KafkaConsumer Javadoc, position",
    expects={
        "commit_beyond_processed": NONE,
        "commit_beyond_log": NONE,
        "committed_epoch_missing": NONE,
        "start_mismatch": NONE,
    },
)
def commit_of_a_start_at_the_end(h: History) -> None:
    h.topic()
    h.group(reset="latest")
    plain(h, 99)
    h.changed("opened", at=9.5)
    first_start(h, 100, at=10.0, policy="latest")
    h.changed("assigned", at=10.1, position=100, generation=1)
    h.commit(100, -1, at=20.0, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0, generation=1, caught_up=True)


@asks(
    "A group commits 50 after 80; in between its offset was deleted.",
    source="OffsetDelete; offsets.retention.minutes: a tombstone deletes an offset",
    expects={"commit_regressed": NONE},
)
def commit_goes_back_behind_a_tombstone(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    h.polled(0, 79, at=6)
    h.commit(80, 0, at=8, brokers=(1, 2))
    h.stored(None, -1, at=20, is_tombstone=True, brokers=(1, 2))
    h.commit(50, 0, at=40, brokers=(1, 2))


@asks(
    "A client had nothing to commit, and an offset is stored at that moment.",
    source="contract/outcomes.py: nothing, no request was made",
    expects={"commit_mismatch": f"{VIOLATION}: stored though there was nothing"},
)
def nothing_to_commit_and_stored(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    h.polled(0, 49, at=6)
    h.commit(None, -1, at=8, outcome="nothing", stored=False)
    h.stored(50, 0, at=7.995, brokers=(1, 2))


@asks(
    "A truncation leads a group from 100 to 50; it commits 150, and then 120.",
    source="KIP-320: a reset moves a position once; " + POSITION,
    expects={"commit_regressed": VIOLATION, "commit_beyond_processed": NONE, "lost_commit": NONE},
)
def reset_before_the_previous_commit_is_no_excuse(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    reads_to(h, 49)
    h.polled(50, 99, at=13.0)
    h.commit(100, 0, at=15.0, brokers=(1, 2), generation=1)
    h.reset("truncation", 100, 50, at=32.0, epoch=0, member="1")
    h.polled(50, 149, at=33.0, epoch=1, sequence=100)
    h.commit(150, 1, at=50.0, brokers=(1, 2), generation=1)
    h.commit(120, 1, at=60.0, brokers=(1, 2), generation=1)
    left(h, 150, at=80.0, caught_up=True)


@asks(
    "A reset of partition 1 lies between two commits of partition 0, of which the second is lower.",
    source="auto.offset.reset: a reset is of one partition; " + POSITION,
    expects={"commit_regressed": VIOLATION, "unjustified_reset": NONE, "commit_expired": NONE},
)
def reset_of_the_other_partition_is_no_excuse(h: History) -> None:
    h.topic(partitions=2, deletes=True)
    h.group()
    for partition in (0, 1):
        plain(h, 99, partition=partition)
    target = h.on_partition("t", 1)
    h.fault("delete records", target, injected=19.8, proved=20.3)
    for broker in (1, 2):
        reason = "client delete records request" if broker == 1 else "leader offset increment"
        h.log_started(broker, 40, at=20.0, reason=reason, partition=1)
    for table, column in (
        ("log_starts", "log_start_offset"),
        ("epoch_checkpoints", "start_offset"),
    ):
        for row in h.rows[table]:
            row[column] = 40 * row["partition"]
    for row in h.rows["samples"]:
        if row["at_micros"] > h.at(20):
            row["log_start_offset"] = 40 * row["partition"]
    joined(h, 0, at=5.0, partitions=(0, 1))
    h.polled(0, 79, at=6.0)
    h.polled(0, 9, at=6.1, partition=1, producer="p1")
    h.commit(80, 0, at=8.0, brokers=(1, 2), generation=1)
    h.commit(10, 0, at=8.1, brokers=(1, 2), generation=1, partition=1)
    h.reset("out_of_range", 10, 40, at=26.0, epoch=0, member="1", partition=1)
    h.polled(40, 99, at=27.0, partition=1, producer="p1")
    h.commit(60, 0, at=30.0, brokers=(1, 2), generation=1)
    h.commit(100, 0, at=30.1, brokers=(1, 2), generation=1, partition=1)
    left(h, 80, at=80.0)


@asks(
    "A commit of 60 times out at its client, and is stored after the next one, of 100.",
    source="TimeoutException of KafkaConsumer.commitSync: the request may be carried out later",
    expects={"commit_regressed": UNDECIDED, "duplicate_delivery": NONE},
)
def commit_that_timed_out_is_stored_after_the_next(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, 59)
    h.commit(
        60,
        0,
        at=30.0,
        outcome="unknown",
        error="TimeoutException",
        stored=False,
        generation=1,
    )
    h.rows["commits"][-1]["began_micros"] = h.at(25.0)
    h.polled(60, 99, at=30.5)
    h.commit(100, 0, at=31.0, brokers=(1, 2), generation=1)
    h.stored(60, 0, at=31.5, brokers=(1, 2))
    h.changed("caught_up", at=79.5, position=100, generation=1)
    left(h, 100, at=80.0)
