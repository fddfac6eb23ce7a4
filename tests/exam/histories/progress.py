"""Progress: consumers, producers and replicas that are stuck, or only seem to be."""

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, UNDECIDED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import Batch, replicas
from tests.exam.verbs import begun, cluster, cut, joined, left, plain, reads_to, watched


@asks(
    "A member stays at 50 of 100 until it is given up; leader and replicas are well.",
    source="decision 8: a reader is stuck that is not at the log end by its timeout; "
    "contract/outcomes.py: stalled",
    expects={
        "stuck_consumer": f"{VIOLATION}: no fault: the member stopped at 50; the log ends at 100",
        "aborted_read": NONE,
    },
)
def consumer_is_stuck(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, 49)
    h.changed("stalled", at=85.0, position=50, generation=1)
    h.changed("closed", at=86.0)


@asks(
    "A read_committed member stays at 50, where an open transaction begins.",
    source="KIP-98: read_committed ends at the last stable offset",
    expects={"stuck_consumer": NOT_VIOLATION, "fetch_unavailable": NOT_VIOLATION},
)
def consumer_waits_for_a_transaction(h: History) -> None:
    h.topic()
    h.group(isolation="read_committed")
    begun(h)
    h.sent(0, 49, at=2.0)
    h.sent(50, 59, at=3.0, producer="q", sequence=0, transaction=0)
    watched(h, 1, 60)
    replicas(h, Batch(0, 49), Batch(50, 59, pid=1, base_sequence=0, producer="q", sequence=0))
    reads_to(h, 49)
    h.changed("stalled", at=85.0, position=50, generation=1)
    h.changed("closed", at=86.0)


@asks(
    "A member with policy `none` raised at 100, which had been cut, and reads no more.",
    source="auto.offset.reset=none: LogTruncationException goes to the application",
    expects={
        "reset": f"{PERMITTED}: truncation: truncation: the client raised an exception",
        "stuck_consumer": NOT_VIOLATION,
        "truncation_undetected": NONE,
        "skipped_record": NONE,
    },
)
def consumer_reported_its_owner(h: History) -> None:
    h.topic(unclean_election=True)
    h.group(reset="none")
    cut(h)
    joined(h, 0, at=5.0)
    h.polled(0, 99, at=13.0)
    h.commit(100, 0, at=15.0, brokers=(1, 2))
    h.reset("truncation", 100, None, at=32.0, epoch=0, policy="none", member="1")
    h.changed(
        "failed",
        at=32.1,
        position=100,
        exception="LogTruncationException",
        message="Detected log truncation",
        divergent_offset=50,
        divergent_epoch=0,
    )
    h.changed("closed", at=33.0)


@asks(
    "A member was closed at 50 of 100, and no other one was opened.",
    source="decision 8: a reader is stuck if it was told to read to the log end",
    expects={"stuck_consumer": NOT_VIOLATION, "fetch_unavailable": NONE},
)
def closed_consumer_is_not_stuck(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, 49)
    h.commit(50, 0, at=7.0, brokers=(1, 2))
    left(h, 50, at=8.0)


@asks(
    "Sends from second 10 on are never answered; leader and replicas are well, the worker ends.",
    source="delivery.timeout.ms bounds the time to an answer",
    expects={"stuck_producer": VIOLATION, "lost_record": NONE},
)
def producer_is_stuck(h: History) -> None:
    h.topic()
    plain(h, 99)
    _unanswered(h)


@asks(
    "Sends from second 10 on are never answered, as their worker was killed.",
    source="contract/tables_of_run.py: ended_by_itself is false if it was killed; an answer "
    "could not be written down",
    expects={
        "stuck_producer": NOT_VIOLATION,
        "lost_record": NONE,
        "produce_unavailable": NOT_VIOLATION,
    },
)
def producer_was_killed(h: History) -> None:
    h.topic()
    plain(h, 99)
    _unanswered(h)
    h.worker(ended_by_itself=False, torn_lines=1)


@asks(
    "A killed follower is back and unfenced at 40, and is not in sync again by 85.",
    source="Partition.maybeExpandIsr: a replica that is caught up joins the ISR; "
    "replica.lag.time.max.ms",
    expects={"never_caught_up": VIOLATION, "fault_landed": NONE},
)
def follower_never_catches_up(h: History) -> None:
    _follower_killed(h, unfenced=True, in_sync=False)


@asks(
    "At 86 a leader of a later epoch reports it in sync; the metadata log lacks that epoch.",
    source="Partition.makeLeader: a broker has its epoch and ISR of the metadata log, whose end is"
    " then not there",
    expects={"never_caught_up": UNDECIDED},
)
def end_of_the_metadata_log_is_not_there(h: History) -> None:
    _follower_killed(h, unfenced=True, in_sync=False)
    watched(h, 1, 20, times=(86.0,), epoch=1)


@asks(
    "A killed follower is in sync again 3 s after it is back.",
    source="Partition.maybeExpandIsr: a replica that is caught up joins the ISR",
    expects={"never_caught_up": NONE, "fault_landed": NONE, "produce_unavailable": NONE},
)
def follower_catches_up(h: History) -> None:
    _follower_killed(h, unfenced=True, in_sync=True)


