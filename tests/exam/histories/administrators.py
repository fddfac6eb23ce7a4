"""Offsets that an administrator set for a group: who did it is known, and its clients did not."""

from contract.protocol import ALTER_OFFSETS, NO_BROKER
from tests.exam.commit_verbs import COMMIT
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
from tests.exam.verbs import joined, left, moved, plain, reads_to

ALTERED = "KIP-396, AlterConsumerGroupOffsets: an OffsetCommit without a member, of an empty group"
INNOCENT = {
    "commit_beyond_log": NONE,
    "commit_beyond_processed": NONE,
    "commit_mismatch": NONE,
    "commit_regressed": NONE,
    "committed_epoch_ahead": NONE,
    "committed_epoch_missing": NONE,
    "committed_epoch_regressed": NONE,
    "committed_epoch_stale": NONE,
    "committed_epoch_unknown": NONE,
    "commit_from_old_generation": NONE,
    "false_truncation": NONE,
    "history_complete": NONE,
    "lost_commit": NONE,
    "orphan_commit": NONE,
    "poll_skip": NONE,
    "skipped_record": NONE,
    "start_mismatch": NONE,
    "unjustified_reset": NONE,
}


OF_A_RESET = {"start_mismatch": PERMITTED, "commit_regressed": NOT_VIOLATION}
ADMIN = "Admin.alterConsumerGroupOffsets; ConsumerCoordinator starts at what is committed last"


def _altered(
    h: History, offset: int, epoch: int = -1, *, at: float = 40.0, error: int | None = 0
) -> None:
    """An administrator asks for a commit, and unless it is refused it is stored."""
    h.called(
        1,
        COMMIT,
        8,
        at=at,
        error=error,
        group=h.own("g"),
        member="",
        generation=-1,
        asked_offset=offset,
        asked_epoch=epoch,
        metadata="",
        throttle_ms=0,
    )
    if not error:
        h.stored(offset, epoch, at=at - 0.002, brokers=(1, 2))


def _read_before(h: History, **group: str) -> None:
    """A group reads 0 to 49 of 100 and commits 50."""
    h.topic()
    h.group(**group)
    plain(h, 99)
    _first_half(h)


def _first_half(h: History) -> None:
    reads_to(h, 49)
    h.commit(50, 0, at=7.0, brokers=(1, 2), generation=1)
    left(h, 50, at=20.0)


def _read_after(h: History, start: int, *, epoch: int = 0, commit: int = 100) -> None:
    joined(h, start, at=45.0, member="2", generation=3)
    if start < 100:
        h.polled(start, 99, at=46.0, member="2", epoch=epoch)
    h.commit(commit, epoch, at=47.0, member="2", brokers=(1, 2), generation=3)
    left(h, commit, at=80.0, member="2", generation=3, caught_up=commit == 100)


@asks(
    "An administrator sets 80 while the group, at 50, has no members; it goes on at 80.",
    source=ALTERED,
    expects=INNOCENT | {"skipped_record": PERMITTED},
)
def administrator_moves_a_group_ahead(h: History) -> None:
    _read_before(h)
    _altered(h, 80, 0)
    _read_after(h, 80)


@asks_each(
    "Admin is called to set 80 while the group, at 50, has no members; it goes on at 80. The call",
    source=ALTERED + "; a call that timed out may have been carried out",
    check="start_mismatch",
    cases={
        "succeeds.": (INNOCENT | {"skipped_record": PERMITTED}, {"error": 0}),
        "times out.": (INNOCENT | {"skipped_record": PERMITTED}, {"error": None}),
    },
)
def admin_moves_a_group_ahead(h: History, *, error: int | None) -> None:
    _read_before(h)
    _altered(h, 80, 0, error=error)
    of_admin = {"broker": NO_BROKER, "api": ALTER_OFFSETS, "version": 0, "client": "java"}
    h.rows["wire_calls"][-1].update(of_admin | {"throttle_ms": None, "response": None})
    _read_after(h, 80)


@asks(
    "Once the group has begun at 80 and is empty again, the administrator sets it back to 50.",
    source=ALTERED,
    expects={"skipped_record": PERMITTED, "start_mismatch": NONE},
)
def administrator_takes_it_back_after_the_group_began(h: History) -> None:
    _read_before(h)
    _altered(h, 80)
    _read_after(h, 80)
    _altered(h, 50, at=85.0)


