"""Commits that are fetched while the coordinator of a group changes."""

from tests.exam.coordinator_verbs import (
    DEPOSED,
    NOTHING,
    OFFSETS,
    TIMED_OUT,
    TRACKING,
    acknowledged,
    coordinated,
    found,
    kept,
    requested,
    returned,
    taken_over,
)
from tests.exam.history import NONE, PERMITTED, UNDECIDED, VIOLATION, History, asks, asks_each

STABLE = "KAFKA-16973: a request for stable offsets waits until what was written is committed"
LOADING = 14


def deleted(h: History, *, at: float, epoch: int = 0) -> None:
    h.stored(None, 0, at=at, is_tombstone=True)
    gone = {"committed_epoch": None, "metadata": None, "log_epoch": epoch}
    h.rows["committed_offsets"][-1].update(gone)


@asks_each(
    "Broker 1 acknowledged 50 and 100; broker 2 coordinates since a second.",
    source=TRACKING + "; " + STABLE,
    check="stale_fetched_commit",
    cases={
        "It returns 50.": (
            found(
                f"{VIOLATION}: unstable: returned offset 50 in 1 responses over 0.0 s, from 1.0 s"
                " after it led under epoch 1 on; offset 100 had been acknowledged before"
            ),
            {"offset": 50},
        ),
        "It is asked for stable offsets, and returns 50.": (
            found(f"{VIOLATION}: stable"),
            {"offset": 50, "stable": True},
        ),
        "It returns no commit.": (
            found(f"{VIOLATION}: unstable: returned no commit"),
            {"offset": -1},
        ),
        "It returns 100.": (NOTHING, {"offset": 100}),
        "It is loading, and says so.": (NOTHING, {"offset": -1, "error": LOADING}),
        "It waits for stable offsets in vain, and says so.": (
            NOTHING,
            {"offset": -1, "error": TIMED_OUT, "stable": True},
        ),
        "It returns 70, which no client committed.": (
            {"stale_fetched_commit": NONE, "wrong_fetched_commit": VIOLATION},
            {"offset": 70},
        ),
    },
)
def new_coordinator_returns(
    h: History, *, offset: int, stable: bool = False, error: int = 0
) -> None:
    taken_over(h, 50, 100)
    returned(h, offset, stable=stable, error=error)


@asks(
    "The coordinator that acknowledged 100 is loading, and says so.",
    source="Errors.COORDINATOR_LOAD_IN_PROGRESS: a coordinator that is loading can't process "
    "requests",
    expects={"stale_fetched_commit": NONE, "wrong_fetched_commit": UNDECIDED},
)
def coordinator_is_loading_again(h: History) -> None:
    coordinated(h)
    acknowledged(h, 100, at=38.0)
    returned(h, -1, broker=1, error=LOADING)


@asks(
    "It returns 50 for four seconds, each 10 ms, and then 100.",
    source=TRACKING,
    expects=found(f"{VIOLATION}: unstable: returned offset 50 in 400 responses over 4.0 s"),
)
def older_commit_for_some_time(h: History) -> None:
    taken_over(h, 50, 100)
    for number in range(400):
        returned(h, 50, at=40.1 + number / 100)
    returned(h, 100, at=44.2)


@asks(
    "The first commit of a group is acknowledged; the next coordinator has none.",
    source=TRACKING,
    expects=found(f"{VIOLATION}: unstable: returned no commit"),
)
def first_commit_is_not_returned(h: History) -> None:
    taken_over(h, 100)
    returned(h, -1)


@asks(
    "The new coordinator returns 50 with another leader epoch than it was committed with.",
    source="KIP-320, OffsetFetch: the response has the committed leader epoch",
    expects={"stale_fetched_commit": NONE, "wrong_fetched_commit": VIOLATION},
)
def older_commit_with_another_epoch(h: History) -> None:
    taken_over(h, 50, 100)
    returned(h, 50)
    h.rows["wire_calls"][-1]["epoch"] = 1


@asks(
    "The new coordinator returns 50 at a version that has no leader epoch.",
    source="KIP-320, OffsetFetch: the leader epoch since version 5; " + TRACKING,
    expects=found(f"{VIOLATION}: unstable"),
)
def older_commit_at_an_old_version(h: History) -> None:
    taken_over(h, 50, 100)
    returned(h, 50)
    h.rows["wire_calls"][-1].update(version=4, epoch=-1)


@asks(
    "A group commits 50, 100 and 50 again; the new coordinator returns 50.",
    source=TRACKING,
    expects=NOTHING,
)
def earlier_offset_is_committed_again(h: History) -> None:
    taken_over(h, 50, 100, 50)
    returned(h, 50)


