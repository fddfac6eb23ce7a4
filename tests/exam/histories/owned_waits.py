"""Waits for records: only who owns a partition can wait for it."""

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks, asks_each
from tests.exam.verbs import joined, left, plain

OWNED = (
    "KIP-848: a member is given records of the partitions that it owns, and no others; decision 8"
)


def _away(
    h: History,
    *,
    stands_from: float = 6.0,
    taken: float = 7.0,
    back: float = 55.0,
    goes_on: float = 56.0,
    change: str = "revoked",
    partition: int = 0,
) -> None:
    """A member is given 0 to 49, its partition goes to another and comes back, and the rest."""
    h.topic(partitions=2)
    h.group(client="java-consumer")
    plain(h, 99)
    plain(h, 9, partition=1)
    joined(h, 0, at=4.0, generation=3, partitions=(0, 1))
    h.polled(0, 49, at=stands_from)
    h.changed(change, at=taken, position=50, generation=3, partition=partition)
    h.changed("assigned", at=back, position=50, generation=5, partition=partition)
    h.polled(50, 99, at=goes_on)
    left(h, 100, at=85.0, generation=5, caught_up=True)


@asks(
    "A partition goes to another member for 45 s and comes back.",
    source=OWNED,
    expects={"fetch_unavailable": NONE, "double_ownership": NONE},
)
def partition_is_away_for_long(h: History) -> None:
    _away(h)


@asks(
    "A member loses its partition for 45 s, and is assigned it again.",
    source=OWNED,
    expects={"fetch_unavailable": NONE},
)
def partition_is_lost_for_long(h: History) -> None:
    _away(h, change="lost")


@asks(
    "A partition comes back after 15 s, and its member is given nothing for 40 s more.",
    source=OWNED,
    expects={"fetch_unavailable": VIOLATION},
)
def nothing_is_given_after_a_partition_is_back(h: History) -> None:
    _away(h, back=25.0, goes_on=65.0)


@asks(
    "A member is given nothing for 40 s, and then loses its partition for 20 s.",
    source=OWNED,
    expects={"fetch_unavailable": VIOLATION},
)
def nothing_is_given_before_a_partition_goes(h: History) -> None:
    _away(h, taken=46.0, back=66.0, goes_on=67.0)


@asks(
    "A member is given nothing for 50 s; it is another of its partitions that was away.",
    source=OWNED,
    expects={"fetch_unavailable": VIOLATION},
)
def another_partition_is_away(h: History) -> None:
    _away(h, partition=1)


@asks(
    "A member is given nothing for 50 s, in which its group rebalanced and it kept the partition.",
    source=OWNED + "; a member that is assigned its partition again owned it",
    expects={"fetch_unavailable": VIOLATION},
)
def partition_is_kept_over_a_rebalance(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=4.0, generation=3)
    h.polled(0, 49, at=6.0)
    h.changed("assigned", at=30.0, position=50, generation=4)
    h.polled(50, 99, at=56.0)
    left(h, 100, at=85.0, generation=4, caught_up=True)


@asks_each(
    "A member is given 0 to 49 at 6, and the rest at 66, when groups read to the log end in turn.",
    source="Run.read_to_end: the first call ends what all members read by themselves; each is the "
    "read of the groups that it names; decision 8",
    check="fetch_unavailable",
    cases={
        "Other groups' reads begin at 15 and 40, its own at 65.": (
            PERMITTED,
            {"reads": (15, 40, 65)},
        ),
        "Others' begin at 50, and its own at 65.": (VIOLATION, {"reads": (50, 65)}),
        "Others' begin at 10, and its own at 25.": (VIOLATION, {"reads": (10, 25)}),
        "All begin at 15.": (VIOLATION, {"reads": (15,)}),
        "Its own begins at 15, and others' at 70.": (VIOLATION, {"reads": (15, 70)}),
        "Others' begin at 5.5, while the member polls, and its own at 65.": (
            NONE,
            {"reads": (5.5, 65)},
        ),
        "Other groups' had begun at 3, its own begins at 65.": (VIOLATION, {"reads": (3, 65)}),
        "Others' begin at 15, its own at 65; it commits at 30, and so had read on.": (
            VIOLATION,
            {"reads": (15, 65), "commit": 30.0},
        ),
        "Others' begin at 15, its own at 65; a commit that began at 14 is stored at 30.": (
            PERMITTED,
            {"reads": (15, 65), "commit": 30.0, "took": 16.0},
        ),
        "It loses the partition at 12, has it again at 20, and its own read begins at 65.": (
            PERMITTED,
            {"reads": (15, 65), "away": (12.0, 20.0)},
        ),
    },
)
def other_groups_read_to_the_end(
    h: History,
    *,
    reads: tuple[float, ...],
    commit: float | None = None,
    took: float = 0.01,
    away: tuple[float, float] | None = None,
) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    for began in reads:
        h.phase("final read", began=began, ended=began + 1)
    joined(h, 0, at=4.0, generation=3)
    h.polled(0, 49, at=6.0)
    if away is not None:
        h.changed("revoked", at=away[0], position=50, generation=3)
        h.changed("assigned", at=away[1], position=50, generation=4)
    if commit is not None:
        h.commit(50, 0, at=commit, brokers=(1, 2), generation=3)
        h.rows["commits"][-1]["began_micros"] = h.at(commit - took)
    h.polled(50, 99, at=66.0)
    left(h, 100, at=85.0, generation=4 if away else 3, caught_up=True)
