"""Commits that the client makes by itself (enable.auto.commit), whose outcomes nobody reports."""

from tests.histories.history import UNDECIDED, VIOLATION, History, asks
from tests.histories.verbs import cluster, joined, left, watched


def _begun(h: History) -> None:
    """A topic of 200 records, and a group that commits automatically and was delivered 0 to 99."""
    h.topic()
    h.group(manner="auto")
    cluster(h)
    h.sent(0, 199, at=2.0)
    watched(h, 1, 200, times=(5.0, 9.0, 12.0, 20.0, 30.0))
    joined(h, 0, at=5.0)
    h.polled(0, 99, at=6.0)


def _ended(h: History) -> None:
    left(h, 200, at=80.0, caught_up=True)
    for broker in (1, 2):
        h.log(broker, (0, 199, 0), high_watermark=200)


@asks(
    "A client commits 150 automatically, and its poll with records up to 149 returns after that.",
    source="KIP-848: the consumer's background thread sends commits while poll() returns",
    expects={"commit_beyond_processed": UNDECIDED},
)
def committed_while_the_poll_returns(h: History) -> None:
    _begun(h)
    h.commit(150, 0, at=10.0, brokers=(1, 2))
    h.polled(100, 199, at=10.13)
    _ended(h)


@asks(
    "A client commits 150 automatically, and its group is never delivered records 100 to 149.",
    source="KafkaConsumer: enable.auto.commit commits positions of records that poll() returned",
    expects={"commit_beyond_processed": VIOLATION},
)
def committed_automatically_and_never_delivered(h: History) -> None:
    _begun(h)
    h.commit(150, 0, at=10.0, brokers=(1, 2))
    h.polled(150, 199, at=10.13, sequence=150)
    _ended(h)


@asks(
    "A client commits 100 automatically and then 50. The outcomes of its requests are unknown.",
    source="a run of reprocessing_hunt on 4.4.0 whose coordinator moved: 802, then 778 was stored",
    expects={"commit_regressed": UNDECIDED},
)
def an_automatic_commit_is_stored_late(h: History) -> None:
    _begun(h)
    h.commit(100, 0, at=10.0, brokers=(1, 2))
    h.commit(50, 0, at=10.1, brokers=(1, 2))
    h.polled(100, 199, at=11.0)
    _ended(h)