MANY = {
    ("g", "t", 0): (50, 100),
    ("g", "t", 1): (30, 40),
    ("g", "u", 0): (10, 20),
    ("h", "t", 0): (60, 70),
}


def _many(h: History, **other: int) -> None:
    """Two groups, topics and partitions have commits, which one request each asks for."""
    h.topic("u")
    coordinated(h, (2, 40.0))
    for number, ((group, topic, partition), offsets) in enumerate(MANY.items()):
        of = {"group": h.own(group), "topic": h.own(topic), "partition": partition}
        for offset, at in zip(offsets, (10.0 + number, 30.0 + number), strict=True):
            acknowledged(h, offset, at=at)
            h.rows["wire_calls"][-1].update(of)
            h.rows["committed_offsets"][-1].update(of)
        returned(h, other.get(f"{group}_{topic}_{partition}", offsets[-1]))
        h.rows["wire_calls"][-1].update(of, seq=1000 + (group == "h"))


@asks(
    "The new coordinator returns the last commits of two groups, of two partitions and topics.",
    source=TRACKING,
    expects=NOTHING,
)
def commits_of_several_groups_and_partitions(h: History) -> None:
    _many(h)


@asks_each(
    "Of the commits of two groups, of two partitions and topics, the new coordinator returns",
    source=TRACKING,
    check="stale_fetched_commit",
    cases={
        f"{offset} instead of {due}.": (
            found(f"{VIOLATION}: unstable: offset {due} had been acknowledged before"),
            {"name": name, "offset": offset},
        )
        for name, offset, due in (
            ("g_t_0", 50, 100),
            ("g_t_1", 30, 40),
            ("g_u_0", 10, 20),
            ("h_t_0", 60, 70),
        )
    },
)
def older_commit_of_one_of_several(h: History, *, name: str, offset: int) -> None:
    _many(h, **{name: offset})


@asks(
    "The new coordinator returns 50 with other metadata than it was committed with.",
    source="OffsetMetadataManager.fetchOffsets: the last commit, with its metadata",
    expects={"stale_fetched_commit": NONE, "wrong_fetched_commit": VIOLATION},
)
def older_commit_with_other_metadata(h: History) -> None:
    taken_over(h, 50, 100)
    returned(h, 50)
    h.rows["wire_calls"][-1]["metadata"] = "another"


@asks(
    "It returns 70, and a commit of 70 is refused a second later.",
    source="OffsetMetadataManager.fetchOffsets: what was not asked for yet can't be returned",
    expects={"stale_fetched_commit": NONE, "wrong_fetched_commit": VIOLATION},
)
def returned_commit_is_asked_for_later(h: History) -> None:
    taken_over(h, 50, 100)
    returned(h, 70)
    requested(h, 70, at=42.0, broker=2, error=TIMED_OUT)


def _without_log_epochs(h: History) -> None:
    for row in h.rows["committed_offsets"]:
        row["log_epoch"] = None


@asks(
    "The epochs under which commits were stored are not known; the new coordinator returns 50.",
    source=TRACKING,
    expects=found(f"{VIOLATION}: unstable: offset 100 had been acknowledged before"),
)
def epochs_of_commits_are_not_known(h: History) -> None:
    taken_over(h, 50, 100)
    returned(h, 50)
    _without_log_epochs(h)


@asks(
    "The epochs are not known; the new coordinator returns 100, and acknowledged 120 before.",
    source="OffsetMetadataManager.fetchOffsets: the last commit",
    expects={"stale_fetched_commit": NONE, "wrong_fetched_commit": VIOLATION},
)
def epoch_of_its_own_commit_is_not_known(h: History) -> None:
    taken_over(h, 100)
    acknowledged(h, 120, at=45.0, epoch=1, broker=2)
    returned(h, 100, at=48.0)
    _without_log_epochs(h)


@asks(
    "The group's partition has no leader for a second, before the new one returns 50.",
    source=TRACKING,
    expects=found(f"{VIOLATION}: unstable: after it led under epoch 2 on"),
)
def coordinator_is_away_for_a_second(h: History) -> None:
    coordinated(h, (-1, 39.0), (2, 40.0))
    acknowledged(h, 50, at=28.0)
    acknowledged(h, 100, at=38.0)
    returned(h, 50)


@asks(
    "The coordinator changes twice within two seconds, and the last one returns 50.",
    source=TRACKING,
    expects=found(f"{VIOLATION}: unstable: offset 100 had been acknowledged before"),
)
def coordinator_changes_twice(h: History) -> None:
    coordinated(h, (2, 39.0), (1, 40.5))
    acknowledged(h, 50, at=28.0)
    acknowledged(h, 100, at=38.0)
    returned(h, 50, broker=1)


