"""Transactions: markers that are late, lost or due, and records that are processed twice.

What held a group back at one time, and no longer at another; elections before a transaction and
after it; and producer ids that go on with other epochs.
"""

from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    PERMITTED,
    VIOLATION,
    History,
    asks,
)
from tests.exam.transaction_verbs import (
    Batch,
    described,
    replica,
    replicas,
    started,
    step,
    stored_in_transaction,
)
from tests.exam.verbs import cluster, cut, first_start, joined, left, plain, watched

MARKERS = (
    "TransactionMarkerChannelManager: the markers are sent as soon as the end is stored, and again "
    "until each leader has written its own"
)
STABLE = "KIP-98: read_committed ends at the last stable offset, before the first open transaction"
INIT = "KIP-98, InitProducerId: an open transaction of the transactional.id is ended first"
ONCE = "KIP-98, sendOffsetsToTransaction: offsets are part of the transaction"
ABORTED = "KIP-98: read_committed returns no records of aborted transactions"
TAIL = Batch(5, 9, producer="q", sequence=0, at=11.0)


@asks(
    "A follower is killed and back; after that a transaction ends, and its marker comes 28 s late.",
    source=MARKERS + "; a fault that is over before the end explains nothing",
    expects={"held_stable_offset": VIOLATION, "hanging_transaction": NONE},
)
def marker_lags_after_a_fault_that_was_over(h: History) -> None:
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    h.fault("kill", _server(h, 2), injected=1.5, proved=4.6, heal_began=6.5, healed=7.5)
    h.registered(2, at=4.5, is_fenced=True)
    h.led(1, 0, at=4.5, isr=(1,))
    h.registered(2, at=7.4, is_fenced=False, broker_epoch=2)
    h.led(1, 0, at=8.5, isr=(1, 2))
    _before_others(h)
    step(h, "commit", "committed", at=12.0)
    replicas(h, Batch(0, 4, pid=1, base_sequence=0, at=10.0), TAIL, _marker(10, at=40.0))
    _bounds(h, marked=40.0, end=11)
    _reads_all(h, at=40.5)


@asks(
    "The only replica is down from just after the commit on; its marker comes when it is back.",
    source=MARKERS + "; no leader, no marker",
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
    _before_others(h)
    step(h, "commit", "committed", at=12.0)
    h.fault("kill", _server(h, 1), injected=12.02, proved=15.5, heal_began=37.0, healed=38.0)
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
    "With transaction.version=2 each end of a transaction raises the epoch, its marker's first.",
    source="KIP-890, Bump epoch on each transaction: the marker has the new epoch, and sequence "
    "numbers begin again",
    expects={
        "hanging_transaction": NONE,
        "misapplied_marker": NONE,
        "duplicate_append": NONE,
        "torn_transaction": NONE,
        "history_consistent": NONE,
    },
)
def epochs_rise_with_each_transaction(h: History) -> None:
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0, is_idempotent=True, in_flight_max=5)
    step(h, "commit", "committed", at=10.0, pid_epoch=1)
    step(h, "begin", "begun", at=11.0, transaction=1, pid_epoch=1)
    h.sent(6, 10, at=12.0, sequence=5, transaction=1, is_idempotent=True, in_flight_max=5)
    step(h, "commit", "committed", at=13.0, transaction=1, pid_epoch=2)
    replicas(
        h,
        Batch(0, 4, pid=1, base_sequence=0, at=8.0),
        Batch(5, 5, pid=1, pid_epoch=1, control="commit", at=10.0),
        Batch(6, 10, pid=1, pid_epoch=1, base_sequence=0, sequence=5, at=12.0),
        Batch(11, 11, pid=1, pid_epoch=2, control="commit", at=13.0),
    )
    watched(h, 1, 12, times=(15.0, 45.0, 85.0))
    first_start(h, 0, at=19.8)
    joined(h, 0, at=20.0)
    h.polled(0, 4, at=20.5)
    h.polled(6, 10, at=20.6, sequence=5)
    left(h, 12, at=80.0, caught_up=True)


@asks(
    "A fenced producer's aborted values reach a read_committed group; its successor has the same "
    "producer id, and commits.",
    source=ABORTED,
    expects={"aborted_read": VIOLATION, "misapplied_marker": NONE, "hanging_transaction": NONE},
)
def aborted_values_of_a_shared_producer_id_are_read(h: History) -> None:
    _taken_over(h)
    _starts(h, "g", at=30.0)
    h.polled(0, 4, at=31.0)
    h.polled(6, 10, at=31.1, producer="q", sequence=0)
    left(h, 12, at=80.0, caught_up=True)


@asks(
    "A group of uncommitted values gets them, and one of committed values does not.",
    source=ABORTED + "; read_uncommitted returns all records",
    expects={
        "aborted_read": NONE,
        "divergent_readers": NONE,
        "poll_skip": NONE,
        "skipped_record": NONE,
        "history_consistent": NONE,
    },
)
def aborted_values_are_read_by_those_who_may(h: History) -> None:
    _taken_over(h)
    h.group("r")
    _starts(h, "g", at=30.0)
    _starts(h, "r", at=30.1)
    h.polled(0, 4, at=31.0, group="r")
    h.polled(6, 10, at=31.1, producer="q", sequence=0, group="r")
    h.polled(6, 10, at=31.2, producer="q", sequence=0)
    for group in ("g", "r"):
        left(h, 12, at=80.0, caught_up=True, group=group)
    _in_turn(h)


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
    _before_others(h)
    step(h, "commit", "committed", at=40.0)
    replicas(h, Batch(0, 4, pid=1, base_sequence=0, at=10.0), TAIL, _marker(10, at=40.0))
    _bounds(h, marked=40.0, end=11)
    first_start(h, 0, at=13.8)
    joined(h, 0, at=14.0)
    h.polled(5, 9, at=20.0, producer="q", sequence=0)
    left(h, 11, at=80.0, caught_up=True)
    _in_turn(h)


