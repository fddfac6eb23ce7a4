"""Logs that part, and come back: elections of old leaders whose log never met an epoch between.

Epoch 0 of broker 1 reaches 200. Epoch 1 of broker 2, which lacks 100 to 199, goes from 100 to 150.
Then broker 1, which never rejoined, leads epoch 3 from 200: the log has 100 to 199 of epoch 0
again, and nothing of epoch 1.
"""

from tests.exam.histories.late_commits import NOT_REPORTED
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
from tests.exam.scenes import NEW, killed, returned, started, written

LOSES = "Kafka's documentation, unclean.leader.election.enable: records may be lost"
UNSEEN = (
    "KIP-320; LeaderEpochFileCache.endOffsetFor: of an epoch that the leader's log lacks it returns"
    " the start of the next larger one, 200, which is not below the position"
)
UNHEARD = (
    "KIP-320: a client asks the leader of whom it has heard; that is the new one at once, or later"
)
CLEAN = "Kafka's documentation, Replication: a clean election loses no committed record"
OF_CLUSTER = {
    "lost_record": PERMITTED,
    "leader_completeness": PERMITTED,
    "nonmonotonic_send": NONE,
    "log_divergence": NONE,
    "epoch_regressed": NONE,
    "loss_estimate": PERMITTED,
    "history_consistent": NONE,
}


@asks(
    "Epochs 0 and 1 part at 100; epoch 3 goes on from epoch 0, acks=1.",
    source=LOSES,
    expects=OF_CLUSTER,
)
def old_leader_is_elected_again(h: History) -> None:
    _parted(h, acks="1")


@asks(
    "The same with acks=all.",
    source=LOSES,
    expects=OF_CLUSTER,
)
def old_leader_is_elected_again_with_acks_all(h: History) -> None:
    _parted(h)


@asks(
    "The second election is clean by the metadata log: the old leader was said to be in sync.",
    source=CLEAN,
    expects={
        "lost_record": VIOLATION,
        "leader_completeness": VIOLATION,
        "nonmonotonic_send": NONE,
        "unclean_election_unconfigured": PERMITTED,
    },
)
def old_leader_is_elected_cleanly(h: History) -> None:
    _parted(h, clean=True)


@asks(
    "A group notices the first truncation, reads 100 to 149 of epoch 1, and goes on at 150 in epoch"
    " 0, which it cannot notice.",
    source=UNSEEN,
    expects={
        "false_truncation": NONE,
        "unjustified_reset": NONE,
        "truncation_detected": PERMITTED,
        "truncation_undetected": NOT_VIOLATION,
        "record_epoch_regressed": PERMITTED,
        "resurrected_record": PERMITTED,
        "skipped_record": NONE,
        "inconsistent_offset": PERMITTED,
        "orphan_commit": PERMITTED,
        "committed_epoch_regressed": PERMITTED,
        "committed_epoch_stale": NONE,
        "committed_epoch_ahead": NONE,
        "commit_beyond_log": NONE,
        "commit_beyond_processed": NONE,
        "silent_revalidation": NONE,
        "poll_skip": NONE,
        "history_consistent": NONE,
    },
)
def group_follows_the_log_there_and_back(h: History) -> None:
    _parted(h)
    h.group()
    _reads_first(h)
    h.reset("truncation", 200, 100, at=28, epoch=0, member="1")
    h.polled(100, 149, at=32, epoch=1, sequence=100 + NEW)
    h.commit(150, 1, at=33, record_epoch=1)
    _reads_on(h, at=60)


@asks(
    "The same, and the second election was clean by the metadata log.",
    source=UNSEEN + "; " + CLEAN,
    expects={
        "false_truncation": NONE,
        "unjustified_reset": NONE,
        "truncation_undetected": NOT_VIOLATION,
        "orphan_commit": VIOLATION,
        "record_epoch_regressed": VIOLATION,
        "leader_completeness": VIOLATION,
    },
)
def group_follows_a_clean_election_back(h: History) -> None:
    _parted(h, clean=True)
    h.group()
    _reads_first(h)
    h.reset("truncation", 200, 100, at=28, epoch=0, member="1")
    h.polled(100, 149, at=32, epoch=1, sequence=100 + NEW)
    h.commit(150, 1, at=33, record_epoch=1)
    _reads_on(h, at=60)


