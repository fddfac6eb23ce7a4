"""Requests to single brokers about epochs and commits, and members of groups of all kinds.

Epochs without records, races with an election, pending offsets, static members, members of the
consumer protocol, administrators, and librdkafka.
"""

from typing import Any

from tests.exam.commit_verbs import (
    COMMIT,
    PRODUCER_EPOCH,
    TXN,
    asked,
    committed,
    fetched,
    member_stored,
    stored,
    with_topic,
)
from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    PERMITTED,
    VIOLATION,
    History,
    asks,
)
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import producer_id
from tests.exam.verbs import begun, joined, left, moved, plain, reads_to, watched

FETCH, EPOCH_END = "FETCH", "OFFSET_FOR_LEADER_EPOCH"
FENCED, UNKNOWN = 74, 75
END_OFFSET = "KIP-279 and LeaderEpochFileCache.endOffsetFor"
DIVERGENCE = "KIP-595, Fetch; Partition.readRecords"
NO_MEMBER = "ClassicGroup.validateOffsetCommit: only a transactional commit needs no member"


@asks(
    "Within 30 ms of an election one broker still takes the old epoch, one not yet the new.",
    source="KIP-320, Leader Fetch Handling: each broker learns of it at its own time;"
    " KIP-392: since version 11 a follower serves consumers",
    expects={"wrong_epoch_error": NOT_VIOLATION, "malformed_response": NONE},
)
def brokers_hear_of_an_election_in_turn(h: History) -> None:
    h.topic()
    moved(h, at=20.0)
    reported: dict[str, Any] = {"asked_offset": 0, "asked_epoch": -1}
    _fetch(h, 1, at=20.03, current_leader_epoch=0, record_bytes=5000, **reported)
    _fetch(h, 2, at=20.02, current_leader_epoch=1, error=UNKNOWN, is_retriable=True, **reported)
    _fetch(h, 2, at=26.0, current_leader_epoch=1, record_bytes=5000, **reported)
    _fetch(h, 1, at=27.0, current_leader_epoch=0, error=FENCED, is_retriable=True, **reported)
    _fetch(h, 1, at=28.0, current_leader_epoch=1, record_bytes=5000, **reported)


@asks(
    "A broker led epoch 2 and wrote nothing; the leader of epoch 3 is asked about each epoch.",
    source=END_OFFSET + "; " + DIVERGENCE + ": only records bring an epoch to other replicas",
    expects={
        "wrong_epoch_end": NONE,
        "wrong_diverging_epoch": NONE,
        "wrong_epoch_error": NONE,
        "epoch_cache_mismatch": NOT_VIOLATION,
    },
)
def epoch_without_records_is_in_no_other_cache(h: History) -> None:
    _four_epochs(h)
    for number, answer in enumerate(((0, 50), (1, 80), (1, 80), (3, 100), (-1, -1))):
        _epoch_end(h, number, *answer, at=30.0 + number)
    _diverges(h, offset=50, last_epoch=0, at=40.0)
    _diverges(h, offset=80, last_epoch=1, at=41.0)
    _diverges(h, offset=81, last_epoch=1, at=42.0, found=(1, 80))
    _diverges(h, offset=80, last_epoch=2, at=43.0, found=(1, 80))
    _diverges(h, offset=100, last_epoch=3, at=44.0, record_bytes=0)


@asks(
    "Asked about epoch 2, which it never had, the leader returns that epoch with the end of 1.",
    source=END_OFFSET + ": the largest epoch of the cache that is not above the requested one",
    expects={"wrong_epoch_end": VIOLATION, "wrong_epoch_error": NONE},
)
def leader_repeats_an_epoch_it_never_had(h: History) -> None:
    _four_epochs(h)
    _epoch_end(h, 2, 2, 80, at=32.0)


@asks(
    "A Fetch is one offset beyond the end of its last fetched epoch, and gets records.",
    source=DIVERGENCE,
    expects={"wrong_diverging_epoch": VIOLATION, "wrong_epoch_error": NONE},
)
def divergence_of_one_offset_is_missed(h: History) -> None:
    _four_epochs(h)
    _diverges(h, offset=80, last_epoch=1, at=41.0)
    _diverges(h, offset=81, last_epoch=1, at=42.0)


