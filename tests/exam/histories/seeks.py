"""What an application does to its own position: it seeks, or pauses a partition."""

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks, asks_each
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import Batch, replicas, started, step
from tests.exam.verbs import cluster, joined, left, plain, watched

SEEK = "`KafkaConsumer.seek`: the application sets the position that the next poll reads from"
PAUSE = "`KafkaConsumer.pause`: no records of the partition are returned until it is resumed"
PASSED = "`KafkaConsumer`: records of a partition are returned in order"
BACK = {
    "commit_regressed": PERMITTED,
    "duplicate_delivery": PERMITTED,
    "nonmonotonic_poll": NONE,
    "reset": NONE,
    "unjustified_reset": NONE,
    "truncation_detected": NONE,
}
FORWARD = {"skipped_record": PERMITTED, "poll_skip": NONE, "commit_beyond_processed": NONE}


@asks(
    "An application seeks from 100 back to 50, reads on, and commits 60 after 100.",
    source=SEEK,
    expects=BACK,
)
def application_seeks_back(h: History) -> None:
    _back(h, seek=20.0)


@asks(
    "It goes back without a seek.",
    source=PASSED,
    expects={"commit_regressed": VIOLATION, "duplicate_delivery": VIOLATION},
)
def application_is_led_back(h: History) -> None:
    _back(h, seek=None)


@asks(
    "It goes back, and seeks 10 s after its commit of 60.",
    source=SEEK + "; a seek explains what follows it",
    expects={"commit_regressed": VIOLATION},
)
def seek_back_comes_later(h: History) -> None:
    _back(h, seek=None)
    h.changed("sought", at=50.0, position=50)


@asks(
    "An application seeks from 30 forward to 70.",
    source=SEEK,
    expects=FORWARD,
)
def application_seeks_forward(h: History) -> None:
    _forward(h, to=70)


@asks(
    "The client returns 0 to 29, then 50 to 69, and the application seeks to 80.",
    source=SEEK + ", from what had been returned",
    expects={"skipped_record": VIOLATION, "poll_skip": VIOLATION},
)
def seek_excuses_no_earlier_skip(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 29, at=6.0)
    h.polled(50, 69, at=10.0)
    h.changed("sought", at=20.0, position=80)
    h.polled(80, 99, at=30.0)
    h.commit(100, 0, at=40.0, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "It seeks to 60, and the client returns records from 70 on.",
    source=SEEK,
    expects={"skipped_record": VIOLATION},
)
def seek_is_overshot(h: History) -> None:
    _forward(h, to=60)


@asks(
    "It seeks in another partition.",
    source=SEEK,
    expects={"skipped_record": VIOLATION, "poll_skip": VIOLATION},
)
def seek_is_of_another_partition(h: History) -> None:
    _forward(h, to=70, partition=1)


@asks(
    "A successor starts at 40, as its application seeks there, though 100 is committed.",
    source=SEEK,
    expects={"start_mismatch": PERMITTED, "skipped_record": NONE, "unjustified_reset": NONE},
)
def successor_seeks_at_its_start(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 99, at=6.0)
    h.commit(100, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 100, at=20.0)
    h.changed("opened", at=29.0, member="2")
    h.changed("sought", at=29.9, position=40, member="2")
    h.changed("assigned", at=30.0, position=40, member="2", generation=3)
    h.polled(40, 99, at=31.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "A member gets nothing for 45 s, while records lie above its position; it had paused.",
    source=PAUSE,
    expects={"fetch_unavailable": NONE, "stuck_consumer": NONE},
)
def member_pauses(h: History) -> None:
    _waits(h, paused=(11.0, 56.5))


@asks(
    "The same without a pause.",
    source="`replica.lag.time.max.ms`; decision 8: service is required",
    expects={"fetch_unavailable": VIOLATION},
)
def member_waits(h: History) -> None:
    _waits(h, paused=None)


@asks(
    "It had paused for the first 3 s only.",
    source=PAUSE,
    expects={"fetch_unavailable": VIOLATION},
)
def member_waits_after_a_pause(h: History) -> None:
    _waits(h, paused=(11.0, 14.0))


