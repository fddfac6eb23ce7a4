"""Commits by single requests: which of them are refused, and with which error."""

from tests.exam.commit_verbs import (
    COMMIT,
    COMMITTED,
    FETCH,
    GENERATION,
    MEMBER,
    NO_GROUP,
    PRODUCER_EPOCH,
    STALE,
    TOPIC_ID,
    TXN,
    UNKNOWN_TOPIC,
    VERSION,
    asked,
    asked_together,
    committed,
    epoch_granted,
    fetched,
    member_stored,
    stored,
    with_topic,
)
from tests.exam.history import NONE, NOT_VIOLATION, UNDECIDED, VIOLATION, History, asks, asks_each
from tests.exam.transaction_verbs import producer_id

RESOLUTION = "KIP-1319, Broker-Side, Topic ID resolution"
MAPPING = "KIP-1319, Broker-Side, Error mapping"
NO_MEMBER = "ClassicGroup.validateOffsetCommit: only a transactional commit needs no member"


@asks(
    "A topic id that no topic ever had is refused as such, by each API that has ids.",
    source=RESOLUTION + ": UNKNOWN_TOPIC_ID",
    expects={"wrong_commit_error": NONE, "wrong_stored_commit": NONE},
)
def topic_id_is_unknown(h: History) -> None:
    with_topic(h)
    for api, version in ((COMMIT, 10), (TXN, 6), (FETCH, 10)):
        asked(h, api, version, topic="nothing", topic_id=h.own("random"), error=TOPIC_ID)


@asks(
    "A topic id that no topic ever had is refused with UNKNOWN_TOPIC_OR_PARTITION.",
    source=RESOLUTION + ": UNKNOWN_TOPIC_ID",
    expects={"wrong_commit_error": VIOLATION},
)
def topic_id_is_refused_as_a_name(h: History) -> None:
    with_topic(h)
    asked(h, TXN, 6, topic="nothing", topic_id=h.own("random"), error=UNKNOWN_TOPIC)


@asks(
    "The id of a topic that was replaced ten seconds before is refused with UNKNOWN_TOPIC_ID.",
    source=RESOLUTION + ": the broker does not resolve the id of a deleted topic",
    expects={"wrong_commit_error": NONE},
)
def topic_id_of_a_deleted_topic_is_refused(h: History) -> None:
    with_topic(h)
    h.led(1, 0, at=30.0, isr=(1, 2), topic_id="second", starts=0)
    asked(h, TXN, 6, topic_id=h.own("id"), error=TOPIC_ID)


@asks(
    "The id of a topic that was replaced ten seconds before is accepted.",
    source=RESOLUTION,
    expects={"wrong_commit_error": VIOLATION},
)
def topic_id_of_a_deleted_topic_is_accepted(h: History) -> None:
    with_topic(h)
    h.led(1, 0, at=30.0, isr=(1, 2), topic_id="second", starts=0)
    asked(h, TXN, 6, topic_id=h.own("id"))


@asks(
    "A topic is replaced five seconds after its id was refused: it may have been deleted by then.",
    source="decision 25: what was so at some time of the request only is not decided; the "
    "metadata log here has no deletions",
    expects={"wrong_commit_error": UNDECIDED},
)
def topic_may_be_deleted_already(h: History) -> None:
    with_topic(h)
    h.led(1, 0, at=45.0, isr=(1, 2), topic_id="second", starts=0)
    asked(h, TXN, 6, topic_id=h.own("id"), error=TOPIC_ID)


@asks(
    "Partition 9 of a topic of one partition is refused; partition 0 of the same request is not.",
    source=RESOLUTION + ": UNKNOWN_TOPIC_OR_PARTITION for that partition only",
    expects={"wrong_commit_error": NONE, "wrong_stored_commit": NONE},
)
def partition_is_unknown(h: History) -> None:
    with_topic(h)
    asked(h, COMMIT, 8, partition=9, error=UNKNOWN_TOPIC)
    committed(h, COMMIT, 8)


