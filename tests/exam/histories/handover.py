"""Commits that are fetched while the coordinator of a group changes."""

from collections.abc import Sequence

from tests.exam.commit_verbs import COMMIT, FETCH, stored, with_topic
from tests.exam.history import (
    NONE,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
    asks_each,
)

OFFSETS = "__consumer_offsets"
TRACKING = (
    "Kafka's documentation, Distribution, Consumer Offset Tracking: a commit is acknowledged once"
    " the replicas have it, and a coordinator returns the last one, or an error while it loads"
)
STABLE = "KAFKA-16973: a request for stable offsets waits until what was written is committed"
DEPOSED = "decision 46: deposed"
LOADING, TIMED_OUT = 14, 7
NOTHING = {"stale_fetched_commit": NONE, "wrong_fetched_commit": NONE}


def _coordinated(h: History, *terms: tuple[int, float], isr: Sequence[int] = (1, 2)) -> None:
    """Broker 1 coordinates under epoch 0; then each broker from a second on, under the next one."""
    with_topic(h)
    h.led(1, 0, at=0.5, isr=(1, 2), topic=OFFSETS, partition=h.index)
    for epoch, (broker, at) in enumerate(terms, 1):
        h.led(broker, epoch, at=at, isr=isr, topic=OFFSETS, partition=h.index)


def _asked(h: History, offset: int, *, at: float, broker: int = 1, error: int = 0) -> None:
    h.called(
        broker,
        COMMIT,
        8,
        at=at,
        error=error,
        group=h.own("g"),
        member="",
        generation=-1,
        asked_offset=offset,
        asked_epoch=0,
        metadata=f"made {offset}",
        throttle_ms=0,
    )


def _kept(
    h: History, offset: int, *, at: float, epoch: int = 0, brokers: Sequence[int] = (1, 2)
) -> None:
    held = [h.broker(one) for one in brokers]
    stored(h, at=at, offset=offset, metadata=f"made {offset}", log_epoch=epoch, brokers=held)


def _acknowledged(h: History, offset: int, *, at: float, epoch: int = 0, broker: int = 1) -> None:
    """A commit that is stored and acknowledged at once."""
    _asked(h, offset, at=at, broker=broker)
    _kept(h, offset, at=at, epoch=epoch)


def _deleted(h: History, *, at: float, epoch: int = 0) -> None:
    h.stored(None, 0, at=at, is_tombstone=True)
    gone = {"committed_epoch": None, "metadata": None, "log_epoch": epoch}
    h.rows["committed_offsets"][-1].update(gone)


def _returned(
    h: History,
    offset: int,
    *,
    at: float = 41.0,
    broker: int = 2,
    stable: bool = False,
    error: int = 0,
) -> None:
    """What a coordinator returns; -1: no commit."""
    found = {"offset": offset, "epoch": -1 if offset < 0 else 0}
    found |= {"metadata": "" if offset < 0 else f"made {offset}"}
    asked = {"group": h.own("g"), "is_stable": stable, "throttle_ms": 0}
    h.called(broker, FETCH, 8, at=at, error=error, **asked, **found)


def _read(
    h: History,
    offset: int | None,
    *,
    at: float = 41.0,
    stable: bool | None = True,
    error: str | None = None,
    worker: str = "clients",
) -> None:
    """What a client returns that is asked for the commit of its group."""
    h.add(
        "offset_reads",
        worker=h.own(worker),
        group=h.own("g"),
        member="" if stable is False else h.member("1"),
        topic=h.own("t"),
        partition=0,
        offset=offset,
        epoch=-1,
        error=error,
        is_stable=stable,
        by="admin" if stable is False else "consumer",
        seq=len(h.rows["offset_reads"]),
        began_micros=h.at(at - 0.005),
        at_micros=h.at(at),
    )


def _taken_over(h: History, *commits: int, isr: Sequence[int] = (1, 2)) -> None:
    """Broker 1 acknowledges commits by second 38; broker 2 coordinates from second 40 on."""
    _coordinated(h, (2, 40.0), isr=isr)
    for number, offset in enumerate(commits):
        _acknowledged(h, offset, at=38.0 - 10 * (len(commits) - 1 - number))