def _four_epochs(h: History) -> None:
    """Epochs 0, 1 and 3 start at 0, 50 and 80; broker 1 led epoch 2 for two seconds, idle."""
    h.topic()
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0,))
    h.led(2, 1, at=6.0, isr=(1, 2), starts=50)
    h.sent(50, 79, at=8.0)
    watched(h, 2, 80, times=(10.0,), epoch=1)
    h.led(1, 2, at=12.0, isr=(1, 2), starts=80)
    h.led(2, 3, at=14.0, isr=(1, 2), starts=80)
    h.sent(80, 99, at=16.0)
    watched(h, 2, 100, times=(20.0, 45.0, 65.0, 85.0), epoch=3)
    copies(h, (1, 2), (0, 49, 0), (50, 79, 1), (80, 99, 3), high_watermark=100)


def _fetch(h: History, broker: int, *, at: float, **columns: Any) -> None:
    usual = {"diverging_epoch": -1, "diverging_offset": -1, "record_bytes": 0}
    reported = {"asked_replica": -1, "throttle_ms": 0} | usual | columns
    h.called(broker, FETCH, 12, at=at, **reported)


def _diverges(
    h: History,
    *,
    offset: int,
    last_epoch: int,
    at: float,
    found: tuple[int, int] = (-1, -1),
    record_bytes: int = 2000,
) -> None:
    """A Fetch of the leader of epoch 3, and the divergence that it found; -1: none."""
    _fetch(
        h,
        2,
        at=at,
        current_leader_epoch=3,
        asked_offset=offset,
        asked_epoch=last_epoch,
        diverging_epoch=found[0],
        diverging_offset=found[1],
        record_bytes=record_bytes if found[0] < 0 else 0,
    )


def _epoch_end(h: History, about: int, epoch: int, offset: int, *, at: float) -> None:
    reported = {"asked_replica": -1, "throttle_ms": 0, "current_leader_epoch": 3}
    h.called(2, EPOCH_END, 4, at=at, asked_epoch=about, epoch=epoch, offset=offset, **reported)


@asks(
    "A plain commit of no member is accepted, though the group has a member.",
    source=NO_MEMBER,
    expects={"wrong_commit_error": VIOLATION, "wrong_stored_commit": NONE},
)
def plain_commit_of_no_member_is_let_in(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 3)
    committed(h, COMMIT, 8)


@asks(
    "An offset of a transaction is accepted without a member, though the group has one.",
    source=NO_MEMBER + "; KIP-447: older producers send no group metadata",
    expects={"wrong_commit_error": NONE, "wrong_stored_commit": NONE},
)
def transaction_sends_offsets_of_no_member(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 3)
    _granted(h, 0, at=30.0)
    committed(h, TXN, 3, producer=producer_id(h, 7))


@asks(
    "A producer's offsets are accepted before a newer epoch is granted, and refused after it.",
    source="KIP-890, verification of transactions; the epoch in force at that time decides",
    expects={"wrong_commit_error": NONE, "wrong_stored_commit": NONE},
)
def producer_epoch_was_right_at_that_time(h: History) -> None:
    with_topic(h)
    of_producer = {"producer_id": producer_id(h, 7), "producer_epoch": 2}
    _granted(h, 2, at=10.0)
    asked(h, TXN, 3, at=25.0, metadata="early", **of_producer)
    aborted = {"marker": "abort", "marker_micros": h.at(29.9)}
    stored(h, at=25.0, metadata="early", **of_producer, **aborted)
    _granted(h, 4, at=30.0)
    asked(h, TXN, 3, at=45.0, metadata="late", error=PRODUCER_EPOCH, **of_producer)
    h.rows["wire_calls"][-1]["is_retriable"] = False


def _granted(h: History, epoch: int, *, at: float) -> None:
    """The transactional producer is initialized, and gets this epoch."""
    granted = {"producer_id": producer_id(h, 7), "producer_epoch": epoch}
    h.called(1, "INIT_PRODUCER_ID", 4, at=at, throttle_ms=0, **granted)
    h.rows["wire_calls"][-1].update(topic=None, partition=None)


