"""Groups that are led past records: by a deletion, or by a reset whose policy leads forward."""

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.exam.transaction_verbs import Batch, replica, started, step
from tests.exam.verbs import begun, cluster, joined, plain, reads_to, watched

DELETED = "ListOffsets: below the log start nothing is served; a lagging group is out of range"
RETENTION = "retention.ms: records are deleted, whoever has read them; " + DELETED
ORDERED = "DeleteRecords (KIP-107) raises the log start; " + DELETED
LATEST = "auto.offset.reset=latest: the position moves to the end of the log"
BY_DURATION = (
    "KIP-1106: by_duration moves the position to the first record that is no older than that"
)
ATOMIC = "KIP-98: a committed transaction is visible as a whole"


@asks(
    "Retention deletes a committed transaction before a lagging read_committed group gets to it.",
    source=RETENTION,
    expects={
        "torn_transaction": PERMITTED,
        "lost_record": PERMITTED,
        "skipped_record": NONE,
        "hanging_transaction": NONE,
        "aborted_read": NONE,
    },
)
def transaction_expires_before_it_is_read(h: History) -> None:
    _deleted(h, start=6, retention_ms=20_000)


@asks(
    "Retention deletes the first half of it.",
    source=RETENTION,
    expects={"torn_transaction": PERMITTED, "lost_record": PERMITTED, "skipped_record": NONE},
)
def half_of_a_transaction_expires(h: History) -> None:
    _deleted(h, start=3, retention_ms=20_000)


@asks(
    "DeleteRecords deletes it.",
    source=ORDERED,
    expects={"torn_transaction": PERMITTED, "lost_record": PERMITTED, "skipped_record": NONE},
)
def transaction_is_deleted_by_order(h: History) -> None:
    h.fault("expire by order", h.on_topic("t"), injected=49.0, proved=50.5)
    _deleted(h, start=6, reason="client delete records request")


@asks(
    "DeleteRecords deletes half of it.",
    source=ORDERED,
    expects={"torn_transaction": PERMITTED, "lost_record": PERMITTED},
)
def half_of_a_transaction_is_deleted_by_order(h: History) -> None:
    h.fault("expire by order", h.on_topic("t"), injected=49.0, proved=50.5)
    _deleted(h, start=3, reason="client delete records request")


@asks(
    "A group that is out of range goes to the end by `latest`, past another transaction.",
    source=LATEST,
    expects={"torn_transaction": PERMITTED, "skipped_record": NONE, "reset": PERMITTED},
)
def latest_leads_past_a_transaction(h: History) -> None:
    _deleted(h, start=6, retention_ms=20_000, reset="latest", to=12)


@asks(
    "A group of two partitions is led past that part of a transaction which is in one of them.",
    source=LATEST,
    expects={"torn_transaction": PERMITTED, "skipped_record": NONE},
)
def latest_leads_past_one_part_of_a_transaction(h: History) -> None:
    _in_two(h, resets=True)


@asks(
    "A group of two partitions goes past that part of a transaction without a reset.",
    source=ATOMIC,
    expects={"torn_transaction": VIOLATION},
)
def nothing_leads_past_one_part_of_a_transaction(h: History) -> None:
    _in_two(h, resets=False)


@asks(
    "`by_duration` leads a group that is out of range past a transaction.",
    source=BY_DURATION,
    expects={"torn_transaction": PERMITTED, "skipped_record": NONE},
)
def duration_leads_past_a_transaction(h: History) -> None:
    _deleted(h, start=3, retention_ms=20_000, reset="by_duration:PT10S", to=12)


@asks(
    "The group went past the transaction 20 s before retention deleted it.",
    source=ATOMIC,
    expects={"torn_transaction": VIOLATION},
)
def transaction_expires_after_it_was_passed(h: History) -> None:
    _deleted(h, start=6, retention_ms=20_000, opened=30.0)


@asks(
    "The topic has no retention, and nobody ordered the deletion.",
    source=ATOMIC + "; retention_overreach finds the deletion",
    expects={"torn_transaction": VIOLATION, "retention_overreach": VIOLATION},
)
def transaction_is_deleted_by_nothing(h: History) -> None:
    _deleted(h, start=6)


@asks(
    "The policy is `earliest`: it leads to the log start, and the group skips what is there.",
    source="auto.offset.reset=earliest: the position moves to the log start; " + ATOMIC,
    expects={"torn_transaction": VIOLATION},
)
def earliest_leads_past_nothing(h: History) -> None:
    _deleted(h, start=6, retention_ms=20_000, skips=True)


@asks(
    "`by_duration` leads a group past records that the log has.",
    source=BY_DURATION,
    expects={"skipped_record": PERMITTED, "unjustified_reset": NONE, "reset": PERMITTED},
)
def duration_leads_past_records(h: History) -> None:
    _led(h, policy="by_duration:PT30S", to=70)


@asks(
    "`by_duration` finds no record so young, and leads to the end of the log.",
    source=BY_DURATION + "; OffsetFetcherUtils: without such a record it is the end of the log",
    expects={"skipped_record": PERMITTED, "unjustified_reset": NONE},
)
def duration_leads_to_the_end(h: History) -> None:
    _led(h, policy="by_duration:PT1S", to=100, again=False)


@asks(
    "A new group with `by_duration` starts behind older records.",
    source=BY_DURATION,
    expects={"skipped_record": NONE, "unseen_record": NONE, "start_mismatch": NONE},
)
def duration_is_where_a_new_group_starts(h: History) -> None:
    h.topic()
    h.group(reset="by_duration:PT30S")
    plain(h, 99)
    h.changed("opened", at=5.0)
    h.reset("no_commit", 0, 70, at=5.5, policy="by_duration:PT30S", member="1")
    h.rows["resets"][-1]["from_offset"] = None
    h.changed("assigned", at=6.0, position=70, generation=1)
    h.polled(70, 99, at=7.0)
    h.changed("caught_up", at=8.0, position=100, generation=1)


