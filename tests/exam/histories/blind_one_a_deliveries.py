"""Losses and deliveries: elections in a row, deletions, and what a member may get twice or never.

Each fault stands next to behaviour that looks like it and that Kafka allows.
"""

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.exam.transaction_verbs import Batch, first_transaction, step, written
from tests.exam.verbs import begun, cut, joined, left, plain, reads_to, watched

REPLICATION = (
    "Kafka's documentation, Replication: a committed record survives as long as one in-sync "
    "replica does, unless an unclean election is allowed"
)
TRUNCATION = "KIP-101: a follower is cut to where the new leader's log parts from its own"
UNCLEAN = "unclean.leader.election.enable: such a leader may lack committed records"
POSITION = "KafkaConsumer Javadoc, Offsets and Consumer Position"
SEMANTICS = "Kafka's documentation, Message Delivery Semantics: delivery is at least once"
BELOW_START = "ReplicaManager.fetch: below the log start it answers OFFSET_OUT_OF_RANGE"
ISOLATION = "isolation.level: read_committed leaves aborted records out, read_uncommitted does not"
IN_FLIGHT = "max.in.flight.requests.per.connection: above 1, retries may reorder; else not"


@asks(
    "An unclean election takes 50 to 99; later a clean one takes 80 to 99 of the next epoch, too.",
    source=REPLICATION,
    expects={
        "lost_record": f"{VIOLATION}: truncated: (assumed: the epoch at that time): truncated",
        "leader_completeness": VIOLATION,
    },
)
def clean_election_loses_more_after_an_unclean_one(h: History) -> None:
    two_elections(h, kept=80)


@asks(
    "An unclean election takes 50 to 99; the clean one after it has all of the next epoch.",
    source=UNCLEAN + "; " + TRUNCATION,
    expects={
        "lost_record": PERMITTED,
        "leader_completeness": PERMITTED,
        "over_truncation": NONE,
        "resurrected_record": NONE,
    },
)
def clean_election_keeps_what_an_unclean_one_left(h: History) -> None:
    two_elections(h, kept=100)


@asks(
    "A broker that never rejoined is elected uncleanly: its old records are back, the others gone.",
    source="KIP-320: several unclean elections in a row; " + UNCLEAN,
    expects={
        "resurrected_record": PERMITTED,
        "lost_record": PERMITTED,
        "record_epoch_regressed": PERMITTED,
        "inconsistent_offset": PERMITTED,
        "committed_epoch_regressed": PERMITTED,
    },
)
def branch_of_a_broker_that_never_rejoined_is_back(h: History) -> None:
    old_leader_returns(h, rejoined=False)


@asks(
    "A broker that never rejoined is elected uncleanly: its records of acks=1, which no other "
    "broker had, are delivered only then.",
    source=UNCLEAN + "; acks=1 promises nothing of the followers",
    expects={"leader_completeness": PERMITTED, "lost_record": PERMITTED},
)
def branch_that_was_not_committed_is_back(h: History) -> None:
    old_leader_returns(h, rejoined=False, committed=False)


@asks(
    "A broker joins the in-sync replicas with the tail that it should have cut, and is elected.",
    source=TRUNCATION + "; " + REPLICATION,
    expects={
        "resurrected_record": VIOLATION,
        "lost_record": VIOLATION,
        "record_epoch_regressed": VIOLATION,
        "committed_epoch_regressed": f"{VIOLATION}: regressed: epoch 0 was committed after epoch "
        "1, although the offset did not go back",
    },
)
def branch_is_back_by_a_clean_election(h: History) -> None:
    old_leader_returns(h, rejoined=True)


@asks(
    "Records acknowledged with acks=1 were delivered below the high watermark; a clean election "
    "takes them.",
    source=REPLICATION + "; acks=1 promises nothing of the followers",
    expects={
        "leader_completeness": VIOLATION,
        "orphan_commit": VIOLATION,
        "lost_record": PERMITTED,
    },
)
def delivered_records_of_weak_acks_are_taken_cleanly(h: History) -> None:
    h.topic()
    h.group()
    cut(h, unclean=False)
    _weaken(h)
    joined(h, 0, at=5.0)
    h.polled(0, 99, at=13.0)
    h.commit(100, 0, at=15.0, brokers=(1, 2), generation=1)
    left(h, 100, at=19.0)


