"""The order in which a coordinator validates a commit, and what its state decides."""

from tests.exam.commit_verbs import (
    COMMIT,
    GENERATION,
    MEMBER,
    STALE,
    TXN,
    asked,
    committed,
    member_stored,
    stored,
    with_topic,
)
from tests.exam.history import NONE, UNDECIDED, VIOLATION, History, asks

CLASSIC = "ClassicGroup.validateOffsetCommit"
MODERN = "ConsumerGroup.validateOffsetCommit"
SIZE = "OffsetMetadataManager.commitOffset: offset.metadata.max.bytes, 4096 by default"
TOO_LARGE, REBALANCING, FENCED_INSTANCE = 12, 27, 82
LONG, SHORT = "m" * 4097, "m" * 4096
STATIC = '{"groupInstanceId": "i"}'


def _emptied(h: History, protocol: str = "classic", *, at: float = 30.0) -> None:
    """Member `m` joined at second 20, and the group has none since `at`."""
    with_topic(h)
    member_stored(h, protocol, 2)
    member_stored(h, protocol, 3, at=at)
    if protocol == "classic":
        h.rows["group_members"][-1]["member"] = ""
    else:
        h.rows["group_members"][-1]["generation"] = None


@asks(
    "A member commits 10 s after its group became empty, and is refused as unknown.",
    source=CLASSIC + ": a generation is validated after the member; an empty group has none",
    expects={"wrong_commit_error": NONE},
)
def member_of_an_emptied_group_is_refused(h: History) -> None:
    _emptied(h)
    asked(h, COMMIT, 9, member="m", generation=2, error=MEMBER)
    asked(h, TXN, 3, member="m", generation=2, error=MEMBER)


@asks(
    "A member commits 10 s after its group became empty, and is accepted.",
    source=CLASSIC,
    expects={"wrong_commit_error": VIOLATION},
)
def member_of_an_emptied_group_is_accepted(h: History) -> None:
    _emptied(h)
    committed(h, COMMIT, 9, member="m", generation=2)


@asks(
    "A member commits 10 s after its group became empty; its generation is called illegal.",
    source=CLASSIC + ": the member is validated first",
    expects={"wrong_commit_error": VIOLATION},
)
def member_of_an_emptied_group_has_another_error(h: History) -> None:
    _emptied(h)
    asked(h, COMMIT, 9, member="m", generation=2, error=GENERATION)


@asks(
    "A member commits while its group becomes empty, and is refused as unknown.",
    source="decision 25: what was so at some time of the request only is not decided",
    expects={"wrong_commit_error": UNDECIDED},
)
def group_empties_meanwhile(h: History) -> None:
    _emptied(h, at=40.0)
    asked(h, COMMIT, 9, member="m", generation=2, error=MEMBER)


@asks(
    "A member without a generation commits 10 s after its group became empty, and is accepted.",
    source=CLASSIC + ": a request without a generation commits for an empty group",
    expects={"wrong_commit_error": NONE},
)
def empty_group_takes_a_commit_without_a_generation(h: History) -> None:
    _emptied(h)
    committed(h, COMMIT, 9, member="m")
    committed(h, COMMIT, 9)


@asks(
    "A KIP-848 member commits 10 s after it was removed, and is refused as unknown.",
    source=MODERN,
    expects={"wrong_commit_error": NONE},
)
def removed_member_is_refused(h: History) -> None:
    _emptied(h, "consumer")
    asked(h, COMMIT, 9, member="m", generation=2, error=MEMBER)


@asks(
    "A KIP-848 member commits 10 s after it was removed; its epoch is called stale.",
    source=MODERN + ": the member is looked up first",
    expects={"wrong_commit_error": VIOLATION},
)
def removed_member_is_called_stale(h: History) -> None:
    _emptied(h, "consumer")
    asked(h, COMMIT, 9, member="m", generation=2, error=STALE)


@asks(
    "A member left, and another one has its group; the first one is refused as unknown.",
    source=CLASSIC,
    expects={"wrong_commit_error": NONE},
)
def member_that_left_others_is_refused(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 2)
    member_stored(h, "classic", 3, at=30.0)
    h.rows["group_members"][-1]["member"] = h.own("other")
    asked(h, COMMIT, 9, member="m", generation=2, error=MEMBER)
    committed(h, COMMIT, 9, member="other", generation=3)


@asks(
    "A request of no member commits for a group that has had a member for 20 s, and is accepted.",
    source=CLASSIC + ": only members commit for a group that is not empty",
    expects={"wrong_commit_error": VIOLATION},
)
def live_group_takes_a_commit_of_no_member(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 2)
    committed(h, COMMIT, 9)


