"""Commits that were acknowledged: whether the coordinator stored them when it said so."""

from tests.exam.history import NONE, PERMITTED, UNDECIDED, VIOLATION, History, asks, asks_each
from tests.exam.transaction_verbs import stored_in_transaction
from tests.exam.verbs import joined, left, plain, reads_to, watched

STORED = (
    "GroupCoordinatorService.commitOffsets: the future completes once the records of this commit"
    " are written to the replicas in sync"
)
COMPACTED = "Cleaner.shouldRetainRecord: compaction keeps the last record of a key"
OFFSETS = "__consumer_offsets"
OLDER = "the commit was acknowledged but is not stored; an older one is"
NEITHER = "the commit was acknowledged, but neither it nor a later one is"
OUT_OF_SYNC = "the commit was acknowledged, but only an out-of-sync replica stores it"
IN_SYNC = "GroupCoordinator.commitOffsets: acknowledged once every in-sync replica has the record"
COMPACTION = "Cleaner.shouldRetainRecord: compaction keeps a key's last record; " + IN_SYNC


@asks(
    "A commit of 100 is acknowledged and not stored; the group starts at 50 and commits 100 later.",
    source=STORED,
    expects={
        "lost_commit": f"{VIOLATION}: lost: {OLDER}",
        "commit_mismatch": NONE,
        "start_mismatch": NONE,
    },
)
def same_offset_is_committed_again_later(h: History) -> None:
    _lost_at_12(h)
    _reads_on(h)


@asks(
    "A commit of 100 is not stored; an older one of 100 is, from before the group was set back.",
    source=STORED,
    expects={"lost_commit": f"{VIOLATION}: lost: {NEITHER}", "commit_mismatch": NONE},
)
def same_offset_was_committed_before(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 149)
    reads_to(h, 99)
    h.commit(100, 0, at=8.0, brokers=(1, 2), generation=1)
    h.commit(100, 0, at=20.0, stored=False, generation=1)
    left(h, 100, at=30.0)


@asks(
    "A commit of 100 is acknowledged twice and stored each time.",
    source=STORED,
    expects={"lost_commit": NONE, "commit_mismatch": NONE},
)
def same_offset_is_stored_each_time(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 149)
    reads_to(h, 99)
    for at in (8.0, 20.0):
        h.commit(100, 0, at=at, brokers=(1, 2), generation=1)
    left(h, 100, at=30.0)


@asks(
    "Compaction has left the last of three commits of 100.",
    source=COMPACTED,
    expects={"lost_commit": UNDECIDED},
)
def same_offset_is_compacted_away(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 149)
    reads_to(h, 99)
    for at in (8.0, 12.0):
        h.commit(100, 0, at=at, stored=False, generation=1)
    h.commit(100, 0, at=40.0, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0)


@asks(
    "An unclean election of the offsets partition loses a commit of 100; it is committed again.",
    source="unclean.leader.election.enable on __consumer_offsets; " + STORED,
    expects={"lost_commit": PERMITTED, "commit_mismatch": NONE, "start_mismatch": NONE},
)
def same_offset_after_an_unclean_election(h: History) -> None:
    _elected(h, at=20.0)
    _lost_at_12(h, brokers=(1,))
    _reads_on(h)


@asks(
    "The unclean election came before the commit of 100, which only the old leader stores.",
    source=STORED,
    expects={"lost_commit": f"{VIOLATION}: lost: {OUT_OF_SYNC}"},
)
def same_offset_after_an_earlier_election(h: History) -> None:
    _elected(h, at=10.0)
    _lost_at_12(h, brokers=(1,))
    _reads_on(h)


@asks(
    "A replica out of sync has a commit of 100 that was never acknowledged; a later one is lost.",
    source=STORED,
    expects={"lost_commit": VIOLATION},
)
def same_offset_on_an_old_replica(h: History) -> None:
    number = h.index
    h.led(1, 0, at=0.5, isr=(1, 2), topic=OFFSETS, partition=number)
    h.led(2, 1, at=1.0, isr=(2,), topic=OFFSETS, partition=number)
    h.stored(100, 0, at=1.5, brokers=(1,))
    _lost_at_12(h)
    _reads_on(h)


