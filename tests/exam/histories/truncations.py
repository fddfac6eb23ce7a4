"""Histories about truncated logs, and whether their readers noticed."""

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, UNDECIDED, VIOLATION, History, asks
from tests.exam.scenes import NEW, copies, killed, returned, started, torn, written
from tests.exam.verbs import cut, joined, left, moved, reads_to

CACHE = (
    "LeaderEpochFileCache.truncateFromStartAsyncFlush: an epoch is dropped once a newer one starts "
    "at or below the log start"
)
VALIDATION = "KIP-320, Consumer: a position is validated by its epoch with OffsetForLeaderEpoch"
IN_RANGE = "ReplicaManager.fetch: from the log start to the log end an offset is in range"
DIVERGENCE = "LeaderEpochFileCache.endOffsetFor: an epoch ends where the next larger one starts"
FOLLOWER = "KIP-101, KIP-279: a follower is cut to where the leader's log parts from its own"


def first_start(h: History, reset: str, *, at: float) -> None:
    """Member 1 starts at 0: by its policy, or where that is none, by a commit of its owner."""
    if reset == "none":
        h.stored(0, -1, at=1)
    started(h, 0, at=at, fresh=reset != "none")


def reader(h: History, *, style: str = "record", reset: str = "earliest") -> None:
    """A group reads 0 to 199 of epoch 0, commits 200, and closes."""
    h.group(commit_epoch=style, reset=reset)
    first_start(h, reset, at=8)
    h.polled(0, 199, at=9)
    h.changed("caught_up", at=10, position=200)
    h.commit(200, -1 if style == "none" else 0, at=11, style=style, record_epoch=0)
    h.changed("closed", at=12)


def went_on(h: History, first: int, epoch: int, *, at: float = 50, style: str = "record") -> None:
    """Member 2 is served from `first`, a place of the new leader's epoch, to the end at 350."""
    started(h, first, at=at, member="2")
    h.polled(first, 349, at=at + 1, epoch=epoch, member="2", sequence=first + NEW)
    h.changed("caught_up", at=at + 2, position=350, member="2")
    committed = -1 if style == "none" else epoch
    h.commit(350, committed, at=at + 3, style=style, record_epoch=epoch, member="2")
    h.changed("closed", at=at + 4, member="2")


@asks(
    "A group committed (200, epoch 0); epoch 1 begins at 100; it resumes at 200 without a word.",
    source="KIP-320: a position with an epoch is validated against the leader's epochs",
    expects={
        "truncation_undetected": VIOLATION,
        "silent_revalidation": VIOLATION,
        "skipped_record": VIOLATION,
        "truncation_detected": NONE,
        "false_truncation": NONE,
        "start_mismatch": NONE,
    },
)
def truncation_that_nobody_noticed(h: History) -> None:
    epoch = torn(h)
    reader(h)
    went_on(h, 200, epoch)


@asks(
    "A group that commits no epochs was not closed: it reads on at 200 in epoch 1.",
    source="KIP-320: the position of a live member has the epoch of its last record",
    expects={"truncation_undetected": VIOLATION, "silent_revalidation": VIOLATION},
)
def live_reader_without_epochs_notices_nothing(h: History) -> None:
    epoch = torn(h)
    h.group(commit_epoch="none")
    first_start(h, "earliest", at=8)
    h.polled(0, 199, at=9)
    h.commit(200, -1, at=11, style="none", record_epoch=0)
    h.polled(200, 349, at=51, epoch=epoch, sequence=200 + NEW)


@asks(
    "The same, but the commit had no epoch.",
    source="KIP-320 and KAFKA-20507: a position without an epoch is not validated",
    expects={
        "committed_epoch_missing": PERMITTED,
        "orphan_commit": NOT_VIOLATION,
        "truncation_undetected": PERMITTED,
        "silent_revalidation": PERMITTED,
        "skipped_record": PERMITTED,
        "start_mismatch": NONE,
    },
)
def truncation_that_a_commit_without_epoch_hides(h: History) -> None:
    epoch = torn(h)
    reader(h, style="none")
    went_on(h, 200, epoch, style="none")