def _moved_back(h: History, *, asked: float) -> None:
    """Broker 2 coordinates for ten seconds, in which it acknowledges 120; broker 1 returns 100."""
    coordinated(h, (2, 40.0), (1, 50.0))
    acknowledged(h, 100, at=38.0)
    acknowledged(h, 120, at=45.0, epoch=1, broker=2)
    returned(h, 100, at=asked, broker=1)


@asks(
    "The coordinator moves back to the broker that had it, which returns what it had then.",
    source=TRACKING,
    expects=found(f"{VIOLATION}: unstable: offset 120 had been acknowledged before"),
)
def coordinator_moves_back(h: History) -> None:
    _moved_back(h, asked=52.0)


@asks(
    "It returns that within the clock bound of its election.",
    source="docs/findings.md, clock bound: times of different nodes are compared within 50 ms; "
    + DEPOSED,
    expects=found(f"{UNDECIDED}: unstable"),
)
def coordinator_is_about_to_move_back(h: History) -> None:
    _moved_back(h, asked=50.03)


@asks(
    "A commit is acknowledged in the microsecond in which the request for it begins.",
    source="decision 25: what was so at some time of the request only is not decided",
    expects=NOTHING,
)
def commit_is_acknowledged_as_the_request_begins(h: History) -> None:
    taken_over(h, 50, 100)
    returned(h, 50, at=38.005)
    h.rows["leaderships"][-1]["at_micros"] = h.at(37.9)


@asks(
    "A commit is acknowledged in the microsecond in which a request begins; its coordinator stays.",
    source="decision 25: what was so at some time of the request only is not decided",
    expects=NOTHING,
)
def commit_at_the_same_coordinator_as_the_request_begins(h: History) -> None:
    coordinated(h)
    acknowledged(h, 50, at=28.0)
    acknowledged(h, 100, at=38.0)
    returned(h, 50, at=38.005, broker=1)


@asks(
    "A commit was stored and not acknowledged; the new coordinator returns the one before.",
    source=TRACKING,
    expects=NOTHING,
)
def commit_was_not_acknowledged(h: History) -> None:
    taken_over(h, 50)
    requested(h, 100, at=39.0, error=TIMED_OUT)
    kept(h, 100, at=39.0)
    returned(h, 50)


@asks(
    "A commit that no client reports was stored; the new coordinator returns the one before.",
    source=TRACKING + "; a client that commits by itself reports no response",
    expects=NOTHING,
)
def commit_without_a_report(h: History) -> None:
    taken_over(h, 50)
    kept(h, 100, at=38.0)
    returned(h, 50)


@asks(
    "The new coordinator has stored a commit that it has not acknowledged, and returns the last.",
    source=TRACKING,
    expects=NOTHING,
)
def new_coordinator_waits_for_its_own_commit(h: History) -> None:
    taken_over(h, 100)
    requested(h, 120, at=46.0, broker=2, error=TIMED_OUT)
    kept(h, 120, at=41.0, epoch=1)
    h.rows["wire_calls"][-1]["began_micros"] = h.at(41.0)
    returned(h, 100, at=42.0)


@asks(
    "The new coordinator acknowledges 120 itself, and returns 100 afterwards.",
    source="OffsetMetadataManager.fetchOffsets: the last commit",
    expects={"stale_fetched_commit": NONE, "wrong_fetched_commit": VIOLATION},
)
def new_coordinator_forgets_its_own_commit(h: History) -> None:
    taken_over(h, 100)
    acknowledged(h, 120, at=45.0, epoch=1, broker=2)
    returned(h, 100, at=48.0)


@asks(
    "A newer commit than the last acknowledged one is returned, which is not acknowledged yet.",
    source="decision 22: a response that is right for one of the possible states is no violation",
    expects=NOTHING,
)
def newer_commit_is_returned(h: History) -> None:
    taken_over(h, 50, 100)
    kept(h, 120, at=39.0)
    returned(h, 120)


@asks(
    "The commit was deleted before the coordinator changed, or expired after that.",
    source="KafkaAdminClient.deleteConsumerGroupOffsets; offsets.retention.minutes",
    expects=NOTHING,
)
def commit_was_deleted(h: History) -> None:
    taken_over(h, 50, 100)
    deleted(h, at=39.0)
    returned(h, -1)
    acknowledged(h, 120, at=45.0, epoch=1, broker=2)
    deleted(h, at=50.0, epoch=1)
    returned(h, -1, at=51.0)


