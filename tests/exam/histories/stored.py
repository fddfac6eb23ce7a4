"""Stored commits: what a client asked for, was answered, and what `__consumer_offsets` holds."""

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
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import stored_in_transaction
from tests.exam.verbs import joined, left, plain, reads_to

ANSWERED = (
    "OffsetMetadataManager.commitOffset: a record has the offset and the epoch of its request"
)
DURABLE = "CoordinatorRuntime: a response waits until the records of its write are committed"
OFFSETS = "__consumer_offsets"


@asks(
    "A commit of 100 is acknowledged and stored nowhere, and the successor starts at 50.",
    source=DURABLE,
    expects={
        "lost_commit": VIOLATION,
        "start_mismatch": NOT_VIOLATION,
        "commit_regressed": NONE,
        "skipped_record": NONE,
    },
)
def acknowledged_commit_is_nowhere(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 149)
    _read_and_commit_50(h)
    h.polled(50, 99, at=9.0)
    h.commit(100, 0, at=12.0, stored=False, generation=1)
    left(h, 100, at=20.0)
    joined(h, 50, at=30.0, member="2", generation=3)
    h.polled(50, 149, at=31.0, member="2")
    left(h, 150, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "A commit is only on the dead ex-leader of its offsets partition; the election was clean.",
    source=DURABLE + "; Kafka's documentation, Replication: a clean election loses none of them",
    expects={
        "lost_commit": VIOLATION,
        "start_mismatch": NOT_VIOLATION,
        "commit_mismatch": NOT_VIOLATION,
    },
)
def commit_only_on_the_ex_leader(h: History) -> None:
    _commit_on_the_ex_leader(h, unclean=False)


@asks(
    "A commit is only on the ex-leader of its offsets partition; the election was unclean.",
    source="unclean.leader.election.enable on __consumer_offsets",
    expects={
        "lost_commit": PERMITTED,
        "start_mismatch": NOT_VIOLATION,
        "commit_mismatch": NOT_VIOLATION,
    },
)
def commit_lost_by_an_unclean_election(h: History) -> None:
    _commit_on_the_ex_leader(h, unclean=True)


