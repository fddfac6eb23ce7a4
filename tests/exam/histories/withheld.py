"""Commits that a client was asked for and left out, though its position had moved."""

from tests.exam.commit_verbs import COMMIT
from tests.exam.history import NONE, PERMITTED, UNDECIDED, VIOLATION, History, asks, asks_each
from tests.exam.verbs import begun, cut, first_start, joined, left, moved, plain, reads_to, watched

PROMISE = "confluent_kafka.Consumer.commit: without arguments, the offsets of the assignment"
LIBRDKAFKA = "rd_kafka_fetch_pos_cmp: the epoch first, then the offset; librdkafka#4384"
CHECK = "withheld_commit"
PLAIN = (
    "confluent_kafka Consumer.commit without arguments commits the offsets of the assignment; "
    "librdkafka leaves a position out that is not greater than the stored one (librdkafka#1372)"
)
BY_ITSELF = "librdkafka, CONFIGURATION.md: enable.auto.commit"
JAVA = (
    "KIP-320: a position that awaits validation is not committed by SubscriptionState.allConsumed"
)


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


@asks(
    "librdkafka reads records of an older epoch behind those of a newer one, and commits nothing.",
    source="confluent_kafka Consumer.commit; librdkafka rd_kafka_fetch_pos_cmp, the epoch first",
    expects={
        "withheld_commit": VIOLATION,
        "record_epoch_regressed": PERMITTED,
        "lost_record": PERMITTED,
        "unclean_election_unconfigured": PERMITTED,
    },
)
def librdkafka_keeps_back_an_older_epoch(h: History) -> None:
    h.topic(unclean_election=True)
    h.group(client="librdkafka")
    _first_leader_comes_back(h)
    joined(h, 0, at=19.0)
    h.polled(0, 49, at=20.0)
    h.polled(50, 99, at=20.1, epoch=2, sequence=120)
    h.commit(100, 2, at=22.0, brokers=(1, 2), generation=1)
    h.polled(100, 119, at=44.0)
    failed = {"outcome": "nothing", "error": "_NO_OFFSET", "stored": False}
    h.commit(120, 0, at=46.0, generation=1, **failed)
    left(h, 120, at=80.0)


def _first_leader_comes_back(h: History) -> None:
    """Two unclean elections: broker 2 leads epoch 2 from 50, then broker 1 epoch 4 from 120.

    Broker 1 keeps its 120 records of epoch 0; the 50 of broker 2 are lost.
    """
    name = {one: h.on_broker(one) for one in (1, 2)}
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(3.0,))
    h.fault("stop", name[2], injected=3.5, proved=5.2, heal_began=13.0, healed=14.5)
    h.registered(2, at=5.0, is_fenced=True)
    h.led(1, 0, at=5.0, isr=(1,))
    h.sent(50, 119, at=7.0)
    watched(h, 1, 120, times=(8.0,), isr=(1,))
    h.fault("kill", name[1], injected=9.0, proved=12.2, heal_began=38.0, healed=39.5)
    h.registered(1, at=12.0, is_fenced=True)
    h.led(-1, 1, at=12.0, isr=(1,))
    h.registered(2, at=14.0, is_fenced=False, broker_epoch=2)
    h.led(2, 2, at=14.2, isr=(2,), starts=50)
    h.sent(50, 99, at=16.0, sequence=120)
    watched(h, 2, 100, times=(18.0, 30.0), epoch=2, isr=(2,))
    h.fault("kill", name[2], injected=32.0, proved=35.2, heal_began=58.0, healed=60.0)
    h.registered(2, at=35.0, is_fenced=True, broker_epoch=2)
    h.led(-1, 3, at=35.0, isr=(2,))
    h.registered(1, at=39.0, is_fenced=False, broker_epoch=2)
    h.led(1, 4, at=39.2, isr=(1,), starts=120)
    watched(h, 1, 120, times=(41.0, 55.0), epoch=4, isr=(1,))
    h.registered(2, at=59.5, is_fenced=False, broker_epoch=3)
    h.cut(2, 50, 99, 2, at=58.5, sequence=120)
    h.truncated(2, 50, at=61.0)
    h.led(1, 4, at=64.0, isr=(1, 2))
    watched(h, 1, 120, times=(66.0, 85.0), epoch=4)
    h.log(1, (0, 49, 0), (50, 119, 0), high_watermark=120, checkpoints={0: 0, 4: 120})
    h.log(2, (0, 49, 0), (50, 119, 0), high_watermark=120)


@asks_each(
    "librdkafka reads 30 to 49 of epoch 0 from a commit of 30 with epoch 1, and commits nothing.",
    source=PLAIN + "; rd_kafka_fetch_pos_cmp compares epochs first",
    check=CHECK,
    cases={
        "By a plain commit.": (VIOLATION, {}),
        "It then reads epoch 1, and commits 100.": (VIOLATION, {"reads_on": True}),
        "By a plain commit, after it stored its last message.": (
            VIOLATION,
            {"manner": "stored"},
        ),
        "By a call that is not known, without offsets.": (VIOLATION, {"manner": None}),
        "By a commit of its last message.": (PERMITTED, {"manner": "message"}),
        "By a commit of offsets.": (PERMITTED, {"style": "application"}),
    },
)
def older_records_are_not_committed(
    h: History, *, reads_on: bool = False, manner: str | None = "sync", style: str = "record"
) -> None:
    h.topic()
    h.group(client="librdkafka", manner=manner or "sync", commit_epoch=style)
    h.worker(client="librdkafka")
    moved(h)
    h.stored(30, 1, at=40.0, brokers=(1, 2))
    joined(h, 30, at=50.0)
    h.polled(30, 49, at=51.0)
    _nothing(h, at=52.0, manner=manner, style=style)
    _left_out(h, (50, 0), (30, 1), at=52.0)
    if reads_on:
        h.polled(50, 99, at=53.0, epoch=1)
        h.commit(100, 1, at=54.0, style=style, brokers=(1, 2))


