"""Histories about records that a group did not get, got late, or got in another order."""

from .history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks
from .scenes import NEW, consumed, copies, killed, started, torn, written


@asks(
    "A group began at 0, and its first 50 records were never delivered.",
    source="issue 18, section 2: counted from where the group began, not from its first delivery",
    expects={"skipped_record": VIOLATION, "lost_record": NONE, "unjustified_reset": NONE},
)
def first_deliveries_missing(h: History) -> None:
    written(h)
    h.group()
    started(h, 0, at=5, fresh=True)
    h.polled(50, 99, at=6)
    h.changed("caught_up", at=7, position=100)
    h.commit(100, 0, at=8)
    h.changed("closed", at=9)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "A group with style none skips ten records though nothing was truncated.",
    source="issue 18, section 2: a skip without a truncation is not excused by the style",
    expects={"skipped_record": VIOLATION, "poll_skip": VIOLATION, "truncation_undetected": NONE},
)
def skip_without_truncation_in_style_none(h: History) -> None:
    written(h)
    h.group(commit_epoch="none")
    started(h, 0, at=5, fresh=True)
    h.polled(0, 39, at=6)
    h.polled(50, 99, at=8)
    h.changed("caught_up", at=9, position=100)
    h.commit(100, -1, at=10, style="none", record_epoch=0)
    h.changed("closed", at=11)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "A group skips ten records, and jumps to the end by policy latest much later.",
    source="issue 18, section 2: an excuse needs its own reset, from, to and time",
    expects={"skipped_record": VIOLATION, "poll_skip": VIOLATION, "reset": PERMITTED},
)
def skip_before_a_later_jump(h: History) -> None:
    written(h, 300, deletes=True)
    h.group(reset="latest")
    # An operator had set the group to 0.
    h.stored(0, -1, at=1)
    started(h, 0, at=5)
    h.polled(0, 39, at=6)
    h.polled(50, 99, at=8)
    h.commit(100, 0, at=9)
    h.changed("closed", at=10)
    h.log_started(1, 200, at=20, reason="client delete records request")
    h.log_started(2, 200, at=20.5, reason="leader offset increment")
    h.sampled(1, at=21, end=300, start=200, isr=[1, 2])
    started(h, 100, at=30, member="2")
    h.reset("out_of_range", 100, 300, at=31, epoch=0, policy="latest")
    h.changed("caught_up", at=32, position=300, member="2")
    h.changed("closed", at=35, member="2")
    # Segments stay: DeleteRecords moves the log start within one.
    copies(h, (1, 2), (0, 299, 0), start=200, checkpoints={0: 200}, high_watermark=300)


@asks(
    "A new group with policy latest starts at the log end and never gets what was there before.",
    source="ConsumerConfig auto.offset.reset=latest; no committed offset",
    expects={
        "skipped_record": NOT_VIOLATION,
        "unseen_record": NOT_VIOLATION,
        "lost_record": NONE,
        "unjustified_reset": NONE,
        "poll_skip": NONE,
        "stale_read": NOT_VIOLATION,
    },
)
def first_start_at_latest(h: History) -> None:
    written(h)
    h.group(reset="latest")
    started(h, 100, at=5, fresh=True, policy="latest")
    h.changed("caught_up", at=6, position=100)
    h.sent(100, 129, at=10)
    h.sampled(1, at=11, end=130, isr=[1, 2])
    h.polled(100, 129, at=10.2)
    h.changed("caught_up", at=11, position=130)
    h.commit(130, 0, at=12)
    h.changed("closed", at=13)
    copies(h, (1, 2), (0, 99, 0), (100, 129, 0), high_watermark=130)


