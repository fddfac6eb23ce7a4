"""Liveness: what a cluster owes to producers, readers and commits, and from when."""

from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
    asks_each,
)
from tests.exam.scenes import copies, written
from tests.exam.verbs import (
    begun,
    cluster,
    first_start,
    joined,
    left,
    moved,
    plain,
    reads_to,
    watched,
)

REQUIRED = "decision 8: service is expected while a leader and enough replicas in sync are there"
MARK = "KAFKA-15583: the high watermark waits while the in-sync replicas are too few"
OFFSETS = "__consumer_offsets"
TRIES = range(12, 72, 6)
"""Seconds at which sends or commits are tried in vain."""
DECISION = "docs/findings.md, liveness: an outage counts while the partition could serve"
COORDINATOR = (
    "docs/findings.md, H3; `GroupMetadataManager.partitionFor`: one partition of "
    "__consumer_offsets has all commits of a group"
)


@asks(
    "All acks=all sends time out for a minute; the leader lives and both replicas are in sync.",
    source=REQUIRED,
    expects={"produce_unavailable": VIOLATION, "never_caught_up": NONE, "fault_landed": NONE},
)
def sends_time_out_without_a_cause(h: History) -> None:
    _sends_in_vain(h, isr=(1, 2), acks="all", error="TimeoutException")


@asks(
    "All acks=all sends are refused for a minute; one of two replicas is in sync, two must be.",
    source="min.insync.replicas: acks=all is refused with NotEnoughReplicasException below it",
    expects={"produce_unavailable": NOT_VIOLATION, "stuck_producer": NOT_VIOLATION},
)
def too_few_replicas_for_acks_all(h: History) -> None:
    _sends_in_vain(h, isr=(1,), acks="all", error="NotEnoughReplicasException")


@asks(
    "Sends with acks=1 time out for a minute; one of two replicas is in sync, two must be.",
    source="ProducerConfig acks=1: the leader answers alone; min.insync.replicas is for acks=all",
    expects={"produce_unavailable": VIOLATION},
)
def too_few_replicas_for_acks_all_only(h: History) -> None:
    _sends_in_vain(h, isr=(1,), acks="1", error="TimeoutException")


@asks(
    "All sends time out for a minute, while both brokers are dead and there is no leader.",
    source=REQUIRED + "; a fault beyond tolerance",
    expects={"produce_unavailable": NOT_VIOLATION, "fault_landed": NONE},
)
def sends_without_a_leader(h: History) -> None:
    h.topic()
    begun(h)
    h.sent(0, 9, at=5.0)
    for number, injected in ((2, 8.0), (1, 9.0)):
        name = h.on_broker(number)
        h.fault("kill", name, injected=injected, proved=11.0, heal_began=72.0, healed=74.0)
    h.led(1, 0, at=8.5, isr=(1,))
    for number in (2, 1):
        h.registered(number, at=11.0, is_fenced=True)
    h.led(-1, 1, at=11.0, isr=(1,))
    _tries(h, "all", "TimeoutException")
    for number in (1, 2):
        h.registered(number, at=73.5, is_fenced=False, broker_epoch=2)
    h.led(1, 2, at=74.0, isr=(1,), starts=10)
    h.led(1, 2, at=75.0, isr=(1, 2))
    h.sent(10, 19, at=78.0, sequence=1000)
    watched(h, 1, 20, times=(80.0, 85.0), epoch=2)
    copies(h, (1, 2), (0, 9, 0), (10, 19, 2), sequences={10: 1000}, high_watermark=20)


@asks(
    "The leader is killed and another one elected 3 s later; sends pause for 4 s.",
    source="broker.session.timeout.ms must pass before an election; decision 8",
    expects={"produce_unavailable": NOT_VIOLATION, "fault_landed": NONE, "never_caught_up": NONE},
)
def sends_pause_for_an_election(h: History) -> None:
    h.topic()
    begun(h)
    h.sent(0, 9, at=10.0)
    watched(h, 1, 10, times=(12.0, 18.0))
    name = h.on_broker(1)
    h.fault("kill", name, injected=20.0, proved=23.0, heal_began=38.0, healed=40.0)
    h.registered(1, at=23.0, is_fenced=True)
    h.led(2, 1, at=23.0, isr=(2,), starts=10)
    h.sent(10, 19, at=24.0, intended_at=20.1)
    h.registered(1, at=39.5, is_fenced=False, broker_epoch=2)
    h.led(2, 1, at=42.0, isr=(1, 2))
    h.sent(20, 29, at=50.0)
    watched(h, 2, 30, times=(55.0, 65.0, 75.0), epoch=1)
    copies(h, (1, 2), (0, 9, 0), (10, 29, 1), high_watermark=30)