@asks(
    "A group begins while epoch 1 leads, reads it to 150, and never gets 100 to 149 of epoch 0.",
    source=UNSEEN,
    expects={
        "skipped_record": PERMITTED,
        "truncation_undetected": NOT_VIOLATION,
        "record_epoch_regressed": PERMITTED,
        "orphan_commit": PERMITTED,
        "lost_record": PERMITTED,
    },
)
def group_never_gets_what_came_back(h: History) -> None:
    _parted(h)
    h.group()
    started(h, 0, at=31, fresh=True)
    h.polled(0, 99, at=32)
    h.polled(100, 149, at=32.5, epoch=1, sequence=100 + NEW)
    h.commit(150, 1, at=33, record_epoch=1)
    _reads_on(h, at=60)


@asks(
    "The same, and the second election was clean by the metadata log.",
    source=CLEAN,
    expects={"skipped_record": VIOLATION, "leader_completeness": VIOLATION},
)
def group_never_gets_what_came_back_cleanly(h: History) -> None:
    _parted(h, clean=True)
    h.group()
    started(h, 0, at=31, fresh=True)
    h.polled(0, 99, at=32)
    h.polled(100, 149, at=32.5, epoch=1, sequence=100 + NEW)
    h.commit(150, 1, at=33, record_epoch=1)
    _reads_on(h, at=60)


@asks(
    "A group stops at 150 of epoch 1, and is not there when epoch 3 begins.",
    source=LOSES,
    expects={"skipped_record": NONE, "truncation_undetected": NONE, "orphan_commit": PERMITTED},
)
def group_stops_on_the_branch_between(h: History) -> None:
    _parted(h)
    h.group()
    started(h, 0, at=31, fresh=True)
    h.polled(0, 99, at=32)
    h.polled(100, 149, at=32.5, epoch=1, sequence=100 + NEW)
    h.changed("caught_up", at=33, position=150)
    h.commit(150, 1, at=34, record_epoch=1)
    h.changed("closed", at=35)


@asks(
    "A member of a group at (180, epoch 0) resets for a truncation 20 s after epoch 3 began.",
    source="LeaderEpochFileCache.endOffsetFor: epoch 0 ends at 200 in the log of epoch 3; KIP-320",
    expects={"false_truncation": VIOLATION, "unjustified_reset": VIOLATION},
)
def reset_of_a_position_that_came_back(h: History) -> None:
    _parted(h)
    h.group()
    started(h, 0, at=8, fresh=True)
    h.polled(0, 179, at=9)
    h.commit(180, 0, at=10)
    h.changed("closed", at=11)
    started(h, 180, at=69, member="2")
    h.reset("truncation", 180, 100, at=70, epoch=0)
    h.polled(100, 199, at=71, member="2")
    h.polled(200, 249, at=71.5, epoch=3, member="2", sequence=200 + NEW)
    h.changed("caught_up", at=72, position=250, member="2")
    h.commit(250, 3, at=73, member="2")
    h.changed("closed", at=74, member="2")


@asks(
    "The same position is reset while epoch 1 leads, where epoch 0 ends at 100.",
    source="KIP-320: the position is beyond the end of its epoch",
    expects={"false_truncation": NONE, "unjustified_reset": NONE, "truncation_detected": PERMITTED},
)
def reset_of_a_position_that_is_away(h: History) -> None:
    _parted(h)
    h.group()
    started(h, 0, at=8, fresh=True)
    h.polled(0, 179, at=9)
    h.commit(180, 0, at=10)
    h.changed("closed", at=11)
    started(h, 180, at=27.5, member="2")
    h.reset("truncation", 180, 100, at=28, epoch=0)
    h.polled(100, 149, at=32, epoch=1, member="2", sequence=100 + NEW)
    h.changed("caught_up", at=33, position=150, member="2")
    h.commit(150, 1, at=34, member="2")
    h.changed("closed", at=35, member="2")