@asks(
    "A member goes past the offset of a commit marker, which is never delivered.",
    source="KIP-98: control batches take offsets and are not handed to applications",
    expects={
        "poll_skip": NONE,
        "skipped_record": NONE,
        "lost_record": NONE,
        "log_divergence": NONE,
        "nonmonotonic_send": NONE,
    },
)
def marker_takes_an_offset(h: History) -> None:
    written(h, 50)
    h.sent(51, 100, at=4, sequence=50)
    h.sampled(1, at=4.5, end=101, isr=[1, 2])
    h.group()
    started(h, 0, at=5, fresh=True)
    h.polled(0, 49, at=6)
    h.polled(51, 100, at=6.5, sequence=50)
    h.changed("caught_up", at=7, position=101)
    h.commit(101, 0, at=8)
    h.changed("closed", at=9)
    for broker in (1, 2):
        h.log(broker, (0, 49, 0), (51, 100, 0), sequences={51: 50}, high_watermark=101)
        h.add(
            "replica_batches",
            broker=h.broker(broker),
            topic=h.own("t"),
            partition=0,
            base_offset=50,
            last_offset=50,
            leader_epoch=0,
            producer_id=7,
            producer_epoch=0,
            base_sequence=-1,
            is_control=True,
            is_transactional=True,
            record_count=1,
            size_bytes=78,
            max_timestamp_micros=h.at(3),
            control_type="commit",
            checksum=4711,
        )


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
    h.changed("lost", at=15, position=50)
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
    source="Kafka introduction: each group gets every record; order holds within a partition",
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
    source="taxonomy B1: rewritten by truncation, permitted by an unclean election or acks below "
    "all only; the high watermark promises that what is read stays",
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
    source="taxonomy B1: different epochs, unclean election",
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
    source="taxonomy B1: the same epoch; one leader writes an offset once",
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
    "A member says at 20 s that it is at the log end, though 50 more records were visible at 3 s.",
    source="taxonomy B6: lag in real time; caught up means position = the end that clients see",
    expects={"stale_read": PERMITTED, "lost_record": NONE, "skipped_record": NONE},
)
def caught_up_far_below_the_end(h: History) -> None:
    # Kafka bounds no lag. The member was served by a leader that had been cut off: this fault
    # permits what it saw.
    written(h, 50)
    h.fault(
        "cut",
        f"broker:{h.broker(1)} (broker {h.broker(1)})",
        injected=4,
        proved=7,
        heal_began=29,
        healed=30,
    )
    h.registered(1, at=7, is_fenced=True)
    h.led(2, 1, at=7, isr=[2], starts=50)
    h.sent(50, 99, at=8)
    h.sampled(2, at=9, end=100, epoch=1, isr=[2])
    h.group()
    started(h, 0, at=17, fresh=True)
    h.polled(0, 49, at=18)
    h.changed("caught_up", at=20, position=50)
    h.polled(50, 99, at=35, epoch=1)
    h.changed("caught_up", at=36, position=100)
    h.commit(100, 1, at=37)
    h.changed("closed", at=38)
    h.registered(1, at=30, is_fenced=False, broker_epoch=2)
    h.led(2, 1, at=33, isr=[2, 1])
    copies(h, (1, 2), (0, 49, 0), (50, 99, 1), high_watermark=100)


@asks(
    "A group that starts late reads old records at once.",
    source="taxonomy B6: a lag counts only while somebody reads",
    expects={"stale_read": NONE, "unseen_record": NONE, "expired_read": NONE},
)
def a_late_start_is_no_stale_read(h: History) -> None:
    written(h)
    h.group()
    consumed(h, 0, 99, at=60)
    h.sampled(1, at=65, end=100, isr=[1, 2])
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "The run ends before a slow group has read the last 40 records, which all replicas hold.",
    source="taxonomy A2: late, not lost",
    expects={"unseen_record": PERMITTED, "lost_record": NONE, "skipped_record": NONE},
)
def late_is_not_lost(h: History) -> None:
    written(h)
    h.group()
    started(h, 0, at=80, fresh=True)
    h.polled(0, 59, at=84)
    h.commit(60, 0, at=85)
    h.sampled(1, at=86, end=100, isr=[1, 2])
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "Records below a log start that already held when the member opened are delivered to it.",
    source="ReplicaManager.fetch: an offset below the log start is answered OFFSET_OUT_OF_RANGE",
    expects={"expired_read": VIOLATION},
)
def served_below_the_log_start(h: History) -> None:
    expired(h, opened=20)


