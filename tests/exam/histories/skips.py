"""Histories about records that a group did not get, got late, or got in another order."""

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, UNDECIDED, VIOLATION, History, asks
from tests.exam.scenes import (
    NEW,
    consumed,
    copies,
    forget_elections,
    killed,
    started,
    torn,
    written,
)


@asks(
    "A group began at 0, and its first 50 records were never delivered.",
    source="KafkaConsumer Javadoc, section Offsets and Consumer Position: a consumer at "
    "position 0 receives the record with offset 0 next",
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
    source="KafkaConsumer Javadoc, section Offsets and Consumer Position: the next offset is "
    "left out only if it has no record",
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
    source="auto.offset.reset=latest: the position moves to the end of the log; decision 15: an "
    "event permits only what it led past",
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
            producer_id=h.place.producer_id(7),
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
    "A member says at 20 s that it is at the log end, though 50 more records were visible at 3 s.",
    source="decision 8: a reader comes to the log end of that moment; no configuration of Kafka "
    "bounds a lag",
    expects={"stale_read": PERMITTED, "lost_record": NONE, "skipped_record": NONE},
)
def caught_up_far_below_the_end(h: History) -> None:
    # Kafka bounds no lag. The member was served by a leader that had been cut off: this fault
    # permits what it saw.
    written(h, 50)
    h.fault(
        "cut",
        h.on_broker(1),
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
    source="FetchIsolation.of: what lies below the high watermark is given out, whenever it is "
    "asked for",
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
    source="retention.ms: how soon consumers must read their data; until then it is late, not lost",
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
    source="FetchBuffer: records are buffered between fetch and poll; nothing tells the fetch's "
    "time",
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
    source="unclean.leader.election.enable: each election may abandon a branch",
    expects={"resurrected_record": PERMITTED, "lost_record": NONE, "skipped_record": NONE},
)
def resurrected_by_unclean_elections(h: History) -> None:
    resurrected(h, clean=False)


@asks(
    "A read that came to the end lacks 100 to 199; after clean elections they are back.",
    source="Kafka's documentation, Replication: a clean election loses no committed record",
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


@asks(
    "A group with read_committed goes past ten records of an aborted transaction.",
    source="isolation.level=read_committed: aborted records are not delivered; KIP-98",
    expects={
        "poll_skip": NONE,
        "skipped_record": NONE,
        "lost_record": NONE,
        "unseen_record": NOT_VIOLATION,
        "outcome_mismatch": NONE,
    },
)
def aborted_records_are_passed_over(h: History) -> None:
    aborted(h, isolation="read_committed")


@asks(
    "A group with read_uncommitted goes past ten records of an aborted transaction.",
    source="isolation.level=read_uncommitted: aborted records are delivered like others",
    expects={"poll_skip": VIOLATION, "skipped_record": VIOLATION},
)
def aborted_records_are_required_without_isolation(h: History) -> None:
    aborted(h, isolation="read_uncommitted")


def aborted(h: History, *, isolation: str) -> None:
    """Offsets 50 to 59 are of a transaction that the marker at 60 aborts; a group skips them."""
    written(h, 50)
    h.sent(50, 59, at=4, producer="x", sequence=0, transaction=0, is_idempotent=True)
    steps = (("initialize", "initialized"), ("begin", "begun"), ("abort", "aborted"))
    for index, (step, change) in enumerate(steps):
        h.add(
            "transactions",
            worker=h.own("w"),
            producer=h.own("x"),
            transactional_id=h.own("x"),
            transaction=None if index == 0 else 0,
            step=step,
            change=change,
            producer_id=h.place.producer_id(7),
            producer_epoch=0,
            state="",
            outcome="ok",
            error=None,
            seq=1000 + index,
            began_micros=h.at((3, 3.5, 4.5)[index]),
            at_micros=h.at((3.1, 3.6, 4.6)[index]),
        )
    h.sent(61, 99, at=5)
    h.sampled(1, at=6, end=100, isr=[1, 2])
    h.group(isolation=isolation)
    started(h, 0, at=7, fresh=True)
    h.polled(0, 49, at=8)
    h.polled(61, 99, at=9)
    h.changed("caught_up", at=10, position=100)
    h.commit(100, 0, at=11)
    h.changed("closed", at=12)
    spans = ((0, 49, 0), (50, 59, 0), (61, 99, 0))
    for broker in (1, 2):
        h.log(broker, *spans, producers={50: "x"}, sequences={50: 0}, high_watermark=100)
        batch = h.rows["replica_batches"][-2]
        batch.update(
            producer_id=h.place.producer_id(7),
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
        )
        marker = {**batch, "base_offset": 60, "last_offset": 60, "record_count": 1}
        marker.update(is_control=True, control_type="abort", base_sequence=-1, checksum=4712)
        h.add("replica_batches", **{**marker, "size_bytes": 78})


@asks(
    "The same, by elections that nobody has recorded.",
    source="contract/tables_of_servers.py, leaderships; unclean.leader.election.enable: an "
    "election decides whether the loss is permitted",
    expects={"resurrected_record": UNDECIDED},
)
def resurrected_by_unknown_elections(h: History) -> None:
    torn(h)
    h.group()
    consumed(h, 0, 199, at=8)
    consumed(h, 100, 149, at=50, epoch=1, member="2", fresh=False, sequence=100 + NEW)
    consumed(h, 100, 149, at=60, member="3", fresh=False)
    forget_elections(h)


@asks(
    "A read lacks 100 to 199, which are acknowledged only after it.",
    source="KafkaProducer: before its acknowledgement nobody knows of a record",
    expects={"resurrected_record": NONE},
)
def acknowledged_after_it_was_missing(h: History) -> None:
    resurrected(h, clean=True)
    h.rows["polls"] = [row for row in h.rows["polls"] if row["offset"] < 100]
    for row in h.rows["sends"]:
        if row["offset"] >= 100:
            row["answered_micros"] = h.at(70)