@asks(
    "The administrator sets 80, and then 60, at which the group begins.",
    source=ALTERED,
    expects={
        "skipped_record": PERMITTED,
        "start_mismatch": NONE,
    },
)
def administrator_changes_its_mind(h: History) -> None:
    _read_before(h)
    _altered(h, 80)
    _altered(h, 60, at=41.0)
    _read_after(h, 60)


@asks(
    "An administrator sets 20 while the group, at 50, has no members; it goes on at 20.",
    source=ALTERED,
    expects=INNOCENT | {"duplicate_delivery": PERMITTED, "nonmonotonic_poll": NONE},
)
def administrator_moves_a_group_back(h: History) -> None:
    _read_before(h)
    _altered(h, 20, 0)
    _read_after(h, 20)


@asks(
    "An administrator sets 80 with an epoch that the partition never had; the member, at 80,"
    " waits for it, and commits where it stands.",
    source=ALTERED + "; KIP-320: a client waits for metadata of the epoch that it has",
    expects=INNOCENT | {"skipped_record": NOT_VIOLATION, "stuck_consumer": PERMITTED},
)
def administrator_sets_an_epoch_that_never_was(h: History) -> None:
    _read_before(h)
    _altered(h, 80, 7)
    joined(h, 80, at=45.0, member="2", generation=3)
    h.commit(80, 7, at=47.0, member="2", brokers=(1, 2), generation=3, record_epoch=-1)
    h.changed("stalled", at=85.0, position=80, member="2", generation=3)


@asks(
    "An administrator sets 50 with an epoch above the leader's; then the group reads on.",
    source=ALTERED + "; KIP-101: its next record has the epoch of the leader",
    expects=INNOCENT,
)
def administrator_sets_a_higher_epoch(h: History) -> None:
    _read_before(h)
    _altered(h, 50, 3)
    _read_after(h, 50)


@asks(
    "An administrator sets an offset beyond the log; the group is out of range, and starts over.",
    source=ALTERED + "; auto.offset.reset",
    expects=INNOCENT | OF_A_RESET | {"duplicate_delivery": PERMITTED},
)
def administrator_sets_an_offset_beyond_the_log(h: History) -> None:
    _read_before(h)
    _altered(h, 1000)
    h.changed("opened", at=44.0, member="2")
    h.reset("out_of_range", 1000, 0, at=44.5)
    h.changed("assigned", at=45.0, position=0, member="2", generation=3)
    h.polled(0, 99, at=46.0, member="2")
    h.commit(100, 0, at=47.0, member="2", brokers=(1, 2), generation=3)
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "An administrator sets 70 with epoch 0, which ended at 50: the client is told of a truncation.",
    source=ALTERED + "; KIP-320: the end of epoch 0 is 50, and the position lies above it",
    expects=INNOCENT | OF_A_RESET,
)
def administrator_sets_an_epoch_that_ended_before(h: History) -> None:
    h.topic()
    h.group()
    moved(h)
    reads_to(h, 49)
    h.polled(50, 99, at=24.0, epoch=1)
    h.commit(100, 1, at=25.0, brokers=(1, 2), generation=1)
    left(h, 100, at=30.0)
    _altered(h, 70, 0)
    h.changed("opened", at=44.0, member="2")
    h.reset("truncation", 70, 50, at=44.5, epoch=0)
    h.changed("assigned", at=45.0, position=50, member="2", generation=3)
    h.polled(50, 99, at=46.0, member="2", epoch=1)
    h.commit(100, 1, at=47.0, member="2", brokers=(1, 2), generation=3)
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "An administrator's request is refused, as the group has members, and 80 is not stored.",
    source="ClassicGroup.validateOffsetCommit: UNKNOWN_MEMBER_ID for a group with members",
    expects=INNOCENT | {"start_mismatch": VIOLATION, "skipped_record": VIOLATION},
)
def group_moves_ahead_though_its_administrator_is_refused(h: History) -> None:
    _read_before(h)
    _altered(h, 80, 0, error=25)
    _read_after(h, 80)


@asks(
    "80 is stored between two sessions, and neither a client nor an administrator asked for it.",
    source="contract/events.py: every commit of a client, and every single request, is in a "
    "history",
    expects={"history_complete": UNDECIDED, "commit_beyond_processed": VIOLATION},
)
def nobody_asked_for_a_commit(h: History) -> None:
    _read_before(h)
    h.stored(80, 0, at=40.0, brokers=(1, 2))
    _read_after(h, 80)


