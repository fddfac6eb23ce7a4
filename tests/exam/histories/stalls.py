"""Stalls after faults that take an instant, and what a member that stands still could be given."""

from tests.exam.history import NONE, PERMITTED, UNDECIDED, VIOLATION, History, asks, asks_each
from tests.exam.scenes import copies, written
from tests.exam.transaction_verbs import Batch, replicas, started, step
from tests.exam.verbs import WATCHED, cluster, cut, joined, plain, reads_to, watched

INSTANT = (
    "Kafka has no timeout that lets a client that polls stand still so long: an old leader answers"
    " NOT_LEADER_OR_FOLLOWER (KIP-320), request.timeout.ms is 30 s, session.timeout.ms 45 s"
)
INSYNC = (
    "`min.insync.replicas`: with acks=all a leader refuses while the ISR is smaller, and with "
    "acks=1 it does not"
)
SERVES = "docs/findings.md, H1: more than 30 s in which the partition could serve"


def _stalled(h: History, *faults: str, at: float = 70.0, partition: int = 0) -> None:
    """A member stays at 50 of 100 until `at`, after faults at second 20, which nobody heals."""
    h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, 49)
    targets = {
        "rebalance": h.on_group("g"),
        "bounce": h.on_brokers(1, 2),
        "kill": h.on_client("w2"),
        "cut": h.on_broker(2),
    }
    for fault in faults:
        target = targets.get(fault, h.on_partition("t", 0))
        h.fault(fault, target, injected=20.0, proved=21.0)
    if partition < 0:
        h.changed("stalled", at=at, topic="")
    else:
        h.changed("stalled", at=at, position=50, generation=1)


@asks(
    "A member stays at 50 of 100 for 49 s after an election, which nobody healed.",
    source=INSTANT,
    expects={"stuck_consumer": VIOLATION, "fault_landed": NONE},
)
def stall_long_after_an_election(h: History) -> None:
    _stalled(h, "elect preferred")


@asks(
    "A member stays at 50 of 100 for 49 s after its partition was reassigned.",
    source=INSTANT,
    expects={"stuck_consumer": VIOLATION},
)
def stall_long_after_a_reassignment(h: History) -> None:
    _stalled(h, "reassign")


@asks(
    "A member stays at 50 of 100 for 49 s after its group rebalanced, and is as before.",
    source=INSTANT + "; max.poll.interval.ms bounds the rebalance, which was over",
    expects={"stuck_consumer": VIOLATION},
)
def stall_long_after_a_rebalance(h: History) -> None:
    _stalled(h, "rebalance")


@asks(
    "A member stays at 50 of 100 for 49 s after every broker was restarted, and serves.",
    source=INSTANT,
    expects={"stuck_consumer": VIOLATION},
)
def stall_long_after_restarts(h: History) -> None:
    _stalled(h, "bounce")


@asks(
    "A member stays at 50 of 100 for 49 s after an election; a broker is partitioned meanwhile.",
    source="a fault that holds until it is healed (docs/faults.md)",
    expects={
        "stuck_consumer": f"{PERMITTED}: while a fault held: the member stopped at 50; "
        "the log ends at 100"
    },
)
def stall_while_another_fault_holds(h: History) -> None:
    _stalled(h, "elect preferred", "cut")


@asks(
    "A member stays at 50 of 100 until 19 s after an election.",
    source="request.timeout.ms of a consumer: 30 s by default",
    expects={
        "stuck_consumer": f"{PERMITTED}: soon after a fault: the member stopped at 50; "
        "the log ends at 100"
    },
)
def stall_soon_after_an_election(h: History) -> None:
    _stalled(h, "elect preferred", at=40.0)


@asks(
    "A member has no partition 39 s after a client of its group was killed.",
    source="session.timeout.ms: 45 s by default, until then a killed member owns its partitions",
    expects={
        "stuck_consumer": f"{PERMITTED}: soon after a fault: the member was assigned no partition"
    },
)
def no_partition_while_a_killed_member_has_its_session(h: History) -> None:
    _stalled(h, "kill", at=60.0, partition=-1)