@asks(
    "A member that polls all the time is given nothing for a minute below the high watermark.",
    source=REQUIRED + ", up to the high watermark",
    expects={"fetch_unavailable": VIOLATION, "produce_unavailable": NONE},
)
def nothing_is_given_out_below_the_high_watermark(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=4.0)
    for number in range(10):
        h.polled(5 * number, 5 * number + 4, at=5.0 + 0.5 * number)
    for number in range(10):
        h.polled(50 + 5 * number, 54 + 5 * number, at=75.0 + 0.5 * number)
    left(h, 100, at=85.0, caught_up=True)


@asks(
    "With one of two replicas in sync, and two needed, a member is given nothing of what acks=1 "
    "appended.",
    source=MARK,
    expects={
        "fetch_unavailable": NOT_VIOLATION,
        "stuck_consumer": NOT_VIOLATION,
        "produce_unavailable": NONE,
    },
)
def high_watermark_may_not_advance(h: History) -> None:
    _below_min_insync(h, delivered=50)


@asks(
    "With one of two replicas in sync, and two needed, a member is given nothing even below the "
    "high watermark that held.",
    source=MARK + "; FetchIsolation.of: what lies below it is given out",
    expects={"fetch_unavailable": VIOLATION},
)
def below_the_high_watermark_that_held(h: History) -> None:
    _below_min_insync(h, delivered=20)


@asks(
    "A member is given nothing for 54 s; its leader changes in between, in good order; the high "
    "watermark of each leader is beyond.",
    source=REQUIRED + ", up to the high watermark",
    expects={"fetch_unavailable": VIOLATION},
)
def neither_of_two_leaders_gives_anything_out(h: History) -> None:
    h.topic()
    h.group()
    moved(h, at=30.0)
    joined(h, 0, at=4.0)
    h.polled(0, 29, at=8.0)
    for number in range(7):
        h.polled(30 + 10 * number, 39 + 10 * number, at=62.0 + 0.5 * number)
    left(h, 100, at=85.0, caught_up=True)


@asks(
    "A member is given nothing for 54 s; after 22 s the leader dies, and the high watermark of the "
    "next one, alone in sync where two are needed, stays below.",
    source=MARK + "; decision 15: that of its time counts",
    expects={"fetch_unavailable": NOT_VIOLATION},
)
def second_leader_can_not_give_anything_out(h: History) -> None:
    h.topic(min_insync=2)
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0, 15.0, 25.0))
    joined(h, 0, at=4.0)
    h.polled(0, 29, at=8.0)
    name = h.on_broker(1)
    h.fault("kill", name, injected=27.0, proved=30.0, heal_began=58.0, healed=60.0)
    h.registered(1, at=30.0, is_fenced=True)
    h.led(2, 1, at=30.0, isr=(2,), starts=50)
    watched(h, 2, 30, times=(35.0, 45.0, 55.0), isr=(2,), epoch=1)
    h.registered(1, at=59.5, is_fenced=False, broker_epoch=2)
    h.led(2, 1, at=61.0, isr=(1, 2))
    watched(h, 2, 50, times=(61.5, 65.0, 75.0, 85.0), epoch=1)
    h.polled(30, 49, at=62.0)
    left(h, 50, at=85.0, caught_up=True)
    copies(h, (1, 2), (0, 49, 0), high_watermark=50)


@asks(
    "A member has read all that there is, and nothing is written for a minute.",
    source=REQUIRED,
    expects={"fetch_unavailable": NONE, "stuck_consumer": NONE, "never_caught_up": NONE},
)
def nothing_to_read(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=4.0)
    for number in range(10):
        h.polled(10 * number, 10 * number + 9, at=5.0 + 0.5 * number)
    left(h, 100, at=85.0, caught_up=True)


@asks(
    "All commits time out for a minute, while the offsets partition has its leader and replicas.",
    source="GroupCoordinator.partitionFor: a group has one partition of __consumer_offsets; "
    "decision 8",
    expects={"commit_unavailable": VIOLATION, "lost_commit": NONE, "commit_mismatch": NONE},
)
def commits_time_out_without_a_cause(h: History) -> None:
    _commits_in_vain(h, leaderless="")


