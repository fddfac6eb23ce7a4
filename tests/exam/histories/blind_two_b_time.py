"""What time decides: how long a stall is excused, clocks that are apart, order, and gaps."""

from tests.exam.history import (
    NONE,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
)
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import Batch, replicas, started, step
from tests.exam.verbs import cluster, cut, first_start, joined, left, plain, reads_to, watched

INSYNC = (
    "`min.insync.replicas`: with acks=all a leader refuses while the ISR is smaller, and with "
    "acks=1 it does not"
)
SERVES = "docs/findings.md, H1: more than 30 s in which the partition could serve"
COORDINATOR = (
    "docs/findings.md, H3; `GroupMetadataManager.partitionFor`: one partition of "
    "__consumer_offsets has all commits of a group"
)
STABLE = "KIP-98: read_committed returns no records of an open transaction"
CLOCKS = "docs/findings.md, C3 and M3: times of different nodes are compared within the clock bound"
ORDER = "`max.in.flight.requests.per.connection`: with 1, a retry is not overtaken"


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


@asks(
    "Another worker is given values 200 ms before their commit began; the clocks are 300 ms apart.",
    source=CLOCKS,
    expects={"precommitted_read": UNDECIDED, "clock_skew": PERMITTED},
    alone=True,
)
def read_within_what_the_clocks_are_apart(h: History) -> None:
    _read_early(h, read=29.8, worker="w2")


@asks(
    "With the same clocks it is given them 3 s before.",
    source=STABLE + "; " + CLOCKS,
    expects={"precommitted_read": VIOLATION, "clock_skew": PERMITTED},
    alone=True,
)
def read_beyond_what_the_clocks_are_apart(h: History) -> None:
    _read_early(h, read=27.0, worker="w2")


@asks(
    "The worker that commits is itself given them 200 ms before; another node's clock is apart.",
    source=STABLE + "; one node has one clock, whatever others have",
    expects={"precommitted_read": VIOLATION, "clock_skew": PERMITTED},
    alone=True,
)
def read_by_the_clock_of_the_commit_itself(h: History) -> None:
    _read_early(h, read=29.8, worker="w")


@asks(
    "A worker is killed; the stored commit that it did not report came before one that it did.",
    source="docs/findings.md, M4: only the last commit of a killed worker may lack its report",
    expects={"history_complete": UNDECIDED},
    alone=True,
)
def killed_worker_left_out_an_earlier_commit(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    first_start(h, 0, at=4.8)
    reads_to(h, 49)
    h.stored(50, 0, at=8.0, brokers=(1, 2))
    h.polled(50, 99, at=10.0)
    h.commit(100, 0, at=20.0, brokers=(1, 2), generation=1)
    h.fault("kill", h.on_client("w"), injected=30.0, proved=30.1)
    h.worker(ended_by_itself=False)


@asks(
    "A producer with one request in flight has two values in reverse, 16 s after an unclean "
    "election that lost others.",
    source=ORDER,
    expects={
        "nonmonotonic_send": VIOLATION,
        "lost_record": PERMITTED,
        "duplicate_append": NONE,
    },
)
def order_is_broken_after_an_unclean_election(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    h.sent(151, at=40.0, sequence=200)
    h.sent(150, at=40.2, sequence=201)
    for row in h.rows["sends"]:
        row.update(is_idempotent=False, in_flight_max=1)
    for table in ("replica_records", "replica_batches", "log_starts", "epoch_checkpoints"):
        h.rows[table].clear()
    spans = ((0, 49, 0), (50, 149, 1), (150, 150, 1), (151, 151, 1))
    copies(h, (1, 2), *spans, sequences={50: 100, 150: 201, 151: 200}, high_watermark=152)
    for row in h.rows["samples"]:
        if row["at_micros"] > h.at(41.0):
            row["log_end_offset"] = 152


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


def _read_early(h: History, *, read: float, worker: str) -> None:
    """A transaction's commit begins at second 30; a group is given its values at `read`."""
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    marker = Batch(5, 5, pid=1, control="commit", at=30.02)
    replicas(h, Batch(0, 4, pid=1, base_sequence=0, at=8.0), marker)
    watched(h, 1, 0, times=(1.0,))
    watched(h, 1, 5, times=(15.0, 25.0))
    watched(h, 1, 6, times=(35.0, 55.0, 75.0, 85.0))
    first_start(h, 0, at=9.8)
    joined(h, 0, at=10.0)
    h.polled(0, 4, at=read)
    step(h, "commit", "committed", at=30.05)
    left(h, 6, at=80.0, caught_up=True)
    for table in ("resets", "group_events", "polls"):
        for row in h.rows[table]:
            row["worker"] = h.own(worker)
    for name, ahead in (("w", 2_000), ("w2", 300_000)):
        h.worker(name)
        h.clock(name, ahead_micros=ahead, behind_micros=ahead - 4_000, at=0.4)