@asks(
    "A commit goes back from 100 to 50; one of 50 whose outcome is unknown had begun before.",
    source="contract/outcomes.py: unknown, the response leaves both possible; a commit may be "
    "stored after its client gave up",
    expects={"commit_regressed": UNDECIDED},
)
def unknown_commit_before_one_that_goes_back(h: History) -> None:
    _unknown(h, at=10.0)


@asks(
    "A commit goes back from 100 to 50; one of 50 whose outcome is unknown begins 20 s later.",
    source="OffsetMetadataManager stores a commit when it is asked for, never before",
    expects={"commit_regressed": VIOLATION},
)
def unknown_commit_after_one_that_goes_back(h: History) -> None:
    _unknown(h, at=40.0)


def _unknown(h: History, *, at: float) -> None:
    h.topic()
    h.group()
    plain(h, 149)
    reads_to(h, 99)
    h.commit(100, 0, at=8.0, brokers=(1, 2), generation=1)
    h.commit(50, 0, at=at, stored=False, outcome="unknown", error="TimeoutException", generation=1)
    h.stored(50, 0, at=20.0, brokers=(1, 2))
    left(h, 100, at=50.0)


@asks(
    "Between two polls a member returns to 50, its group's last commit.",
    source="ConsumerCoordinator.initWithCommittedOffsetsIfNeeded: a reassignment resumes there",
    expects={"nonmonotonic_poll": PERMITTED},
)
def goes_back_to_the_last_commit(h: History) -> None:
    _goes_back(h, 50)


@asks(
    "Between two polls a member returns to 30, which its group had committed before 50.",
    source="ConsumerCoordinator.initWithCommittedOffsetsIfNeeded: what is fetched is the last one",
    expects={"nonmonotonic_poll": VIOLATION},
)
def goes_back_to_an_earlier_commit(h: History) -> None:
    _goes_back(h, 30)


def _goes_back(h: History, to: int) -> None:
    """30 and 50 are committed; in one session 0 to 99 are delivered, then `to` to 99 again."""
    h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, 49)
    h.commit(30, 0, at=7.0, brokers=(1, 2), generation=1)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(50, 99, at=9.0)
    h.polled(to, 99, at=20.0)
    left(h, 100, at=80.0, caught_up=True)


def _lost_at_12(h: History, brokers: tuple[int, ...] | None = None) -> None:
    """A commit of 50 is stored; that of 100 at 12 s is acknowledged, and only `brokers` have it."""
    h.topic()
    h.group()
    plain(h, 149)
    reads_to(h, 49)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(50, 99, at=9.0)
    h.commit(100, 0, at=12.0, stored=brokers is not None, brokers=brokers, generation=1)
    left(h, 100, at=15.0)


def _reads_on(h: History) -> None:
    """Another member resumes at 50 and commits 100 at 40 s."""
    joined(h, 50, at=30.0, member="2", generation=3)
    h.polled(50, 99, at=31.0, member="2")
    h.commit(100, 0, at=40.0, member="2", brokers=(2,), generation=3)
    left(h, 100, at=80.0, member="2", generation=3)


def _elected(h: History, *, at: float) -> None:
    """Broker 2 leads the offsets partition from then on, and was not in sync."""
    number = h.index
    h.led(1, 0, at=0.5, isr=(1, 2), topic=OFFSETS, partition=number)
    h.led(1, 0, at=7.0, isr=(1,), topic=OFFSETS, partition=number)
    h.led(2, 1, at=at, isr=(2,), topic=OFFSETS, partition=number)


@asks_each(
    "Between two polls a member returns to 30; offset 30 was stored by a transaction, which",
    source="KIP-98: offsets of a transaction count once it is committed; KafkaConsumer Javadoc: a "
    "member goes back to the committed position",
    check="nonmonotonic_poll",
    cases={
        "was committed.": (PERMITTED, {"marker": "commit"}),
        "was aborted.": (VIOLATION, {"marker": "abort"}),
        "nobody ended.": (VIOLATION, {"marker": None}),
    },
)
def goes_back_to_the_offset_of_a_transaction(h: History, *, marker: str | None) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5)
    h.polled(0, 49, at=6)
    stored_in_transaction(h, 30, 0, at=8, marker=marker)
    h.polled(30, 59, at=20)


