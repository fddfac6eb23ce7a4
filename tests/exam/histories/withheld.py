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
    "A Java member of a group whose other members are of librdkafka commits nothing, and closes.",
    source="contract/outcomes.py, nothing; a member commits as its own client does",
    expects=WITHHELD | {"withheld_commit": PERMITTED},
)
def commit_of_the_java_member_awaits_validation(h: History) -> None:
    _behind_an_epoch(h)
    h.worker(client="java")


@asks(
    "librdkafka is given offsets by the application, and has none to commit.",
    source=PROMISE + "; with offsets, it is the application that chooses them",
    expects=WITHHELD | {"withheld_commit": f"{PERMITTED}: nothing to commit"},
)
def application_has_nothing_to_commit(h: History) -> None:
    _behind_an_epoch(h, style="application")


AUTOMATIC = "librdkafka CONFIGURATION.md: enable.auto.commit commits offsets periodically"


def _omitted(
    h: History, position: tuple[int, int], stored: tuple[int, int], *, at: float, member: str = "1"
) -> None:
    """librdkafka logs that it leaves a position out of a commit; each an offset and an epoch."""
    h.add(
        "omitted_commits",
        worker=h.own("w"),
        group=h.own("g"),
        member=h.member(member),
        topic=h.own("t"),
        partition=0,
        offset=position[0],
        epoch=position[1],
        committed_offset=stored[0],
        committed_epoch=stored[1],
        log_line="not including in commit",
        at_micros=h.at(at),
    )


def _by_itself(h: History, *, stored_epoch: int) -> None:
    """librdkafka commits by itself; 50 is stored, and it reads 50 to 99 of epoch 0."""
    h.topic()
    h.group(client="librdkafka", manner="auto")
    moved(h, change=100, last=99, at=10.0)
    h.stored(50, stored_epoch, at=14.998, brokers=(1, 2))
    joined(h, 50, at=20.0)
    h.polled(50, 99, at=21.0)


@asks(
    "librdkafka commits by itself and logs each five seconds that it leaves 100 of epoch 0 out, as"
    " 50 of epoch 1 is stored.",
    source=AUTOMATIC + "; " + LIBRDKAFKA,
    expects={
        "withheld_commit": f"{VIOLATION}: behind a newer epoch: by itself committed nothing, though"
        " its position was 100 (epoch 0): offset 50 with epoch 1 is stored; it logged"
    },
)
def periodic_commit_is_withheld(h: History) -> None:
    _by_itself(h, stored_epoch=1)
    for second in (25.0, 30.0, 35.0):
        _omitted(h, (100, 0), (50, 1), at=second)


@asks(
    "It went back behind a commit of 200 without an epoch, and leaves out what it reads there.",
    source=AUTOMATIC + "; librdkafka#1372",
    expects={"withheld_commit": f"{VIOLATION}: behind a larger offset"},
)
def periodic_commit_is_withheld_behind_a_larger_offset(h: History) -> None:
    _by_itself(h, stored_epoch=0)
    _omitted(h, (100, 0), (200, -1), at=25.0)


@asks(
    "It stores 100, and logs each five seconds that there is nothing newer.",
    source=AUTOMATIC,
    expects={"withheld_commit": NONE},
)
def periodic_commit_has_nothing_newer(h: History) -> None:
    _by_itself(h, stored_epoch=0)
    h.stored(100, 0, at=25.0, brokers=(1, 2))
    for second in (30.0, 35.0):
        _omitted(h, (100, 0), (100, 0), at=second)


@asks(
    "librdkafka commits nothing when asked to, and its log says why.",
    source=PROMISE + "; " + LIBRDKAFKA,
    expects={"withheld_commit": f"{VIOLATION}: behind a newer epoch: it logged that it does not"},
)
def commit_is_withheld_and_logged(h: History) -> None:
    _behind_an_epoch(h)
    _omitted(h, (100, 0), (50, 1), at=23.1)


@asks(
    "A member in librdkafka of a group in Java commits nothing when asked to, and logs it.",
    source=PROMISE + "; " + LIBRDKAFKA,
    expects={"withheld_commit": f"{VIOLATION}: behind a newer epoch"},
)
def commit_is_withheld_in_another_language(h: History) -> None:
    _behind_an_epoch(h, client="java")
    _omitted(h, (100, 0), (50, 1), at=23.1)


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
