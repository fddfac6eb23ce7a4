"""Stalls after faults that take an instant, and what a member that stands still could be given."""

from tests.histories.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.histories.verbs import cluster, joined, plain, watched

INSTANT = (
    "Kafka has no timeout that lets a client that polls stand still so long: an old leader answers"
    " NOT_LEADER_OR_FOLLOWER (KIP-320), request.timeout.ms is 30 s, session.timeout.ms 45 s"
)


def _stalled(h: History, *faults: str, at: float = 70.0, partition: int = 0) -> None:
    """A member stays at 50 of 100 until `at`, after faults at second 20, which nobody heals."""
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0)
    h.polled(0, 49, at=6.0)
    targets = {
        "rebalance": f"group:{h.own('g')}",
        "bounce": f"all (brokers {h.broker(1)}, {h.broker(2)})",
        "kill": f"client:{h.own('w2')}",
        "cut": f"broker:{h.broker(2)} (broker {h.broker(2)})",
    }
    for fault in faults:
        target = targets.get(fault, f"partition:{h.own('t')}-0")
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
    expects={"stuck_consumer": PERMITTED},
)
def stall_while_another_fault_holds(h: History) -> None:
    _stalled(h, "elect preferred", "cut")


@asks(
    "A member stays at 50 of 100 until 19 s after an election.",
    source="request.timeout.ms of a consumer: 30 s by default",
    expects={"stuck_consumer": PERMITTED},
)
def stall_soon_after_an_election(h: History) -> None:
    _stalled(h, "elect preferred", at=40.0)


@asks(
    "A member has no partition 39 s after a client of its group was killed.",
    source="session.timeout.ms: 45 s by default, until then a killed member owns its partitions",
    expects={"stuck_consumer": PERMITTED},
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
    h.fault("elect preferred", f"partition:{h.own('t')}-0", injected=20.0, proved=21.0)
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
    h.fault("rebalance", f"group:{h.own('g')}", injected=3.0, proved=4.0)
    for number, member in enumerate("12"):
        joined(h, 0, at=50.0 + number, member=member, generation=-1)
    for number in range(4):
        for member in "12":
            h.polled(25 * number, 25 * number + 24, at=55.0 + 5 * number, member=member)


def _failing(h: History, fault: str) -> None:
    h.topic()
    plain(h, 99)
    brokers = f"all (brokers {h.broker(1)}, {h.broker(2)})"
    target = f"partition:{h.own('t')}-0" if fault.startswith("elect") else brokers
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
