"""What waits: transactions without a marker, and members that poll and get nothing."""

from collections.abc import Iterable
from typing import Any

from tests.exam.commit_verbs import COMMIT
from tests.exam.history import (
    NONE,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
    asks_each,
)
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import (
    Batch,
    described,
    replica,
    replicas,
    started,
    step,
)
from tests.exam.verbs import WATCHED, cluster, first_start, joined, left, plain, watched

HANGING = "hanging_transaction"
STUCK = "stuck_consumer"
HANGS = "KIP-664: a hanging transaction has writes without a marker, and nobody ends it"
OPEN = "`transaction.max.timeout.ms`: a coordinator ends a transaction by then, 900 s by default"
LOG = (
    "ProducerStateManager.completeTxn: a marker ends what its producer id has open on the partition"
)
LOST = "`unclean.leader.election.enable`: a leader that was not in sync may lack a marker"
INIT = "KIP-98, InitProducerId: an open transaction of the transactional.id is ended first"
READS = "KafkaConsumer.poll returns records below the high watermark; `request.timeout.ms`"
STABLE = "KIP-98: read_committed ends at the last stable offset"
NO_PARTITION = "`session.timeout.ms`, 45 s by default: a member that is gone keeps its partitions"


@asks_each(
    "A producer reports its transaction committed, and the log has no marker; the run ends",
    source=HANGS + "; " + "TransactionMarkerChannelManager sends it again until it is written",
    check=HANGING,
    cases={
        "at a later time: the whole exam lies behind.": (VIOLATION, {}),
        "so, and its other partition has one.": (VIOLATION, {"other": True}),
    },
)
def marker_is_missing(h: History, *, other: bool = False) -> None:
    _with_log(h, _writes(), TAIL, partitions=2)
    started(h, at=9.0)
    h.sent(0, 4, at=10.0, transaction=0)
    _tail(h)
    if other:
        h.sent(0, 4, at=10.1, sequence=100, transaction=0, partition=1)
        replicas(h, _writes(sequence=100), _marker(5, at=12.1), partition=1)
    step(h, "commit", "committed", at=12.0)


@asks(
    "The transaction was committed 4 s before the run ends.",
    source=HANGS + "; markers are written after the response (KIP-98, WriteTxnMarkers)",
    expects={HANGING: UNDECIDED},
    alone=True,
)
def run_ends_soon_after_a_commit(h: History) -> None:
    _ends(h, at=85.0)


@asks(
    "The transaction was committed half a minute before the run ends.",
    source=HANGS + "; markers are written after the response (KIP-98, WriteTxnMarkers)",
    expects={HANGING: VIOLATION},
    alone=True,
)
def run_ends_long_after_a_commit(h: History) -> None:
    _ends(h, at=58.0)


@asks(
    "A transaction is open for 1000 s when the run ends.",
    source=OPEN,
    expects={HANGING: VIOLATION},
    alone=True,
)
def transaction_is_open_for_too_long(h: History) -> None:
    _is_open(h, seconds=1010.0)


@asks(
    "A transaction is open for 800 s when the run ends.",
    source=OPEN,
    expects={HANGING: PERMITTED},
    alone=True,
)
def transaction_may_be_open_as_long(h: History) -> None:
    _is_open(h, seconds=810.0)


@asks(
    "A producer of its transactional.id had been initialised before it began; it stays open.",
    source=INIT,
    expects={HANGING: PERMITTED},
    alone=True,
)
def predecessor_was_initialised_before(h: History) -> None:
    step(h, "initialize", "initialized", at=5.0, transaction=None, producer="q", pid=1)
    _is_open(h, seconds=100.0, pid_epoch=1)


@asks(
    "Another producer of its transactional.id fails to be initialised; it stays open.",
    source=INIT + "; a step that timed out need not have been carried out",
    expects={HANGING: PERMITTED},
    alone=True,
)
def successor_fails_to_be_initialised(h: History) -> None:
    _is_open(h, seconds=100.0)
    failure = {"outcome": "unknown", "error": "TimeoutException", "producer": "q", "pid": 0}
    step(h, "initialize", "failed", at=30.0, transaction=None, pid_epoch=-1, **failure)