@asks(
    "A consumer raises a TimeoutException that names no partition, and resumes at 200 in silence.",
    source="LogTruncationException: it reports a truncation; TimeoutException: a request timed out",
    expects={"truncation_undetected": VIOLATION, "skipped_record": VIOLATION},
)
def timeout_is_no_notice(h: History) -> None:
    epoch = torn(h)
    reader(h)
    h.changed("opened", at=45, member="1b")
    h.changed(
        "failed",
        at=46,
        member="1b",
        topic="",
        exception="TimeoutException",
        message="Timeout of 60000ms expired before the position could be determined",
    )
    h.changed("closed", at=47, member="1b")
    went_on(h, 200, epoch)


@asks(
    "A member reads 100 to 199 and dies; they are truncated; the group resumes at its commit 100.",
    source="KIP-320: truncation is where the epoch ends below the position, and the group "
    "resumed there",
    expects={
        "truncation_undetected": NONE,
        "silent_revalidation": NONE,
        "skipped_record": NONE,
        "orphan_commit": NONE,
        "false_truncation": NONE,
        "start_mismatch": NONE,
    },
)
def resumed_below_the_truncation(h: History) -> None:
    epoch = torn(h)
    h.group()
    started(h, 0, at=7, fresh=True)
    h.polled(0, 99, at=8)
    h.commit(100, 0, at=9)
    h.polled(100, 199, at=10)
    h.changed("revoked", at=18, position=200)
    went_on(h, 100, epoch)


@asks(
    "A group notices a first truncation, but not a second.",
    source="SubscriptionState.maybeValidatePositionForCurrentLeader: validated after each change "
    "of the leader or its epoch",
    expects={"truncation_undetected": VIOLATION, "truncation_detected": PERMITTED},
)
def second_truncation_is_silent(h: History) -> None:
    epoch = torn(h, logged=False)
    reader(h)
    started(h, 200, at=32, member="2")
    h.reset("truncation", 200, 100, at=32.5, epoch=0)
    h.polled(100, 349, at=33, epoch=epoch, member="2", sequence=100 + NEW)
    h.changed("caught_up", at=34, position=350, member="2")
    h.led(2, epoch, at=45, isr=[2])
    h.sent(350, 399, at=46, sequence=350 + NEW)
    h.sampled(2, at=47, end=400, epoch=epoch, isr=[2])
    h.polled(350, 399, at=47, epoch=epoch, member="2", sequence=350 + NEW)
    h.commit(400, epoch, at=48, member="2")
    h.changed("closed", at=49, member="2")
    killed(h, 2, at=50, healed=70)
    h.led(1, 2, at=53, isr=[1], starts=350)
    h.sampled(1, at=54, end=350, epoch=2, isr=[1])
    h.sent(350, 449, at=56, sequence=350 + 2 * NEW)
    h.sampled(1, at=57, end=450, epoch=2, isr=[1])
    started(h, 400, at=60, member="3")
    h.polled(400, 449, at=61, epoch=2, member="3", sequence=400 + 2 * NEW)
    h.changed("caught_up", at=62, position=450, member="3")
    h.commit(450, 2, at=63, member="3")
    h.changed("closed", at=64, member="3")
    h.cut(2, 350, 399, epoch, at=69, sequence=350 + NEW)
    returned(h, 2, at=70)
    h.truncated(2, 350, at=71)
    h.led(1, 2, at=73, isr=[1, 2])
    h.sampled(1, at=80, end=450, epoch=2, isr=[1, 2])
    sequences = {100: 100 + NEW, 350: 350 + 2 * NEW}
    spans = ((0, 99, 0), (100, 349, epoch), (350, 449, 2))
    copies(h, (1, 2), *spans, sequences=sequences, high_watermark=450)


def raised(h: History, offset: int | None, divergent_epoch: int) -> None:
    """Policy none: the consumer raises a LogTruncationException; the application seeks to 100."""
    epoch = torn(h)
    reader(h, reset="none")
    started(h, 200, at=46, member="2")
    h.changed(
        "failed",
        at=47,
        member="2",
        position=200,
        exception="LogTruncationException",
        message="Detected log truncation with diverging offset",
        divergent_offset=offset,
        divergent_epoch=divergent_epoch,
    )
    h.changed("closed", at=48, member="2")
    # Its owner sets the group back to where the logs part.
    h.stored(100, 0, at=49)
    went_on(h, 100, epoch)