@asks_each(
    "librdkafka has committed 50, and a plain commit stores nothing.",
    source=PLAIN,
    check=CHECK,
    cases={
        "Nothing was delivered since.": (NONE, {}),
        "It had gone back to 20, and has read 20 to 39.": (VIOLATION, {"sought": 20}),
        "What it had read further was revoked, and it begins at 50 again.": (
            NONE,
            {"is_revoked": True},
        ),
        "Another partition has moved, and is committed.": (NONE, {"other": True}),
        "Its commit of 60 had failed, since it was no member.": (NONE, {"is_refused": True}),
    },
)
def plain_commit_stores_nothing(
    h: History,
    *,
    sought: int | None = None,
    is_revoked: bool = False,
    other: bool = False,
    is_refused: bool = False,
) -> None:
    _of_librdkafka(h, partitions=2)
    joined(h, 0, at=5.0, partitions=(0, 1), generation=-1)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=8.0, brokers=(1, 2))
    if sought is not None:
        h.changed("sought", at=10.0, position=sought)
        h.polled(sought, 39, at=11.0)
    if is_revoked:
        h.polled(50, 79, at=9.0)
        for at, change in ((10.0, "revoked"), (11.0, "assigned")):
            h.changed(change, at=at, position=50 if change == "assigned" else None)
    if other:
        h.polled(0, 49, at=11.0, partition=1, producer="p1")
    if is_refused:
        h.polled(50, 59, at=9.0)
        error = {"outcome": "failed", "error": "UNKNOWN_MEMBER_ID", "stored": False}
        h.commit(60, 0, at=10.0, **error)
        h.changed("revoked", at=10.5)
        h.changed("assigned", at=11.0, position=50)
    _nothing(h, at=12.0)
    if other:
        h.commit(50, 0, at=12.0, brokers=(1, 2), partition=1)
    if sought is None:
        _left_out(h, (50, 0), (50, 0), at=12.0)
    else:
        _left_out(h, (40, 0), (50, 0), at=12.0)


@asks_each(
    "librdkafka commits by itself, and logs twice that it left a position out:",
    source=BY_ITSELF + "; rd_kafka_topic_partition_list_set_offsets",
    check=CHECK,
    cases={
        "40, behind its commit of 50, after a seek.": (VIOLATION, {"to": 40, "sought": 20}),
        "50, which is committed.": (NONE, {"to": 50}),
        "40, of a group that commits by calls, which fail.": (
            NONE,
            {"to": 40, "sought": 20, "manner": "sync"},
        ),
    },
)
def client_leaves_a_position_out(
    h: History, *, to: int, sought: int | None = None, manner: str = "auto"
) -> None:
    _of_librdkafka(h, manner=manner)
    joined(h, 0, at=5.0, generation=-1)
    h.polled(0, 49, at=6.0)
    h.stored(50, 0, at=8.0, brokers=(1, 2))
    if sought is not None:
        h.changed("sought", at=10.0, position=sought)
        h.polled(sought, to - 1, at=11.0)
    for at in (13.0, 18.0):
        _left_out(h, (to, 0), (50, 0), at=at)
        if manner == "sync":
            failed = {"outcome": "failed", "error": "REBALANCE_IN_PROGRESS", "stored": False}
            h.commit(to, 0, at=at, **failed)


@asks(
    "A Java client commits nothing while an election leaves its position to be validated.",
    source=JAVA,
    expects={CHECK: PERMITTED},
)
def java_client_awaits_validation(h: History) -> None:
    h.topic()
    h.group()
    moved(h)
    joined(h, 0, at=5.0)
    h.polled(0, 39, at=6.0)
    h.commit(40, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(40, 49, at=20.1)
    h.commit(None, -1, at=20.5, outcome="nothing", stored=False, record_epoch=0, generation=1)
    h.polled(50, 99, at=23.0, epoch=1)
    h.commit(100, 1, at=24.0, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0, caught_up=True)


def _of_librdkafka(h: History, *, manner: str = "sync", partitions: int = 1) -> None:
    h.topic(partitions=partitions)
    h.group(client="librdkafka", manner=manner)
    h.worker(client="librdkafka")
    for partition in range(partitions):
        plain(h, 99, partition=partition)
    first_start(h, 0, at=4.8)


def _nothing(h: History, *, at: float, manner: str | None = "sync", style: str = "record") -> None:
    """A commit for which librdkafka has no offset."""
    nothing = {"outcome": "nothing", "error": "_NO_OFFSET", "stored": False}
    h.commit(None, -1, at=at, style=style, record_epoch=0, **nothing)
    h.rows["commits"][-1]["manner"] = manner


def _left_out(
    h: History, position: tuple[int, int], committed: tuple[int, int], *, at: float
) -> None:
    """librdkafka logs a position with its epoch, and the commit with its own, and leaves it out."""
    (offset, epoch), (committed_offset, committed_epoch) = position, committed
    h.add(
        "omitted_commits",
        worker=h.own("w"),
        group=h.own("g"),
        member=h.member("1"),
        topic=h.own("t"),
        partition=0,
        offset=offset,
        epoch=epoch,
        committed_offset=committed_offset,
        committed_epoch=committed_epoch,
        log_line=f"stored offset {offset}, committed offset {committed_offset}: not including",
        at_micros=h.at(at),
    )