@asks(
    "An OffsetFetch that does not ask for stable offsets gets one of an open transaction.",
    source="KIP-98: offsets of a transaction show once it is committed; KIP-447, OffsetFetch",
    expects={"wrong_fetched_commit": VIOLATION},
)
def pending_offset_is_given_out(h: History) -> None:
    with_topic(h)
    stored(h)
    of_producer = {"producer_id": producer_id(h, 7), "producer_epoch": 0}
    aborted = {"marker": "abort", "marker_micros": h.at(60.0)}
    stored(h, at=45.0, offset=60, **of_producer, **aborted)
    fetched(h, at=52.0, offset=60, is_stable=False)
    fetched(h, at=65.0, is_stable=False)


@asks(
    "A member of the consumer protocol gives one partition to a new member, and keeps the other.",
    source="KIP-848, Reconciliation: a partition moves once its owner has revoked it",
    expects={
        "commit_from_old_generation": NONE,
        "double_ownership": NONE,
        "start_mismatch": NONE,
        "commit_regressed": NONE,
        "duplicate_delivery": NONE,
    },
)
def one_of_two_partitions_moves(h: History) -> None:
    h.topic(partitions=2)
    h.group(client="java-consumer")
    of_second: dict[str, Any] = {"partition": 1, "producer": "p1"}
    plain(h, 99)
    plain(h, 99, partition=1)
    joined(h, 0, at=5.0, partitions=(0, 1))
    h.polled(0, 49, at=6.0)
    h.polled(0, 49, at=6.1, **of_second)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.commit(50, 0, at=8.1, brokers=(1, 2), generation=1, partition=1)
    h.changed("revoked", at=21.0, position=50, generation=1, partition=1)
    joined(h, 50, at=21.6, member="2", generation=2, partitions=(1,))
    h.polled(50, 99, at=22.0)
    h.polled(50, 99, at=22.1, member="2", **of_second)
    h.commit(100, 0, at=23.0, brokers=(1, 2), generation=2)
    reported = {"member": "2", "generation": 2, "partition": 1}
    h.commit(100, 0, at=23.5, brokers=(1, 2), **reported)
    h.changed("caught_up", at=40.0, position=100, generation=2)
    h.changed("caught_up", at=40.1, position=100, **reported)


@asks(
    "An expelled member of the consumer protocol commits, and is told that it was accepted.",
    source="ConsumerGroup.validateOffsetCommit: UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH; KIP-848",
    expects={
        "commit_from_old_generation": VIOLATION,
        "commit_regressed": VIOLATION,
        "double_ownership": NOT_VIOLATION,
        "lost_commit": NONE,
    },
)
def expelled_member_commits_behind_its_successor(h: History) -> None:
    h.topic()
    h.group(client="java-consumer")
    plain(h, 99)
    reads_to(h, 49)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(50, 59, at=9.0)
    joined(h, 50, at=60.0, member="2", generation=3)
    h.polled(50, 99, at=61.0, member="2")
    h.commit(100, 0, at=65.0, member="2", brokers=(1, 2), generation=3)
    h.commit(60, 0, at=70.0, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0, member="2", generation=3)


@asks(
    "A static member is started again within its session; another one reads on meanwhile.",
    source="KIP-345: a static member that returns keeps its partitions, without a rebalance",
    expects={
        "double_ownership": NONE,
        "commit_from_old_generation": NONE,
        "start_mismatch": NONE,
        "commit_regressed": NONE,
    },
)
def static_member_returns_in_its_generation(h: History) -> None:
    h.topic(partitions=2)
    h.group(settings={"group.instance.id": "i{number}", "session.timeout.ms": 45_000})
    of_second: dict[str, Any] = {"partition": 1, "producer": "p1"}
    plain(h, 99)
    plain(h, 99, partition=1)
    joined(h, 0, at=5.0)
    joined(h, 0, at=5.0, member="2", partitions=(1,))
    h.polled(0, 59, at=6.0)
    h.polled(0, 39, at=6.1, member="2", **of_second)
    h.commit(60, 0, at=10.0, brokers=(1, 2), generation=1)
    left(h, 60, at=20.0)
    h.polled(40, 99, at=22.0, member="2", **of_second)
    reported = {"member": "2", "generation": 1, "partition": 1}
    h.commit(100, 0, at=24.0, brokers=(1, 2), **reported)
    joined(h, 60, at=30.0, member="3")
    h.polled(60, 99, at=31.0, member="3")
    h.commit(100, 0, at=33.0, member="3", brokers=(1, 2), generation=1)
    h.changed("caught_up", at=40.0, position=100, member="3", generation=1)
    h.changed("caught_up", at=40.1, position=100, **reported)