@asks(
    "A LogTruncationException tells the offset where the log parts from what the group read.",
    source="LogTruncationException: divergent offset; KIP-320, policy none",
    expects={
        "truncation_detected": PERMITTED,
        "divergence_mismatch": NONE,
        "truncation_undetected": NONE,
        "false_truncation": NONE,
        "unjustified_reset": NONE,
    },
)
def exception_with_the_true_divergence(h: History) -> None:
    raised(h, 100, 0)


@asks(
    "A LogTruncationException tells a divergent offset that is wrong by 30.",
    source="LogTruncationException: the first offset known to diverge",
    expects={"divergence_mismatch": VIOLATION, "truncation_undetected": NONE},
)
def exception_with_a_wrong_divergence(h: History) -> None:
    raised(h, 130, 0)


@asks(
    "A LogTruncationException tells the right offset, and an epoch that never ended there.",
    source="OffsetForLeaderEpoch: answers the largest epoch not above the requested one, here 0",
    expects={"divergence_mismatch": VIOLATION},
)
def exception_with_a_wrong_epoch(h: History) -> None:
    raised(h, 100, 7)


@asks(
    "A LogTruncationException has no divergent offset.",
    source="LogTruncationException.divergentOffsets: may lack a partition whose end is unknown",
    expects={"divergence_mismatch": NOT_VIOLATION, "truncation_undetected": NONE},
)
def exception_without_a_divergence(h: History) -> None:
    raised(h, None, -1)


def two_branches(h: History, *, reset: str) -> None:
    """The survivor has epoch 0 to 119, and epoch 3; the group read epoch 0 to 99, and epoch 1.

    Broker 1 is dead from 10 s to 35 s, broker 2 from 30 s to 60 s.
    """
    written(h, unclean_election=True)
    h.led(1, 0, at=4, isr=[1])
    h.sent(100, 119, at=5)
    h.sampled(1, at=6, end=120, isr=[1])
    killed(h, 1, at=10, healed=35)
    h.led(2, 1, at=13, isr=[2], starts=100)
    h.sent(100, 149, at=14, sequence=100 + NEW)
    h.sampled(2, at=15, end=150, epoch=1, isr=[2])
    h.group(reset=reset)
    first_start(h, reset, at=20)
    h.polled(0, 99, at=21)
    h.polled(100, 149, at=22, epoch=1, sequence=100 + NEW)
    h.changed("caught_up", at=23, position=150)
    h.commit(150, 1, at=24)
    h.changed("closed", at=25)
    killed(h, 2, at=30, healed=60)
    h.led(-1, 2, at=33, isr=[2])
    returned(h, 1, at=35)
    h.led(1, 3, at=36, isr=[1], starts=120)
    h.sampled(1, at=37, end=120, epoch=3, isr=[1])
    h.sent(120, 199, at=38, sequence=120 + 2 * NEW)
    h.sampled(1, at=39, end=200, epoch=3, isr=[1])
    h.cut(2, 100, 149, 1, at=59, sequence=100 + NEW)
    returned(h, 2, at=60)
    # Broker 2's own epoch 0 ends at 100, before the leader's does.
    h.truncated(2, 100, at=61)
    h.led(1, 3, at=63, isr=[1, 2])
    spans = ((0, 99, 0), (100, 119, 0), (120, 199, 3))
    copies(h, (1, 2), *spans, sequences={120: 120 + 2 * NEW}, high_watermark=200)


@asks(
    "After two unclean elections the exception tells 120, though the logs part at 100.",
    source="KIP-320: with several unclean elections in a row the exact offset may not be found; "
    "for epoch 1 the leader answers (epoch 0, end 120)",
    expects={
        "divergence_mismatch": NOT_VIOLATION,
        "truncation_detected": PERMITTED,
        "false_truncation": NONE,
        "over_truncation": NONE,
        "epoch_regressed": NONE,
        "log_divergence": NONE,
        "unclean_election_unconfigured": NOT_VIOLATION,
    },
)
def inexact_divergence_after_two_elections(h: History) -> None:
    two_branches(h, reset="none")
    started(h, 150, at=65, member="2")
    h.changed(
        "failed",
        at=66,
        member="2",
        position=150,
        exception="LogTruncationException",
        message="Detected log truncation with diverging offset",
        divergent_offset=120,
        divergent_epoch=0,
    )
    h.changed("closed", at=67, member="2")


