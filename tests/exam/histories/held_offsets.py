"""How long the last stable offset was held back, by which transaction, and who waited for it."""

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.exam.transaction_verbs import (
    Batch,
    described,
    replica,
    replicas,
    started,
    step,
    written,
    written_before_others,
)
from tests.exam.verbs import (
    begins_anew,
    begun,
    cluster,
    first_start,
    joined,
    left,
    renumbered,
    watched,
)

OPEN = (
    "`transaction.timeout.ms` bounds how long a transaction is open; KIP-98: the last stable offset"
)
MARKERS = "`TransactionMarkerChannelManager`: markers are written once the end is stored"
LSO = "KIP-98 and isolation.level: read_committed ends at the last stable offset"
SENT_AGAIN = (
    "TransactionMarkerChannelManager: the markers are sent as soon as the end is stored, and again "
    "until each leader has written its own"
)
STABLE = "KIP-98: read_committed ends at the last stable offset, before the first open transaction"
TAIL = Batch(5, 9, producer="q", sequence=0, at=11.0)


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


@asks(
    "A read_committed group waits at a transaction of another producer that stays open for 45 s.",
    source=LSO,
    expects={
        "stuck_consumer": PERMITTED,
        "poll_skip": NONE,
        "precommitted_read": NONE,
        "hanging_transaction": NONE,
    },
)
def committed_values_lie_behind_an_open_transaction(h: History) -> None:
    _behind_another(h, aborted=50.0, isolation="read_committed")


@asks(
    "A read_uncommitted group stalls at the same transaction.",
    source="isolation.level=read_uncommitted: all records up to the high watermark are returned",
    expects={"stuck_consumer": VIOLATION},
)
def open_transaction_excuses_no_uncommitted_reader(h: History) -> None:
    _behind_another(h, aborted=50.0, isolation="read_uncommitted")


@asks(
    "A read_committed group stalls 30 s after the transaction had ended in the log.",
    source=LSO + ", and that had moved on at the marker",
    expects={"stuck_consumer": VIOLATION, "hanging_transaction": NONE},
)
def ended_transaction_excuses_no_stall(h: History) -> None:
    _behind_another(h, aborted=15.0, isolation="read_committed")


def _behind_another(h: History, *, aborted: float, isolation: str) -> None:
    """`p` writes 0 to 4 and aborts late; `q` commits 5 to 9. A group stalls at 0 at second 45."""
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 9, pid=2, base_sequence=0, producer="q", sequence=0),
        Batch(10, 10, pid=2, control="commit", at=10.0),
        Batch(11, 11, pid=1, control="abort", at=aborted),
        isolation=isolation,
        times=(55.0, 65.0, 75.0, 85.0),
    )
    started(h, at=4.0)
    h.sent(0, 4, at=5.0, transaction=0)
    started(h, at=6.0, pid=2, producer="q", transactional_id="y")
    h.sent(5, 9, at=8.0, producer="q", sequence=0, transaction=0)
    step(h, "commit", "committed", at=10.0, pid=2, producer="q", transactional_id="y")
    watched(h, 1, 11 if aborted > 45 else 12, times=(16.0, 30.0, 44.0))
    step(h, "abort", "aborted", at=aborted)
    joined(h, 0, at=12.0)
    h.changed("stalled", at=45.0, position=0, generation=1)
    if isolation == "read_uncommitted":
        h.polled(0, 4, at=52.0)
    h.polled(5, 9, at=52.1, producer="q", sequence=0)
    h.changed("caught_up", at=60.0, position=12, generation=1)
    left(h, 12, at=80.0)


@asks(
    "A follower is killed and back; after that a transaction ends, and its marker comes 28 s late.",
    source=SENT_AGAIN + "; a fault that is over before the end explains nothing",
    expects={"held_stable_offset": VIOLATION, "hanging_transaction": NONE},
)
def marker_lags_after_a_fault_that_was_over(h: History) -> None:
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    h.fault("kill", h.on_broker(2), injected=1.5, proved=4.6, heal_began=6.5, healed=7.5)
    h.registered(2, at=4.5, is_fenced=True)
    h.led(1, 0, at=4.5, isr=(1,))
    h.registered(2, at=7.4, is_fenced=False, broker_epoch=2)
    h.led(1, 0, at=8.5, isr=(1, 2))
    written_before_others(h)
    step(h, "commit", "committed", at=12.0)
    replicas(h, Batch(0, 4, pid=1, base_sequence=0, at=10.0), TAIL, _marker(10, at=40.0))
    _bounds(h, marked=40.0, end=11)
    _reads_all(h, at=40.5)