@asks(
    "A known partition is refused as unknown, with another one of the same request that is.",
    source=RESOLUTION + ": for that partition only",
    expects={"wrong_commit_error": VIOLATION},
)
def all_partitions_are_refused(h: History) -> None:
    with_topic(h)
    asked(h, COMMIT, 8, partition=9, error=UNKNOWN_TOPIC)
    asked(h, COMMIT, 8, error=UNKNOWN_TOPIC)


@asks(
    "A commit for an unknown group at generation 0 is refused; the unknown partition of the same"
    " request has its own error.",
    source=MAPPING + "; " + RESOLUTION,
    expects={"wrong_commit_error": NONE},
)
def topics_are_validated_first(h: History) -> None:
    with_topic(h)
    asked_together(h, TXN, 6, (0, NO_GROUP), (9, UNKNOWN_TOPIC))


@asks(
    "The error of the group replaces that of the unknown partition.",
    source=RESOLUTION + ": topics are resolved before the group is asked",
    expects={"wrong_commit_error": VIOLATION},
)
def group_hides_the_unknown_partition(h: History) -> None:
    with_topic(h)
    asked_together(h, TXN, 6, (0, NO_GROUP), (9, NO_GROUP))


@asks(
    "Before version 6 of TxnOffsetCommit and version 9 of OffsetCommit, an unknown group is refused"
    " with ILLEGAL_GENERATION; since then, with GROUP_ID_NOT_FOUND.",
    source=MAPPING + ": for versions 0 to 5 the mapping is preserved",
    expects={"wrong_commit_error": NONE},
)
def group_is_not_found(h: History) -> None:
    with_topic(h)
    for api, version, error in ((TXN, 6, NO_GROUP), (TXN, 5, GENERATION), (COMMIT, 8, GENERATION)):
        asked(h, api, version, member="m", generation=0, error=error)
    asked(h, COMMIT, 9, member="m", generation=0, error=NO_GROUP)


@asks(
    "Version 6 of TxnOffsetCommit refuses an unknown group with ILLEGAL_GENERATION.",
    source=MAPPING,
    expects={"wrong_commit_error": VIOLATION},
)
def group_is_mapped_at_version_6(h: History) -> None:
    with_topic(h)
    asked(h, TXN, 6, member="m", generation=0, error=GENERATION)


@asks(
    "Version 5 of TxnOffsetCommit refuses an unknown group with GROUP_ID_NOT_FOUND.",
    source=MAPPING + ": for versions 0 to 5 the mapping is preserved",
    expects={"wrong_commit_error": VIOLATION},
)
def group_is_not_mapped_at_version_5(h: History) -> None:
    with_topic(h)
    asked(h, TXN, 5, member="m", generation=0, error=NO_GROUP)


@asks(
    "The first commit of a group is stored while one at generation 0 is refused.",
    source="decision 25: what was so at some time of the request only is not decided",
    expects={"wrong_commit_error": UNDECIDED},
)
def group_comes_meanwhile(h: History) -> None:
    with_topic(h)
    stored(h, at=COMMITTED - 0.02)
    asked(h, TXN, 6, member="m", generation=0, error=NO_GROUP)


@asks(
    "A member at epoch 3 commits at epoch 5: stale from version 6 on, an illegal generation before,"
    " and an unsupported version of OffsetCommit before 9.",
    source=MAPPING + "; KIP-848, OffsetCommit",
    expects={"wrong_commit_error": NONE},
)
def member_epoch_is_stale(h: History) -> None:
    with_topic(h)
    member_stored(h, "consumer", 3)
    for api, version, error in (
        (TXN, 6, STALE),
        (TXN, 5, GENERATION),
        (COMMIT, 9, STALE),
        (COMMIT, 8, VERSION),
    ):
        asked(h, api, version, member="m", generation=5, error=error)
    committed(h, TXN, 6, member="m", generation=3, producer=h.place.producer_id(7))