@asks(
    "A member returns to 20 between two polls; its group commits 20 only 50 s later.",
    source="ConsumerCoordinator.initWithCommittedOffsetsIfNeeded: what is fetched was committed",
    expects={"nonmonotonic_poll": VIOLATION},
)
def goes_back_to_a_later_commit(h: History) -> None:
    _goes_back(h, 20)
    h.commit(20, 0, at=70.0, brokers=(1, 2), generation=1)


@asks(
    "The commit of 60 is not stored; that of 90 is, and so is the older one of 30.",
    source=COMPACTION + ", so it would have removed 30 as well",
    expects={"commit_mismatch": NONE, "lost_commit": VIOLATION, "commit_regressed": NONE},
)
def commit_between_two_stored_ones_is_gone(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0)
    for offset, at in ((30, 6.0), (60, 16.0), (90, 26.0)):
        h.polled(offset - 30, offset - 1, at=at)
        h.commit(offset, 0, at=at + 2, stored=offset != 60, brokers=(1, 2), generation=1)
    left(h, 90, at=80.0)


@asks(
    "After a commit of 80 the log of offsets is led by a broker that lacks it; the group is at 50.",
    source=IN_SYNC + "; unclean.leader.election.enable",
    expects={
        "lost_commit": PERMITTED,
        "start_mismatch": NONE,
        "commit_mismatch": NONE,
        "duplicate_delivery": PERMITTED,
    },
)
def log_of_offsets_loses_a_commit_uncleanly(h: History) -> None:
    _loses_a_commit(h, shrunk=12.0, elected=30.0)


@asks(
    "The unclean election of the log of offsets came 5 s before the commit that is gone.",
    source=IN_SYNC + ": an election can only lose what was there before it",
    expects={"lost_commit": VIOLATION},
)
def log_of_offsets_was_elected_before_the_commit(h: History) -> None:
    _loses_a_commit(h, shrunk=10.0, elected=15.0)


def _loses_a_commit(h: History, *, shrunk: float, elected: float) -> None:
    """The group commits 50 at 8 s and 80 at 20 s; the second one is nowhere at the end.

    Broker 2 leaves the in-sync replicas of the group's partition of offsets at `shrunk`, and is
    elected there at `elected`, while broker 1 is down.
    """
    h.topic(replication=1)
    h.group()
    h.registered(1, at=0.2, is_fenced=False)
    h.registered(2, at=0.2, is_fenced=False)
    h.registered(3, at=0.2, is_fenced=False)
    h.led(3, 0, at=0.5, isr=(3,), replicas=(3,), starts=0)
    of_offsets = {"topic": OFFSETS, "partition": h.index, "topic_id": "__offsets"}
    h.led(1, 0, at=0.6, isr=(1, 2), starts=0, **of_offsets)
    h.led(1, 0, at=shrunk, isr=(1,), **of_offsets)
    name = h.on_broker(1)
    back = elected + 2.0
    h.fault(
        "kill", name, injected=elected - 2.5, proved=elected - 0.5, heal_began=back, healed=back + 1
    )
    h.registered(1, at=elected - 0.5, is_fenced=True)
    h.led(2, 1, at=elected, isr=(2,), **of_offsets)
    h.registered(1, at=back + 0.9, is_fenced=False, broker_epoch=2)
    h.led(2, 1, at=back + 1.5, isr=(1, 2), **of_offsets)
    h.sent(0, 99, at=2.0)
    watched(h, 3, 100, isr=(3,))
    h.log(3, (0, 99, 0), high_watermark=100, at=2.0)
    reads_to(h, 49)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(50, 79, at=9.0)
    h.commit(80, 0, at=20.0, stored=False, generation=1)
    left(h, 80, at=24.0)
    joined(h, 50, at=50.0, member="2", generation=3)
    h.polled(50, 99, at=52.0, member="2")
    h.commit(100, 0, at=55.0, member="2", brokers=(1, 2), generation=3)
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)