@asks(
    "It had paused another partition.",
    source=PAUSE,
    expects={"fetch_unavailable": VIOLATION},
)
def member_pauses_another_partition(h: History) -> None:
    _waits(h, paused=(11.0, 56.5), partition=1)


def _committed(h: History, offset: int = 50, *, client: str = "librdkafka") -> None:
    """Records 0 to 99 are there, and a group that has read them has committed an offset."""
    h.topic()
    h.group(client=client)
    plain(h, 99)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 99, at=6.0)
    h.commit(offset, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 100, at=20.0)
    h.changed("opened", at=29.0, member="2")


def _sets(h: History, position: int, start: int, *, later: float = 0.0) -> None:
    """The application assigns the partition with an offset; the first delivery is from `start`."""
    h.changed("sought", at=29.9, position=position, member="2")
    h.changed("assigned", at=30.0, position=start, member="2")
    h.polled(start, 99, at=31.0 + later, member="2")
    left(h, 100, at=80.0, member="2", caught_up=True)


ASSIGNED = SEEK + "; librdkafka rd_kafka_assign: a partition's offset is where consumption starts"


@asks_each(
    "An application assigns a partition with an offset; its group had committed 50.",
    source=ASSIGNED,
    check="start_mismatch",
    cases={
        "It asks for 10, and the client begins at 50.": (
            f"{VIOLATION}: ahead of what was set: 40 records lie between, and the group had",
            {"position": 10, "start": 50},
        ),
        "It asks for 70, and the client begins at 50.": (
            f"{VIOLATION}: behind what was set",
            {"position": 70, "start": 50},
        ),
        "It asks for 50, and the client begins there.": (NONE, {"position": 50, "start": 50}),
    },
)
def partition_is_assigned_with_an_offset(h: History, *, position: int, start: int) -> None:
    _committed(h)
    _sets(h, position, start)


@asks(
    "It begins at 60, where neither the application nor a commit had put it.",
    source=ASSIGNED,
    expects={"start_mismatch": f"{VIOLATION}: ahead of what was set: 50 records lie between"},
)
def partition_begins_elsewhere(h: History) -> None:
    _committed(h)
    _sets(h, 10, 60)


@asks(
    "An application asks for 10; the client logs that this is out of range, and begins at 50.",
    source=ASSIGNED + "; auto.offset.reset",
    expects={"start_mismatch": f"{PERMITTED}: out_of_range: its application had set 10"},
)
def position_that_was_set_is_out_of_range(h: History) -> None:
    _committed(h)
    _sets(h, 10, 50, later=1.0)
    h.reset("out_of_range", 10, 50, at=30.5, member="2")


@asks(
    "A client logs a reset after its first delivery; the application had asked for another offset.",
    source=ASSIGNED,
    expects={"start_mismatch": f"{VIOLATION}: ahead of what was set"},
)
def reset_comes_after_the_first_delivery(h: History) -> None:
    _committed(h)
    _sets(h, 10, 50)
    h.reset("out_of_range", 100, 50, at=60.0, member="2")


@asks_each(
    "An application sets 10. Before the next delivery, from 50 on,",
    source=SEEK + "; ConsumerCoordinator.initWithCommittedOffsetsIfNeeded",
    check="start_mismatch",
    cases={
        "it sets 50.": (NONE, {"change": "sought"}),
        "its group rebalances, and it goes on at the commit.": (
            NONE,
            {"change": "assigned", "generation": 4},
        ),
        "its partition is revoked.": (NONE, {"change": "revoked", "generation": 3}),
        "another of its partitions is revoked.": (
            f"{VIOLATION}: ahead of what was set",
            {"change": "revoked", "generation": 3, "partition": 1},
        ),
        "it raises.": (NONE, {"change": "failed", "generation": 3}),
        "it pauses.": (f"{VIOLATION}: ahead of what was set", {"change": "paused"}),
    },
)
def position_that_was_set_is_replaced(
    h: History, *, change: str, generation: int = -1, partition: int = 0
) -> None:
    _committed(h, client="java")
    h.changed("assigned", at=30.0, position=50, member="2", generation=3)
    h.changed("sought", at=32.0, position=10, member="2", generation=3)
    h.changed(change, at=33.0, position=50, member="2", generation=generation, partition=partition)
    h.polled(50, 99, at=35.0, member="2")
    left(h, 100, at=80.0, member="2", caught_up=True)