@asks(
    "The coordinator reports that the transaction before it is complete; it stays open itself.",
    source="KIP-664, DescribeTransactions: the state is that of the newest transaction; " + OPEN,
    expects={HANGING: PERMITTED},
    alone=True,
)
def earlier_transaction_is_complete(h: History) -> None:
    _with_log(h, _writes(at=6.0), _marker(5, at=7.0), _writes(6, at=15.0))
    started(h, at=5.0)
    h.sent(0, 4, at=6.0, transaction=0)
    step(h, "commit", "committed", at=7.0)
    described(h, "CompleteCommit", at=9.0)
    step(h, "begin", "begun", at=14.0, transaction=1)
    h.sent(6, 10, at=15.0, sequence=6, transaction=1)
    _collected(h)


@asks_each(
    "A commit times out at its producer, and the log has no marker. Its coordinator reports",
    source="KIP-664, DescribeTransactions; " + HANGS,
    check=HANGING,
    cases={
        "CompleteCommit.": (VIOLATION, {"state": "CompleteCommit"}),
        "CompleteAbort.": (VIOLATION, {"state": "CompleteAbort"}),
    },
)
def coordinator_reports_the_end(h: History, *, state: str) -> None:
    _with_log(h, _writes(), TAIL)
    started(h, at=9.0)
    h.sent(0, 4, at=10.0, transaction=0)
    _tail(h)
    step(h, "commit", "failed", at=30.0, took=18.0, outcome="unknown", error="TimeoutException")
    described(h, state, at=40.0)


@asks_each(
    "A transaction writes 0 to 4 and is committed. The log has",
    source=LOG + "; " + HANGS,
    check=HANGING,
    cases={
        "a marker of that.": (NONE, {}),
        "an abort marker.": (NONE, {"control": "abort"}),
        "a marker with the next producer epoch (KIP-890).": (NONE, {"pid_epoch": 1}),
        "a marker of another producer id.": (VIOLATION, {"pid": 2}),
        "no marker before that of the producer's next transaction.": (NONE, {"is_next": True}),
        "a marker before these writes only.": (VIOLATION, {"is_before": True}),
    },
)
def log_has_a_marker(
    h: History,
    *,
    is_next: bool = False,
    is_before: bool = False,
    control: str = "commit",
    pid: int = 1,
    pid_epoch: int = 0,
) -> None:
    marker = {"pid": pid, "pid_epoch": pid_epoch, "control": control}
    batches = [_writes(), Batch(5, 5, at=12.1, **marker)]
    if is_next:
        batches = [_writes(), _writes(5, at=15.0), _marker(10, at=16.1)]
    if is_before:
        batches = [_marker(0, at=8.0), _writes(1)]
    _with_log(h, *batches)
    started(h, at=9.0)
    first = batches[-1].first if is_before else 0
    h.sent(first, first + 4, at=10.0, sequence=first, transaction=0)
    step(h, "commit", "committed", at=12.0)
    if is_next:
        step(h, "begin", "begun", at=14.0, transaction=1)
        h.sent(5, 9, at=15.0, sequence=5, transaction=1)
        step(h, "commit", "committed", at=16.0, transaction=1)