@asks(
    "The only replica is down from just after the commit on; its marker comes when it is back.",
    source=SENT_AGAIN + "; no leader, no marker",
    expects={
        "held_stable_offset": PERMITTED,
        "hanging_transaction": NONE,
        "torn_transaction": NONE,
        "misapplied_marker": NONE,
    },
)
def marker_waits_for_the_only_replica(h: History) -> None:
    h.topic(replication=1)
    h.group(isolation="read_committed")
    for broker in (1, 2):
        h.registered(broker, at=0.2, is_fenced=False)
    h.led(1, 0, at=0.5, isr=(1,), replicas=(1,), starts=0)
    written_before_others(h)
    step(h, "commit", "committed", at=12.0)
    h.fault("kill", h.on_broker(1), injected=12.02, proved=15.5, heal_began=37.0, healed=38.0)
    h.registered(1, at=15.2, is_fenced=True)
    h.led(-1, 1, at=15.2, isr=(1,), replicas=(1,))
    h.registered(1, at=38.2, is_fenced=False, broker_epoch=2)
    h.led(1, 2, at=38.3, isr=(1,), replicas=(1,), starts=10)
    marker = Batch(10, 10, epoch=2, pid=1, control="commit", at=39.0)
    replica(h, 1, Batch(0, 4, pid=1, base_sequence=0, at=10.0), TAIL, marker)
    h.sampled(1, at=5.0, end=0)
    watched(h, 1, 10, times=(11.5,), isr=(1,))
    watched(h, 1, 11, times=(45.0, 65.0, 85.0), epoch=2, isr=(1,))
    _reads_all(h, at=39.5)


@asks(
    "A producer falls silent; a group that reads committed values waits at its transaction.",
    source=STABLE + "; `transaction.timeout.ms`: the coordinator aborts it then",
    expects={
        "stuck_consumer": PERMITTED,
        "held_stable_offset": PERMITTED,
        "hanging_transaction": NONE,
        "skipped_record": NONE,
    },
)
def silent_producer_holds_a_committed_reader(h: History) -> None:
    _silent(h, isolation="read_committed", aborted=70.0, stalled=45.0)


@asks(
    "The same transaction, and the group that waits reads uncommitted values.",
    source="`isolation.level`: read_uncommitted does not wait for transactions",
    expects={"stuck_consumer": VIOLATION, "held_stable_offset": PERMITTED},
)
def silent_producer_holds_an_uncommitted_reader(h: History) -> None:
    _silent(h, isolation="read_uncommitted", aborted=70.0, stalled=45.0)


@asks(
    "The transaction was aborted at second 30, and the group still waits there at second 80.",
    source=STABLE + "; behind the abort marker everything is stable",
    expects={"stuck_consumer": VIOLATION, "hanging_transaction": NONE},
)
def reader_waits_behind_an_ended_transaction(h: History) -> None:
    _silent(h, isolation="read_committed", aborted=30.0, stalled=80.0)


@asks(
    "A read_committed group is given what lies behind an open transaction, and never its values.",
    source=STABLE + "; KIP-98: a committed transaction is visible as a whole",
    # docs/findings.md: what a transaction wrote is left to torn_transaction.
    expects={"torn_transaction": VIOLATION, "skipped_record": NONE, "aborted_read": NONE},
)
def reader_goes_past_the_stable_offset(h: History) -> None:
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    written_before_others(h)
    step(h, "commit", "committed", at=40.0)
    replicas(h, Batch(0, 4, pid=1, base_sequence=0, at=10.0), TAIL, _marker(10, at=40.0))
    _bounds(h, marked=40.0, end=11)
    first_start(h, 0, at=13.8)
    joined(h, 0, at=14.0)
    h.polled(5, 9, at=20.0, producer="q", sequence=0)
    left(h, 11, at=80.0, caught_up=True)
    renumbered(h)


def _marker(offset: int, *, at: float) -> Batch:
    return Batch(offset, offset, pid=1, control="commit", at=at)


def _bounds(h: History, *, marked: float, end: int) -> None:
    """The leader's bounds: 10 from second 11 on, and `end` once the marker is written."""
    watched(h, 1, 0, times=(1.0,))
    times = (14.0, 25.0, 35.0, 45.0, 55.0, 65.0, 75.0, 85.0)
    watched(h, 1, 10, times=[time for time in times if time < marked])
    watched(h, 1, end, times=[time for time in times if time > marked])


def _reads_all(h: History, *, at: float) -> None:
    """The group gets all ten values as soon as the marker is written."""
    begins_anew(h, "g", at=13.5)
    h.polled(0, 4, at=at)
    h.polled(5, 9, at=at + 0.1, producer="q", sequence=0)
    left(h, 11, at=84.0, caught_up=True)


def _silent(h: History, *, isolation: str, aborted: float, stalled: float) -> None:
    """A transaction at 0 to 4 is never ended by its client; the coordinator aborts it."""
    h.topic()
    h.group(isolation=isolation)
    cluster(h)
    written_before_others(h)
    described(h, "Ongoing", at=20.0)
    described(h, "CompleteAbort", at=aborted + 3, pid_epoch=1)
    marker = Batch(10, 10, pid=1, pid_epoch=1, control="abort", at=aborted)
    replicas(h, Batch(0, 4, pid=1, base_sequence=0, at=10.0), TAIL, marker)
    _bounds(h, marked=aborted, end=11)
    begins_anew(h, "g", at=13.5)
    h.changed("stalled", at=stalled, position=0, generation=1)
    if stalled < aborted:
        if isolation == "read_uncommitted":
            h.polled(0, 4, at=stalled + 1)
        later = stalled + 1.1 if isolation == "read_uncommitted" else aborted + 0.5
        h.polled(5, 9, at=later, producer="q", sequence=0)
        left(h, 11, at=84.0, caught_up=True)
    else:
        left(h, 0, at=84.0)
    renumbered(h)