@asks(
    "Records that the member had fetched before the log start advanced are delivered after it.",
    source="Consumer: records are buffered between fetch and poll; nothing tells the fetch's time",
    expects={"expired_read": NOT_VIOLATION, "unjustified_reset": NONE},
)
def buffered_before_they_expired(h: History) -> None:
    expired(h, opened=8)


def expired(h: History, *, opened: float) -> None:
    """DeleteRecords moves the log start to 60 at 10 s; a group gets 50 to 99 at 25 s."""
    written(h, 100, deletes=True)
    h.sampled(1, at=9, end=100, isr=[1, 2])
    h.log_started(1, 60, at=10, reason="client delete records request")
    h.log_started(2, 60, at=10.5, reason="leader offset increment")
    for at in (11, 22, 40):
        h.sampled(1, at=at, end=100, start=60, isr=[1, 2])
    h.group()
    # The commit of a member before.
    started(h, 0, at=4, fresh=True)
    h.polled(0, 49, at=5)
    h.commit(50, 0, at=6)
    h.changed("closed", at=7)
    started(h, 50, at=opened, member="2")
    h.polled(50, 99, at=25, member="2")
    h.changed("caught_up", at=26, position=100, member="2")
    h.commit(100, 0, at=27, member="2")
    h.changed("closed", at=28, member="2")
    copies(h, (1, 2), (0, 99, 0), start=60, checkpoints={0: 60}, high_watermark=100)


@asks(
    "A read that came to the end lacks 100 to 199; two unclean elections later they are back.",
    source="taxonomy A7; unclean.leader.election.enable: each election may abandon a branch",
    expects={"resurrected_record": PERMITTED, "lost_record": NONE, "skipped_record": NONE},
)
def resurrected_by_unclean_elections(h: History) -> None:
    resurrected(h, clean=False)


@asks(
    "A read that came to the end lacks 100 to 199; after clean elections they are back.",
    source="taxonomy A7; below the high watermark a clean election keeps everything",
    expects={"resurrected_record": VIOLATION, "leader_completeness": VIOLATION},
)
def resurrected_by_clean_elections(h: History) -> None:
    resurrected(h, clean=True)


def resurrected(h: History, *, clean: bool) -> None:
    """Broker 2 leads from 23 s without 100 to 199; broker 1, which has them, from 43 s."""
    written(h, unclean_election=True)
    if not clean:
        h.led(1, 0, at=4, isr=[1])
    h.sent(100, 199, at=5)
    h.sampled(1, at=6, end=200, isr=[1, 2] if clean else [1])
    killed(h, 1, at=20, healed=34.5 if clean else 41)
    h.led(2, 1, at=23, isr=[2], starts=100)
    h.sampled(2, at=24, end=100, epoch=1, isr=[2])
    h.group()
    h.group("late")
    consumed(h, 0, 99, at=26)
    h.sampled(2, at=34, end=100, epoch=1, isr=[2])
    if clean:
        h.registered(1, at=34.5, is_fenced=False, broker_epoch=2)
        h.led(2, 1, at=35, isr=[2, 1])
        killed(h, 2, at=40)
    else:
        killed(h, 2, at=37)
        h.led(-1, 2, at=40, isr=[2])
        h.registered(1, at=41, is_fenced=False, broker_epoch=2)
    epoch = 2 if clean else 3
    h.led(1, epoch, at=43, isr=[1], starts=200)
    h.sampled(1, at=45, end=200, epoch=epoch, isr=[1])
    consumed(h, 0, 199, at=50, group="late")
    consumed(h, 100, 199, at=60, fresh=False, member="2")
    h.log(1, (0, 99, 0), (100, 199, 0), checkpoints={0: 0, epoch: 200}, high_watermark=200)
    h.log(2, (0, 99, 0), checkpoints={0: 0, 1: 100}, high_watermark=100)