@asks(
    "Records acknowledged with acks=1 never came below the high watermark; a clean election "
    "takes them.",
    source="acks=1: the leader acknowledges alone, and may fail before followers have the record",
    expects={
        "lost_record": PERMITTED,
        "leader_completeness": NONE,
        "over_truncation": NONE,
        "orphan_commit": NONE,
        "truncation_undetected": NONE,
    },
)
def weak_acks_above_the_high_watermark_are_taken_cleanly(h: History) -> None:
    h.topic()
    h.group()
    cut(h, unclean=False)
    _weaken(h)
    for row in h.rows["samples"]:
        if row["leader_epoch"] == 0:
            row["log_end_offset"] = min(50, row["log_end_offset"])
    reads_to(h, 49)
    h.commit(50, 0, at=15.0, brokers=(1, 2), generation=1)
    h.polled(50, 149, at=32.0, epoch=1, sequence=100)
    h.commit(150, 1, at=34.0, brokers=(1, 2), generation=1)
    left(h, 150, at=80.0, caught_up=True)


@asks(
    "One of two groups had them; a topic without a retention loses them, and nobody asked for it.",
    source="retention.ms=-1: records stay; KIP-107: only an order deletes them",
    expects={
        "lost_record": VIOLATION,
        "retention_overreach": f"{VIOLATION}: nothing allows deletion",
        "commit_expired": VIOLATION,
    },
)
def deletion_by_nobody_before_the_second_group(h: History) -> None:
    h.topic()
    h.group()
    h.group("other")
    plain(h, 99)
    reads_to(h, 99)
    h.commit(100, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0, caught_up=True)
    deleted_to(h, 60, at=30.0, ordered=False)
    joined(h, 0, at=5.5, group="other")
    h.polled(0, 19, at=6.5, group="other")
    h.commit(20, 0, at=8.5, brokers=(1, 2), group="other", generation=1)
    left(h, 20, at=10.0, group="other")
    joined(h, 20, at=50.0, member="2", group="other", generation=3)
    h.reset("out_of_range", 20, 60, at=50.5, epoch=0, group="other")
    h.polled(60, 99, at=52.0, member="2", group="other")
    left(h, 100, at=81.0, member="2", group="other", generation=3, caught_up=True)


@asks(
    "The leader's log start is 50 when it fails; its successor's is 30, and serves 30 to 49.",
    source="UnifiedLog: each replica deletes its own segments, so a log start is a replica's; "
    + BELOW_START,
    expects={"expired_read": NONE, "retention_overreach": PERMITTED, "start_mismatch": NONE},
)
def successor_serves_what_the_former_leader_deleted(h: History) -> None:
    h.topic(retention_ms=10_000)
    h.group()
    begun(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 15.0))
    reads_to(h, 29)
    h.commit(30, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 30, at=10.0)
    for broker in (1, 2):
        h.log_started(broker, 30, at=20.0)
    watched(h, 1, 100, times=(22.0, 28.0), start=30)
    h.log_started(1, 50, at=30.0)
    h.sampled(1, at=30.4, end=100, start=50, isr=(1, 2))
    h.fault("kill", h.on_broker(1), injected=31.0, proved=34.0)
    h.registered(1, at=34.0, is_fenced=True)
    h.led(2, 1, at=35.0, isr=(2,), starts=100)
    watched(h, 2, 100, times=(38.0, 50.0, 65.0, 85.0), start=30, epoch=1, isr=(2,))
    joined(h, 30, at=45.0, member="2", generation=3)
    h.polled(30, 99, at=46.0, member="2")
    h.commit(100, 0, at=48.0, member="2", brokers=(1, 2), generation=3)
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)
    h.log(1, (50, 99, 0), start=50, high_watermark=100, at=2.0)
    spans = ((30, 49, 0), (50, 99, 0))
    h.log(2, *spans, start=30, high_watermark=100, checkpoints={0: 30, 1: 100}, at=2.0)


