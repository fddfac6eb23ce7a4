"""What one group, partition or member did says nothing of another: it excuses and accuses nobody.

Each history has two of a kind. What would explain a finding is there, and belongs to the other one.
"""

from tests.exam.history import VIOLATION, History, asks
from tests.exam.verbs import joined, left, plain, reads_to

KEYED = "OffsetMetadataManager.Offsets: offsets are keyed by group, topic and partition"
POSITION = (
    "KafkaConsumer Javadoc, section Offsets and Consumer Position: a position only advances as"
    " records are polled"
)


@asks(
    "A group commits 30 after 50; another group was reset from 50 to 20 in between.",
    source=KEYED + "; KIP-320: a reset moves the position of one group",
    expects={"commit_regressed": VIOLATION, "unjustified_reset": VIOLATION},
)
def another_group_is_reset_before_a_commit_goes_back(h: History) -> None:
    _goes_back(h)
    h.group("other")
    joined(h, 50, at=5.0, group="other")
    h.reset("out_of_range", 50, 20, at=15.0, epoch=0, group="other", member="1")
    h.polled(20, 99, at=16.0, group="other")
    left(h, 100, at=80.0, group="other", caught_up=True)


@asks(
    "A group commits 30 after 50; another group's commit of 30 had an unknown outcome before.",
    source=KEYED,
    expects={"commit_regressed": VIOLATION},
)
def another_group_does_not_know_of_its_commit(h: History) -> None:
    _goes_back(h)
    h.group("other")
    joined(h, 0, at=5.0, group="other")
    h.polled(0, 29, at=6.0, group="other")
    _unknown(h, group="other")
    left(h, 30, at=80.0, group="other")


@asks(
    "A group commits 30 after 50; of its other partition a commit of 30 had an unknown outcome.",
    source=KEYED,
    expects={"commit_regressed": VIOLATION},
)
def outcome_of_a_commit_of_another_partition_is_unknown(h: History) -> None:
    h.topic(partitions=2)
    plain(h, 99, partition=1)
    _goes_back(h, partitions=2)
    h.changed("assigned", at=5.0, position=0, partition=1, generation=1)
    h.polled(0, 29, at=6.0, partition=1, producer="p1")
    _unknown(h, partition=1)


@asks(
    "A member is not authorized to read on and fails; its successor commits 30 after 50.",
    source=POSITION + "; a TopicAuthorizationException moves none",
    expects={"commit_regressed": VIOLATION},
)
def member_fails_otherwise_before_a_commit_goes_back(h: History) -> None:
    _goes_back(h)
    h.changed(
        "failed",
        at=15.0,
        exception="org.apache.kafka.common.errors.TopicAuthorizationException",
        message="Not authorized to access topics",
    )


def _goes_back(h: History, *, partitions: int = 1) -> None:
    """A member reads to 79, commits 50 at 10 s, and 30 at 20 s."""
    if partitions == 1:
        h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, 49)
    h.commit(50, 0, at=10.0, brokers=(1, 2), generation=1)
    h.polled(50, 79, at=14.0)
    h.commit(30, 0, at=20.0, brokers=(1, 2), generation=1)
    left(h, 80, at=80.0)


def _unknown(h: History, *, group: str = "g", partition: int = 0) -> None:
    """A commit of 30, whose response never came, at 12 s."""
    h.commit(
        30,
        0,
        at=12.0,
        stored=False,
        outcome="unknown",
        error="TimeoutException",
        group=group,
        partition=partition,
        generation=1,
    )