@asks(
    "After two unclean elections the consumer resets to 120, and never gets 100 to 119.",
    source="KIP-320: with several unclean elections in a row the exact offset may not be found",
    expects={
        "skipped_record": NOT_VIOLATION,
        "truncation_undetected": NOT_VIOLATION,
        "truncation_detected": PERMITTED,
        "unjustified_reset": NONE,
    },
)
def inexact_reset_after_two_elections(h: History) -> None:
    two_branches(h, reset="earliest")
    started(h, 150, at=65, member="2")
    h.reset("truncation", 150, 120, at=65.5, epoch=1)
    h.polled(120, 199, at=66, epoch=3, member="2", sequence=120 + 2 * NEW)
    h.changed("caught_up", at=67, position=200, member="2")
    h.commit(200, 3, at=68, member="2")
    h.changed("closed", at=69, member="2")


@asks(
    "A truncation is told rightly, and retention passes the place later.",
    source="KIP-320: truncation is where the requested epoch ends below the position; decision "
    "15: judged by the log of that time",
    expects={
        "false_truncation": NONE,
        "unjustified_reset": NONE,
        "truncation_detected": PERMITTED,
        "truncation_undetected": NONE,
        "lost_record": PERMITTED,
    },
)
def true_truncation_hidden_by_retention(h: History) -> None:
    epoch = torn(h, logged=False, deletes=True)
    reader(h)
    started(h, 200, at=50, member="2")
    h.reset("truncation", 200, 100, at=50.5, epoch=0)
    h.polled(100, 349, at=51, epoch=epoch, member="2", sequence=100 + NEW)
    h.changed("caught_up", at=52, position=350, member="2")
    h.commit(350, epoch, at=53, member="2")
    h.changed("closed", at=54, member="2")
    h.log_started(2, 250, at=70)
    h.log_started(1, 250, at=70.5, reason="leader offset increment")
    h.sampled(2, at=75, end=350, start=250, epoch=epoch, isr=[2, 1])
    copies(h, (1, 2), (250, 349, epoch), start=250, sequences={250: 250 + NEW}, high_watermark=350)


@asks(
    "A LogTruncationException names 100 as its divergent offset; no newer epoch is known anywhere.",
    source="decision 11: a gap in a source makes findings undecided, never an accusation of Kafka",
    expects={"divergence_mismatch": f"{UNDECIDED}: unknown fork"},
)
def exception_without_a_newer_epoch(h: History) -> None:
    raised(h, 100, 0)
    for table in (
        "leaderships",
        "epoch_checkpoints",
        "leader_epoch_starts",
        "replica_batches",
        "replica_records",
        "polls",
    ):
        h.rows[table] = [row for row in h.rows[table] if row["leader_epoch"] == 0]
    h.rows["samples"].clear()


@asks(
    "A group whose application commits epoch 1 for what it read of epoch 0 is set back to the end "
    "of epoch 1, above the divergence.",
    source="KIP-320: the leader answers the end offset of the largest epoch not above the requested"
    " one",
    expects={
        "skipped_record": f"{VIOLATION}: divergent offset too high: the client truncated its "
        "position to the end of committed epoch 1 in this log, 350, which is above the divergence"
    },
)
def truncated_to_the_end_of_a_forced_epoch(h: History) -> None:
    torn(h)
    reader(h, style="forced")
    h.rows["committed_offsets"][-1]["committed_epoch"] = 1
    h.changed("opened", at=46, member="2")
    h.reset("truncation", 400, 350, at=47, epoch=1)
    h.changed("caught_up", at=48, position=350, member="2")


