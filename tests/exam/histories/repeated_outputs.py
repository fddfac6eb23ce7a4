"""Groups that copy in transactions: whether what they read was processed once."""

from tests.exam.commit_verbs import COMMIT
from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks
from tests.exam.transaction_verbs import Batch, replicas, started, step, stored_in_transaction
from tests.exam.verbs import cluster, first_start, joined, left, plain, renumbered, watched

ONCE = "KIP-98, sendOffsetsToTransaction: what a transaction read is processed once it is committed"
HAND_OVER = "KIP-447: a new member fetches offsets only when no transaction of them is open"
WITH_OFFSETS = "KIP-98, sendOffsetsToTransaction: offsets are part of the transaction"


@asks(
    "A second member starts at 0, though a committed transaction stored 10, and copies 0 to 19.",
    source=HAND_OVER,
    expects={"repeated_output": VIOLATION},
)
def successor_copies_again(h: History) -> None:
    _copied_twice(h, resumes=0)


@asks(
    "A second member starts at 10, as stored, and copies 10 to 19.",
    source=HAND_OVER,
    expects={"repeated_output": NONE, "start_mismatch": NONE, "output_without_offsets": NONE},
)
def successor_copies_on(h: History) -> None:
    _copied_twice(h, resumes=10)


@asks(
    "The first transaction was aborted, and the second member copies 0 to 19.",
    source=ONCE,
    expects={"repeated_output": NONE, "start_mismatch": NONE},
)
def aborted_copy_is_made_again(h: History) -> None:
    _copied_twice(h, resumes=0, first="abort")


@asks(
    "The second transaction, which copied 0 to 19 again, was aborted.",
    source=ONCE,
    expects={"repeated_output": NONE},
)
def second_copy_is_aborted(h: History) -> None:
    _copied_twice(h, resumes=0, second="abort")


@asks(
    "The second member's position was reset to 0, as its policy says.",
    source="auto.offset.reset=earliest",
    expects={"repeated_output": PERMITTED},
)
def copies_again_after_a_reset(h: History) -> None:
    h.reset("out_of_range", 10, 0, at=39.9, topic="in")
    _copied_twice(h, resumes=0)


@asks(
    "The second member's position was reset to 0 half a minute after it copied again.",
    source=HAND_OVER,
    expects={"repeated_output": VIOLATION},
)
def copies_again_before_a_reset(h: History) -> None:
    h.reset("out_of_range", 20, 0, at=75.0, topic="in")
    _copied_twice(h, resumes=0)


@asks(
    "An administrator set the offset back to 0 in between.",
    source="KIP-396, AlterConsumerGroupOffsets",
    expects={"repeated_output": PERMITTED},
)
def copies_again_by_order(h: History) -> None:
    h.called(
        1,
        COMMIT,
        8,
        at=35.0,
        error=0,
        group=h.own("g"),
        member="",
        generation=-1,
        asked_offset=0,
        asked_epoch=-1,
        metadata="",
        throttle_ms=0,
    )
    h.rows["wire_calls"][-1].update(topic=h.own("in"))
    h.stored(0, -1, at=35.0 - 0.002, topic="in", brokers=(1, 2))
    _copied_twice(h, resumes=0)


@asks(
    "The two transactions copy the same records for two groups.",
    source="OffsetMetadataManager.Offsets: offsets are keyed by group, topic and partition",
    expects={"repeated_output": NONE},
)
def two_groups_copy_the_same(h: History) -> None:
    h.group("g2", "in", isolation="read_committed")
    _copied_twice(h, resumes=0, second_group="g2")


