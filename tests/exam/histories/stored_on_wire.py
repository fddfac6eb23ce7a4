"""Commits by single requests: what is stored of them, and what is returned."""

from tests.exam.commit_verbs import (
    COMMIT,
    COMMITTED,
    GENERATION,
    TXN,
    UNSTABLE,
    asked,
    committed,
    fetched,
    member_stored,
    stored,
    with_pending,
    with_topic,
)
from tests.exam.history import NONE, UNDECIDED, VIOLATION, History, asks

MAPPING = "KIP-1319, Broker-Side, Error mapping"
STORING = "KIP-320, OffsetCommit and TxnOffsetCommit: the committed leader epoch is stored"
RETURNING = "KIP-320, OffsetFetch: the response has the committed leader epoch"


@asks(
    "A commit with epoch 0 is accepted and stored so, by value version 3; one with its topic's id"
    " by version 4, with the id.",
    source=STORING + "; KIP-1319, Persisting topic IDs",
    expects={"wrong_stored_commit": NONE},
)
def commit_is_stored(h: History) -> None:
    with_topic(h)
    committed(h, COMMIT, 8)
    committed(h, TXN, 6, producer=h.place.producer_id(7), topic_id=h.own("id"))


@asks(
    "A commit with epoch 0 is accepted, and stored without an epoch.",
    source=STORING,
    expects={"wrong_stored_commit": VIOLATION},
)
def epoch_is_not_stored(h: History) -> None:
    with_topic(h)
    asked(h, COMMIT, 8)
    stored(h, epoch=-1)


@asks(
    "A commit is accepted, and nothing of it is stored.",
    source=STORING,
    expects={"wrong_stored_commit": VIOLATION},
)
def accepted_commit_is_not_stored(h: History) -> None:
    with_topic(h)
    asked(h, COMMIT, 8)
    stored(h, metadata="another")


@asks(
    "A commit is refused as of an illegal generation, and stored.",
    source=MAPPING,
    expects={"wrong_stored_commit": VIOLATION},
)
def refused_commit_is_stored(h: History) -> None:
    with_topic(h)
    member_stored(h, "classic", 2)
    asked(h, COMMIT, 8, member="m", generation=1, error=GENERATION)
    stored(h)


@asks(
    "A request times out, and its commit is stored.",
    source="contract/outcomes.py: unknown, the response leaves both possible",
    expects={"wrong_stored_commit": NONE},
)
def commit_of_an_unknown_outcome(h: History) -> None:
    with_topic(h)
    asked(h, COMMIT, 8, error=7)
    stored(h)


@asks(
    "A commit with its topic's id is stored without the id.",
    source="KIP-1319, Persisting topic IDs",
    expects={"wrong_stored_commit": VIOLATION},
)
def topic_id_is_not_stored(h: History) -> None:
    with_topic(h)
    asked(h, TXN, 6, producer_id=h.place.producer_id(7), producer_epoch=0, topic_id=h.own("id"))
    stored(
        h, producer_id=h.place.producer_id(7), producer_epoch=0, marker="commit", value_version=4
    )


@asks(
    "A commit is stored by version 2 of OffsetCommitValue, which has no epoch.",
    source="KIP-320, Offset Schema Changes: version 3",
    expects={"wrong_stored_commit": VIOLATION},
)
def value_is_of_an_older_version(h: History) -> None:
    with_topic(h)
    asked(h, COMMIT, 8)
    stored(h, value_version=2)


@asks(
    "A commit of 50 with epoch 0 is returned; a partition without a commit has -1.",
    source=RETURNING,
    expects={"wrong_fetched_commit": NONE},
)
def commit_is_returned(h: History) -> None:
    with_topic(h)
    stored(h)
    fetched(h)
    fetched(h, partition=1, offset=-1, epoch=-1, metadata="")


@asks(
    "A commit of 50 with epoch 0 is returned without its epoch.",
    source=RETURNING,
    expects={"wrong_fetched_commit": VIOLATION},
)
def commit_is_returned_without_its_epoch(h: History) -> None:
    with_topic(h)
    stored(h)
    fetched(h, epoch=-1)


@asks(
    "A commit of 60 was stored ten seconds ago, after one of 50, which is returned.",
    source="OffsetMetadataManager.fetchOffsets: the last commit",
    expects={"wrong_fetched_commit": VIOLATION},
)
def older_commit_is_returned(h: History) -> None:
    with_topic(h)
    stored(h)
    stored(h, at=COMMITTED + 1, offset=60)
    fetched(h, at=COMMITTED + 11)


@asks(
    "A commit of 60 is stored while 50, the one before, is returned.",
    source="decision 22: a response that is right for one of the possible states is no violation",
    expects={"wrong_fetched_commit": NONE},
)
def commit_is_stored_meanwhile(h: History) -> None:
    with_topic(h)
    stored(h)
    stored(h, at=COMMITTED + 10, offset=60)
    fetched(h, at=COMMITTED + 10)


@asks(
    "A transaction has an offset of the partition: a request for stable ones is refused, another"
    " one returns the commit before. Once it has ended, its offset is returned.",
    source="KIP-447, OffsetFetch: UNSTABLE_OFFSET_COMMIT",
    expects={"wrong_fetched_commit": NONE},
)
def transaction_is_pending(h: History) -> None:
    with_pending(h)
    fetched(h, at=50.0, is_stable=True, error=UNSTABLE, offset=-1, epoch=-1, metadata="")
    fetched(h, at=50.1, is_stable=False)
    fetched(h, at=60.0, is_stable=True, offset=60)


@asks(
    "A transaction has an offset of the partition, and a stable one is returned all the same.",
    source="KIP-447, OffsetFetch: UNSTABLE_OFFSET_COMMIT",
    expects={"wrong_fetched_commit": VIOLATION},
)
def pending_commit_is_not_waited_for(h: History) -> None:
    with_pending(h)
    fetched(h, at=50.0, is_stable=True)


@asks(
    "No transaction has an offset of the partition, and a request is refused as unstable.",
    source="KIP-447, OffsetFetch",
    expects={"wrong_fetched_commit": VIOLATION},
)
def stable_commit_is_refused(h: History) -> None:
    with_topic(h)
    stored(h)
    fetched(h, is_stable=True, error=UNSTABLE, offset=-1, epoch=-1, metadata="")


@asks(
    "The coordinator that is asked for a commit is loading its partition.",
    source="Errors.COORDINATOR_LOAD_IN_PROGRESS: a coordinator that is loading can't process "
    "requests",
    expects={"wrong_fetched_commit": UNDECIDED},
)
def loading_coordinator_is_asked(h: History) -> None:
    with_topic(h)
    stored(h)
    fetched(h, error=14, offset=-1, epoch=-1, metadata="")