@asks(
    "A request of no member commits for a KIP-848 group with a member, and is accepted.",
    source=MODERN + ": without a member epoch the group must be empty",
    expects={"wrong_commit_error": VIOLATION},
)
def live_modern_group_takes_a_commit_of_no_member(h: History) -> None:
    with_topic(h)
    member_stored(h, "consumer", 3)
    committed(h, COMMIT, 9)


@asks(
    "A request of no member commits for a group that has had a member for 20 s, and is refused.",
    source=CLASSIC + "; " + MODERN + ": UNKNOWN_MEMBER_ID",
    expects={"wrong_commit_error": NONE},
)
def live_group_refuses_a_commit_of_no_member(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 2)
    asked(h, COMMIT, 9, error=MEMBER)


@asks(
    "A TxnOffsetCommit of no member is accepted by a group that has one.",
    source=CLASSIC + ": older versions of TxnOffsetCommit have no member",
    expects={"wrong_commit_error": NONE, "wrong_stored_commit": NONE},
)
def live_group_takes_a_transaction_of_no_member(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 2)
    committed(h, TXN, 3, producer=h.place.producer_id(7))


@asks(
    "A request of no member is accepted 20 ms before the group's first member is stored.",
    source="decision 25: what was so at some time of the request only is not decided",
    expects={"wrong_commit_error": UNDECIDED},
)
def first_member_joins_meanwhile(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 1, at=40.02)
    committed(h, COMMIT, 9)


@asks(
    "Metadata of 4,097 characters is refused as too large; 4,096 are accepted.",
    source=SIZE,
    expects={"wrong_commit_error": NONE, "wrong_stored_commit": NONE},
)
def metadata_is_too_large(h: History) -> None:
    with_topic(h)
    asked(h, COMMIT, 9, error=TOO_LARGE, metadata=LONG)
    asked(h, TXN, 3, error=TOO_LARGE, metadata=LONG)
    asked(h, COMMIT, 9, metadata=SHORT)
    stored(h, metadata=SHORT)


@asks(
    "Metadata of 4,097 characters is accepted.",
    source=SIZE,
    expects={"wrong_commit_error": VIOLATION},
)
def large_metadata_is_accepted(h: History) -> None:
    with_topic(h)
    committed(h, COMMIT, 9, metadata=LONG)


@asks(
    "Metadata of 4,096 characters is refused as too large.",
    source=SIZE,
    expects={"wrong_commit_error": VIOLATION},
)
def small_metadata_is_refused(h: History) -> None:
    with_topic(h)
    asked(h, COMMIT, 9, error=TOO_LARGE, metadata=SHORT)


@asks(
    "A member of another generation commits large metadata, and only the latter is reported.",
    source=SIZE + "; " + CLASSIC + ": the group is validated first",
    expects={"wrong_commit_error": VIOLATION},
)
def metadata_hides_the_generation(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 2)
    asked(h, COMMIT, 9, member="m", generation=1, error=TOO_LARGE, metadata=LONG)


@asks(
    "A member at the group's generation is told that a rebalance is in progress.",
    source=CLASSIC + ": COMPLETING_REBALANCE, a state that nothing records",
    expects={"wrong_commit_error": UNDECIDED},
)
def group_is_rebalancing(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 2)
    asked(h, COMMIT, 9, member="m", generation=2, error=REBALANCING)


@asks(
    "A TxnOffsetCommit at the group's generation is told that a rebalance is in progress.",
    source=CLASSIC + ": the state is not enforced for transactional commits",
    expects={"wrong_commit_error": VIOLATION},
)
def transaction_is_told_of_a_rebalance(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 2)
    asked(h, TXN, 3, member="m", generation=2, error=REBALANCING)


@asks(
    "A member of another generation is told that a rebalance is in progress.",
    source=CLASSIC + ": the generation is validated first",
    expects={"wrong_commit_error": VIOLATION},
)
def rebalance_hides_the_generation(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 2)
    asked(h, COMMIT, 9, member="m", generation=1, error=REBALANCING)


@asks(
    "A static member is told that another process has its group.instance.id.",
    source=CLASSIC + ", validateMember: who has the instance id is not recorded; KIP-345",
    expects={"wrong_commit_error": UNDECIDED},
)
def static_member_is_fenced(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 2)
    asked(h, COMMIT, 9, member="m", generation=2, error=FENCED_INSTANCE, request=STATIC)


@asks(
    "A member without a group.instance.id is told that another process has it.",
    source=CLASSIC + ", validateMember: only where the request has an instance id",
    expects={"wrong_commit_error": VIOLATION},
)
def dynamic_member_is_fenced_as_static(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 2)
    asked(h, COMMIT, 9, member="m", generation=2, error=FENCED_INSTANCE)