def _found(expected: str) -> dict[str, str]:
    return {"stale_fetched_commit": expected, "wrong_fetched_commit": NONE}


@asks_each(
    "Broker 1 acknowledged 50 and 100; broker 2 coordinates since a second.",
    source=TRACKING + "; " + STABLE,
    check="stale_fetched_commit",
    cases={
        "It returns 50.": (
            _found(
                f"{VIOLATION}: unstable: returned offset 50 in 1 responses over 0.0 s, from 1.0 s"
                " after it led under epoch 1 on; offset 100 had been acknowledged before"
            ),
            {"offset": 50},
        ),
        "It is asked for stable offsets, and returns 50.": (
            _found(f"{VIOLATION}: stable"),
            {"offset": 50, "stable": True},
        ),
        "It returns no commit.": (
            _found(f"{VIOLATION}: unstable: returned no commit"),
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
    _taken_over(h, 50, 100)
    _returned(h, offset, stable=stable, error=error)


@asks(
    "The coordinator that acknowledged 100 is loading, and says so.",
    source="Errors.COORDINATOR_LOAD_IN_PROGRESS: a coordinator that is loading can't process "
    "requests",
    expects={"stale_fetched_commit": NONE, "wrong_fetched_commit": UNDECIDED},
)
def coordinator_is_loading_again(h: History) -> None:
    _coordinated(h)
    _acknowledged(h, 100, at=38.0)
    _returned(h, -1, broker=1, error=LOADING)


@asks(
    "It returns 50 for four seconds, each 10 ms, and then 100.",
    source=TRACKING,
    expects=_found(f"{VIOLATION}: unstable: returned offset 50 in 400 responses over 4.0 s"),
)
def older_commit_for_some_time(h: History) -> None:
    _taken_over(h, 50, 100)
    for number in range(400):
        _returned(h, 50, at=40.1 + number / 100)
    _returned(h, 100, at=44.2)


@asks(
    "The first commit of a group is acknowledged; the next coordinator has none.",
    source=TRACKING,
    expects=_found(f"{VIOLATION}: unstable: returned no commit"),
)
def first_commit_is_not_returned(h: History) -> None:
    _taken_over(h, 100)
    _returned(h, -1)


@asks(
    "The new coordinator returns 50 with another leader epoch than it was committed with.",
    source="KIP-320, OffsetFetch: the response has the committed leader epoch",
    expects={"stale_fetched_commit": NONE, "wrong_fetched_commit": VIOLATION},
)
def older_commit_with_another_epoch(h: History) -> None:
    _taken_over(h, 50, 100)
    _returned(h, 50)
    h.rows["wire_calls"][-1]["epoch"] = 1


@asks(
    "The new coordinator returns 50 at a version that has no leader epoch.",
    source="KIP-320, OffsetFetch: the leader epoch since version 5; " + TRACKING,
    expects=_found(f"{VIOLATION}: unstable"),
)
def older_commit_at_an_old_version(h: History) -> None:
    _taken_over(h, 50, 100)
    _returned(h, 50)
    h.rows["wire_calls"][-1].update(version=4, epoch=-1)


@asks(
    "A group commits 50, 100 and 50 again; the new coordinator returns 50.",
    source=TRACKING,
    expects=NOTHING,
)
def earlier_offset_is_committed_again(h: History) -> None:
    _taken_over(h, 50, 100, 50)
    _returned(h, 50)


MANY = {
    ("g", "t", 0): (50, 100),
    ("g", "t", 1): (30, 40),
    ("g", "u", 0): (10, 20),
    ("h", "t", 0): (60, 70),
}


def _many(h: History, **returned: int) -> None:
    """Two groups, topics and partitions have commits, which one request each asks for."""
    h.topic("u")
    _coordinated(h, (2, 40.0))
    for number, ((group, topic, partition), offsets) in enumerate(MANY.items()):
        of = {"group": h.own(group), "topic": h.own(topic), "partition": partition}
        for offset, at in zip(offsets, (10.0 + number, 30.0 + number), strict=True):
            _acknowledged(h, offset, at=at)
            h.rows["wire_calls"][-1].update(of)
            h.rows["committed_offsets"][-1].update(of)
        _returned(h, returned.get(f"{group}_{topic}_{partition}", offsets[-1]))
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
            _found(f"{VIOLATION}: unstable: offset {due} had been acknowledged before"),
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
    _taken_over(h, 50, 100)
    _returned(h, 50)
    h.rows["wire_calls"][-1]["metadata"] = "another"


@asks(
    "It returns 70, and a commit of 70 is refused a second later.",
    source="OffsetMetadataManager.fetchOffsets: what was not asked for yet can't be returned",
    expects={"stale_fetched_commit": NONE, "wrong_fetched_commit": VIOLATION},
)
def returned_commit_is_asked_for_later(h: History) -> None:
    _taken_over(h, 50, 100)
    _returned(h, 70)
    _asked(h, 70, at=42.0, broker=2, error=TIMED_OUT)


def _without_log_epochs(h: History) -> None:
    for row in h.rows["committed_offsets"]:
        row["log_epoch"] = None


@asks(
    "The epochs under which commits were stored are not known; the new coordinator returns 50.",
    source=TRACKING,
    expects=_found(f"{VIOLATION}: unstable: offset 100 had been acknowledged before"),
)
def epochs_of_commits_are_not_known(h: History) -> None:
    _taken_over(h, 50, 100)
    _returned(h, 50)
    _without_log_epochs(h)


@asks(
    "The epochs are not known; the new coordinator returns 100, and acknowledged 120 before.",
    source="OffsetMetadataManager.fetchOffsets: the last commit",
    expects={"stale_fetched_commit": NONE, "wrong_fetched_commit": VIOLATION},
)
def epoch_of_its_own_commit_is_not_known(h: History) -> None:
    _taken_over(h, 100)
    _acknowledged(h, 120, at=45.0, epoch=1, broker=2)
    _returned(h, 100, at=48.0)
    _without_log_epochs(h)


@asks(
    "The group's partition has no leader for a second, before the new one returns 50.",
    source=TRACKING,
    expects=_found(f"{VIOLATION}: unstable: after it led under epoch 2 on"),
)
def coordinator_is_away_for_a_second(h: History) -> None:
    _coordinated(h, (-1, 39.0), (2, 40.0))
    _acknowledged(h, 50, at=28.0)
    _acknowledged(h, 100, at=38.0)
    _returned(h, 50)


@asks(
    "The coordinator changes twice within two seconds, and the last one returns 50.",
    source=TRACKING,
    expects=_found(f"{VIOLATION}: unstable: offset 100 had been acknowledged before"),
)
def coordinator_changes_twice(h: History) -> None:
    _coordinated(h, (2, 39.0), (1, 40.5))
    _acknowledged(h, 50, at=28.0)
    _acknowledged(h, 100, at=38.0)
    _returned(h, 50, broker=1)


def _moved_back(h: History, *, asked: float) -> None:
    """Broker 2 coordinates for ten seconds, in which it acknowledges 120; broker 1 returns 100."""
    _coordinated(h, (2, 40.0), (1, 50.0))
    _acknowledged(h, 100, at=38.0)
    _acknowledged(h, 120, at=45.0, epoch=1, broker=2)
    _returned(h, 100, at=asked, broker=1)


@asks(
    "The coordinator moves back to the broker that had it, which returns what it had then.",
    source=TRACKING,
    expects=_found(f"{VIOLATION}: unstable: offset 120 had been acknowledged before"),
)
def coordinator_moves_back(h: History) -> None:
    _moved_back(h, asked=52.0)


@asks(
    "It returns that within the clock bound of its election.",
    source="docs/findings.md, clock bound: times of different nodes are compared within 50 ms; "
    + DEPOSED,
    expects=_found(f"{UNDECIDED}: unstable"),
)
def coordinator_is_about_to_move_back(h: History) -> None:
    _moved_back(h, asked=50.03)


@asks(
    "A commit is acknowledged in the microsecond in which the request for it begins.",
    source="decision 25: what was so at some time of the request only is not decided",
    expects=NOTHING,
)
def commit_is_acknowledged_as_the_request_begins(h: History) -> None:
    _taken_over(h, 50, 100)
    _returned(h, 50, at=38.005)
    h.rows["leaderships"][-1]["at_micros"] = h.at(37.9)


@asks(
    "A commit is acknowledged in the microsecond in which a request begins; its coordinator stays.",
    source="decision 25: what was so at some time of the request only is not decided",
    expects=NOTHING,
)
def commit_at_the_same_coordinator_as_the_request_begins(h: History) -> None:
    _coordinated(h)
    _acknowledged(h, 50, at=28.0)
    _acknowledged(h, 100, at=38.0)
    _returned(h, 50, at=38.005, broker=1)


@asks(
    "A commit was stored and not acknowledged; the new coordinator returns the one before.",
    source=TRACKING,
    expects=NOTHING,
)
def commit_was_not_acknowledged(h: History) -> None:
    _taken_over(h, 50)
    _asked(h, 100, at=39.0, error=TIMED_OUT)
    _kept(h, 100, at=39.0)
    _returned(h, 50)


@asks(
    "A commit that no client reports was stored; the new coordinator returns the one before.",
    source=TRACKING + "; a client that commits by itself reports no response",
    expects=NOTHING,
)
def commit_without_a_report(h: History) -> None:
    _taken_over(h, 50)
    _kept(h, 100, at=38.0)
    _returned(h, 50)


@asks(
    "The new coordinator has stored a commit that it has not acknowledged, and returns the last.",
    source=TRACKING,
    expects=NOTHING,
)
def new_coordinator_waits_for_its_own_commit(h: History) -> None:
    _taken_over(h, 100)
    _asked(h, 120, at=46.0, broker=2, error=TIMED_OUT)
    _kept(h, 120, at=41.0, epoch=1)
    h.rows["wire_calls"][-1]["began_micros"] = h.at(41.0)
    _returned(h, 100, at=42.0)


@asks(
    "The new coordinator acknowledges 120 itself, and returns 100 afterwards.",
    source="OffsetMetadataManager.fetchOffsets: the last commit",
    expects={"stale_fetched_commit": NONE, "wrong_fetched_commit": VIOLATION},
)
def new_coordinator_forgets_its_own_commit(h: History) -> None:
    _taken_over(h, 100)
    _acknowledged(h, 120, at=45.0, epoch=1, broker=2)
    _returned(h, 100, at=48.0)


@asks(
    "A newer commit than the last acknowledged one is returned, which is not acknowledged yet.",
    source="decision 22: a response that is right for one of the possible states is no violation",
    expects=NOTHING,
)
def newer_commit_is_returned(h: History) -> None:
    _taken_over(h, 50, 100)
    _kept(h, 120, at=39.0)
    _returned(h, 120)


@asks(
    "The commit was deleted before the coordinator changed, or expired after that.",
    source="KafkaAdminClient.deleteConsumerGroupOffsets; offsets.retention.minutes",
    expects=NOTHING,
)
def commit_was_deleted(h: History) -> None:
    _taken_over(h, 50, 100)
    _deleted(h, at=39.0)
    _returned(h, -1)
    _acknowledged(h, 120, at=45.0, epoch=1, broker=2)
    _deleted(h, at=50.0, epoch=1)
    _returned(h, -1, at=51.0)


@asks(
    "A group is deleted and made anew: its first new commit is not returned, but none is.",
    source=TRACKING,
    expects=_found(f"{VIOLATION}: unstable: returned no commit"),
)
def group_is_made_anew(h: History) -> None:
    _coordinated(h, (2, 40.0))
    _acknowledged(h, 100, at=20.0)
    _deleted(h, at=30.0)
    _acknowledged(h, 10, at=38.0)
    _returned(h, -1)


@asks(
    "A deleted group's old commit is returned, and its new one is known.",
    source=TRACKING,
    expects=_found(f"{VIOLATION}: unstable: offset 10 had been acknowledged before"),
)
def commit_of_the_deleted_group_is_returned(h: History) -> None:
    _coordinated(h, (2, 40.0))
    _acknowledged(h, 100, at=20.0)
    _deleted(h, at=30.0)
    _acknowledged(h, 10, at=38.0)
    _returned(h, 100)


@asks(
    "An administrator set the group back to 20.",
    source="KafkaAdminClient.alterConsumerGroupOffsets: a commit like another",
    expects=NOTHING,
)
def administrator_set_the_group_back(h: History) -> None:
    _taken_over(h, 100)
    _acknowledged(h, 20, at=39.0)
    _returned(h, 20)


@asks(
    "The topic was created again since the commit, and the coordinator has none.",
    source="GroupCoordinatorService.onPartitionsDeleted: the offsets of a deleted topic go",
    expects=NOTHING,
)
def topic_was_created_again(h: History) -> None:
    _taken_over(h, 100)
    h.led(1, 0, at=39.0, isr=(1, 2), topic_id="second", starts=0)
    _returned(h, -1)


@asks(
    "An unclean election of the offsets partition came since the commit.",
    source="unclean.leader.election.enable on __consumer_offsets",
    expects=_found(f"{PERMITTED}: unstable"),
)
def election_of_the_coordinator_is_unclean(h: History) -> None:
    _coordinated(h)
    _acknowledged(h, 50, at=28.0)
    _acknowledged(h, 100, at=38.0)
    h.led(1, 0, at=38.5, isr=(1,), topic=OFFSETS, partition=h.index)
    h.led(2, 1, at=40.0, isr=(2,), topic=OFFSETS, partition=h.index)
    _returned(h, 50)
    h.led(1, 2, at=45.0, isr=(1, 2), topic=OFFSETS, partition=h.index)


@asks(
    "An unclean election comes ten seconds after an older commit was returned.",
    source=TRACKING + "; what comes later explains nothing",
    expects=_found(f"{VIOLATION}: unstable"),
)
def unclean_election_comes_later(h: History) -> None:
    _taken_over(h, 50, 100)
    _returned(h, 50)
    h.led(2, 1, at=45.0, isr=(2,), topic=OFFSETS, partition=h.index)
    h.led(1, 2, at=51.0, isr=(1,), topic=OFFSETS, partition=h.index)


def _pending(h: History, *, ended: float | None) -> None:
    """A transaction commits 60 at second 39, after an acknowledged 100."""
    _taken_over(h, 50, 100)
    _kept(h, 60, at=39.0)
    of_producer = {"producer_id": 7, "producer_epoch": 0}
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
    _returned(h, 50, stable=True)


@asks(
    "A transaction has an offset of the partition; an older commit than the acknowledged one is"
    " returned.",
    source=TRACKING + "; KIP-447: without stable offsets, the commit before the transaction's",
    expects=_found(f"{VIOLATION}: unstable: offset 100 had been acknowledged before"),
)
def transaction_excuses_no_older_commit(h: History) -> None:
    _pending(h, ended=60.0)
    _returned(h, 50)


@asks(
    "The new coordinator returns what a transaction committed after the last acknowledged commit.",
    source="KIP-98: offsets of a transaction take effect with its marker",
    expects=NOTHING,
)
def commit_of_a_transaction_is_newer(h: History) -> None:
    _pending(h, ended=39.5)
    _returned(h, 60)


def _deposed(h: History, offset: int, *, stable: bool = False) -> None:
    """Broker 2 coordinates since second 40 and acknowledges 120; broker 1 is asked at 43."""
    _taken_over(h, 50, 100)
    _acknowledged(h, 120, at=42.0, epoch=1, broker=2)
    _returned(h, offset, at=43.0, broker=1, stable=stable)


@asks_each(
    "A coordinator was deposed three seconds ago; its successor has acknowledged 120.",
    source=DEPOSED,
    check="stale_fetched_commit",
    cases={
        "It returns 100, which it had.": (
            _found(f"{PERMITTED}: deposed, unstable: returned offset 100"),
            {"offset": 100},
        ),
        "It returns 100 as stable.": (
            _found(f"{PERMITTED}: deposed, stable"),
            {"offset": 100, "stable": True},
        ),
        "It returns 120.": (NOTHING, {"offset": 120}),
    },
)
def deposed_coordinator_returns(h: History, *, offset: int, stable: bool = False) -> None:
    _deposed(h, offset, stable=stable)


@asks(
    "A coordinator that was deposed returns an older commit than it had acknowledged itself.",
    source=TRACKING,
    expects=_found(f"{VIOLATION}: unstable: offset 100 had been acknowledged before"),
)
def deposed_coordinator_forgets_its_own_commit(h: History) -> None:
    _taken_over(h, 50, 100)
    _returned(h, 50, at=43.0, broker=1)


@asks(
    "A broker that never coordinated the group returns no commit.",
    source="Errors.NOT_COORDINATOR: this is not the correct coordinator",
    expects=_found(f"{VIOLATION}: unstable: though it had never led"),
)
def broker_that_is_no_coordinator(h: History) -> None:
    _taken_over(h, 50, 100)
    _returned(h, -1, broker=3)


def _alone(h: History, offset: int, *, unclean: bool = False) -> None:
    """Broker 1, cut from the others, returns an offset that it was asked to commit."""
    _coordinated(h)
    _acknowledged(h, 50, at=28.0)
    if unclean:
        h.led(1, 0, at=35.0, isr=(1,), topic=OFFSETS, partition=h.index)
    _asked(h, 130, at=39.5, error=TIMED_OUT)
    _returned(h, offset, at=39.8, broker=1)
    h.led(2, 1, at=40.0, isr=(2,), topic=OFFSETS, partition=h.index)


@asks_each(
    "A commit of 130 is not acknowledged.",
    source=TRACKING + "; what only a deposed coordinator has was never committed",
    check="stale_fetched_commit",
    cases={
        "Only the old coordinator has it, which returns it.": (
            _found(f"{VIOLATION}: uncommitted: returned offset 130 in 1 responses"),
            {"holders": (1,)},
        ),
        "No log has it, and the old coordinator returned it.": (
            _found(f"{VIOLATION}: uncommitted"),
            {"holders": ()},
        ),
        "Only the old coordinator has it, and the election was unclean.": (
            _found(f"{PERMITTED}: uncommitted"),
            {"holders": (1,), "unclean": True},
        ),
        "All have it, and the old coordinator returned it.": (NOTHING, {"holders": (1, 2)}),
    },
)
def commit_was_never_acknowledged(
    h: History, *, holders: Sequence[int], unclean: bool = False
) -> None:
    _alone(h, 130, unclean=unclean)
    if holders:
        _kept(h, 130, at=39.5, brokers=holders)


@asks(
    "A commit of 130 is acknowledged, returned, and lost by an unclean election.",
    source=TRACKING + "; unclean.leader.election.enable",
    expects={"stale_fetched_commit": NONE},
)
def commit_is_returned_before_it_is_lost(h: History) -> None:
    _alone(h, 130, unclean=True)
    _kept(h, 130, at=39.5, brokers=(1,))
    next(row for row in h.rows["wire_calls"] if row["asked_offset"] == 130)["error_code"] = 0


@asks(
    "A commit that no client reports is on the deposed coordinator only, which had returned it.",
    source=TRACKING + "; what only a deposed coordinator has was never committed",
    expects=_found(f"{VIOLATION}: uncommitted"),
)
def commit_without_a_report_was_never_committed(h: History) -> None:
    _coordinated(h, (2, 40.0), isr=(2,))
    _acknowledged(h, 50, at=28.0)
    _kept(h, 130, at=39.5, brokers=(1,))
    _returned(h, 130, at=39.8, broker=1)


@asks(
    "An acknowledged 130 is lost by an unclean election; the new coordinator returns 50.",
    source="unclean.leader.election.enable on __consumer_offsets",
    expects=NOTHING,
)
def commit_is_lost_and_not_returned(h: History) -> None:
    _alone(h, 130, unclean=True)
    _kept(h, 130, at=39.5, brokers=(1,))
    next(row for row in h.rows["wire_calls"] if row["asked_offset"] == 130)["error_code"] = 0
    _returned(h, 50, at=42.0)


@asks(
    "A commit of 130 timed out and was returned; the log has only a later one.",
    source="Cleaner.shouldRetainRecord: compaction keeps a key's last record; contract/outcomes.py:"
    " unknown",
    expects={"stale_fetched_commit": f"{UNDECIDED}: uncommitted"},
)
def commit_of_unknown_outcome_was_compacted(h: History) -> None:
    _coordinated(h)
    _asked(h, 130, at=20.0, error=TIMED_OUT)
    _returned(h, 130, at=25.0, broker=1)
    _acknowledged(h, 140, at=30.0)


@asks(
    "A commit that only a deposed coordinator has is not returned by the new one.",
    source=TRACKING,
    expects=NOTHING,
)
def commit_of_a_deposed_coordinator_is_not_returned(h: History) -> None:
    _taken_over(h, 100, isr=(2,))
    _kept(h, 130, at=40.5, brokers=(1,))
    _returned(h, 100)


def _reads(h: History) -> None:
    h.group()
    _taken_over(h, 50, 100)


@asks_each(
    "A client is asked for the commit of its group, a second after the coordinator changed.",
    source=TRACKING + "; KafkaConsumer.committed: the last committed offsets",
    check="stale_fetched_commit",
    cases={
        "A consumer returns 50.": (
            f"{VIOLATION}: stable: the coordinator returned offset 50",
            {"offset": 50},
        ),
        "An administrator's client returns none.": (
            f"{VIOLATION}: unstable: the coordinator returned no commit",
            {"offset": None, "stable": False},
        ),
        "A client that may not ask for stable offsets returns 50.": (
            f"{VIOLATION}: unstable",
            {"offset": 50, "stable": None},
        ),
        "It returns 100.": (NONE, {"offset": 100}),
        "It fails.": (NONE, {"offset": None, "error": "TimeoutException"}),
    },
)
def client_returns(
    h: History, *, offset: int | None, stable: bool | None = True, error: str | None = None
) -> None:
    _reads(h)
    _read(h, offset, stable=stable, error=error)


@asks_each(
    "Another client's commit of 120 is acknowledged, and a client returns 100",
    source="docs/findings.md, clock bound: times of different nodes are compared within 50 ms",
    check="stale_fetched_commit",
    cases={
        "30 ms later.": (NONE, {"later": 0.03}),
        "10 s later.": (f"{VIOLATION}: stable", {"later": 10.0}),
        "30 ms later; it is the one that had committed.": (
            f"{VIOLATION}: stable",
            {"later": 0.03, "committer": "w"},
        ),
    },
)
def client_reads_after_another(h: History, *, later: float, committer: str = "other") -> None:
    _reads(h)
    h.commit(120, 0, at=38.5, brokers=(1, 2), generation=1)
    h.rows["commits"][-1]["worker"] = h.own(committer)
    _read(h, 100, at=38.5 + later + 0.005, worker="w")


@asks_each(
    "A client returns 100, three seconds after the new coordinator acknowledged 120.",
    source=TRACKING + "; " + DEPOSED,
    check="stale_fetched_commit",
    cases={
        "The old one is suspended, and may answer.": (
            f"{UNDECIDED}: stable",
            {"held": 1, "at": 75.0},
        ),
        "The old one was suspended until 20 s before.": (
            f"{VIOLATION}: stable",
            {"held": 1, "at": 91.0},
        ),
        "Another broker is suspended.": (f"{VIOLATION}: stable", {"held": 3, "at": 75.0}),
        "The old one was deposed a few seconds before.": (
            f"{UNDECIDED}: stable",
            {"held": 0, "at": 45.0},
        ),
        "The old one was deposed half a minute before.": (
            f"{VIOLATION}: stable",
            {"held": 0, "at": 75.0},
        ),
    },
)
def client_may_have_asked_the_old_coordinator(h: History, *, held: int, at: float) -> None:
    _reads(h)
    if held:
        h.fault(
            "pause", h.on_broker(held), injected=36.0, proved=40.0, heal_began=70.0, healed=71.0
        )
    _acknowledged(h, 120, at=42.0, epoch=1, broker=2)
    _read(h, 100, at=at)