@asks(
    "Epoch 3 starts at 120, below the position (150, epoch 1): a group goes on, unnoticed.",
    source="KIP-320: the leader returns 120, which is below the position",
    expects={"truncation_undetected": VIOLATION, "record_epoch_regressed": NONE},
)
def group_misses_what_it_could_notice(h: History) -> None:
    _parted(h, reached=120)
    h.group()
    started(h, 0, at=31, fresh=True)
    h.polled(0, 99, at=32)
    h.polled(100, 149, at=32.5, epoch=1, sequence=100 + NEW)
    h.commit(150, 1, at=33, record_epoch=1)
    h.polled(150, 169, at=60, epoch=3, sequence=150 + 2 * NEW)
    h.changed("caught_up", at=61, position=170)
    h.commit(170, 3, at=62, record_epoch=3)
    h.changed("closed", at=63)


@asks(
    "A later value is at a lower offset of epoch 3, while the earlier one is there.",
    source="enable.idempotence: the order of sending is kept",
    expects={"nonmonotonic_send": VIOLATION},
)
def order_is_broken_on_the_branch_that_stays(h: History) -> None:
    _parted(h, turned=True)


@asks(
    "The second branch is elected once more: epoch 5 goes on from 150 of epoch 1.",
    source=LOSES,
    expects={
        "lost_record": PERMITTED,
        "leader_completeness": PERMITTED,
        "nonmonotonic_send": NONE,
        "orphan_commit": NONE,
        "truncation_undetected": NOT_VIOLATION,
        "log_divergence": NONE,
    },
)
def branches_take_turns(h: History) -> None:
    _parted(h, again=True)
    h.group()
    started(h, 0, at=31, fresh=True)
    h.polled(0, 99, at=32)
    h.polled(100, 149, at=32.5, epoch=1, sequence=100 + NEW)
    h.changed("caught_up", at=33, position=150)
    h.commit(150, 1, at=34, record_epoch=1)
    h.changed("closed", at=35)


@asks(
    "Retention has removed the epochs below 220 from the log since.",
    source=LOSES + "; LeaderEpochFileCache.truncateFromStartAsyncFlush",
    expects={"lost_record": NOT_VIOLATION, "orphan_commit": NOT_VIOLATION},
)
def old_branches_have_expired(h: History) -> None:
    _parted(h, start=220)
    h.group()
    _reads_first(h)
    h.reset("truncation", 200, 100, at=28, epoch=0, member="1")
    h.polled(100, 149, at=32, epoch=1, sequence=100 + NEW)
    h.commit(150, 1, at=33, record_epoch=1)
    _reads_on(h, at=60)


@asks(
    "Broker 2 comes back, truncates to 100, and has the log of epoch 3 at the end.",
    source=LOSES,
    expects=OF_CLUSTER,
)
def other_branch_is_truncated(h: History) -> None:
    _parted(h, rejoins=True)


@asks(
    "Of values that were sent in turn, the first are of epoch 1 and lost, the others of epoch 3.",
    source="enable.idempotence: the order of sending is kept; a lost one's offset is free again",
    expects={"nonmonotonic_send": NONE, "duplicate_append": NONE},
)
def offsets_are_taken_a_third_time(h: History) -> None:
    _parted(h, reached=120)