@asks(
    "A second member begins two records before the offset that a transaction committed.",
    source=ONCE + "; a new member starts at the committed offset",
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
    source=ONCE + "; an aborted transaction has neither output nor offsets",
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


def _in_turn(h: History) -> None:
    """The worker numbers its events in the order of their times."""
    times = {"polls": "polled_micros", "group_events": "at_micros", "transactions": "at_micros"}
    reported = [
        (row[time], row["seq"], row) for table, time in times.items() for row in h.rows[table]
    ]
    order = sorted({(time, seq) for time, seq, _ in reported})
    numbers = {seq: number for number, (_, seq) in enumerate(order, start=1)}
    for _, seq, row in reported:
        row["seq"] = numbers[seq]


def _server(h: History, broker: int) -> str:
    return h.on_broker(broker)


def _marker(offset: int, *, at: float) -> Batch:
    return Batch(offset, offset, pid=1, control="commit", at=at)


def _before_others(h: History) -> None:
    """A transaction writes 0 to 4 at second 10; another producer writes 5 to 9 at second 11."""
    started(h, at=9.0)
    h.sent(0, 4, at=10.0, transaction=0)
    h.sent(5, 9, at=11.0, producer="q", sequence=0)


def _bounds(h: History, *, marked: float, end: int) -> None:
    """The leader's bounds: 10 from second 11 on, and `end` once the marker is written."""
    watched(h, 1, 0, times=(1.0,))
    times = (14.0, 25.0, 35.0, 45.0, 55.0, 65.0, 75.0, 85.0)
    watched(h, 1, 10, times=[time for time in times if time < marked])
    watched(h, 1, end, times=[time for time in times if time > marked])


def _starts(h: History, group: str, *, at: float) -> None:
    """A new group's first member begins at 0."""
    first_start(h, 0, at=at - 0.2, group=group)
    joined(h, 0, at=at, group=group)


def _reads_all(h: History, *, at: float) -> None:
    """The group gets all ten values as soon as the marker is written."""
    _starts(h, "g", at=13.5)
    h.polled(0, 4, at=at)
    h.polled(5, 9, at=at + 0.1, producer="q", sequence=0)
    left(h, 11, at=84.0, caught_up=True)


def _silent(h: History, *, isolation: str, aborted: float, stalled: float) -> None:
    """A transaction at 0 to 4 is never ended by its client; the coordinator aborts it."""
    h.topic()
    h.group(isolation=isolation)
    cluster(h)
    _before_others(h)
    described(h, "Ongoing", at=20.0)
    described(h, "CompleteAbort", at=aborted + 3, pid_epoch=1)
    marker = Batch(10, 10, pid=1, pid_epoch=1, control="abort", at=aborted)
    replicas(h, Batch(0, 4, pid=1, base_sequence=0, at=10.0), TAIL, marker)
    _bounds(h, marked=aborted, end=11)
    _starts(h, "g", at=13.5)
    h.changed("stalled", at=stalled, position=0, generation=1)
    if stalled < aborted:
        if isolation == "read_uncommitted":
            h.polled(0, 4, at=stalled + 1)
        later = stalled + 1.1 if isolation == "read_uncommitted" else aborted + 0.5
        h.polled(5, 9, at=later, producer="q", sequence=0)
        left(h, 11, at=84.0, caught_up=True)
    else:
        left(h, 0, at=84.0)
    _in_turn(h)


def _abandoned(h: History, *, transactional_id: str, pid: int, pid_epoch: int) -> None:
    """A transaction at 0 to 4 has no marker; another producer is initialised at second 30."""
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    _before_others(h)
    reported = {"pid": pid, "pid_epoch": pid_epoch, "producer": "n"}
    ids = {"transactional_id": transactional_id}
    step(h, "initialize", "initialized", at=30.0, transaction=None, **reported, **ids)
    replicas(h, Batch(0, 4, pid=1, base_sequence=0, at=10.0), TAIL)
    watched(h, 1, 0, times=(1.0, 6.0))
    watched(h, 1, 10, times=(14.0, 25.0, 35.0, 45.0, 55.0, 65.0, 75.0, 85.0))


def _taken_over(h: History) -> None:
    """Producer p's transaction at 0 to 4 is aborted; its successor q commits 6 to 10."""
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    started(h, at=12.0, producer="q", pid_epoch=2)
    h.sent(6, 10, at=13.0, producer="q", sequence=0, transaction=0)
    step(h, "commit", "committed", at=14.0, producer="q", pid_epoch=2)
    failure = {"outcome": "failed", "error": "ProducerFencedException"}
    step(h, "commit", "fenced", at=16.0, pid=0, pid_epoch=-1, **failure)
    replicas(
        h,
        Batch(0, 4, pid=1, base_sequence=0, at=8.0),
        Batch(5, 5, pid=1, pid_epoch=1, control="abort", at=11.97),
        Batch(6, 10, pid=1, pid_epoch=2, base_sequence=0, producer="q", sequence=0, at=13.0),
        Batch(11, 11, pid=1, pid_epoch=2, control="commit", at=14.0),
    )
    watched(h, 1, 0, times=(1.0,))
    watched(h, 1, 12, times=(15.0, 35.0, 55.0, 75.0, 85.0))


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
    h.fault("kill", _server(h, 1), injected=20.0, proved=23.5, heal_began=38.0, healed=40.0)
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
    _in_turn(h)