@asks(
    "All commits time out for a minute, while the offsets partition has no leader.",
    source="GroupCoordinator.partitionFor: a group has one partition of __consumer_offsets; "
    "decision 8",
    expects={"commit_unavailable": NOT_VIOLATION, "lost_commit": NONE},
)
def commits_without_a_coordinator(h: History) -> None:
    _commits_in_vain(h, leaderless=OFFSETS)


@asks(
    "All commits time out for a minute; the partition read has no leader, that of offsets has one.",
    source="GroupCoordinator.partitionFor: a group has one partition of __consumer_offsets, and "
    "needs no other to commit; decision 8",
    expects={"commit_unavailable": VIOLATION, "lost_commit": NONE},
)
def commits_do_not_need_the_leader_read(h: History) -> None:
    _commits_in_vain(h, leaderless="t")


def _tries(h: History, acks: str, error: str) -> None:
    """Two values every 6 s, each answered with an error 5 s later."""
    outcome = "failed" if error == "NotEnoughReplicasException" else "unknown"
    for number, second in enumerate(TRIES):
        h.sent(
            None,
            at=second + 5.0,
            intended_at=second,
            count=2,
            sequence=10 + 2 * number,
            acks=acks,
            outcome=outcome,
            error=error,
        )


def _sends_in_vain(h: History, *, isr: tuple[int, ...], acks: str, error: str) -> None:
    """Sends are answered before second 10 and after 78, and not between."""
    h.topic(min_insync=2)
    begun(h)
    h.sent(0, 9, at=5.0, acks=acks)
    if len(isr) == 1:
        name = h.on_broker(2)
        h.fault("pause", name, injected=7.0, proved=10.0, heal_began=73.0, healed=73.5)
        h.registered(2, at=10.0, is_fenced=True)
        h.led(1, 0, at=10.0, isr=isr)
        h.registered(2, at=73.5, is_fenced=False)
        h.led(1, 0, at=75.0, isr=(1, 2))
    watched(h, 1, 10, times=(15.0, 25.0, 35.0, 45.0, 55.0, 65.0, 72.0), isr=isr)
    _tries(h, acks, error)
    h.sent(10, 19, at=80.0, sequence=1000, acks=acks)
    watched(h, 1, 20, times=(85.0,))
    copies(h, (1, 2), (0, 9, 0), (10, 19, 0), sequences={10: 1000}, high_watermark=20)


def _below_min_insync(h: History, *, delivered: int) -> None:
    """At 10 the in-sync replicas shrink below two; the high watermark stays at 50 until 75."""
    h.topic(min_insync=2)
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    joined(h, 0, at=4.0)
    for number in range(10):
        size = delivered // 10
        h.polled(size * number, size * number + size - 1, at=5.0 + 0.3 * number)
    name = h.on_broker(2)
    h.fault("pause", name, injected=9.0, proved=12.0, heal_began=72.0, healed=72.5)
    h.registered(2, at=12.0, is_fenced=True)
    h.led(1, 0, at=12.0, isr=(1,))
    h.sent(50, 99, at=14.0, acks="1")
    watched(h, 1, 50, times=(8.0,))
    watched(h, 1, 50, times=(15.0, 25.0, 35.0, 45.0, 55.0, 65.0, 72.0), isr=(1,))
    h.registered(2, at=73.0, is_fenced=False)
    h.led(1, 0, at=75.0, isr=(1, 2))
    watched(h, 1, 100, times=(76.0, 85.0))
    for number in range(10):
        size = (100 - delivered) // 10
        first = delivered + size * number
        h.polled(first, first + size - 1, at=76.0 + 0.3 * number)
    left(h, 100, at=85.0, caught_up=True)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