@asks(
    "A group is deleted and made anew: its first new commit is not returned, but none is.",
    source=TRACKING,
    expects=found(f"{VIOLATION}: unstable: returned no commit"),
)
def group_is_made_anew(h: History) -> None:
    coordinated(h, (2, 40.0))
    acknowledged(h, 100, at=20.0)
    deleted(h, at=30.0)
    acknowledged(h, 10, at=38.0)
    returned(h, -1)


@asks(
    "A deleted group's old commit is returned, and its new one is known.",
    source=TRACKING,
    expects=found(f"{VIOLATION}: unstable: offset 10 had been acknowledged before"),
)
def commit_of_the_deleted_group_is_returned(h: History) -> None:
    coordinated(h, (2, 40.0))
    acknowledged(h, 100, at=20.0)
    deleted(h, at=30.0)
    acknowledged(h, 10, at=38.0)
    returned(h, 100)


@asks(
    "An administrator set the group back to 20.",
    source="KafkaAdminClient.alterConsumerGroupOffsets: a commit like another",
    expects=NOTHING,
)
def administrator_set_the_group_back(h: History) -> None:
    taken_over(h, 100)
    acknowledged(h, 20, at=39.0)
    returned(h, 20)


@asks(
    "The topic was created again since the commit, and the coordinator has none.",
    source="GroupCoordinatorService.onPartitionsDeleted: the offsets of a deleted topic go",
    expects=NOTHING,
)
def topic_was_created_again(h: History) -> None:
    taken_over(h, 100)
    h.led(1, 0, at=39.0, isr=(1, 2), topic_id="second", starts=0)
    returned(h, -1)


@asks_each(
    "An unclean election of the offsets partition came since the commit.",
    source="unclean.leader.election.enable on __consumer_offsets",
    check="stale_fetched_commit",
    cases={
        "It returns an older commit.": (found(f"{PERMITTED}: unstable"), {"stable": False}),
        "It returns an older one as stable.": (found(f"{PERMITTED}: stable"), {"stable": True}),
    },
)
def election_of_the_coordinator_is_unclean(h: History, *, stable: bool) -> None:
    coordinated(h)
    acknowledged(h, 50, at=28.0)
    acknowledged(h, 100, at=38.0)
    h.led(1, 0, at=38.5, isr=(1,), topic=OFFSETS, partition=h.index)
    h.led(2, 1, at=40.0, isr=(2,), topic=OFFSETS, partition=h.index)
    returned(h, 50, stable=stable)
    h.led(1, 2, at=45.0, isr=(1, 2), topic=OFFSETS, partition=h.index)


@asks(
    "An unclean election comes ten seconds after an older commit was returned.",
    source=TRACKING + "; what comes later explains nothing",
    expects=found(f"{VIOLATION}: unstable"),
)
def unclean_election_comes_later(h: History) -> None:
    taken_over(h, 50, 100)
    returned(h, 50)
    h.led(2, 1, at=45.0, isr=(2,), topic=OFFSETS, partition=h.index)
    h.led(1, 2, at=51.0, isr=(1,), topic=OFFSETS, partition=h.index)


def _pending(h: History, *, ended: float | None) -> None:
    """A transaction commits 60 at second 39, after an acknowledged 100."""
    taken_over(h, 50, 100)
    kept(h, 60, at=39.0)
    of_producer = {"producer_id": h.place.producer_id(7), "producer_epoch": 0}
    marker = {} if ended is None else {"marker": "commit", "marker_micros": h.at(ended)}
    h.rows["committed_offsets"][-1].update(of_producer | marker)


@asks(
    "A transaction has an offset of the partition; an older commit than the last is returned as"
    " stable.",
    source="KIP-447, OffsetFetch: UNSTABLE_OFFSET_COMMIT",
    expects={
        "stale_fetched_commit": NONE,
        "wrong_fetched_commit": f"{VIOLATION}: pending commit",
    },
)
def older_commit_while_a_transaction_is_pending(h: History) -> None:
    _pending(h, ended=60.0)
    returned(h, 50, stable=True)


@asks(
    "A transaction has an offset of the partition; an older commit than the acknowledged one is"
    " returned.",
    source=TRACKING + "; KIP-447: without stable offsets, the commit before the transaction's",
    expects=found(f"{VIOLATION}: unstable: offset 100 had been acknowledged before"),
)
def transaction_excuses_no_older_commit(h: History) -> None:
    _pending(h, ended=60.0)
    returned(h, 50)


@asks(
    "The new coordinator returns what a transaction committed after the last acknowledged commit.",
    source="KIP-98: offsets of a transaction take effect with its marker",
    expects=NOTHING,
)
def commit_of_a_transaction_is_newer(h: History) -> None:
    _pending(h, ended=39.5)
    returned(h, 60)