@asks(
    "A member has no partition 54 s after a client of its group was killed.",
    source="session.timeout.ms: 45 s by default, until then a killed member owns its partitions",
    expects={"stuck_consumer": VIOLATION},
)
def no_partition_long_after_a_kill(h: History) -> None:
    _stalled(h, "kill", at=75.0, partition=-1)


@asks_each(
    "A member has no partition when its time to read is over, beside another one of its group.",
    source="Kafka's documentation, consumer groups: each partition is consumed by exactly one "
    "member of a group, so of more members than partitions some have none",
    check="stuck_consumer",
    cases={
        "That one owns the only partition.": (
            f"{PERMITTED}: no partition was left",
            {"partitions": 1},
        ),
        "That one owns one of two partitions.": (VIOLATION, {"partitions": 2}),
        "That one gave the only partition up before.": (VIOLATION, {"revoked": 20.0}),
        "That one was seen last 50 s before.": (VIOLATION, {"closed": None}),
    },
)
def no_partition_beside_an_owner(
    h: History, *, partitions: int = 1, revoked: float | None = None, closed: float | None = 61.0
) -> None:
    h.topic(partitions=partitions)
    h.group()
    for partition in range(partitions):
        cluster(h, partition=partition)
    h.sent(0, 99, at=2.0)
    joined(h, 0, at=5.0)
    h.polled(0, 99, at=10.0)
    h.changed("opened", at=5.0, member="2")
    if revoked is not None:
        h.changed("revoked", at=revoked, position=100)
    h.changed("stalled", at=60.0, topic="", member="2")
    if closed is not None:
        h.changed("closed", at=closed)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100, at=2.0)


@asks(
    "All sends fail from 60 s before the end on, after an election, which nobody healed.",
    source="delivery.timeout.ms; the new leader serves, and its replicas are in sync",
    expects={"stuck_producer": VIOLATION, "produce_unavailable": VIOLATION},
)
def sends_fail_long_after_an_election(h: History) -> None:
    _failing(h, "elect preferred")


@asks(
    "All sends fail from 60 s before the end on, after all brokers were restarted; they serve.",
    source="delivery.timeout.ms; a broker that was restarted serves again (docs/faults.md)",
    expects={"stuck_producer": VIOLATION},
)
def sends_fail_long_after_restarts(h: History) -> None:
    _failing(h, "bounce")


@asks(
    "All sends fail from 60 s before the end on, while all brokers are partitioned.",
    source="decision 8: no service is expected while faults hold a majority of the brokers",
    expects={"stuck_producer": PERMITTED},
)
def sends_fail_while_all_brokers_are_cut(h: History) -> None:
    _failing(h, "cut")


@asks(
    "A replica is out of sync for 60 s after an election, which nobody healed; its broker serves.",
    source="replica.lag.time.max.ms: 30 s",
    expects={"never_caught_up": VIOLATION},
)
def out_of_sync_long_after_an_election(h: History) -> None:
    h.topic()
    cluster(h)
    h.sent(0, 9, at=5.0)
    h.fault("elect preferred", h.on_partition("t", 0), injected=20.0, proved=21.0)
    h.led(1, 0, at=30.0, isr=(1,))
    watched(h, 1, 10, isr=(1,))
    h.log(1, (0, 9, 0), high_watermark=10)


@asks(
    "A client that does not tell its generation reads on 50 s after a rebalance, beside another.",
    source="KafkaConsumer Javadoc: each partition goes to exactly one member of a group",
    expects={"double_ownership": VIOLATION},
)
def two_owners_long_after_a_rebalance(h: History) -> None:
    h.topic()
    h.group(client="kafka-python")
    plain(h, 99)
    h.fault("rebalance", h.on_group("g"), injected=3.0, proved=4.0)
    for number, member in enumerate("12"):
        joined(h, 0, at=50.0 + number, member=member, generation=-1)
    for number in range(4):
        for member in "12":
            h.polled(25 * number, 25 * number + 24, at=55.0 + 5 * number, member=member)