def _commits_in_vain(h: History, *, leaderless: str) -> None:
    """Commits hold before second 10 and after 78; between, each times out after 5 s.

    leaderless: which partition loses its leader by a kill, that of `t` (broker 1) or that of
    the offsets (broker 2); the other one's in-sync replicas shrink to the broker that lives.
    """
    h.topic()
    h.group()
    plain(h, 99)
    number = h.index
    h.led(2, 0, at=0.6, isr=(1, 2), topic=OFFSETS, partition=number)
    if leaderless:
        h.rows["samples"] = [row for row in h.rows["samples"] if row["at_micros"] < h.at(10.0)]
        lost = {"topic": leaderless, "partition": number if leaderless == OFFSETS else 0}
        kept = {"topic": "t"} if leaderless == OFFSETS else {"topic": OFFSETS, "partition": number}
        dead, alive = (2, 1) if leaderless == OFFSETS else (1, 2)
        name = h.on_broker(dead)
        h.fault("kill", name, injected=9.0, proved=11.0, heal_began=70.0, healed=73.0)
        h.led(dead, 0, at=8.0, isr=(dead,), **lost)
        h.registered(dead, at=11.0, is_fenced=True)
        h.led(-1, 1, at=11.0, isr=(dead,), **lost)
        h.led(alive, 0, at=11.0, isr=(alive,), **kept)
        if leaderless == OFFSETS:
            watched(h, 1, 100, times=(15.0, 30.0, 45.0, 60.0, 72.0), isr=(1,))
        h.registered(dead, at=74.0, is_fenced=False, broker_epoch=2)
        h.led(dead, 2, at=75.0, isr=(dead,), **lost)
        h.led(dead, 2, at=76.0, isr=(1, 2), **lost)
        h.led(alive, 0, at=76.0, isr=(1, 2), **kept)
        watched(h, 1, 100, times=(80.0, 85.0), epoch=2 if leaderless == "t" else 0)
    reads_to(h, 49)
    h.commit(10, 0, at=7.0, brokers=(1, 2), generation=1)
    h.commit(20, 0, at=8.0, brokers=(1, 2), generation=1)
    for second in TRIES:
        h.commit(50, 0, at=second + 5.0, stored=False, outcome="unknown", error="TimeoutException")
        h.rows["commits"][-1]["began_micros"] = h.at(second)
    h.commit(50, 0, at=80.0, brokers=(1, 2), generation=1)
    left(h, 50, at=85.0)


@asks_each(
    "Two values wait 40 s for their answer, from second 20 on.",
    source="request.timeout.ms; KIP-595: a majority of the controllers elects; docs/faults.md",
    check="produce_unavailable",
    cases={
        "Nothing explains it.": (VIOLATION, {}),
        "They wait 6 s.": (PERMITTED, {"until": 26}),
        "Clients are cut from the cluster.": (PERMITTED, {"fault": "cut clients"}),
        "The client is paused.": (PERMITTED, {"fault": "pause", "worker": "w"}),
        "The leader is paused, and nobody else.": (VIOLATION, {"fault": "pause", "brokers": (1,)}),
        "Nobody leads for 50 of 55 s.": (
            f"{PERMITTED}: unavailable: 2 operations waited for 55.0 s in total; no service",
            {"until": 75, "leaderless": 70},
        ),
        "Nobody leads for 35 of 75 s.": (VIOLATION, {"until": 95, "leaderless": 55}),
        "Nobody leads for 35 of 75 s; clients are cut meanwhile.": (
            VIOLATION,
            {"until": 95, "leaderless": 55, "fault": "cut clients"},
        ),
        "No replica is in sync, and they ask for all.": (PERMITTED, {"isr": ()}),
        "No replica is in sync, and they ask the leader alone.": (
            VIOLATION,
            {"isr": (), "acks": "1"},
        ),
    },
)
def values_wait(
    h: History,
    *,
    until: float = 60,
    acks: str = "all",
    isr: tuple[int, ...] | None = None,
    leaderless: float | None = None,
    fault: str = "",
    worker: str = "",
    brokers: tuple[int, ...] = (),
) -> None:
    h.topic(replication=3)
    for broker in (1, 2, 3):
        h.registered(broker, at=0.2, is_fenced=False)
    h.led(1, 0, at=0.5, isr=(1, 2, 3), replicas=(1, 2, 3))
    if isr is not None:
        h.led(1, 1, at=20, isr=isr, replicas=(1, 2, 3))
    if leaderless is not None:
        h.led(-1, 1, at=20, isr=(1,), replicas=(1, 2, 3))
        h.led(2, 2, at=leaderless, isr=(2,), replicas=(1, 2, 3))
    if fault:
        target = h.on_client(worker) if worker else h.on_brokers(*brokers)
        h.fault(fault, target, injected=22, healed=58)
    for number in (0, 1):
        h.sent(number, at=until, intended_at=20 + number, acks=acks)