@asks(
    "An administrator sets 60; the next member starts at 80, and gets no earlier record.",
    source=ALTERED + "; a member starts at the group's commit",
    expects={"start_mismatch": VIOLATION, "skipped_record": VIOLATION, "history_complete": NONE},
)
def member_starts_elsewhere_than_its_administrator_set(h: History) -> None:
    _read_before(h)
    _altered(h, 60, 0)
    _read_after(h, 80)


@asks(
    "An administrator sets 80; a member that read it all from there commits 60.",
    source=ALTERED + "; nothing had reset the member's position",
    expects={"commit_regressed": VIOLATION, "history_complete": NONE},
)
def member_commits_below_what_its_administrator_set(h: History) -> None:
    _read_before(h)
    _altered(h, 80, 0)
    _read_after(h, 80, commit=60)


@asks(
    "An administrator sets 50 again; a member that got nothing commits 90.",
    source="KafkaConsumer.commitSync: the committed offset is that of the next record",
    expects={"commit_beyond_processed": VIOLATION, "history_complete": NONE},
)
def member_commits_beyond_what_its_administrator_set(h: History) -> None:
    _read_before(h)
    _altered(h, 50, 0)
    joined(h, 50, at=45.0, member="2", generation=3)
    h.commit(90, 0, at=47.0, member="2", brokers=(1, 2), generation=3)
    left(h, 90, at=80.0, member="2", generation=3)


@asks(
    "An administrator sets 50 with epoch 0; a member that polled it commits 100 with epoch 7.",
    source="KIP-631: the partition never had the epoch, and no administrator set it",
    expects={"committed_epoch_unknown": VIOLATION, "history_complete": NONE},
)
def member_commits_an_epoch_that_nobody_set(h: History) -> None:
    _read_before(h)
    _altered(h, 50, 0)
    joined(h, 50, at=45.0, member="2", generation=3)
    h.polled(50, 99, at=46.0, member="2")
    h.commit(100, 7, at=47.0, member="2", brokers=(1, 2), generation=3)
    left(h, 100, at=80.0, member="2", generation=3)


@asks(
    "An administrator sets an empty group from 50 to 70, and back to 50; it starts at 70.",
    source=ADMIN,
    expects={"skipped_record": VIOLATION, "start_mismatch": VIOLATION},
)
def administrator_takes_it_back_and_the_group_starts_ahead(h: History) -> None:
    _stopped(h, at=50)
    _set(h, 70, at=40.0)
    _set(h, 50, at=45.0)
    _starts(h, 70)


@asks(
    "An administrator sets an empty group that had read all back to 20; it reads from there.",
    source=ADMIN,
    expects={
        "nonmonotonic_poll": NONE,
        "wrong_commit_error": NONE,
        "commit_regressed": NOT_VIOLATION,
        "duplicate_delivery": PERMITTED,
        "start_mismatch": NONE,
        "unjustified_reset": NONE,
    },
)
def administrator_sets_a_group_back(h: History) -> None:
    _stopped(h, at=100)
    _set(h, 20, at=40.0)
    _starts(h, 20, commit=60)


def _stopped(h: History, *, at: int) -> None:
    """A group commits at an offset, and is empty from second 20 on."""
    h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, at - 1)
    h.commit(at, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, at, at=20.0)


def _set(h: History, offset: int, *, at: float) -> None:
    """An administrator commits an offset for the group, as no member of it."""
    metadata = f"set to {offset}"
    h.called(
        1,
        "OFFSET_COMMIT",
        9,
        at=at,
        group=h.own("g"),
        member="",
        generation=-1,
        asked_offset=offset,
        asked_epoch=-1,
        metadata=metadata,
        throttle_ms=0,
    )
    h.stored(offset, -1, at=at - 0.002, brokers=(1, 2))
    h.rows["committed_offsets"][-1].update(metadata=metadata, value_version=3)


def _starts(h: History, position: int, *, commit: int | None = None) -> None:
    """Member 2 starts at a position, and reads to the end; it may commit in between."""
    joined(h, position, at=60.0, member="2", generation=3)
    if commit is not None:
        h.polled(position, commit - 1, at=61.0, member="2")
        h.commit(commit, 0, at=61.5, brokers=(1, 2), member="2", generation=3)
    h.polled(position if commit is None else commit, 99, at=62.0, member="2")
    h.commit(100, 0, at=65.0, brokers=(1, 2), member="2", generation=3)
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)