@asks_each(
    "A member at epoch 3 commits at epoch 5.",
    source=MAPPING + "; KIP-848, OffsetCommit",
    check="wrong_commit_error",
    cases={
        "Version 6 calls it an illegal generation.": (
            f"{VIOLATION}: stale member epoch",
            {"api": TXN, "version": 6, "error": GENERATION},
        ),
        "Version 5 calls it a stale epoch.": (
            f"{VIOLATION}: stale member epoch, before its error",
            {"api": TXN, "version": 5, "error": STALE},
        ),
        "Version 8 of OffsetCommit calls it a stale epoch.": (
            f"{VIOLATION}: stale member epoch, before its error",
            {"api": COMMIT, "version": 8, "error": STALE},
        ),
    },
)
def stale_epoch_has_the_error_of_another_version(
    h: History, *, api: str, version: int, error: int
) -> None:
    with_topic(h)
    member_stored(h, "consumer", 3)
    asked(h, api, version, member="m", generation=5, error=error)


@asks(
    "A member whose epoch has been 3 for twenty seconds commits at epoch 5, and is accepted.",
    source="KIP-848: a member epoch is validated",
    expects={"wrong_commit_error": VIOLATION},
)
def newer_epoch_is_accepted(h: History) -> None:
    with_topic(h)
    member_stored(h, "consumer", 3)
    committed(h, TXN, 6, member="m", generation=5, producer=h.place.producer_id(7))


@asks(
    "A member's partition was assigned at epoch 2; at epoch 4 it commits with 3, and with 1.",
    source="KIP-1251: a partition is fenced by the epoch at which it was assigned",
    expects={"wrong_commit_error": NONE},
)
def assignment_epoch_decides(h: History) -> None:
    with_topic(h)
    member_stored(h, "consumer", 4, topic_id=h.own("id"), partition=0, assignment_epoch=2)
    committed(h, TXN, 6, member="m", generation=3, producer=h.place.producer_id(7))
    asked(
        h,
        TXN,
        6,
        member="m",
        generation=1,
        error=STALE,
        producer_id=h.place.producer_id(7),
        producer_epoch=0,
    )


@asks(
    "A member's partition was assigned at epoch 2; at epoch 4 it commits with 1 and is accepted.",
    source="KIP-1251: a partition is fenced by the epoch at which it was assigned",
    expects={"wrong_commit_error": VIOLATION},
)
def commit_from_before_the_assignment(h: History) -> None:
    with_topic(h)
    member_stored(h, "consumer", 4, topic_id=h.own("id"), partition=0, assignment_epoch=2)
    committed(h, TXN, 6, member="m", generation=1, producer=h.place.producer_id(7))


@asks(
    "The member's epoch becomes 4 while it commits with 3, which is refused.",
    source="decision 25: what was so at some time of the request only is not decided; "
    "docs/findings.md, clock bound: times of different nodes are compared within 50 ms",
    expects={"wrong_commit_error": NOT_VIOLATION},
)
def member_epoch_changes_meanwhile(h: History) -> None:
    with_topic(h)
    member_stored(h, "consumer", 3)
    member_stored(h, "consumer", 4, at=COMMITTED)
    asked(h, TXN, 6, member="m", generation=3, error=STALE)


@asks(
    "A classic group is at generation 2: its member commits at 2, 1 and 3, and another one at 2.",
    source="KIP-447: the generation and the member id fence",
    expects={"wrong_commit_error": NONE, "wrong_stored_commit": NONE},
)
def classic_group_fences(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 2)
    committed(h, TXN, 3, member="m", generation=2, producer=h.place.producer_id(7))
    asked(h, TXN, 3, member="m", generation=1, error=GENERATION)
    asked(h, COMMIT, 9, member="m", generation=3, error=GENERATION)
    asked(h, COMMIT, 9, member="other", generation=2, error=MEMBER)


@asks(
    "A classic group at generation 2 accepts a commit at generation 1.",
    source="KIP-447: the generation fences",
    expects={"wrong_commit_error": VIOLATION},
)
def old_generation_is_accepted(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 2)
    committed(h, TXN, 3, member="m", generation=1, producer=h.place.producer_id(7))