@asks_each(
    "A member reads 100 to 149 of epoch 1. Epoch 3 has those of epoch 0 again. 150 is committed "
    "with epoch 0",
    source="OffsetAndMetadata.leaderEpoch Javadoc: the epoch of the record before; KIP-320: a "
    "client hears of an election later",
    check="committed_epoch_stale",
    cases={
        "before the election: the log has a record of epoch 1 there.": (VIOLATION, {"at": 36}),
        "two seconds after it: clients may not have heard of it.": (UNDECIDED, {"at": 45}),
        "ten seconds after it: the log has a record of epoch 0 there.": (NONE, {"at": 53}),
    },
)
def epoch_of_what_came_back_is_committed(h: History, *, at: float) -> None:
    _parted(h)
    h.group()
    started(h, 0, at=31, fresh=True)
    h.polled(0, 99, at=32)
    h.polled(100, 149, at=32.5, epoch=1, sequence=100 + NEW)
    h.commit(150, 0, at=at, record_epoch=1)


@asks(
    "Nothing above 100 was acknowledged in epoch 0, so that the first election is clean. A group "
    "reads to 149 in epoch 3, commits 150, and a second after broker 2 is elected once more notices"
    " that the records are gone.",
    source=LOSES + "; " + UNHEARD,
    expects={
        "false_truncation": NONE,
        "unjustified_reset": NONE,
        "orphan_commit": f"{PERMITTED}: committed late",
        "served_under_fenced_epoch": NONE,
    },
)
def branch_that_came_back_goes_again(h: History) -> None:
    _goes_again(h, noticed=74)


@asks(
    "The same, and the group notices it thirteen seconds before that election.",
    source=LOSES + "; KIP-320: truncation is where the requested epoch ends below the position",
    expects={"false_truncation": VIOLATION, "unjustified_reset": VIOLATION},
)
def branch_that_came_back_is_said_to_be_gone(h: History) -> None:
    _goes_again(h, noticed=60)


def _goes_again(h: History, *, noticed: float) -> None:
    _parted(h, again=True, acknowledged=False)
    h.group()
    started(h, 0, at=50, fresh=True)
    h.polled(0, 149, at=51)
    h.commit(150, 0, at=52)
    h.commit(150, 0, at=72.5)
    h.reset("truncation", 150, 100, at=noticed, epoch=0, member="1")
    h.polled(100, 149, at=76, epoch=1, sequence=100 + NEW)
    h.changed("caught_up", at=77, position=150)


def _reads_first(h: History) -> None:
    """A member reads epoch 0 to its end, and commits 200."""
    started(h, 0, at=8, fresh=True)
    h.polled(0, 199, at=9)
    h.changed("caught_up", at=10, position=200)
    h.commit(200, 0, at=11)


def _reads_on(h: History, *, at: float) -> None:
    """It goes on at 150: what is there is of epoch 0 again, then of epoch 3."""
    h.polled(150, 199, at=at)
    h.commit(180, 0, at=at + 0.5)
    h.polled(200, 249, at=at + 1, epoch=3, sequence=200 + NEW)
    h.changed("caught_up", at=at + 2, position=250)
    h.commit(250, 3, at=at + 3, record_epoch=3)
    h.changed("closed", at=at + 4)


