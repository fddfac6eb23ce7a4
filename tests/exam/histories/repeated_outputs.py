"""Groups that copy in transactions: whether what they read was processed once."""

from tests.exam.commit_verbs import COMMIT
from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.exam.transaction_verbs import Batch, replicas, started, step, stored_in_transaction
from tests.exam.verbs import joined, left, plain, watched

ONCE = "KIP-98, sendOffsetsToTransaction: what a transaction read is processed once it is committed"
HAND_OVER = "KIP-447: a new member fetches offsets only when no transaction of them is open"


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