@asks_each(
    "A committed transaction has no marker in the log. After its end",
    source=LOST + "; " + HANGS,
    check=HANGING,
    cases={
        "a leader out of sync is elected at once.": (PERMITTED, {}),
        "a leader in sync is elected.": (VIOLATION, {"is_clean": True}),
        "a leader out of sync is elected for another partition.": (
            VIOLATION,
            {"partition": 1},
        ),
        "a record is sent 5 s later, and lies below the epoch of a leader out of sync.": (
            PERMITTED,
            {"tail": 17.0},
        ),
        "a record is sent 13 s later, and lies below the epoch of a leader out of sync.": (
            VIOLATION,
            {"tail": 25.0},
        ),
    },
)
def election_follows_a_transaction(
    h: History, *, is_clean: bool = False, partition: int = 0, tail: float = 11.0
) -> None:
    h.topic(partitions=2, unclean_election=True)
    h.group(isolation="read_committed")
    for number in (0, 1):
        cluster(h, partition=number)
    isr = (1, 2) if is_clean else (1,)
    h.led(1, 0, at=8.0, isr=isr, partition=partition)
    started(h, at=9.0)
    h.sent(0, 4, at=10.0, transaction=0)
    if tail < 12:
        _tail(h, at=tail)
    step(h, "commit", "committed", at=12.0)
    if tail > 12:
        _tail(h, at=tail)
    h.registered(1, at=39.9, is_fenced=True)
    start = 0 if partition else 10
    h.led(2, 1, at=40.0, isr=(2,), starts=start, partition=partition)
    for broker in (1, 2):
        replica(h, broker, _writes(), _tail_batch(at=tail))


@asks_each(
    "A transaction has no marker in the log, and its writes",
    source="`retention.ms` and KIP-101: what the log no longer has waits for nothing",
    check=HANGING,
    cases={
        "were removed by retention.": (NONE, {"start": 5}),
        "are there on a follower alone, whose leader has the marker.": (NONE, {"lags": True}),
    },
)
def writes_of_a_transaction(h: History, *, start: int = 0, lags: bool = False) -> None:
    h.topic(retention_ms=10_000)
    h.group(isolation="read_committed")
    cluster(h)
    started(h, at=9.0)
    h.sent(0, 4, at=10.0, transaction=0)
    step(h, "commit", "committed", at=12.0)
    if not lags:
        _tail(h, at=14.0)
    watched(h, 1, 6 if lags else 10, times=(35.0, 85.0), start=start)
    if lags:
        replica(h, 1, _writes(), _marker(5, at=12.1))
        replica(h, 2, _writes())
        return
    for broker in (1, 2):
        h.log_started(broker, 5, at=40.0)
        replica(h, broker, TAIL, start=5)


@asks(
    "Of two transactions that share a partition, one has its marker.",
    source=LOG + "; " + HANGS,
    expects={HANGING: f"{VIOLATION}: "},
)
def one_of_two_transactions_has_a_marker(h: History) -> None:
    others = Batch(5, 9, pid=2, base_sequence=0, producer="q", sequence=0, at=11.0)
    _with_log(h, _writes(), others, Batch(10, 10, pid=2, control="commit", at=13.1))
    started(h, at=9.0)
    started(h, at=9.5, pid=2, producer="q", transactional_id="y")
    h.sent(0, 4, at=10.0, transaction=0)
    h.sent(5, 9, at=11.0, producer="q", sequence=0, transaction=0)
    step(h, "commit", "committed", at=12.0)
    step(h, "commit", "committed", at=13.0, producer="q", pid=2, transactional_id="y")


