"""Transactions without a marker: who should have ended them, and by when."""

from tests.exam.history import NONE, PERMITTED, UNDECIDED, VIOLATION, History, asks, asks_each
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
from tests.exam.verbs import cluster, cut, watched

HANGING = "hanging_transaction"
HANGS = "KIP-664: a hanging transaction has writes without a marker, and nobody ends it"
OPEN = "`transaction.max.timeout.ms`: a coordinator ends a transaction by then, 900 s by default"
LOG = (
    "ProducerStateManager.completeTxn: a marker ends what its producer id has open on the partition"
)
LOST = "`unclean.leader.election.enable`: a leader that was not in sync may lack a marker"
INIT = "KIP-98, InitProducerId: an open transaction of the transactional.id is ended first"
TAIL = Batch(5, 9, producer="q", sequence=0, at=11.0)
MARKERS = (
    "TransactionMarkerChannelManager: the markers are sent as soon as the end is stored, and again "
    "until each leader has written its own"
)


@asks(
    "A producer stops in a transaction; its successor is initialized, and no marker is there.",
    source="KIP-98, InitPidRequest: an open transaction of the transactional.id is ended first",
    expects={"hanging_transaction": VIOLATION, "aborted_read": NONE},
)
def successor_leaves_the_transaction_open(h: History) -> None:
    written(h, Batch(0, 4, pid=1, base_sequence=0))
    started(h, at=15.0)
    h.sent(0, 4, at=18.0, transaction=0)
    started(h, at=40.0, pid_epoch=2, producer="q")


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


@asks(
    "Another producer of the transactional.id was initialised, and the old writes have no marker.",
    source=INIT,
    expects={"hanging_transaction": VIOLATION},
)
def successor_begins_and_no_marker_comes(h: History) -> None:
    _abandoned(h, transactional_id="x", pid=1, pid_epoch=2)


@asks(
    "A producer of another transactional.id was initialised meanwhile.",
    source=INIT + "; others stay open until `transaction.timeout.ms`",
    expects={"hanging_transaction": f"{PERMITTED}: open"},
    alone=True,
)
def stranger_begins_and_no_marker_comes(h: History) -> None:
    h.phase("collecting", began=88.0, ended=90.0)
    _abandoned(h, transactional_id="y", pid=2, pid_epoch=0)


@asks(
    "A commit marker was on the leader alone, and an unclean election begins at its offset.",
    source="`unclean.leader.election.enable`: a replica that was not in sync may lead, without "
    "what it lacks",
    expects={
        "hanging_transaction": PERMITTED,
        "lost_record": NONE,
        "misapplied_marker": NONE,
        "leader_completeness": PERMITTED,
    },
)
def unclean_election_begins_at_the_marker(h: History) -> None:
    _marker_gone(h)


@asks(
    "The only unclean election was over before the transaction began; it has no marker.",
    source=MARKERS + "; an election loses nothing that is written later",
    expects={"hanging_transaction": VIOLATION, "lost_record": PERMITTED},
)
def unclean_election_came_before_the_transaction(h: History) -> None:
    h.topic(unclean_election=True)
    h.group(isolation="read_committed")
    cut(h)
    started(h, at=48.0, producer="x")
    h.sent(150, 154, at=50.0, producer="x", sequence=0, transaction=0)
    step(h, "commit", "committed", at=52.0, producer="x")
    for table in ("replica_records", "replica_batches", "log_starts", "epoch_checkpoints"):
        h.rows[table].clear()
    replicas(
        h,
        Batch(0, 49),
        Batch(50, 149, epoch=1, sequence=100, at=30.0),
        Batch(150, 154, epoch=1, pid=1, base_sequence=0, producer="x", sequence=0, at=50.0),
    )
    for row in h.rows["samples"]:
        if row["at_micros"] > h.at(50.0):
            row["log_end_offset"] = 155


def _abandoned(h: History, *, transactional_id: str, pid: int, pid_epoch: int) -> None:
    """A transaction at 0 to 4 has no marker; another producer is initialised at second 30."""
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    written_before_others(h)
    reported = {"pid": pid, "pid_epoch": pid_epoch, "producer": "n"}
    ids = {"transactional_id": transactional_id}
    step(h, "initialize", "initialized", at=30.0, transaction=None, **reported, **ids)
    replicas(h, Batch(0, 4, pid=1, base_sequence=0, at=10.0), TAIL)
    watched(h, 1, 0, times=(1.0, 6.0))
    watched(h, 1, 10, times=(14.0, 25.0, 35.0, 45.0, 55.0, 65.0, 75.0, 85.0))


def _marker_gone(h: History) -> None:
    """The marker at 5 is committed on broker 1; broker 2 leads epoch 1 from 5 on."""
    h.topic(unclean_election=True)
    h.group(isolation="read_committed")
    cluster(h)
    watched(h, 1, 0, times=(1.0,))
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    h.led(1, 0, at=9.0, isr=(1,))
    step(h, "commit", "committed", at=10.0)
    watched(h, 1, 6, times=(12.0, 15.0, 18.0), isr=(1,))
    h.fault("kill", h.on_broker(1), injected=20.0, proved=23.5, heal_began=38.0, healed=40.0)
    h.registered(1, at=23.0, is_fenced=True)
    h.led(2, 1, at=23.0, isr=(2,), starts=5)
    h.sent(5, 9, at=30.0, producer="q", sequence=0)
    watched(h, 2, 10, times=(35.0, 39.0), epoch=1, isr=(2,))
    h.registered(1, at=39.5, is_fenced=False, broker_epoch=2)
    h.truncated(1, 5, at=41.0)
    h.led(2, 1, at=45.0, isr=(1, 2))
    watched(h, 2, 10, times=(55.0, 65.0, 75.0, 85.0), epoch=1)
    tail = Batch(5, 9, epoch=1, producer="q", sequence=0, at=30.0)
    replicas(h, Batch(0, 4, pid=1, base_sequence=0, at=8.0), tail)
