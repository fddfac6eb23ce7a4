"""Commits that a client was asked for and left out, though its position had moved."""

from tests.exam.commit_verbs import COMMIT
from tests.exam.history import NONE, PERMITTED, UNDECIDED, VIOLATION, History, asks
from tests.exam.verbs import cut, joined, left, moved, plain, reads_to

PROMISE = "confluent_kafka.Consumer.commit: without arguments, the offsets of the assignment"
LIBRDKAFKA = "rd_kafka_fetch_pos_cmp: the epoch first, then the offset; librdkafka#4384"


def _withheld(h: History, *, at: float, member: str = "1", style: str = "record") -> None:
    """The client returns that it had nothing to commit."""
    h.commit(
        None,
        -1,
        at=at,
        stored=False,
        outcome="nothing",
        error="_NO_OFFSET",
        member=member,
        style=style,
        generation=1,
    )


def _behind_an_epoch(h: History, *, client: str = "librdkafka", style: str = "record") -> None:
    """An administrator sets 50 with the leader's epoch 1; the records up to 99 are of epoch 0."""
    h.topic()
    h.group(client=client, commit_epoch=style)
    moved(h, change=100, last=99, at=10.0)
    h.called(
        2,
        COMMIT,
        8,
        at=15.0,
        group=h.own("g"),
        member="",
        generation=-1,
        asked_offset=50,
        asked_epoch=1,
        metadata="",
        throttle_ms=0,
    )
    h.stored(50, 1, at=14.998, brokers=(1, 2))
    for life, second in (("1", 20.0), ("2", 40.0)):
        joined(h, 50, at=second, member=life)
        h.polled(50, 99, at=second + 1, member=life)
        _withheld(h, at=second + 3, member=life, style=style)
        left(h, 100, at=second + 10, member=life, caught_up=True)


WITHHELD = {
    "withheld_commit": VIOLATION,
    "duplicate_delivery": PERMITTED,
    "commit_mismatch": NONE,
    "lost_commit": NONE,
    "commit_beyond_processed": NONE,
}


@asks(
    "librdkafka reads to 100 in epoch 0, and commits nothing: the stored 50 has epoch 1.",
    source=PROMISE + "; " + LIBRDKAFKA,
    expects=WITHHELD,
)
def commit_is_withheld_behind_a_newer_epoch(h: History) -> None:
    _behind_an_epoch(h)


@asks(
    "A Java client commits nothing, as its position awaits validation, and then closes.",
    source="contract/outcomes.py, nothing; KafkaConsumer: a position is validated before it counts",
    expects=WITHHELD | {"withheld_commit": PERMITTED},
)
def commit_awaits_validation(h: History) -> None:
    _behind_an_epoch(h, client="java")


@asks(
    "librdkafka is given offsets by the application, and has none to commit.",
    source=PROMISE + "; with offsets, it is the application that chooses them",
    expects=WITHHELD | {"withheld_commit": f"{PERMITTED}: nothing to commit"},
)
def application_has_nothing_to_commit(h: History) -> None:
    _behind_an_epoch(h, style="application")


def _behind_an_offset(h: History, *, withheld: bool) -> None:
    """The group committed 100 without an epoch; 50 to 99 are written anew, and it reads to 79."""
    h.topic(unclean_election=True)
    h.group(client="librdkafka", commit_epoch="none")
    cut(h, last=149)
    joined(h, 0, at=5.0)
    h.polled(0, 99, at=13.0)
    h.commit(100, -1, at=15.0, style="none", brokers=(1, 2), generation=1, record_epoch=0)
    if withheld:
        h.reset("out_of_range", 100, 0, at=31.0, member="1")
        h.polled(0, 49, at=32.0)
        h.polled(50, 79, at=33.0, epoch=1, sequence=100)
        _withheld(h, at=34.0)
    joined(h, 100, at=40.0, member="2")
    h.polled(100, 149, at=41.0, epoch=1, sequence=150, member="2")
    left(h, 150, at=80.0, member="2", caught_up=True)


@asks(
    "librdkafka starts over after a truncation, reads to 80 and commits nothing, as 100 is stored;"
    " the next member starts at 100.",
    source=PROMISE + "; librdkafka#1372",
    expects={
        "unjustified_reset": f"{UNDECIDED}: out_of_range: was within the log, but",
        "withheld_commit": f"{VIOLATION}: behind a larger offset",
        "skipped_record": VIOLATION,
        "start_mismatch": NONE,
    },
)
def commit_is_withheld_behind_a_larger_offset(h: History) -> None:
    _behind_an_offset(h, withheld=True)


@asks(
    "A group committed 100 without an epoch; 50 to 99 are written anew, and it starts at 100.",
    source="KIP-320: a position without an epoch can't be validated",
    expects={
        "withheld_commit": NONE,
        "skipped_record": f"{PERMITTED}: skipped without an error: the offset was "
        "committed without a leader epoch, so it could not be validated",
    },
)
def commit_without_an_epoch_is_not_withheld(h: History) -> None:
    _behind_an_offset(h, withheld=False)


@asks(
    "A member of a group that commits no epochs reads on at 100; 50 to 99 were written anew.",
    source="KIP-320: a live position has the epoch of its last record, whatever is committed",
    expects={
        "committed_epoch_missing": PERMITTED,
        "truncation_undetected": VIOLATION,
        "withheld_commit": NONE,
        "skipped_record": VIOLATION,
    },
)
def live_member_of_a_group_without_epochs(h: History) -> None:
    h.topic(unclean_election=True)
    h.group(commit_epoch="none")
    cut(h, last=149)
    joined(h, 0, at=5.0)
    h.polled(0, 99, at=13.0)
    h.commit(100, -1, at=15.0, style="none", brokers=(1, 2), generation=1, record_epoch=0)
    h.polled(100, 149, at=41.0, epoch=1, sequence=150)
    left(h, 150, at=80.0, caught_up=True)


@asks(
    "librdkafka commits 100, and is asked again twice, with nothing delivered in between.",
    source=PROMISE + "; there is nothing new to commit",
    expects={"withheld_commit": NONE},
)
def nothing_new_to_commit(h: History) -> None:
    h.topic()
    h.group(client="librdkafka")
    plain(h, 99)
    joined(h, 0, at=5.0)
    _withheld(h, at=5.5)
    h.polled(0, 99, at=6.0)
    h.commit(100, 0, at=8.0, brokers=(1, 2), generation=1)
    _withheld(h, at=9.0)
    _withheld(h, at=10.0)
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "librdkafka reads again, to 100, what its group had committed as 100, and commits nothing.",
    source=PROMISE + "; its position is what is stored",
    expects={"withheld_commit": NONE},
)
def position_is_what_is_stored(h: History) -> None:
    h.topic()
    h.group(client="librdkafka")
    plain(h, 99)
    reads_to(h, 99)
    h.commit(100, 0, at=8.0, brokers=(1, 2), generation=1)
    h.reset("out_of_range", 100, 0, at=10.0, member="1")
    h.polled(0, 99, at=11.0)
    _withheld(h, at=12.0)
    left(h, 100, at=80.0, caught_up=True)