@asks_each(
    "A member has read 50 of 100 records when the time for its read to the log end is over.",
    source=READS,
    check=STUCK,
    cases={
        "Nothing had happened.": (VIOLATION, {}),
        "A follower is suspended.": (PERMITTED, {"fault": "pause", "until": 88.0}),
        "A follower was suspended until 38 s ago.": (
            VIOLATION,
            {"fault": "pause", "until": 42.0},
        ),
        "A leader had been elected 20 s ago.": (
            PERMITTED,
            {"fault": "elect preferred", "at": 60.0},
        ),
        "A leader had been elected 40 s ago.": (
            VIOLATION,
            {"fault": "elect preferred", "at": 40.0},
        ),
        "It had its partition, when 40 s ago the group was rebalanced.": (
            VIOLATION,
            {"fault": "rebalance", "at": 40.0},
        ),
        "It has no partition, and 40 s ago the group was rebalanced.": (
            PERMITTED,
            {"fault": "rebalance", "at": 40.0, "topic": ""},
        ),
        "It has no partition, and 50 s ago the group was rebalanced.": (
            VIOLATION,
            {"fault": "rebalance", "at": 30.0, "topic": ""},
        ),
        "It was not, but its client raised an exception before.": (NONE, {"ended": "failed"}),
        "It was not, and it reached the log end.": (NONE, {"ended": "caught_up"}),
        "An administrator had set its position with an epoch that no leader had.": (
            PERMITTED,
            {"epoch": 7},
        ),
        "An administrator had set its position with the leader's epoch.": (
            VIOLATION,
            {"epoch": 0},
        ),
    },
)
def read_to_the_end_stalls(
    h: History,
    *,
    fault: str | None = None,
    at: float = 37.0,
    until: float | None = None,
    topic: str = "t",
    ended: str = "stalled",
    epoch: int | None = None,
) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    if epoch is None:
        first_start(h, 0, at=4.8)
        joined(h, 0, at=5.0)
        h.polled(0, 49, at=6.0)
        h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    else:
        _set(h, 50, epoch, at=3.0)
        joined(h, 50, at=5.0)
    if fault is not None:
        on = h.on_broker(2) if until else _target(h, fault)
        healing = at if until is None else until
        h.fault(fault, on, injected=at, proved=at, heal_began=healing, healed=healing)
    if not topic:
        h.changed("revoked", at=at, position=50, generation=1)
    if ended == "caught_up":
        h.polled(50, 99, at=79.0)
    columns = {"exception": "KafkaException", "message": "x"} if ended == "failed" else {}
    reported = 100 if ended == "caught_up" else 50
    h.changed(ended, at=80.0, position=reported if topic else None, topic=topic, **columns)
    h.changed("closed", at=89.0)


@asks_each(
    "A member polls, commits every 5 s, and from second 12 on is delivered none of 50 new records.",
    source=READS,
    check=STUCK,
    cases={
        "For a minute.": (VIOLATION, {}),
        "For 20 s.": (NONE, {"until": 32.0}),
        "It is not known to poll.": (NONE, {"commits": ()}),
        "It has been paused.": (NONE, {"change": "paused"}),
        "It has been paused until 25 s ago.": (NONE, {"change": "paused", "resumed": 50.0}),
        "It had been paused until second 20.": (
            VIOLATION,
            {"change": "paused", "resumed": 20.0},
        ),
        "It has gone to the log end.": (NONE, {"change": "sought", "position": 100}),
        "The new records are above the high watermark, with acks=1.": (
            NONE,
            {"end": 50, "acks": "1"},
        ),
        # Expected at first: permitted. docs/facts.md, standstills: a fault's time is left out.
        "A follower is suspended all the time.": (NONE, {"is_suspended": True}),
        # Expected at first: undecided. Records count that are known to be below it.
        "No leader reported a high watermark, with acks=1.": (
            NONE,
            {"end": None, "acks": "1"},
        ),
        "No leader did, with acks=all.": (VIOLATION, {"end": None}),
    },
)
def member_reads_on_and_gets_nothing(
    h: History,
    *,
    until: float = 75.0,
    commits: Iterable[float] = range(15, 75, 5),
    change: str | None = None,
    resumed: float | None = None,
    position: int = 50,
    end: int | None = 100,
    acks: str = "all",
    is_suspended: bool = False,
) -> None:
    _grows(h, end=end, acks=acks)
    _reads_half(h)
    if change:
        h.changed(change, at=12.5, position=position, generation=1)
    for at in commits:
        if at == resumed:
            h.changed("resumed", at=at - 1, position=position, generation=1)
        if at < until:
            h.commit(position, 0, at=at, brokers=(1, 2), generation=1)
    if is_suspended:
        target = h.on_broker(2)
        h.fault("pause", target, injected=10.5, proved=10.8, heal_began=77.9, healed=78.0)
    if resumed or not change:
        h.polled(50, 99, at=until)
    h.changed("closed", at=80.2)


