"""Commits that the client makes by itself (enable.auto.commit), whose outcomes nobody reports."""

from typing import Any

from tests.exam.history import NONE, UNDECIDED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.verbs import cluster, left, plain, reads_to, watched


def _begun(h: History) -> None:
    """A topic of 200 records, and a group that commits automatically and was delivered 0 to 99."""
    h.topic()
    h.group(manner="auto")
    cluster(h)
    h.sent(0, 199, at=2.0)
    watched(h, 1, 200, times=(5.0, 9.0, 12.0, 20.0, 30.0))
    reads_to(h, 99)


def _ended(h: History) -> None:
    left(h, 200, at=80.0, caught_up=True)
    copies(h, (1, 2), (0, 199, 0), high_watermark=200)


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
    source="docs/hunt.md: in a run of reprocessing_hunt whose coordinator moved, 802 was "
    "stored, then 778",
    expects={"commit_regressed": UNDECIDED},
)
def an_automatic_commit_is_stored_late(h: History) -> None:
    _begun(h)
    h.commit(100, 0, at=10.0, brokers=(1, 2))
    h.commit(50, 0, at=10.1, brokers=(1, 2))
    h.polled(100, 199, at=11.0)
    _ended(h)


AUTO = "librdkafka, CONFIGURATION.md: enable.auto.commit commits periodically, and tells nobody"


def _committed_by_itself(h: History, **group: Any) -> None:
    """The application commits 100; 100 and 200 are stored later, and the client reports neither."""
    h.topic()
    h.group(**group)
    plain(h, 199)
    reads_to(h, 99)
    h.commit(100, 0, at=7.0, brokers=(1, 2), generation=1)
    h.stored(100, 0, at=10.0, brokers=(1, 2))
    h.polled(100, 199, at=11.0)
    h.stored(200, 0, at=15.0, brokers=(1, 2))
    left(h, 200, at=80.0, caught_up=True)


BY_ITSELF = {
    "history_complete": NONE,
    "commit_mismatch": NONE,
    "commit_regressed": NONE,
    "commit_beyond_processed": NONE,
    "lost_commit": NONE,
}


@asks("librdkafka commits in the manner `auto`.", source=AUTO, expects=BY_ITSELF)
def librdkafka_commits_by_itself(h: History) -> None:
    _committed_by_itself(h, client="librdkafka", manner="auto")


@asks("librdkafka commits as its setting enable.auto.commit says.", source=AUTO, expects=BY_ITSELF)
def librdkafka_commits_by_its_setting(h: History) -> None:
    _committed_by_itself(h, client="librdkafka", settings={"enable.auto.commit": "true"})


@asks(
    "kafka-python commits as its setting enable_auto_commit says.",
    source="KafkaConsumer of kafka-python: enable_auto_commit",
    expects=BY_ITSELF,
)
def kafka_python_commits_by_its_setting(h: History) -> None:
    _committed_by_itself(h, client="kafka-python", settings={"enable_auto_commit": 1})


@asks(
    "Commits of librdkafka are stored that it does not report; it is not to commit by itself.",
    source=AUTO + " if it is set; contract/events.py, Committed: every other one has a line",
    expects=BY_ITSELF | {"history_complete": UNDECIDED},
)
def librdkafka_is_not_to_commit_by_itself(h: History) -> None:
    _committed_by_itself(h, client="librdkafka", settings={"enable.auto.commit": "false"})


@asks(
    "librdkafka commits by itself 150, and its group is never delivered records 100 to 149.",
    source="librdkafka, CONFIGURATION.md: enable.auto.offset.store stores what the application got",
    expects={"commit_beyond_processed": VIOLATION},
)
def librdkafka_commits_by_itself_what_it_never_delivered(h: History) -> None:
    h.topic()
    h.group(client="librdkafka", settings={"enable.auto.commit": "true"})
    plain(h, 199)
    reads_to(h, 99)
    h.stored(150, 0, at=10.0, brokers=(1, 2))
    h.polled(150, 199, at=11.0)
    left(h, 200, at=80.0, caught_up=True)