@asks(
    "With one request in flight, a later value is written at the offset that a lost one had left.",
    source=UNCLEAN + ": the new leader writes at its own log end; " + IN_FLIGHT,
    expects={"nonmonotonic_send": NONE, "lost_record": PERMITTED},
)
def later_value_takes_an_offset_that_a_loss_had_freed(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    for row in h.rows["sends"]:
        row.update(is_idempotent=False, in_flight_max=1)


@asks(
    "Between two polls a member goes back to the last commit of its group.",
    source=SEMANTICS + "; ConsumerCoordinator: after a rebalance a member starts at the commit",
    expects={"nonmonotonic_poll": PERMITTED, "duplicate_delivery": PERMITTED, "poll_skip": NONE},
)
def member_goes_back_to_the_commit_of_its_group(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=-1)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=8.0, brokers=(1, 2))
    h.polled(50, 79, at=10.0)
    h.polled(50, 99, at=14.0)
    h.commit(100, 0, at=16.0, brokers=(1, 2))
    left(h, 100, at=80.0, generation=-1, caught_up=True)


@asks(
    "A member goes back to an offset that only another group had committed.",
    source=POSITION + ": the position moves past each record that poll returns",
    expects={"nonmonotonic_poll": VIOLATION, "duplicate_delivery": VIOLATION},
)
def member_goes_back_to_the_commit_of_another_group(h: History) -> None:
    h.topic()
    h.group()
    h.group("other")
    plain(h, 99)
    joined(h, 0, at=4.0, group="other")
    h.polled(0, 49, at=5.0, group="other")
    h.commit(50, 0, at=7.0, group="other", brokers=(1, 2), generation=1)
    h.polled(50, 99, at=9.0, group="other")
    left(h, 100, at=81.0, group="other", caught_up=True)
    reads_to(h, 19)
    h.commit(20, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(20, 79, at=10.0)
    h.polled(50, 99, at=14.0)
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "Two groups read an aborted transaction: one of committed values, one of all.",
    source=ISOLATION,
    expects={
        "divergent_readers": NONE,
        "aborted_read": NONE,
        "poll_skip": NONE,
        "skipped_record": NONE,
        "lost_record": NONE,
    },
)
def readers_of_two_isolations_differ_by_an_abort(h: History) -> None:
    _two_readers(h, second="abort", others="read_uncommitted")


@asks(
    "Two groups read a committed transaction by committed values, and one goes past it.",
    source="KafkaConsumer: records of a partition are returned in order; KIP-98",
    expects={"divergent_readers": VIOLATION, "poll_skip": VIOLATION},
)
def readers_of_one_isolation_differ_by_a_commit(h: History) -> None:
    _two_readers(h, second="commit", others="read_committed")