@asks_each(
    "Meanwhile",
    source=READS,
    check=STUCK,
    cases={
        # Expected at first: violation. It is known to poll only where nothing is delivered to it.
        "another partition is delivered to it.": (NONE, {}),
        "another partition is delivered to it, and it has given this one back.": (
            NONE,
            {"is_revoked": True},
        ),
        "no leader reported a high watermark, with acks=1, and another group gets the records.": (
            VIOLATION,
            {"end": None, "acks": "1", "is_other_group": True},
        ),
    },
)
def others_get_what_a_member_does_not(
    h: History,
    *,
    is_revoked: bool = False,
    end: int | None = 100,
    acks: str = "all",
    is_other_group: bool = False,
) -> None:
    _grows(h, end=end, acks=acks)
    _reads_half(h, partitions=(0, 1))
    if is_other_group:
        h.group("r")
        first_start(h, 0, at=11.0, group="r")
        joined(h, 0, at=12.0, group="r")
        h.polled(0, 99, at=12.5, group="r")
    if is_revoked:
        h.changed("revoked", at=12.6, position=50, generation=1)
    for at in range(15, 75, 5):
        if not is_other_group:
            h.polled(at - 15, at - 11, at=at, partition=1, producer="p1")
        partition = 1 if is_revoked else 0
        offset = at - 10 if is_revoked else 50
        h.commit(offset, 0, at=at + 0.5, brokers=(1, 2), generation=1, partition=partition)
    if not is_revoked:
        h.polled(50, 99, at=76.0)
    h.changed("closed", at=80.2)


@asks_each(
    "A member of a read_committed group polls and commits for a minute, and gets nothing at 50.",
    source=STABLE,
    check=STUCK,
    cases={
        "There is an aborted transaction, and nothing else.": (NONE, {"control": "abort"}),
        "There is a committed transaction.": (VIOLATION, {"control": "commit"}),
        # Expected at first: permitted. Its records were not to be delivered.
        "There is a transaction that is open all the time.": (NONE, {"ends": 75.0}),
        "There are other records before an open transaction.": (
            VIOLATION,
            {"ends": 75.0, "before": 10},
        ),
    },
)
def committed_reader_gets_nothing(
    h: History, *, control: str = "commit", ends: float = 9.0, before: int = 0
) -> None:
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    first = 50 + before
    batches = [Batch(0, 49)]
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(2.5, 5.5))
    first_start(h, 0, at=4.8)
    joined(h, 0, at=5.0)
    h.polled(0, 49, at=6.0)
    started(h, at=6.5, producer="x")
    if before:
        h.sent(50, first - 1, at=7.0)
        batches.append(Batch(50, first - 1, at=7.0))
    h.sent(first, first + 4, at=8.0, producer="x", sequence=0, transaction=0)
    batches.append(
        Batch(first, first + 4, pid=1, base_sequence=0, producer="x", sequence=0, at=8.0)
    )
    ended = "committed" if control == "commit" else "aborted"
    if ends < 10:
        step(h, control, ended, at=ends, producer="x")
    for at in range(10, 75, 5):
        h.commit(50, 0, at=float(at), brokers=(1, 2), generation=1)
    if ends > 10:
        step(h, control, ended, at=ends, producer="x")
    batches.append(Batch(first + 5, first + 5, pid=1, control=control, at=ends + 0.1))
    if before:
        h.polled(50, first - 1, at=76.0)
    if control == "commit":
        h.polled(first, first + 4, at=76.1, producer="x", sequence=0)
    watched(h, 1, first + (5 if ends > 10 else 6), times=[at for at in WATCHED if 10 < at < 75])
    watched(h, 1, first + 6, times=(78.0, 85.0))
    left(h, first + 6, at=80.0)
    replicas(h, *batches)


TAIL = Batch(5, 9, producer="q", sequence=0, at=11.0)