def _failing(h: History, fault: str) -> None:
    h.topic()
    plain(h, 99)
    brokers = h.on_brokers(1, 2)
    target = h.on_partition("t", 0) if fault.startswith("elect") else brokers
    h.fault(fault, target, injected=10.0, proved=12.0)
    for number in range(12):
        h.sent(
            None,
            at=25.0 + 5 * number,
            intended_at=20.0 + 5 * number,
            sequence=1000 + number,
            outcome="unknown",
            error="TimeoutException",
        )


REQUIRED = (
    "Fetch: a consumer gets what lies below the high watermark; KIP-98: with read_committed what"
    " lies below the last stable offset"
)


def _reads_two(h: History, *batches: Batch, isolation: str = "read_committed") -> None:
    """A member reads 0 to 49 of two partitions, and stays there; of the second that is all."""
    h.topic(partitions=2)
    h.group(isolation=isolation)
    for partition, end in ((0, batches[-1].last + 1), (1, 50)):
        cluster(h, partition=partition)
        h.sampled(1, at=1.0, end=0, isr=(1, 2), partition=partition)
        h.sent(0, 49, at=2.0, partition=partition, producer=f"p{partition}")
        watched(h, 1, end, partition=partition)
    replicas(h, Batch(0, 49, producer="p0"), *batches)
    replicas(h, Batch(0, 49, producer="p1"), partition=1)
    joined(h, 0, at=5.0, partitions=(0, 1))
    for partition in (0, 1):
        h.polled(0, 49, at=6.0, partition=partition, producer=f"p{partition}")
        h.changed("stalled", at=70.0, position=50, generation=1, partition=partition)


def _in_transaction(h: History, control: str | None, *, at: float = 12.0) -> tuple[Batch, ...]:
    """Offsets 50 to 59 are of a transaction, which the control batch at 60 ends, if any."""
    h.sent(50, 59, at=10.0, producer="q", sequence=0, transaction=0)
    started(h, at=8.0, producer="q")
    data = Batch(50, 59, pid=1, base_sequence=0, producer="q", sequence=0)
    if control is None:
        return (data,)
    step(h, control, {"commit": "committed", "abort": "aborted"}[control], at=at, producer="q")
    return data, Batch(60, 60, pid=1, control=control)


@asks(
    "A read_committed member waits at an open transaction; of its other partition it has it all.",
    source=REQUIRED,
    expects={"stuck_consumer": PERMITTED},
)
def stall_at_a_transaction_and_at_an_end(h: History) -> None:
    _reads_two(h, *_in_transaction(h, None))


@asks(
    "Above the position of a read_committed member is an aborted transaction and its marker.",
    source=REQUIRED + "; a client need not count them into its position",
    expects={"stuck_consumer": NONE},
)
def stall_below_what_was_aborted(h: History) -> None:
    _reads_two(h, *_in_transaction(h, "abort"))


@asks(
    "Above the position of a read_uncommitted member is an aborted transaction and its marker.",
    source=REQUIRED + "; read_uncommitted gets the records of aborted transactions",
    expects={"stuck_consumer": VIOLATION},
)
def stall_below_what_was_aborted_and_is_to_be_read(h: History) -> None:
    _reads_two(h, *_in_transaction(h, "abort"), isolation="read_uncommitted")


@asks(
    "A read_committed member stays before a transaction that was committed a minute before.",
    source=REQUIRED,
    expects={"stuck_consumer": VIOLATION},
)
def stall_before_a_committed_transaction(h: History) -> None:
    _reads_two(h, *_in_transaction(h, "commit"))