@asks(
    "A producer's epoch 1 was granted before; a commit with epoch 0 is fenced, one with 1 is not.",
    source="KIP-98, KIP-890: an older producer epoch is fenced",
    expects={"wrong_commit_error": NONE, "wrong_stored_commit": NONE},
)
def older_producer_is_fenced(h: History) -> None:
    with_topic(h)
    epoch_granted(h, 1)
    asked(h, TXN, 6, producer_id=h.place.producer_id(7), producer_epoch=0, error=PRODUCER_EPOCH)
    committed(h, TXN, 6, producer=h.place.producer_id(7), producer_epoch=1)


@asks(
    "A producer's epoch 1 was granted before; a commit with epoch 0 is accepted.",
    source="KIP-98, KIP-890: an older producer epoch is fenced",
    expects={"wrong_commit_error": VIOLATION},
)
def older_producer_is_accepted(h: History) -> None:
    with_topic(h)
    epoch_granted(h, 1)
    committed(h, TXN, 6, producer=h.place.producer_id(7), producer_epoch=0)


@asks(
    "The coordinator is loading its partition, and says so.",
    source="Errors.COORDINATOR_LOAD_IN_PROGRESS: a coordinator that is loading can't process "
    "requests",
    expects={"wrong_commit_error": UNDECIDED, "wrong_stored_commit": NONE},
)
def coordinator_is_loading(h: History) -> None:
    with_topic(h)
    asked(h, COMMIT, 9, error=14)


@asks(
    "A plain commit of no member is accepted, though the group has a member.",
    source=NO_MEMBER,
    expects={"wrong_commit_error": VIOLATION, "wrong_stored_commit": NONE},
)
def plain_commit_of_no_member_is_let_in(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 3)
    committed(h, COMMIT, 8)


@asks(
    "An offset of a transaction is accepted without a member, though the group has one.",
    source=NO_MEMBER + "; KIP-447: older producers send no group metadata",
    expects={"wrong_commit_error": NONE, "wrong_stored_commit": NONE},
)
def transaction_sends_offsets_of_no_member(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 3)
    _granted(h, 0, at=30.0)
    committed(h, TXN, 3, producer=producer_id(h, 7))


@asks(
    "A producer's offsets are accepted before a newer epoch is granted, and refused after it.",
    source="KIP-890, verification of transactions; the epoch in force at that time decides",
    expects={"wrong_commit_error": NONE, "wrong_stored_commit": NONE},
)
def producer_epoch_was_right_at_that_time(h: History) -> None:
    with_topic(h)
    of_producer = {"producer_id": producer_id(h, 7), "producer_epoch": 2}
    _granted(h, 2, at=10.0)
    asked(h, TXN, 3, at=25.0, metadata="early", **of_producer)
    aborted = {"marker": "abort", "marker_micros": h.at(29.9)}
    stored(h, at=25.0, metadata="early", **of_producer, **aborted)
    _granted(h, 4, at=30.0)
    asked(h, TXN, 3, at=45.0, metadata="late", error=PRODUCER_EPOCH, **of_producer)
    h.rows["wire_calls"][-1]["is_retriable"] = False


@asks(
    "An OffsetFetch that does not ask for stable offsets gets one of an open transaction.",
    source="KIP-98: offsets of a transaction show once it is committed; KIP-447, OffsetFetch",
    expects={"wrong_fetched_commit": VIOLATION},
)
def pending_offset_is_given_out(h: History) -> None:
    with_topic(h)
    stored(h)
    of_producer = {"producer_id": producer_id(h, 7), "producer_epoch": 0}
    aborted = {"marker": "abort", "marker_micros": h.at(60.0)}
    stored(h, at=45.0, offset=60, **of_producer, **aborted)
    fetched(h, at=52.0, offset=60, is_stable=False)
    fetched(h, at=65.0, is_stable=False)


def _granted(h: History, epoch: int, *, at: float) -> None:
    """The transactional producer is initialized, and gets this epoch."""
    granted = {"producer_id": producer_id(h, 7), "producer_epoch": epoch}
    h.called(1, "INIT_PRODUCER_ID", 4, at=at, throttle_ms=0, **granted)
    h.rows["wire_calls"][-1].update(topic=None, partition=None)
