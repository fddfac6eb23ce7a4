"""Committed offsets that are removed: by their retention, which begins when a group is empty."""

from tests.exam.commit_verbs import member_stored
from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, UNDECIDED, VIOLATION, History, asks
from tests.exam.verbs import closed, first_start, joined, left, plain

EXPIRY = "KIP-211: offsets of a group expire once it is empty, by offsets.retention.minutes"
ALONE = "KIP-211: a consumer that is assigned by hand has no membership; its offsets expire by age"
WHILE_EMPTY = "KIP-211: offsets expire only while the group is empty"


@asks(
    "The offset of a group expires while its member reads.",
    source=EXPIRY,
    expects={"offsets_expired": VIOLATION},
)
def offset_expires_under_a_member(h: History) -> None:
    _expires(h)
    member_stored(h, "classic", 1, at=5.0, topic_id=None, partition=0)


@asks(
    "The same with the consumer protocol.",
    source=EXPIRY,
    expects={"offsets_expired": VIOLATION},
)
def offset_expires_under_a_consumer_member(h: History) -> None:
    _expires(h)
    member_stored(h, "consumer", 1, at=5.0, topic_id=h.own("id"), partition=0)


@asks(
    "The member had left; the stored state of the group is empty.",
    source=EXPIRY,
    expects={"offsets_expired": PERMITTED},
)
def offset_expires_of_an_empty_group(h: History) -> None:
    _expires(h, leaves=20.0)
    member_stored(h, "classic", 1, at=5.0, topic_id=None, partition=0)
    member_stored(h, "classic", 2, at=20.0, topic_id=None, partition=None)
    h.rows["group_members"][-1]["member"] = ""


@asks(
    "The member of the consumer protocol had left, and was removed.",
    source=EXPIRY,
    expects={"offsets_expired": PERMITTED},
)
def offset_expires_after_a_consumer_member_was_removed(h: History) -> None:
    _expires(h, leaves=20.0)
    member_stored(h, "consumer", 1, at=5.0, topic_id=h.own("id"), partition=0)
    member_stored(h, "consumer", 1, at=20.0, topic_id=None, partition=None)
    h.rows["group_members"][-1]["generation"] = None


@asks(
    "The group was empty when the offset expired, and a member joined afterwards.",
    source=EXPIRY,
    expects={"offsets_expired": PERMITTED},
)
def member_joins_after_the_expiry(h: History) -> None:
    _expires(h, leaves=20.0)
    member_stored(h, "classic", 2, at=20.0, topic_id=None, partition=None)
    h.rows["group_members"][-1]["member"] = ""
    member_stored(h, "classic", 3, at=60.0, topic_id=None, partition=0)


@asks(
    "One of two members of the consumer protocol had left; the other one is still there.",
    source=EXPIRY,
    expects={"offsets_expired": VIOLATION},
)
def offset_expires_under_the_second_member(h: History) -> None:
    _expires(h)
    member_stored(h, "consumer", 1, at=5.0, topic_id=h.own("id"), partition=0)
    member_stored(h, "consumer", 1, at=6.0, topic_id=h.own("id"), partition=0)
    h.rows["group_members"][-1]["member"] = h.own("n")
    member_stored(h, "consumer", 2, at=20.0, topic_id=None, partition=None)
    h.rows["group_members"][-1]["generation"] = None


@asks(
    "A member was open, and no stored state of the group is known.",
    source=ALONE,
    expects={"offsets_expired": UNDECIDED},
)
def offset_expires_of_a_group_without_a_state(h: History) -> None:
    _expires(h)


@asks(
    "Nothing was removed.",
    source=EXPIRY,
    expects={"offsets_expired": NONE},
)
def offset_is_kept(h: History) -> None:
    _expires(h, expires=None)
    member_stored(h, "classic", 1, at=5.0, topic_id=None, partition=0)


@asks(
    "A member commits the offset -1, which clients take for no commit.",
    source="OffsetFetchResponse.INVALID_OFFSET; a client may commit a placeholder of a reset",
    expects={"offsets_expired": NONE, "lost_commit": NONE},
)
def offset_below_0_is_stored(h: History) -> None:
    _expires(h)
    member_stored(h, "classic", 1, at=5.0, topic_id=None, partition=0)
    h.rows["committed_offsets"][-1]["value_version"] = 3


def _expires(h: History, *, expires: float | None = 50.0, leaves: float = 80.0) -> None:
    """A group reads 100 records, commits 100 at second 8, and its offset is removed."""
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=4.5)
    h.polled(0, 99, at=6.0)
    h.commit(100, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 100, at=leaves)
    if expires is not None:
        h.stored(None, 0, at=expires, brokers=(1, 2), is_tombstone=True)
        h.rows["committed_offsets"][-1].update(committed_epoch=None, metadata=None)


@asks(
    "A group is empty until its offset expires; its next member joins later.",
    source=WHILE_EMPTY,
    expects={
        "offsets_expired": PERMITTED,
        "start_mismatch": NOT_VIOLATION,
        "duplicate_delivery": PERMITTED,
    },
)
def offset_expires_before_the_next_member_joins(h: History) -> None:
    _expires_at_75(h)
    h.changed("opened", at=77.5, member="2")
    first_start(h, 0, at=78.0, member="2")
    h.changed("assigned", at=79.0, position=0, member="2", generation=3)
    _members(h, "m2", 3, at=79.0)
    h.polled(0, 99, at=80.0, member="2")
    closed(h, "2")


@asks(
    "A group was empty for 50 s; its offset expires 15 s after a member has joined again.",
    source=WHILE_EMPTY + "; a group that has a member is not",
    expects={"offsets_expired": VIOLATION},
)
def offset_expires_under_a_member_that_joined_in_between(h: History) -> None:
    _expires_at_75(h)
    joined(h, 50, at=60.0, member="2", generation=3)
    _members(h, "m2", 3, at=60.0)
    h.polled(50, 99, at=61.0, member="2")
    closed(h, "2")


def _expires_at_75(h: History) -> None:
    """A group commits 50 and is empty from second 10 on; its offset is removed at 75."""
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0)
    _members(h, "m1", 1, at=5.0)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 50, at=10.0)
    _members(h, "", 2, at=10.0)
    h.stored(None, -1, at=75.0, is_tombstone=True, brokers=(1, 2))
    h.rows["committed_offsets"][-1].update(committed_epoch=None, metadata=None)


def _members(h: History, member: str, generation: int, *, at: float) -> None:
    """The state of the group, as it is stored; without a member it is empty."""
    h.add(
        "group_members",
        group=h.own("g"),
        protocol="classic",
        member=h.own(member),
        generation=generation,
        partition=0 if member else None,
        offsets_partition=h.index,
        offsets_offset=h.at(at) // 1000 % 10**9,
        at_micros=h.at(at),
    )