@asks(
    "At 17 s a truncation resets a member from 100; the election that cuts the log is at 24 s.",
    source=VALIDATION + ": until then the leader's only epoch ends at its log end",
    expects={
        "false_truncation": VIOLATION,
        "unjustified_reset": f"{VIOLATION}: truncation: the position was on the surviving "
        "branch; no reset was expected",
    },
)
def truncation_is_reported_before_it_happens(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    reads_to(h, 49)
    h.polled(50, 99, at=13.0)
    h.commit(100, 0, at=15.0, brokers=(1, 2), generation=1)
    h.reset("truncation", 100, 50, at=17.0, epoch=0, member="1")
    h.polled(50, 99, at=17.5)
    left(h, 100, at=19.0)


@asks(
    "At 27 s a member at 100 is out of range in a log that ends at 50; at 30 s it grows to 150.",
    source=IN_RANGE,
    expects={"unjustified_reset": NONE, "false_truncation": NONE, "reset": PERMITTED},
)
def position_beyond_an_end_that_grows_over_it(h: History) -> None:
    h.topic(unclean_election=True)
    h.group(client="kafka-python")
    cut(h)
    for time in (25.5, 26.9, 28.0):
        h.sampled(2, at=time, end=50, epoch=1, isr=(2,))
    _reads_truncated(h, epoch=0)
    left(h, 100, at=18.0)
    joined(h, 100, at=26.0, member="2", generation=3)
    h.reset("out_of_range", 100, 0, at=27.0, epoch=-1)
    h.polled(0, 49, at=28.0, member="2")
    h.polled(50, 149, at=32.0, epoch=1, member="2", sequence=100)
    h.commit(150, 1, at=34.0, member="2", brokers=(1, 2), generation=3)
    left(h, 150, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "Epoch 1 starts at 50, and the log at 70: the exception names 70 as the divergent offset.",
    source=DIVERGENCE + "; " + CACHE + ", which moves the first one to the log start",
    expects={"divergence_mismatch": NONE, "false_truncation": NONE},
)
def divergence_is_at_a_log_start_above_it(h: History) -> None:
    _raises_above_the_fork(h)


@asks(
    "A leader is deposed by a clean election; it is cut to 30, though the logs part at 50.",
    source=FOLLOWER,
    expects={"over_truncation": VIOLATION, "lost_record": NONE},
)
def deposed_leader_is_cut_below_the_fork(h: History) -> None:
    h.topic()
    h.group()
    moved(h)
    h.truncated(1, 30, at=20.5)


def _reads_truncated(h: History, *, epoch: int) -> None:
    """A member reads 0 to 99 of epoch 0, and commits 100 with `epoch`, before `cut` cuts."""
    reads_to(h, 49)
    h.polled(50, 99, at=13.0)
    h.commit(100, epoch, at=15.0, record_epoch=0, brokers=(1, 2), generation=1)


def _raises_above_the_fork(h: History) -> None:
    """`cut`, and DeleteRecords up to 70 at 46 s; a member at 100 of epoch 0 raises at 50 s."""
    h.topic(unclean_election=True, deletes=True)
    h.group(reset="none")
    cut(h)
    target = h.on_partition("t", 0)
    h.fault("delete records", target, injected=45.8, proved=46.3)
    h.log_started(2, 70, at=46.0, reason="client delete records request")
    h.log_started(1, 70, at=46.1, reason="leader offset increment")
    for row in h.rows["log_starts"]:
        row["log_start_offset"] = 70
    h.rows["epoch_checkpoints"][:] = [
        row | {"start_offset": 70}
        for row in h.rows["epoch_checkpoints"]
        if row["leader_epoch"] == 1
    ]
    for row in h.rows["samples"]:
        if row["at_micros"] > h.at(46):
            row["log_start_offset"] = 70
    for time in (47.0, 49.5, 51.0):
        h.sampled(2, at=time, end=150, start=70, epoch=1, isr=(1, 2))
    _reads_truncated(h, epoch=0)
    h.changed(
        "failed",
        at=50.0,
        position=100,
        position_epoch=0,
        exception="LogTruncationException",
        message="Detected log truncation with divergent offset 70",
        divergent_offset=70,
        divergent_epoch=0,
        generation=1,
    )
    h.changed("closed", at=51.0)