@asks(
    "`by_duration` led to 70; later the group skips 80 to 89.",
    source="KafkaConsumer: records of a partition are returned in order",
    expects={"skipped_record": VIOLATION, "poll_skip": VIOLATION},
)
def duration_excuses_no_later_skip(h: History) -> None:
    _led(h, policy="by_duration:PT30S", to=70, skips=True)


def _led(h: History, *, policy: str, to: int, again: bool = True, skips: bool = False) -> None:
    """DeleteRecords raises the log start to 30; a group at 10 is out of range, and led to `to`."""
    h.topic(deletes=True)
    h.group(reset=policy)
    plain(h, 99)
    h.rows["samples"] = [row for row in h.rows["samples"] if row["at_micros"] < h.at(20)]
    reads_to(h, 9)
    h.commit(10, 0, at=8.0, brokers=(1, 2), generation=1)
    h.changed("revoked", at=9.0, position=10, generation=1)
    h.changed("closed", at=9.2)
    for broker in (1, 2):
        h.log_started(broker, 30, at=20.0, reason="client delete records request")
    for row in h.rows["log_starts"]:
        row["log_start_offset"] = 30
    for row in h.rows["epoch_checkpoints"]:
        row["start_offset"] = 30
    watched(h, 1, 100, times=(25.0, 45.0, 85.0), start=30)
    joined(h, 10, at=40.0, member="2", generation=3)
    h.reset("out_of_range", 10, to, at=40.5, epoch=0, policy=policy)
    if again:
        h.polled(to, 79, at=41.0, member="2")
        h.polled(90 if skips else 80, 99, at=41.5, member="2")
    h.changed("caught_up", at=50.0, position=100, member="2", generation=3)


def _deleted(
    h: History,
    *,
    start: int,
    retention_ms: int | None = None,
    reason: str = "segment deletion",
    reset: str = "earliest",
    to: int | None = None,
    opened: float = 60.0,
    skips: bool = False,
) -> None:
    """Transactions at 0 to 4 and 6 to 10, with their markers; the log start is `start` from 50 s.

    A read_committed group opens at 0, is out of range, and is led to `to`, else to the log start.
    opened: before that, it just goes past the first transaction. skips: and past the second.
    """
    h.topic(retention_ms=retention_ms)
    h.group(isolation="read_committed", reset=reset)
    begun(h)
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    step(h, "commit", "committed", at=10.0)
    step(h, "begin", "begun", at=11.0, transaction=1)
    h.sent(6, 10, at=12.0, sequence=5, transaction=1)
    step(h, "commit", "committed", at=13.0, transaction=1)
    watched(h, 1, 12, times=(15.0, 45.0))
    h.stored(0, -1, at=2.0, brokers=(1, 2))
    batches = [
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, control="commit"),
        Batch(6, 10, pid=1, base_sequence=5, sequence=5),
        Batch(11, 11, pid=1, control="commit"),
        Batch(12, 14, producer="q", sequence=0),
    ]
    for broker in (1, 2):
        h.log_started(broker, start, at=50.0, reason=reason)
        replica(h, broker, *(one for one in batches if one.last >= start), start=start)
    for row in h.rows["epoch_checkpoints"]:
        row["start_offset"] = start
    h.sent(12, 14, at=70.0, producer="q", sequence=0)
    watched(h, 1, 12, times=(55.0,), start=start)
    watched(h, 1, 15, times=(85.0,), start=start)
    joined(h, 0, at=opened)
    end = start if to is None else to
    if opened > 50:
        h.reset("out_of_range", 0, end, at=opened + 0.5, epoch=-1, policy=reset, member="1")
        if start == 3 and to is None:
            h.polled(3, 4, at=opened + 1)
    if not skips and to is None:
        h.polled(6, 10, at=opened + 1.2, sequence=5)
    h.polled(12, 14, at=max(72.0, opened + 2), producer="q", sequence=0)
    h.changed("caught_up", at=75.0, position=15, generation=1)


def _in_two(h: History, *, resets: bool) -> None:
    """A transaction writes 0 to 4 to each of two partitions; the group never gets those of 1."""
    h.topic(partitions=2)
    h.group(isolation="read_committed", reset="latest")
    for partition in (0, 1):
        cluster(h, partition=partition)
        watched(h, 1, 6, times=(15.0, 45.0, 85.0), partition=partition)
        for broker in (1, 2):
            replica(
                h,
                broker,
                Batch(0, 4, pid=1, base_sequence=0, sequence=5 * partition),
                Batch(5, 5, pid=1, control="commit"),
                partition=partition,
            )
        h.stored(0, -1, at=2.0, brokers=(1, 2), partition=partition)
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    h.sent(0, 4, at=8.1, partition=1, sequence=5, transaction=0)
    step(h, "commit", "committed", at=10.0)
    joined(h, 0, at=40.0, partitions=(0, 1))
    h.polled(0, 4, at=41.0)
    if resets:
        h.stored(None, -1, at=30.0, is_tombstone=True, brokers=(1, 2), partition=1)
        h.reset("no_commit", 0, 6, at=40.5, policy="latest", member="1", partition=1)
    h.changed("caught_up", at=60.0, position=6)
    h.changed("caught_up", at=60.1, position=6, partition=1)