def _copied_twice(
    h: History,
    *,
    resumes: int,
    first: str = "commit",
    second: str = "commit",
    second_group: str = "g",
) -> None:
    """Producer q copies 0 to 9 and stores 10; producer r copies from `resumes` and stores 20.

    first, second: the markers of their transactions.
    """
    h.topic("in")
    h.topic("t")
    h.group("g", "in", isolation="read_committed")
    plain(h, 19, topic="in")
    h.led(1, 0, at=0.5, isr=(1, 2), starts=0, topic_id="out")
    started(h, at=4.0, producer="q")
    joined(h, 0, at=5.5, topic="in")
    h.polled(0, 9, at=6.0, topic="in")
    _transaction(h, "q", 1, first, at=8.0, writes=(0, 4), stores=10, group="g")
    left(h, 10, at=20.0, topic="in")
    started(h, at=25.0, producer="r", pid=2, transactional_id="y")
    reported = {"member": "2", "group": second_group, "topic": "in"}
    joined(h, resumes, at=40.0, generation=3, **reported)
    h.polled(resumes, 19, at=41.0, **reported)
    _transaction(h, "r", 2, second, at=43.0, writes=(6, 10), stores=20, group=second_group)
    replicas(
        h,
        Batch(0, 4, pid=1, base_sequence=0, producer="q"),
        Batch(5, 5, pid=1, control=first),
        Batch(6, 10, pid=2, base_sequence=0, producer="r", sequence=0),
        Batch(11, 11, pid=2, control=second),
    )
    watched(h, 1, 12, times=(65.0, 85.0))


def _transaction(
    h: History,
    producer: str,
    pid: int,
    end: str,
    *,
    at: float,
    writes: tuple[int, int],
    stores: int,
    group: str,
) -> None:
    reported = {"producer": producer, "pid": pid, "transactional_id": "x" if pid == 1 else "y"}
    h.sent(*writes, at=at, producer=producer, sequence=0, transaction=0)
    stored_in_transaction(h, stores, 0, at=at + 1, marker=end, pid=pid, group=group, topic="in")
    step(h, "send_offsets", "offsets_sent", at=at + 1.1, **reported)
    step(h, end, "committed" if end == "commit" else "aborted", at=at + 2, **reported)


@asks(
    "A second member begins two records before the offset that a transaction committed.",
    source=WITH_OFFSETS + "; a new member starts at the committed offset",
    expects={"repeated_output": VIOLATION, "start_mismatch": f"{VIOLATION}: behind"},
)
def successor_processes_two_records_again(h: History) -> None:
    _input(h)
    _first_copy(h)
    step(h, "commit", "committed", at=10.0, producer="c")
    stored_in_transaction(h, 5, 0, at=9.0, marker="commit", marked=10.1)
    _second_copy(h, start=3, last=9)
    _output(h, ends_first="commit", at=10.1, second=7)


@asks(
    "A new member is given the offset before an open transaction, which is then committed.",
    source="KIP-447: OffsetFetch waits for the offsets of open transactions",
    expects={"repeated_output": VIOLATION},
)
def successor_does_not_wait_for_pending_offsets(h: History) -> None:
    _input(h)
    _first_copy(h, has_commit=True)
    step(h, "commit", "committed", at=40.0, producer="c")
    stored_in_transaction(h, 5, 0, at=9.0, marker="commit", marked=40.1)
    _second_copy(h, start=0, last=4, transactional_id="y", pid=2)
    _output(h, ends_first="commit", at=40.1, second=5, pid=2)


@asks(
    "A fenced producer's transaction is aborted, and its successor processes the same records.",
    source=WITH_OFFSETS + "; an aborted transaction has neither output nor offsets",
    expects={
        "repeated_output": NONE,
        "start_mismatch": NONE,
        "output_without_offsets": NONE,
        "offsets_without_output": NONE,
        "hanging_transaction": NONE,
    },
)
def successor_repeats_what_was_aborted(h: History) -> None:
    _input(h)
    _first_copy(h)
    stored_in_transaction(h, 5, 0, at=9.0, marker="abort", marked=19.17)
    _second_copy(h, start=0, last=4, pid_epoch=2)
    failure = {"outcome": "failed", "error": "ProducerFencedException"}
    step(h, "commit", "fenced", at=30.0, producer="c", pid_epoch=-1, pid=0, **failure)
    first_start(h, 0, at=19.9, member="2")
    _output(h, ends_first="abort", at=19.17, second=5, pid_epoch=2)