@asks(
    "librdkafka reads records of an older epoch behind those of a newer one, and commits nothing.",
    source="confluent_kafka Consumer.commit; librdkafka rd_kafka_fetch_pos_cmp, the epoch first",
    expects={
        "withheld_commit": VIOLATION,
        "record_epoch_regressed": PERMITTED,
        "lost_record": PERMITTED,
        "unclean_election_unconfigured": PERMITTED,
    },
)
def librdkafka_keeps_back_an_older_epoch(h: History) -> None:
    h.topic(unclean_election=True)
    h.group(client="librdkafka")
    _first_leader_comes_back(h)
    joined(h, 0, at=19.0)
    h.polled(0, 49, at=20.0)
    h.polled(50, 99, at=20.1, epoch=2, sequence=120)
    h.commit(100, 2, at=22.0, brokers=(1, 2), generation=1)
    h.polled(100, 119, at=44.0)
    failed = {"outcome": "nothing", "error": "_NO_OFFSET", "stored": False}
    h.commit(120, 0, at=46.0, generation=1, **failed)
    left(h, 120, at=80.0)


def _first_leader_comes_back(h: History) -> None:
    """Two unclean elections: broker 2 leads epoch 2 from 50, then broker 1 epoch 4 from 120.

    Broker 1 keeps its 120 records of epoch 0; the 50 of broker 2 are lost.
    """
    name = {one: h.on_broker(one) for one in (1, 2)}
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(3.0,))
    h.fault("stop", name[2], injected=3.5, proved=5.2, heal_began=13.0, healed=14.5)
    h.registered(2, at=5.0, is_fenced=True)
    h.led(1, 0, at=5.0, isr=(1,))
    h.sent(50, 119, at=7.0)
    watched(h, 1, 120, times=(8.0,), isr=(1,))
    h.fault("kill", name[1], injected=9.0, proved=12.2, heal_began=38.0, healed=39.5)
    h.registered(1, at=12.0, is_fenced=True)
    h.led(-1, 1, at=12.0, isr=(1,))
    h.registered(2, at=14.0, is_fenced=False, broker_epoch=2)
    h.led(2, 2, at=14.2, isr=(2,), starts=50)
    h.sent(50, 99, at=16.0, sequence=120)
    watched(h, 2, 100, times=(18.0, 30.0), epoch=2, isr=(2,))
    h.fault("kill", name[2], injected=32.0, proved=35.2, heal_began=58.0, healed=60.0)
    h.registered(2, at=35.0, is_fenced=True, broker_epoch=2)
    h.led(-1, 3, at=35.0, isr=(2,))
    h.registered(1, at=39.0, is_fenced=False, broker_epoch=2)
    h.led(1, 4, at=39.2, isr=(1,), starts=120)
    watched(h, 1, 120, times=(41.0, 55.0), epoch=4, isr=(1,))
    h.registered(2, at=59.5, is_fenced=False, broker_epoch=3)
    h.cut(2, 50, 99, 2, at=58.5, sequence=120)
    h.truncated(2, 50, at=61.0)
    h.led(1, 4, at=64.0, isr=(1, 2))
    watched(h, 1, 120, times=(66.0, 85.0), epoch=4)
    h.log(1, (0, 49, 0), (50, 119, 0), high_watermark=120, checkpoints={0: 0, 4: 120})
    h.log(2, (0, 49, 0), (50, 119, 0), high_watermark=120)