def _parted(
    h: History,
    *,
    acks: str = "all",
    clean: bool = False,
    reached: int = 200,
    acknowledged: bool = True,
    again: bool = False,
    turned: bool = False,
    start: int = 0,
    rejoins: bool = False,
) -> None:
    """What this module's docstring tells; the elections are at 23 and 43 s, 50 values each.

    clean: the metadata log has broker 1 in the ISR before the second one. reached: where epoch 0
    ends, and epoch 3 starts. acknowledged: its records from 100 on, by broker 1 alone. again:
    broker 2 leads epoch 5 from 150 on, at 73 s. turned: a later value of epoch 3 is below an
    earlier one. start: the log start at the end.
    """
    written(h, unclean_election=True, acks=acks, retention_ms=60_000 if start else None)
    isr, end = ([1], reached) if acknowledged else ([1, 2], 100)
    h.led(1, 0, at=4, isr=isr)
    if acknowledged:
        h.sent(100, reached - 1, at=5, acks=acks, is_idempotent=True)
    else:
        h.sent(None, at=5, count=100, sequence=100, outcome="unknown", is_idempotent=True)
    h.sampled(1, at=6, end=end, isr=isr)
    h.sampled(1, at=19, end=end, isr=isr)
    killed(h, 1, at=20, healed=41)
    h.led(2, 1, at=23, isr=[2], starts=100)
    h.sampled(2, at=24, end=100, epoch=1, isr=[2])
    h.sent(100, 149, at=30, sequence=100 + NEW, acks=acks, is_idempotent=True)
    h.sampled(2, at=31, end=150, epoch=1, isr=[2])
    h.sampled(2, at=35, end=150, epoch=1, isr=[2])
    _taken_over(h, clean=clean)
    h.led(1, 3, at=43, isr=[1], starts=reached)
    h.sampled(1, at=44, end=reached, epoch=3, isr=[1])
    third = 200 + NEW if reached == 200 else reached + 2 * NEW
    last = reached + 49
    h.sent(reached, last, at=45, sequence=third, acks=acks, is_idempotent=True)
    if turned:
        h.sent(last + 2, last + 2, at=46, sequence=third + 50, acks=acks, is_idempotent=True)
        h.sent(last + 1, last + 1, at=47, sequence=third + 51, acks=acks, is_idempotent=True)
        last += 2
    h.sampled(1, at=48, end=last + 1, epoch=3, isr=[1])
    kept = [(0, 99, 0), (100, reached - 1, 0), (reached, reached + 49, 3)]
    own = {reached: third}
    if turned:
        kept += [(last - 1, last - 1, 3), (last, last, 3)]
        own |= {last - 1: third + 51, last: third + 50}
    other = [(0, 99, 0), (100, 149, 1)]
    if again:
        _back_again(h, third + 100)
        other.append((150, 159, 5))
    if start:
        h.log_started(1, start, at=80)
        h.sampled(1, at=81, end=last + 1, start=start, epoch=3, isr=[1])
        kept, own = [(start, last, 3)], {start: third + start - reached}
    h.log(1, *kept, start=start, sequences=own, high_watermark=last + 1)
    if rejoins:
        h.truncated(2, 100, at=55)
        h.led(1, 3, at=57, isr=[1, 2])
        h.sampled(1, at=58, end=last + 1, epoch=3, isr=[1, 2])
        h.log(2, *kept, start=start, sequences=own, high_watermark=last + 1)
    else:
        end = other[-1][1] + 1
        h.log(2, *other, sequences={100: 100 + NEW, 150: third + 100}, high_watermark=end)


def _back_again(h: History, sequence: int) -> None:
    """Broker 2 leads epoch 5 from 150 on; broker 1 is gone."""
    killed(h, 1, at=70)
    h.led(-1, 4, at=72, isr=[1])
    h.led(2, 5, at=73, isr=[2], starts=150)
    h.sent(150, 159, at=75, sequence=sequence, is_idempotent=True)
    h.sampled(2, at=76, end=160, epoch=5, isr=[2])


def _taken_over(h: History, *, clean: bool) -> None:
    """Broker 2 is killed at 37 s, and broker 1 returns: before, if the election is clean."""
    if clean:
        h.registered(1, at=35.5, is_fenced=False, broker_epoch=2)
        h.led(2, 1, at=36, isr=[2, 1])
    killed(h, 2, at=37)
    if not clean:
        h.led(-1, 2, at=40, isr=[2])
        returned(h, 1, at=41)


@asks(
    "The same, and the metadata log that was collected begins with the last election.",
    source=NOT_REPORTED,
    expects={
        "record_epoch_regressed": UNDECIDED,
        "committed_epoch_regressed": UNDECIDED,
    },
)
def metadata_log_begins_after_the_elections(h: History) -> None:
    _parted(h)
    h.group()
    _reads_first(h)
    h.reset("truncation", 200, 100, at=28, epoch=0, member="1")
    h.polled(100, 149, at=32, epoch=1, sequence=100 + NEW)
    h.commit(150, 1, at=33, record_epoch=1)
    _reads_on(h, at=60)
    h.rows["leaderships"] = [row for row in h.rows["leaderships"] if row["leader_epoch"] == 3]