@asks(
    "Only a marker, which is no record, lies above the position of a member that got the rest.",
    source=REQUIRED + "; librdkafka does not count a control batch into its position",
    expects={"stuck_consumer": NONE},
)
def stall_before_a_marker(h: History) -> None:
    data, marker = _in_transaction(h, "commit")
    _reads_two(h, data, marker)
    h.polled(50, 59, at=20.0, producer="q", sequence=0)
    h.rows["group_events"][-2]["position"] = 60


@asks(
    "A member stays at 50, where the log ended; 50 more records are written after it gave up.",
    source=REQUIRED,
    expects={"stuck_consumer": NONE},
)
def stall_at_the_end_of_its_time(h: History) -> None:
    _stays_at_50(h, sampled=True, written=75.0)


@asks(
    "A member stays at 50 of 100 records, which were written with acks=1; no leader was asked.",
    source=REQUIRED
    + "; acknowledged with acks=1 does not prove that it is below the high watermark",
    expects={"stuck_consumer": UNDECIDED},
)
def stall_below_an_end_that_nobody_reported(h: History) -> None:
    _stays_at_50(h, sampled=False, written=10.0)


@asks(
    "A member stays at 50 of 100 records, as the leader reports; no replica in sync has these 50.",
    source=REQUIRED + "; KAFKA-15583",
    expects={"stuck_consumer": NONE},
)
def stall_at_the_high_watermark(h: History) -> None:
    _stays_at_50(h, sampled=True, written=10.0, high_watermark=50)


@asks(
    "A member stays at 50 of 100; later an unclean election removes the records from 50 on.",
    source=REQUIRED + "; they lay there for 30 s",
    expects={"stuck_consumer": VIOLATION},
)
def stall_below_what_is_lost_later(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    h.led(1, 0, at=8.5, isr=(1,))
    joined(h, 0, at=3.0)
    h.polled(0, 49, at=4.0)
    h.changed("stalled", at=19.0, position=50, generation=1)


@asks(
    "A member stays at 50, the end after an unclean election; before, 100 records were there.",
    source=REQUIRED + "; they were gone when it gave up",
    expects={"stuck_consumer": NONE},
)
def stall_below_what_was_lost_before(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h, last=49)
    joined(h, 0, at=3.0)
    h.polled(0, 49, at=4.0)
    h.changed("stalled", at=80.0, position=50, generation=1)


def _stays_at_50(h: History, *, sampled: bool, written: float, high_watermark: int = 100) -> None:
    h.topic()
    h.group()
    cluster(h)
    h.sent(0, 49, at=2.0)
    h.sent(50, 99, at=written, acks="1")
    if sampled:
        watched(h, 1, 50, times=[time for time in WATCHED if time < written])
        watched(h, 1, high_watermark, times=[time for time in WATCHED if time > written])
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)
    reads_to(h, 49)
    h.changed("stalled", at=70.0, position=50, generation=1)


@asks(
    "A member has its partition, and no position to read from.",
    source=INSTANT,
    expects={"stuck_consumer": f"{VIOLATION}: no fault: the member had no position to read from"},
)
def stall_without_a_position(h: History) -> None:
    _stalled(h)
    h.rows["group_events"][-1]["position"] = None


@asks(
    "A producer's only answered values failed over 20 s at the end.",
    source="delivery.timeout.ms: a send may take 30 s and more",
    expects={"stuck_producer": NONE},
)
def sends_fail_for_a_short_time(h: History) -> None:
    _fails(h, at=(10, 20, 30))


@asks(
    "All sends fail for 40 s, and then one is acknowledged.",
    source="KafkaProducer: a producer that goes on is not stuck",
    expects={"stuck_producer": NONE},
)
def sends_fail_and_go_on(h: History) -> None:
    _fails(h, at=(10, 30, 50))
    h.sent(100, at=60, sequence=200)