@asks(
    "A client without generations is assigned its partition again, and begins at the commit.",
    source="ConsumerCoordinator.initWithCommittedOffsetsIfNeeded; KIP-429: eager rebalancing",
    expects={"start_mismatch": NONE},
)
def assignment_without_a_generation_replaces_it(h: History) -> None:
    _committed(h, client="kafka-python")
    h.changed("assigned", at=30.0, position=50, member="2")
    h.changed("sought", at=32.0, position=10, member="2")
    h.changed("assigned", at=33.0, position=50, member="2")
    h.polled(50, 99, at=35.0, member="2")
    left(h, 100, at=80.0, member="2", caught_up=True)


@asks(
    "An application sets 30; what lies from there to 49 is an aborted transaction.",
    source="KIP-98: read_committed returns no records of aborted transactions; " + SEEK,
    expects={"start_mismatch": NONE},
)
def nothing_to_deliver_lies_between(h: History) -> None:
    h.topic()
    h.group(isolation="read_committed")
    h.sent(0, 29, at=2.0)
    h.sent(30, 48, at=4.0, producer="q", sequence=0, transaction=0)
    started(h, at=3.0, producer="q")
    step(h, "abort", "aborted", at=5.0, producer="q")
    h.sent(50, 99, at=6.0, sequence=30)
    cluster(h)
    watched(h, 1, 100)
    replicas(
        h,
        Batch(0, 29),
        Batch(30, 48, pid=1, base_sequence=0, producer="q", sequence=0),
        Batch(49, 49, pid=1, control="abort"),
        Batch(50, 99, sequence=30),
    )
    joined(h, 0, at=10.0, generation=1)
    h.polled(0, 29, at=11.0)
    h.changed("sought", at=20.0, position=30)
    h.polled(50, 99, at=30.0, sequence=30)
    left(h, 100, at=80.0, caught_up=True)


def _back(h: History, *, seek: float | None) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 99, at=6.0)
    h.commit(100, 0, at=10.0, brokers=(1, 2), generation=1)
    if seek is not None:
        h.changed("sought", at=seek, position=50)
    h.polled(50, 59, at=30.0)
    h.commit(60, 0, at=40.0, brokers=(1, 2), generation=1)
    h.polled(60, 99, at=70.0)
    left(h, 100, at=80.0, caught_up=True)


def _forward(h: History, *, to: int, partition: int = 0) -> None:
    h.topic(partitions=2)
    h.group()
    plain(h, 99)
    plain(h, 99, partition=1)
    joined(h, 0, at=5.0, generation=1, partitions=(0, 1))
    h.polled(0, 29, at=6.0)
    h.changed("sought", at=20.0, position=to, partition=partition)
    h.polled(70, 99, at=30.0)
    h.commit(100, 0, at=40.0, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0, caught_up=True)


def _waits(h: History, *, paused: tuple[float, float] | None, partition: int = 0) -> None:
    """Records 50 to 99 are sent at second 12; the member gets them at 57."""
    h.topic(partitions=2)
    h.group()
    plain(h, 49)
    h.sent(50, 99, at=12.0)
    copies(h, (1, 2), (50, 99, 0), at=12.0)
    h.rows["log_starts"] = h.rows["log_starts"][2:]
    h.rows["epoch_checkpoints"] = h.rows["epoch_checkpoints"][:2]
    for row in h.rows["samples"]:
        if row["at_micros"] > h.at(13.0):
            row["log_end_offset"] = 100
    watched(h, 1, 100, times=(13.0,))
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 49, at=10.0)
    if paused:
        h.changed("paused", at=paused[0], position=50, partition=partition)
        h.changed("resumed", at=paused[1], position=50, partition=partition)
    h.polled(50, 99, at=57.0)
    left(h, 100, at=80.0, caught_up=True)