def two_elections(h: History, *, kept: int, alone: int | None = None) -> None:
    """Broker 2 is elected uncleanly at 22 s (epoch 1, from 50), broker 1 at 62 s (epoch 2).

    Epoch 0 has 0 to 99, epoch 1 has 50 to 99. Broker 1 rejoins at 36 s. With `alone` it leaves the
    in-sync replicas again at 42 s, and broker 2 goes on below that offset; so the second election
    is unclean as well. Epoch 2 starts at `kept`, and has 40 records.
    """
    h.topic(unclean_election=True)
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0,))
    h.led(1, 0, at=8.0, isr=(1,))
    h.sent(50, 99, at=10.0)
    watched(h, 1, 100, times=(11.0, 16.0), isr=(1,))
    h.fault("kill", h.on_broker(1), injected=18.0, proved=21.0, heal_began=29.0, healed=30.0)
    h.registered(1, at=21.0, is_fenced=True)
    h.led(2, 1, at=22.0, isr=(2,), starts=50)
    h.sampled(2, at=23.0, end=50, epoch=1, isr=(2,))
    h.sent(50, 99, at=26.0, sequence=100)
    watched(h, 2, 100, times=(28.0, 34.0), epoch=1, isr=(2,))
    h.registered(1, at=31.0, is_fenced=False, broker_epoch=2)
    h.truncated(1, 50, at=33.0)
    h.led(2, 1, at=36.0, isr=(1, 2))
    watched(h, 2, 100, times=(38.0, 41.0), epoch=1)
    if alone is not None:
        h.led(2, 1, at=42.0, isr=(2,))
        h.sent(100, alone - 1, at=45.0, sequence=150)
        watched(h, 2, alone, times=(46.0, 55.0), epoch=1, isr=(2,))
    h.fault("kill", h.on_broker(2), injected=58.0, proved=61.0, heal_began=69.0, healed=70.0)
    h.registered(2, at=61.0, is_fenced=True)
    h.led(1, 2, at=62.0, isr=(1,), starts=kept)
    h.sampled(1, at=63.0, end=kept, epoch=2, isr=(1,))
    h.sent(kept, kept + 39, at=66.0, sequence=200)
    watched(h, 1, kept + 40, times=(67.0, 70.0), epoch=2, isr=(1,))
    h.registered(2, at=71.0, is_fenced=False, broker_epoch=2)
    if kept < (alone or 100):
        h.truncated(2, kept, at=73.0)
    h.led(1, 2, at=75.0, isr=(1, 2))
    watched(h, 1, kept + 40, times=(78.0, 85.0), epoch=2)
    for broker in (1, 2):
        spans = ((0, 49, 0), (50, kept - 1, 1), (kept, kept + 39, 2))
        h.log(broker, *spans, sequences={50: 100, kept: 200}, high_watermark=kept + 40, at=2.0)


def old_leader_returns(h: History, *, rejoined: bool, committed: bool = True) -> None:
    """Epoch 0 of broker 1 has 0 to 99, epoch 1 of broker 2 50 to 79; then broker 1 leads again.

    Its log has epoch 0 as before, and its own epoch starts at 100. With `rejoined` it was in the
    in-sync replicas by then, though it had not cut its tail; else it is elected uncleanly. A group
    reads all of this, notices the first truncation, and reads 80 to 99 of epoch 0 at the end. If
    not `committed`, 50 to 99 of epoch 0 had acks=1, and the election of broker 2 is clean.
    """
    h.topic(unclean_election=True)
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0,))
    if committed:
        h.led(1, 0, at=8.0, isr=(1,))
        h.sent(50, 99, at=10.0)
        watched(h, 1, 100, times=(11.0, 16.0), isr=(1,))
    else:
        h.sent(50, 99, at=10.0, acks="1")
        watched(h, 1, 50, times=(11.0, 16.0))
    back = 30.0 if rejoined else 44.5
    h.fault("kill", h.on_broker(1), injected=18.0, proved=21.0, heal_began=back - 1, healed=back)
    h.registered(1, at=21.0, is_fenced=True)
    h.led(2, 1, at=22.0, isr=(2,), starts=50)
    h.sampled(2, at=23.0, end=50, epoch=1, isr=(2,))
    h.sent(50, 79, at=26.0, sequence=100)
    watched(h, 2, 80, times=(28.0, 34.0), epoch=1, isr=(2,))
    if rejoined:
        h.registered(1, at=31.0, is_fenced=False, broker_epoch=2)
        h.led(2, 1, at=36.0, isr=(1, 2))
        h.sampled(2, at=38.0, end=80, epoch=1, isr=(1, 2))
    h.fault("kill", h.on_broker(2), injected=40.0, proved=43.0, heal_began=59.0, healed=60.0)
    h.registered(2, at=43.0, is_fenced=True)
    epoch = 2 if rejoined else 3
    if not rejoined:
        h.led(-1, 2, at=43.0, isr=(2,))
        h.registered(1, at=46.0, is_fenced=False, broker_epoch=2)
    h.led(1, epoch, at=47.0, isr=(1,), starts=100)
    h.sampled(1, at=49.0, end=100, epoch=epoch, isr=(1,))
    h.sent(100, 119, at=52.0, sequence=130)
    watched(h, 1, 120, times=(54.0, 60.0), epoch=epoch, isr=(1,))
    h.registered(2, at=61.0, is_fenced=False, broker_epoch=2)
    h.truncated(2, 50, at=62.0)
    h.led(1, epoch, at=66.0, isr=(1, 2))
    watched(h, 1, 120, times=(70.0, 85.0), epoch=epoch)
    for broker in (1, 2):
        spans = ((0, 99, 0), (100, 119, epoch))
        h.log(broker, *spans, sequences={100: 130}, high_watermark=120, at=2.0)
    _reads_both_branches(h, epoch, committed=committed)