@asks(
    "All sends of a fenced transactional producer fail for 40 s.",
    source="KIP-98: a fenced producer must not make progress",
    expects={"stuck_producer": NONE},
)
def sends_of_a_transaction_fail(h: History) -> None:
    _fails(h, at=(10, 30, 50), transaction=0)


def _fails(h: History, *, at: tuple[int, ...], transaction: int | None = None) -> None:
    written(h)
    for number, second in enumerate(at):
        failed = {"outcome": "unknown", "error": "TimeoutException", "transaction": transaction}
        h.sent(None, at=second, sequence=100 + number, **failed)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "The ISR is too small from second 20 to 75; a value with acks=all waits, those with acks=1 do "
    "not.",
    source=INSYNC,
    expects={
        "produce_unavailable": PERMITTED,
        "min_insync_breached": NONE,
        "stuck_producer": NONE,
        "lost_record": NONE,
    },
)
def small_isr_stalls_those_who_ask_for_it(h: History) -> None:
    _small(h, until=75.0)
    h.sent(50, 54, at=30.0, acks="1", producer="q", sequence=0)
    h.sent(55, 59, at=50.0, acks="1", producer="q", sequence=5)
    h.sent(60, 64, at=75.6, intended_at=22.0, sequence=50)
    watched(h, 1, 50, times=(25.0, 45.0, 65.0), isr=(1,))
    watched(h, 1, 65, times=(80.0,))
    _logs(h, (0, 49, 0), (50, 59, 0), (60, 64, 0), producer="q", sequences={50: 0, 60: 50})


@asks(
    "In that time a value with acks=1 waits as long.",
    source=INSYNC + "; " + SERVES,
    expects={"produce_unavailable": VIOLATION, "lost_record": NONE},
)
def small_isr_stalls_those_who_do_not(h: History) -> None:
    _small(h, until=75.0)
    h.sent(50, 59, at=75.6, intended_at=22.0, acks="1", producer="q", sequence=0)
    watched(h, 1, 50, times=(25.0, 45.0, 65.0), isr=(1,))
    watched(h, 1, 60, times=(80.0,))
    _logs(h, (0, 49, 0), (50, 59, 0), producer="q", sequences={50: 0})


@asks(
    "The ISR is whole again at second 35, and a value with acks=all waits until second 80.",
    source=INSYNC + "; " + SERVES,
    expects={"produce_unavailable": VIOLATION, "min_insync_breached": NONE},
)
def stall_outlasts_the_small_isr(h: History) -> None:
    _small(h, until=35.0)
    h.sent(50, 54, at=80.0, intended_at=22.0, sequence=50)
    watched(h, 1, 50, times=(25.0,), isr=(1,))
    watched(h, 1, 50, times=(45.0, 65.0, 75.0))
    watched(h, 1, 55, times=(85.0,))
    _logs(h, (0, 49, 0), (50, 54, 0))


def _logs(
    h: History,
    *spans: tuple[int, int, int],
    producer: str = "p",
    sequences: dict[int, int] | None = None,
) -> None:
    """Both replicas hold the same; the second span is by `producer`."""
    copies(
        h,
        (1, 2),
        *spans,
        high_watermark=spans[-1][1] + 1,
        producers={spans[1][0]: producer},
        sequences=sequences,
    )


def _small(h: History, *, until: float) -> None:
    """Two of two replicas must be in sync; broker 2 is paused, and is not from 20 to `until`."""
    h.topic(min_insync=2)
    cluster(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0, 15.0))
    h.fault(
        "pause",
        h.on_broker(2),
        injected=17.0,
        proved=20.5,
        heal_began=until - 2.1,
        healed=until - 2,
    )
    h.registered(2, at=20.0, is_fenced=True)
    h.led(1, 0, at=20.0, isr=(1,))
    h.registered(2, at=until - 1.9, is_fenced=False)
    h.led(1, 0, at=until, isr=(1, 2))