@asks(
    "An administrator deletes the group's offset, and its policy leads it back to the beginning.",
    source="KIP-496: DeleteOffsets; auto.offset.reset=earliest: without a commit it begins anew",
    expects={"repeated_output": PERMITTED, "start_mismatch": NOT_VIOLATION},
)
def deleted_offset_leads_back_to_the_beginning(h: History) -> None:
    _input(h)
    _first_copy(h)
    step(h, "commit", "committed", at=10.0, producer="c")
    stored_in_transaction(h, 5, 0, at=9.0, marker="commit", marked=10.1)
    h.stored(None, -1, at=17.0, is_tombstone=True, brokers=(1, 2))
    h.rows["committed_offsets"][-1].update(committed_epoch=None, metadata=None)
    first_start(h, 0, at=19.9, member="2")
    _second_copy(h, start=0, last=4)
    _output(h, ends_first="commit", at=10.1, second=5)


def _input(h: History) -> None:
    """Topic t has 0 to 9, which a group copies to topic u in transactions."""
    h.topic()
    h.topic("u")
    h.group(manner="transactional")
    plain(h, 9)
    cluster(h, topic="u")


def _first_copy(h: History, *, has_commit: bool = False) -> None:
    """The first member is given 0 to 4, writes five values, and sends offset 5 with them."""
    if has_commit:
        h.stored(0, -1, at=3.0, brokers=(1, 2))
    else:
        first_start(h, 0, at=4.8)
    joined(h, 0, at=5.0)
    started(h, at=5.5, producer="c")
    h.polled(0, 4, at=6.0)
    h.sent(0, 4, at=8.0, producer="c", topic="u", transaction=0)
    step(h, "send_offsets", "offsets_sent", at=9.05, producer="c")
    left(h, 5, at=16.0)


def _second_copy(
    h: History,
    *,
    start: int,
    last: int,
    transactional_id: str = "x",
    pid: int = 1,
    pid_epoch: int | None = None,
) -> None:
    """The second member is given `start` to `last`, and copies them in a transaction."""
    own = (1 if pid == 1 else 0) if pid_epoch is None else pid_epoch
    reported = {"pid": pid, "pid_epoch": own, "producer": "d"}
    ids = {"transactional_id": transactional_id}
    started(h, at=19.2, **reported, **ids)
    joined(h, start, at=20.0, member="2", generation=3)
    h.polled(start, last, at=21.0, member="2")
    count = last - start + 1
    first = 5 if transactional_id == "y" else 6
    told_to = {"producer": "d", "sequence": 0, "topic": "u"}
    h.sent(first, first + count - 1, at=22.0, transaction=0, **told_to)
    step(h, "send_offsets", "offsets_sent", at=23.05, **reported, **ids)
    step(h, "commit", "committed", at=24.0, **reported, **ids)
    stored_in_transaction(
        h, last + 1, 0, at=23.0, marker="commit", marked=24.1, pid=pid, pid_epoch=own
    )
    left(h, last + 1, at=60.0, member="2", generation=3)


def _output(
    h: History,
    *,
    ends_first: str,
    at: float,
    second: int,
    pid: int = 1,
    pid_epoch: int | None = None,
) -> None:
    """What topic u holds: five values, `second` more, and a marker of each transaction."""
    own = (1 if pid == 1 else 0) if pid_epoch is None else pid_epoch
    first = Batch(0, 4, pid=1, base_sequence=0, producer="c", at=8.0)
    epoch = 1 if ends_first == "abort" else 0
    begins = 5 if at > 24.1 else 6
    more = Batch(
        begins,
        begins + second - 1,
        pid=pid,
        pid_epoch=own,
        base_sequence=0,
        producer="d",
        sequence=0,
        at=22.0,
    )
    ends = Batch(more.last + 1, more.last + 1, pid=pid, pid_epoch=own, control="commit", at=24.1)
    where = 5 if begins == 6 else ends.last + 1
    marker = Batch(where, where, pid=1, pid_epoch=epoch, control=ends_first, at=at)
    batches = (first, marker, more, ends) if begins == 6 else (first, more, ends, marker)
    replicas(h, *batches, topic="u")
    watched(h, 1, 0, times=(1.0,), topic="u")
    watched(h, 1, batches[-1].last + 1, times=(45.0, 65.0, 85.0), topic="u")
    renumbered(h)
