"""Waits for records: only who owns a partition can wait for it."""

from tests.exam.history import NONE, VIOLATION, History, asks
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