@asks(
    "A killed follower is never brought back, and stays out of the in-sync replicas.",
    source="decision 8: a fault that is held is over when it is healed; "
    "contract/tables_of_run.py: healed_micros is null: not healed",
    expects={"never_caught_up": NOT_VIOLATION, "fault_landed": NONE},
)
def follower_is_never_brought_back(h: History) -> None:
    _follower_killed(h, unfenced=False, in_sync=False)


@asks(
    "A replica out of sync is reassigned away; those that remain are in sync.",
    source="KIP-455: only replicas of the assignment need to be in sync",
    expects={"never_caught_up": NONE},
)
def replica_is_reassigned_away(h: History) -> None:
    h.topic()
    cluster(h)
    h.registered(3, at=0.3, is_fenced=False)
    h.sampled(1, at=1.0, end=0, isr=(1, 2))
    h.sent(0, 9, at=5.0)
    h.led(1, 0, at=20.0, isr=(1,))
    h.led(1, 0, at=30.0, isr=(1, 3), replicas=(1, 2, 3))
    h.led(1, 0, at=31.0, isr=(1, 3), replicas=(1, 3))
    h.sent(10, 19, at=40.0)
    watched(h, 1, 20, times=(45.0, 60.0, 75.0, 85.0), isr=(1, 3))
    for broker in (1, 3):
        h.log(broker, (0, 19, 0), high_watermark=20)


ADDED = "KIP-455: a replica that is added has to fetch the log first; replica.lag.time.max.ms"


@asks(
    "A replica is added 5 s before the end of the run, and is not in sync yet.",
    source=ADDED,
    expects={"never_caught_up": NOT_VIOLATION},
    alone=True,
)
def replica_is_added_at_the_end(h: History) -> None:
    _added(h, at=95.0)


@asks(
    "A replica is added 60 s before the end, and is not in sync at the end.",
    source=ADDED,
    expects={"never_caught_up": VIOLATION},
)
def replica_is_added_and_never_in_sync(h: History) -> None:
    _added(h, at=40.0)


@asks(
    "A replica in sync is taken away, and added again 5 s before the end of the run.",
    source=ADDED,
    expects={"never_caught_up": NOT_VIOLATION},
    alone=True,
)
def replica_is_added_again(h: History) -> None:
    _added(h, at=95.0, before=True)


@asks(
    "A replica leaves the ISR 60 s before the end; its partition gets another one 5 s before.",
    source="replica.lag.time.max.ms: the change of the assignment is not about this replica",
    expects={"never_caught_up": VIOLATION},
    alone=True,
)
def another_replica_is_added(h: History) -> None:
    _added(h, at=95.0, left=40.0)


def _added(h: History, *, at: float, before: bool = False, left: float | None = None) -> None:
    """Replica 3 is added; `before`: again; `left`: when replica 2 left the ISR."""
    h.topic()
    for broker in (1, 2, 3):
        h.registered(broker, at=0.2, is_fenced=False)
    if before:
        h.led(1, 0, at=0.5, isr=(1, 2, 3), replicas=(1, 2, 3), starts=0)
        h.led(1, 0, at=50.0, isr=(1, 2))
    else:
        h.led(1, 0, at=0.5, isr=(1, 2), starts=0)
    h.sent(0, 9, at=5.0)
    if left is not None:
        h.led(1, 0, at=left, isr=(1,))
    h.led(1, 0, at=at, isr=(1, 2) if left is None else (1, 3), replicas=(1, 2, 3))
    watched(h, 1, 10, times=(10.0, 85.0))
    copies(h, (1, 2), (0, 9, 0), high_watermark=10)


def _unanswered(h: History) -> None:
    h.sent(
        None,
        at=11.0,
        intended_at=10.0,
        count=20,
        sequence=100,
        outcome="unknown",
    )
    for row in h.rows["sends"]:
        if row["outcome"] == "unknown":
            row["answered_micros"] = None


def _follower_killed(h: History, *, unfenced: bool, in_sync: bool) -> None:
    h.topic()
    begun(h)
    h.sent(0, 9, at=5.0)
    watched(h, 1, 10, times=(10.0, 18.0))
    name = h.on_broker(2)
    if unfenced:
        h.fault("kill", name, injected=20.0, proved=23.0, heal_began=38.0, healed=40.0)
    else:
        h.fault("kill", name, injected=20.0, proved=23.0)
    h.registered(2, at=23.0, is_fenced=True)
    h.led(1, 0, at=23.0, isr=(1,))
    h.sent(10, 19, at=30.0)
    if unfenced:
        h.registered(2, at=40.0, is_fenced=False, broker_epoch=2)
    if in_sync:
        h.led(1, 0, at=43.0, isr=(1, 2))
    isr = (1, 2) if in_sync else (1,)
    watched(h, 1, 20, times=(32.0,), isr=(1,))
    watched(h, 1, 20, times=(45.0, 55.0, 65.0, 75.0, 85.0), isr=isr)
    h.log(1, (0, 19, 0), high_watermark=20)
    if in_sync:
        h.log(2, (0, 19, 0), high_watermark=20)
    else:
        h.log(2, (0, 9, 0), high_watermark=10)