@asks(
    "The offsets partition had an unclean election long before the commit, and a clean one after.",
    source=DURABLE + "; decision 15: permitted names the event, never a setting",
    expects={"lost_commit": VIOLATION},
)
def earlier_unclean_election_permits_nothing(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 149)
    number = h.index
    h.led(1, 0, at=0.5, isr=(1, 2), topic=OFFSETS, partition=number)
    h.led(1, 0, at=0.8, isr=(1,), topic=OFFSETS, partition=number)
    h.led(2, 1, at=1.5, isr=(2,), topic=OFFSETS, partition=number)
    h.led(2, 1, at=3.0, isr=(1, 2), topic=OFFSETS, partition=number)
    _read_and_commit_50(h)
    h.polled(50, 99, at=9.0)
    h.commit(100, 0, at=12.0, brokers=(2,), generation=1)
    h.led(1, 2, at=18.0, isr=(1,), topic=OFFSETS, partition=number)
    left(h, 100, at=20.0)
    joined(h, 50, at=30.0, member="2", generation=3)
    h.polled(50, 149, at=31.0, member="2")
    left(h, 150, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "A commit is stored, then deleted with a tombstone when the group expires.",
    source="offsets.retention.minutes: a tombstone deletes an offset",
    expects={"lost_commit": NOT_VIOLATION, "commit_mismatch": NONE, "commit_regressed": NONE},
)
def commit_ends_in_a_tombstone(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    _read_and_commit_50(h)
    left(h, 50, at=20.0)
    h.stored(None, -1, at=70.0, is_tombstone=True, brokers=(1, 2))


@asks(
    "A commit that was refused for good, and one of unknown outcome, are not stored.",
    source="contract/outcomes.py: failed, it definitely did not happen; unknown, the response "
    "leaves both possible",
    expects={"lost_commit": NONE, "commit_mismatch": NONE, "start_mismatch": NONE},
)
def refused_and_unknown_commits_are_absent(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    _read_and_commit_50(h)
    h.polled(50, 69, at=9.0)
    h.commit(70, 0, at=20.0, stored=False, outcome="unknown", error="TimeoutException")
    h.polled(70, 79, at=21.0)
    h.commit(80, 0, at=24.0, stored=False, outcome="failed", error="RebalanceInProgressException")
    left(h, 80, at=30.0)
    joined(h, 50, at=40.0, member="2", generation=3)
    h.polled(50, 99, at=41.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "The client had nothing to commit, as its position awaited validation.",
    source="contract/outcomes.py: nothing; SubscriptionState.allConsumed leaves such positions out",
    expects={"lost_commit": NONE, "commit_mismatch": NONE, "committed_epoch_missing": NONE},
)
def nothing_to_commit(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    _read_and_commit_50(h)
    h.polled(50, 69, at=9.0)
    h.commit(None, -1, at=10.0, stored=False, outcome="nothing", record_epoch=0)
    h.commit(70, 0, at=20.0, brokers=(1, 2), generation=1)
    left(h, 70, at=80.0)


@asks(
    "A commit of 50 is acknowledged and stored as 40.",
    source=ANSWERED,
    expects={"commit_mismatch": f"{VIOLATION}: offset", "lost_commit": NONE},
)
def stored_offset_is_ten_less(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, 49)
    h.commit(50, 0, at=8.0, stored=False, generation=1)
    h.stored(40, 0, at=7.995, brokers=(1, 2))
    left(h, 50, at=80.0)


@asks(
    "A commit of 60 with epoch 1 is acknowledged and stored with epoch 0.",
    source=ANSWERED + "; KIP-320, section OffsetCommit",
    expects={"commit_mismatch": VIOLATION, "lost_commit": NONE, "committed_epoch_missing": NONE},
)
def stored_epoch_is_another(h: History) -> None:
    _stored_with_epoch(h, 0)


@asks(
    "A commit of 60 with epoch 1 is acknowledged and stored without an epoch.",
    source=ANSWERED + "; KIP-320, section OffsetCommit",
    expects={"commit_mismatch": f"{VIOLATION}: epoch", "lost_commit": NONE},
)
def stored_epoch_is_gone(h: History) -> None:
    _stored_with_epoch(h, -1)


@asks(
    "A commit is refused at each attempt for its metadata, and is stored all the same.",
    source="OffsetMetadataManager.commitOffset: metadata that is too large is refused, and no "
    "record is made",
    expects={"commit_mismatch": f"{VIOLATION}: stored though it failed", "lost_commit": NONE},
)
def refused_for_good_and_stored(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    _read_and_commit_50(h)
    h.polled(50, 79, at=9.0)
    h.commit(80, 0, at=10.0, outcome="failed", error="OffsetMetadataTooLarge", brokers=(1, 2))
    left(h, 80, at=80.0)


@asks(
    "A commit is refused with CommitFailedException after 35 s of attempts, and is stored.",
    # The client resends a commit whose connection broke or timed out (ConsumerCoordinator retries
    # retriable errors until its timeout), and reports the last answer only: the first attempt may
    # have been stored before the group's generation changed.
    source="ConsumerCoordinator.commitOffsetsSync: retried until its timeout",
    expects={"commit_mismatch": NOT_VIOLATION, "lost_commit": NONE},
)
def refused_after_a_retry_and_stored(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    _read_and_commit_50(h)
    h.polled(50, 79, at=9.0)
    h.commit(
        80,
        0,
        at=45.0,
        stored=False,
        outcome="failed",
        error="CommitFailedException",
        generation=1,
    )
    h.rows["commits"][-1]["began_micros"] = h.at(10.0)
    h.stored(80, 0, at=10.1, brokers=(1, 2))
    h.changed("revoked", at=46.0, position=80)
    joined(h, 80, at=50.0, member="2", generation=3)
    h.polled(80, 99, at=51.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "A commit of unknown outcome is stored as it was asked for.",
    source="contract/outcomes.py: unknown, the response leaves both possible",
    expects={"commit_mismatch": NONE, "lost_commit": NONE},
)
def unknown_outcome_and_stored(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    _read_and_commit_50(h)
    h.polled(50, 79, at=9.0)
    h.commit(80, 0, at=40.0, outcome="unknown", error="TimeoutException", brokers=(1, 2))
    left(h, 80, at=80.0)


@asks(
    "Offsets that a transaction stored have no commit of a consumer beside them.",
    source="KIP-98, sendOffsetsToTransaction: the producer stores them",
    expects={"commit_mismatch": NONE, "history_complete": NONE, "lost_commit": NONE},
)
def offsets_of_a_transaction_are_nobodys_commit(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, 49)
    stored_in_transaction(h, 50, 0, at=10.0, marker="commit")
    h.polled(50, 99, at=12.0)
    stored_in_transaction(h, 100, 0, at=15.0, marker="commit")
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "A commit is stored that a whole history of its group's only worker does not tell.",
    source="contract/events.py: every commit of a client is in its history; decision 11",
    expects={"history_complete": UNDECIDED, "commit_mismatch": NOT_VIOLATION, "lost_commit": NONE},
)
def stored_commit_that_no_history_tells(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    _read_and_commit_50(h)
    h.polled(50, 79, at=9.0)
    h.stored(80, 0, at=10.0, brokers=(1, 2))
    h.polled(80, 99, at=12.0)
    h.commit(100, 0, at=15.0, brokers=(1, 2))
    left(h, 100, at=80.0, caught_up=True)


@asks_each(
    "A commit is acknowledged, and stored again 1.5 s later.",
    source="NetworkClient: a request that timed out is sent again on another connection, and the "
    "packets of the first one may still arrive; OffsetCommit is not idempotent",
    check="history_complete",
    cases={
        "It took 12 s, so that the client may have sent it twice.": (NONE, {"took": 12.0}),
        "It took 0.1 s.": (NONE, {"took": 0.1}),
        "It took less than that.": (f"{UNDECIDED}: commit not reported", {"took": 0.099999}),
        "It took 12 s, and another offset is stored.": (
            f"{UNDECIDED}: commit not reported",
            {"took": 12.0, "again": 70},
        ),
    },
)
def commit_is_stored_twice(h: History, *, took: float, again: int = 80) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    _read_and_commit_50(h)
    h.polled(50, 79, at=9.0)
    h.commit(80, 0, at=30.0, brokers=(1, 2))
    h.rows["commits"][-1]["began_micros"] = h.at(30.0 - took)
    h.stored(again, 0, at=31.5, brokers=(1, 2))
    left(h, 80, at=80.0)


@asks(
    "A guest commits 60 and shows no epoch of it; it is stored with epoch 1, that of the record.",
    source="docs/guests.md: `epoch` of `committed` is left out if the client does not show it",
    expects={"commit_mismatch": NONE, "lost_commit": NONE, "history_complete": NONE},
)
def epoch_is_not_shown_by_a_guest(h: History) -> None:
    _stored_with_epoch(h, 1, client="guest@tiny", shown=-1)


@asks(
    "Java's client commits 60 without an epoch; it is stored with epoch 1.",
    source=ANSWERED + "; KIP-320, section OffsetCommit",
    expects={"commit_mismatch": f"{VIOLATION}: epoch", "lost_commit": NONE},
)
def epoch_is_stored_that_was_not_committed(h: History) -> None:
    _stored_with_epoch(h, 1, shown=-1)


@asks(
    "A guest commits 60 and shows no epoch of it; 50 is stored.",
    source="docs/guests.md: `commit` stores the position after the last record",
    expects={"commit_mismatch": f"{VIOLATION}: offset", "lost_commit": NONE},
)
def another_offset_than_a_guest_showed_is_stored(h: History) -> None:
    _stored_with_epoch(h, 1, client="guest@tiny", shown=-1, offset=50)


def _stored_with_epoch(
    h: History, epoch: int, *, client: str = "java", shown: int = 1, offset: int = 60
) -> None:
    h.topic()
    h.group(client=client)
    plain_in_epoch_1(h)
    joined(h, 0, at=5.0)
    h.polled(0, 59, at=6.0, epoch=1)
    h.commit(60, shown, at=8.0, stored=False, generation=1)
    h.stored(offset, epoch, at=7.995, brokers=(1, 2))
    left(h, 60, at=80.0)


def plain_in_epoch_1(h: History, dead_from: float = 100.0) -> None:
    """As `plain`, but under epoch 1 of broker 2; broker 1 may die."""
    h.registered(1, at=0.2, is_fenced=False)
    h.registered(2, at=0.2, is_fenced=False)
    h.led(1, 0, at=0.5, isr=(1, 2), starts=0)
    h.led(2, 1, at=1.5, isr=(1, 2), starts=0)
    h.sent(0, 99, at=2.0)
    for time in (4.0, 15.0, 30.0, 45.0, 60.0, 75.0, 85.0):
        h.sampled(2, at=time, end=100, epoch=1, isr=(1, 2) if time < dead_from else (2,))
    copies(h, (1, 2), (0, 99, 1), high_watermark=100)


def _read_and_commit_50(h: History) -> None:
    reads_to(h, 49)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)


def _commit_on_the_ex_leader(h: History, *, unclean: bool) -> None:
    """Broker 1 leads the offsets partition and is killed at 14; broker 2 leads it from 17."""
    h.topic()
    h.group()
    plain_in_epoch_1(h, dead_from=17.0)
    number = h.index
    h.led(1, 0, at=0.6, isr=(1, 2), topic=OFFSETS, partition=number)
    joined(h, 0, at=5.0)
    h.polled(0, 49, at=6.0, epoch=1)
    h.commit(50, 1, at=8.0, brokers=(1, 2), generation=1)
    if unclean:
        h.led(1, 0, at=10.0, isr=(1,), topic=OFFSETS, partition=number)
    h.polled(50, 79, at=11.0, epoch=1)
    h.commit(80, 1, at=12.0, brokers=(1,), generation=1)
    name = h.on_broker(1)
    h.fault("kill", name, injected=14.0, proved=17.0)
    h.registered(1, at=17.0, is_fenced=True)
    h.led(2, 1, at=17.0, isr=(2,), topic=OFFSETS, partition=number)
    h.led(2, 1, at=17.0, isr=(2,))
    left(h, 80, at=20.0)
    joined(h, 50, at=30.0, member="2", generation=3)
    h.polled(50, 99, at=31.0, epoch=1, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)