def _reads_both_branches(h: History, epoch: int, *, committed: bool) -> None:
    """What the group of `old_leader_returns` is delivered and commits."""
    reads_to(h, 49)
    if committed:
        h.polled(50, 99, at=12.0)
        h.commit(100, 0, at=14.0, brokers=(1, 2), generation=1)
        h.reset("truncation", 100, 50, at=24.0, epoch=0, member="1")
    h.polled(50, 79, at=27.0, epoch=1, sequence=100)
    h.commit(80, 1, at=29.0, brokers=(1, 2), generation=1)
    h.polled(80, 99, at=50.0)
    h.commit(100, 0, at=51.0, brokers=(1, 2), generation=1)
    h.polled(100, 119, at=53.0, epoch=epoch, sequence=130)
    h.commit(120, epoch, at=56.0, brokers=(1, 2), generation=1)
    left(h, 120, at=80.0, caught_up=True)


def deleted_to(h: History, start: int, *, at: float, ordered: bool = True) -> None:
    """The log start of a plain history moves to `start`; ordered: by DeleteRecords."""
    if ordered:
        target = h.on_partition("t", 0)
        h.fault("delete records", target, injected=at - 0.2, proved=at + 0.3)
    reasons = ("client delete records request", "leader offset increment")
    for broker, reason in zip((1, 2), reasons, strict=True):
        h.log_started(broker, start, at=at, reason=reason if ordered else "segment deletion")
    for row in h.rows["log_starts"]:
        row["log_start_offset"] = start
    for row in h.rows["epoch_checkpoints"]:
        row["start_offset"] = start
    for row in h.rows["samples"]:
        if row["at_micros"] > h.at(at):
            row["log_start_offset"] = start
    h.sampled(1, at=at + 1, end=100, start=start, isr=(1, 2))
    h.rows["samples"].sort(key=lambda row: row["at_micros"])


def _weaken(h: History) -> None:
    """What `cut` takes was acknowledged with acks=1."""
    for row in h.rows["sends"]:
        if h.at(11) < row["answered_micros"] < h.at(13):
            row["acks"] = "1"


def _two_readers(h: History, *, second: str, others: str) -> None:
    """Transaction 1 ends by `second`; group `other` reads it, and the first group does not."""
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, control="commit"),
        Batch(6, 10, pid=1, base_sequence=5, sequence=5),
        Batch(11, 11, pid=1, control=second),
        Batch(12, 14, producer="q", sequence=0),
    )
    h.group("other", isolation=others)
    first_transaction(h)
    step(h, "begin", "begun", at=11.0, transaction=1)
    h.sent(6, 10, at=12.0, sequence=5, transaction=1)
    ends = "committed" if second == "commit" else "aborted"
    step(h, second, ends, at=13.0, transaction=1)
    h.sent(12, 14, at=14.0, producer="q", sequence=0)
    for number, group in enumerate(("g", "other")):
        joined(h, 0, at=20.0 + number, group=group)
        h.polled(0, 4, at=22.0 + number, group=group)
        if group == "other":
            h.polled(6, 10, at=24.0, sequence=5, group=group)
        h.polled(12, 14, at=25.0 + number, producer="q", sequence=0, group=group)
        h.commit(15, 0, at=28.0 + number, group=group, brokers=(1, 2), generation=1)
        left(h, 15, at=80.0 + number, group=group, caught_up=True)