def _grows(h: History, *, end: int | None, acks: str) -> None:
    """Two partitions; records 50 to 99 are sent to one at second 12, its leader reports `end`."""
    h.topic(partitions=2)
    h.group()
    cluster(h)
    plain(h, 99, partition=1)
    h.sent(0, 49, at=2.0)
    h.sent(50, 99, at=12.0, acks=acks)
    if end is not None:
        watched(h, 1, 50, times=(1.5, 8.0))
        watched(h, 1, end, times=[at for at in WATCHED if 12 < at < 76])
        watched(h, 1, 100, times=(85.0,))
    copies(h, (1, 2), (0, 49, 0), (50, 99, 0), high_watermark=100, at=2.0)


def _reads_half(h: History, *, partitions: tuple[int, ...] = (0,)) -> None:
    """A member reads 0 to 49."""
    first_start(h, 0, at=4.8)
    joined(h, 0, at=5.0, partitions=partitions)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=10.0, brokers=(1, 2), generation=1)


def _tail(h: History, *, at: float = 11.0) -> None:
    """Another producer writes 5 to 9."""
    h.sent(5, 9, at=at, producer="q", sequence=0)


def _tail_batch(*, at: float) -> Batch:
    return Batch(5, 9, producer="q", sequence=0, at=at)


def _writes(first: int = 0, *, at: float = 10.0, sequence: int | None = None) -> Batch:
    """Five records of a transaction."""
    return Batch(first, first + 4, pid=1, base_sequence=first, at=at, sequence=sequence)


def _marker(offset: int, *, at: float) -> Batch:
    return Batch(offset, offset, pid=1, control="commit", at=at)


def _with_log(h: History, *batches: Batch, partitions: int = 1) -> None:
    """A partition with what both replicas hold, and a read_committed group."""
    h.topic(partitions=partitions)
    h.group(isolation="read_committed")
    for partition in range(partitions):
        cluster(h, partition=partition)
    watched(h, 1, 0, times=(1.0, 4.0))
    watched(h, 1, batches[-1].last + 1, times=(35.0, 45.0, 55.0, 65.0, 75.0, 85.0))
    replicas(h, *batches)


def _collected(h: History) -> None:
    """The servers are killed at the end of the run, and their files are copied."""
    h.phase("collecting", began=h.seconds - 12, ended=h.seconds - 10)


def _ends(h: History, *, at: float) -> None:
    """A transaction is committed at a time, and has no marker when the run ends at 90."""
    _with_log(h, _writes(at=20.0))
    started(h, at=19.0)
    h.sent(0, 4, at=20.0, transaction=0)
    step(h, "commit", "committed", at=at)
    _collected(h)


def _is_open(h: History, *, seconds: float, pid_epoch: int = 0) -> None:
    """A transaction begins at second 9 and is never ended; the run ends at `seconds`."""
    h.seconds = seconds
    _with_log(h, Batch(0, 4, pid=1, pid_epoch=pid_epoch, base_sequence=0, at=10.0))
    watched(h, 1, 5, times=(seconds - 13,))
    started(h, at=9.0, pid_epoch=pid_epoch)
    h.sent(0, 4, at=10.0, transaction=0)
    _collected(h)


def _target(h: History, fault: str) -> Any:
    return h.on_group("g") if fault == "rebalance" else h.on_partition("t", 0)


def _set(h: History, offset: int, epoch: int, *, at: float) -> None:
    """An administrator commits an offset with an epoch, as no member of the group."""
    asked = {"asked_offset": offset, "asked_epoch": epoch, "metadata": "set"}
    nobody = {"group": h.own("g"), "member": "", "generation": -1}
    h.called(1, COMMIT, 8, at=at, throttle_ms=0, **nobody, **asked)
    h.stored(offset, epoch, at=at - 0.002, brokers=(1, 2))
    h.rows["committed_offsets"][-1].update(metadata="set", value_version=3)