@asks_each(
    "Values wait 4.5 s each for those before them, and one is answered every second.",
    source="docs/findings.md, produce_unavailable: an outage is a time in which nobody was "
    "answered",
    check="produce_unavailable",
    cases={
        "The partition responds.": (NONE, {}),
        "Then nothing is answered for 34 s.": (
            f"{VIOLATION}: unavailable: 25 operations waited for 34.5 s",
            {"silent": 34},
        ),
        "Nothing is answered for 20 s of it.": (
            f"{PERMITTED}: unavailable: 19 operations waited for 20.5 s",
            {"silent": 20},
        ),
        "Only the leader responds, to others.": (VIOLATION, {"acks": "1", "others": "all"}),
    },
)
def values_wait_behind_others(
    h: History, *, silent: int = 0, acks: str = "all", others: str = ""
) -> None:
    h.topic(replication=3)
    for broker in (1, 2, 3):
        h.registered(broker, at=0.2, is_fenced=False)
    h.led(1, 0, at=0.5, isr=(1, 2, 3), replicas=(1, 2, 3))
    for number in range(5):
        h.sent(number, at=1.2 + number, intended_at=1.0 + number, acks=acks)
    for number in range(50):
        later = silent if number > 20 else 0
        h.sent(5 + number, at=6 + number + later, intended_at=1.5 + number, acks=acks)
    if others:
        h.sent(55, at=58, intended_at=20, acks=others)


@asks(
    "Two values wait 40 s for their answer; two of three brokers are paused.",
    source="KIP-595: a majority of the controllers elects",
    expects={"produce_unavailable": PERMITTED},
    alone=True,
)
def values_wait_for_a_majority(h: History) -> None:
    values_wait(h, fault="pause", brokers=(1, 2))


@asks_each(
    "Values are refused for 6 s from second 20 on, and others",
    source="docs/findings.md, produce_unavailable: an outage is a time in which nobody was "
    "answered",
    check="produce_unavailable",
    cases={
        "from 30 on: one outage.": (f"{PERMITTED}: unavailable: 4 operations", {"again": 30}),
        "from 30 on; one was answered between: two.": (
            f"{PERMITTED}: unavailable: 2 operations",
            {"again": 30, "answered": 28},
        ),
        "from 37 on: two.": (f"{PERMITTED}: unavailable: 2 operations", {"again": 37}),
    },
)
def attempts_in_vain(h: History, *, again: float, answered: float | None = None) -> None:
    h.topic()
    cluster(h)
    for number, at in enumerate((20, 21, again, again + 1)):
        end = 26 if number < 2 else again + 6
        h.sent(None, at=end, intended_at=at, sequence=number, outcome="unknown")
    if answered is not None:
        h.sent(9, at=answered)


@asks(
    "A producer's last values have no answer; no history file tells how its worker ended.",
    source="ProducerBatch.done: each send is completed; decision 15",
    expects={"stuck_producer": UNDECIDED},
)
def sends_without_an_answer_of_an_unknown_worker(h: History) -> None:
    written(h)
    h.sent(None, at=80, count=3, sequence=100, outcome="unknown")
    for row in h.rows["sends"][-3:]:
        row["answered_micros"] = None
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)
    h.worker("another")


@asks(
    "A producer waits 54 s; one of three brokers is paused, and it is no leader nor in sync.",
    source=DECISION + "; one paused broker of three keeps no partition from serving",
    expects={"produce_unavailable": VIOLATION, "lost_record": NONE, "min_insync_breached": NONE},
)
def paused_outsider_explains_no_outage(h: History) -> None:
    h.topic(replication=3, min_insync=2)
    for broker in (1, 2, 3):
        h.registered(broker, at=0.2, is_fenced=False)
    h.led(1, 0, at=0.5, isr=(1, 2, 3), replicas=(1, 2, 3), starts=0)
    h.sampled(1, at=1.0, end=0, isr=(1, 2, 3))
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 9.0), isr=(1, 2, 3))
    h.fault("pause", h.on_broker(3), injected=10.0, proved=19.7, heal_began=76.0, healed=77.0)
    h.registered(3, at=19.5, is_fenced=True)
    h.led(1, 0, at=19.5, isr=(1, 2), replicas=(1, 2, 3))
    watched(h, 1, 100, times=(22.0, 45.0, 65.0))
    h.sent(100, 109, at=75.0, intended_at=21.0)
    h.registered(3, at=77.2, is_fenced=False, broker_epoch=2)
    h.led(1, 0, at=79.0, isr=(1, 2, 3), replicas=(1, 2, 3))
    watched(h, 1, 110, times=(80.0, 85.0), isr=(1, 2, 3))
    for broker in (1, 2, 3):
        h.log(broker, (0, 99, 0), (100, 109, 0), high_watermark=110)


