"""How long the last stable offset was held back, and by which transaction."""

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.exam.transaction_verbs import Batch, replicas, started, step
from tests.exam.verbs import begun, watched

OPEN = (
    "`transaction.timeout.ms` bounds how long a transaction is open; KIP-98: the last stable offset"
)
MARKERS = "`TransactionMarkerChannelManager`: markers are written once the end is stored"


@asks(
    "A transaction is open for 20 s, and plain records lie behind its first write.",
    source=OPEN,
    expects={"held_stable_offset": PERMITTED, "hanging_transaction": NONE},
)
def open_transaction_holds_back(h: History) -> None:
    _held(h, ends=28.0, marked=28.1)


@asks(
    "A transaction is open for 20 s, and nothing lies behind its writes.",
    source=OPEN,
    expects={"held_stable_offset": NONE},
)
def open_transaction_holds_back_nothing(h: History) -> None:
    _held(h, ends=28.0, marked=28.1, behind=False)


@asks(
    "A transaction is over within a second.",
    source=OPEN,
    expects={"held_stable_offset": NONE},
)
def short_transaction_holds_back(h: History) -> None:
    _held(h, ends=8.8, marked=8.9)


@asks(
    "A transaction was committed; its marker is written 25 s later, though no fault is in force.",
    source=MARKERS,
    expects={"held_stable_offset": VIOLATION, "hanging_transaction": NONE},
)
def marker_is_late(h: History) -> None:
    _held(h, ends=10.0, marked=35.0)


@asks(
    "The same where the partition's leader was killed in between.",
    source=MARKERS + "; a marker waits for a leader",
    expects={"held_stable_offset": PERMITTED},
)
def marker_waits_for_a_leader(h: History) -> None:
    h.fault("kill", h.on_broker(1), injected=9.0, healed=34.0)
    _held(h, ends=10.0, marked=35.0)


@asks(
    "The same where the fault was over before the transaction began.",
    source=MARKERS,
    expects={"held_stable_offset": VIOLATION},
)
def marker_is_late_long_after_a_fault(h: History) -> None:
    h.fault("kill", h.on_broker(1), injected=1.0, healed=3.0)
    _held(h, ends=10.0, marked=35.0)


@asks(
    "A transaction was aborted; its marker is written 5 s later.",
    source=MARKERS,
    expects={"held_stable_offset": PERMITTED},
)
def abort_marker_is_somewhat_late(h: History) -> None:
    _held(h, ends=10.0, marked=15.0, end="abort")


def _held(
    h: History, *, ends: float, marked: float, behind: bool = True, end: str = "commit"
) -> None:
    """Offsets 0 to 4 are a transaction from second 8 on; 5 to 9 plain records of second 8.5."""
    h.topic()
    h.group(isolation="read_committed")
    begun(h)
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    last = 9 if behind else 4
    plain = [Batch(5, 9, producer="q", sequence=0)] if behind else []
    if behind:
        h.sent(5, 9, at=8.5, producer="q", sequence=0)
    step(h, end, "committed" if end == "commit" else "aborted", at=ends)
    replicas(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        *plain,
        Batch(last + 1, last + 1, pid=1, control=end, at=marked),
    )
    watched(h, 1, last + 2, times=(45.0, 65.0, 85.0))