@asks(
    "A commit times out after 60 s; another group's partition had no leader, its own had one.",
    source=DECISION + "; GroupCoordinator.partitionFor: a group has one partition of the offsets",
    expects={"commit_unavailable": VIOLATION, "lost_commit": NONE, "commit_mismatch": NONE},
)
def coordinator_of_another_group_is_gone(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    h.registered(3, at=0.2, is_fenced=False)
    own, other = h.index, h.index + 500
    reported = {"topic": "__consumer_offsets", "topic_id": "offsets"}
    h.led(1, 0, at=0.6, isr=(1, 2), partition=own, **reported)
    reported |= {"partition": other, "replicas": (3,), "isr": (3,)}
    h.led(3, 0, at=0.6, **reported)
    h.fault("kill", h.on_broker(3), injected=15.0, proved=18.2, heal_began=53.0, healed=55.5)
    h.registered(3, at=18.0, is_fenced=True)
    h.led(-1, 1, at=18.0, **reported)
    h.registered(3, at=54.5, is_fenced=False, broker_epoch=2)
    h.led(3, 2, at=55.0, **reported)
    reads_to(h, 49)
    h.commit(50, 0, at=10.0, brokers=(1, 2), generation=1)
    h.polled(50, 99, at=11.0)
    failed = {"outcome": "unknown", "error": "TimeoutException", "stored": False}
    h.commit(100, 0, at=78.0, generation=1, **failed)
    h.rows["commits"][-1]["began_micros"] = h.at(18.0)
    left(h, 100, at=82.0)


@asks(
    "A commit waits 41 s; the group's partition of `__consumer_offsets` had no leader meanwhile.",
    source=COORDINATOR,
    expects={
        "commit_unavailable": PERMITTED,
        "commit_mismatch": NONE,
        "lost_commit": NONE,
    },
    alone=True,
)
def commit_waits_for_its_offline_coordinator(h: History) -> None:
    _commit_waits(h, offline=h.index)


@asks(
    "A commit waits 41 s; another partition of `__consumer_offsets` had no leader.",
    source=COORDINATOR,
    expects={"commit_unavailable": VIOLATION},
    alone=True,
)
def commit_waits_while_another_coordinator_is_offline(h: History) -> None:
    _commit_waits(h, offline=h.index + 1)


def _commit_waits(h: History, *, offline: int) -> None:
    """Broker 2 is killed, with a partition of the offsets that only it has; a commit waits."""
    h.topic()
    h.group()
    h.registered(3, at=0.1, is_fenced=False)
    for broker in (1, 2):
        h.registered(broker, at=0.2, is_fenced=False)
    offsets = {"topic": "__consumer_offsets", "topic_id": "__id"}
    own = 2 if offline == h.index else 3
    alone = {2: {"isr": (2,), "replicas": (2,)}, 3: {"isr": (3,), "replicas": (3,)}}
    h.led(own, 0, at=0.3, partition=h.index, starts=0, **offsets, **alone[own])
    if offline != h.index:
        h.led(2, 0, at=0.3, partition=offline, starts=0, **offsets, **alone[2])
    plain(h, 99)
    h.rows["samples"] = [row for row in h.rows["samples"] if row["at_micros"] < h.at(19.0)]
    target = h.on_broker(2)
    h.fault("kill", target, injected=19.5, proved=23.0, heal_began=58.0, healed=59.5)
    h.registered(2, at=22.5, is_fenced=True)
    h.led(1, 0, at=22.5, isr=(1,))
    h.led(-1, 1, at=22.5, partition=offline, **offsets, **alone[2])
    h.registered(2, at=60.0, is_fenced=False, broker_epoch=2)
    h.led(2, 2, at=60.0, partition=offline, **offsets, **alone[2])
    h.led(1, 0, at=63.0, isr=(1, 2))
    watched(h, 1, 100, times=(25.0, 45.0, 61.0), isr=(1,))
    watched(h, 1, 100, times=(65.0, 85.0))
    first_start(h, 0, at=4.8)
    reads_to(h, 99)
    h.commit(100, 0, at=61.0, brokers=(own,), generation=1)
    h.rows["commits"][-1]["began_micros"] = h.at(20.0)
    left(h, 100, at=80.0, caught_up=True)
