"""Two members of a group on one partition: whose commits hold, and who is told that it lost it."""

from tests.exam.history import (
    NONE,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
)
from tests.exam.verbs import joined, left, plain, reads_to

FENCED = (
    "`ClassicGroup.validateOffsetCommit`, `ConsumerGroup.validateOffsetCommit`: a commit of an"
    " older generation or member epoch is refused"
)
REVOKED = "`ConsumerRebalanceListener`: a partition that was revoked belongs to the member no more"
REFUSED = (
    "`ConsumerCoordinator.onJoinPrepare`: a member whose generation was refused gives up its"
    " partitions before its next fetch"
)
CUT_OFF = "`KafkaConsumer.poll` fetches on while the coordinator is not known"
GENERATION = (
    "ClassicGroup.validateOffsetCommit: another generation than the group's is answered with "
    "ILLEGAL_GENERATION"
)


@asks(
    "Member 1 commits, member 2 is assigned the partition and commits, then member 1 commits again,"
    " the same offset as member 2.",
    source=FENCED,
    expects={"commit_from_old_generation": VIOLATION},
)
def commits_alternate_at_one_offset(h: History) -> None:
    _two_commit(h, third=60, generations=(1, 2))


@asks(
    "The same where no generation is known, and member 2 had given the partition back.",
    source=FENCED,
    expects={"commit_from_old_generation": VIOLATION},
)
def commits_alternate_after_the_owner_left(h: History) -> None:
    _two_commit(h, third=40, generations=(-1, -1), gives_back=True)


@asks(
    "The same where both commit under the generation that gave the partition to member 2.",
    source="`ConsumerRebalanceListener`; a member commits what it owns",
    expects={"commit_from_old_generation": VIOLATION},
)
def commits_alternate_in_the_new_generation(h: History) -> None:
    _two_commit(h, third=70, generations=(2, 2))


@asks(
    "Member 1's commit is stored after member 2 was assigned the partition, and answered after"
    " member 3 was.",
    source=FENCED,
    expects={"commit_from_old_generation": VIOLATION},
)
def commit_is_answered_after_a_third_assignment(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0)
    h.polled(0, 29, at=6.0)
    joined(h, 0, at=20.0, member="2", generation=2)
    h.commit(30, 0, at=25.0, brokers=(1, 2), generation=1)
    h.rows["commits"][-1]["committed_micros"] = h.at(40.0)
    left(h, 0, at=29.0, member="2", generation=2)
    joined(h, 0, at=30.0, member="3", generation=3)


@asks(
    "Two members were assigned the partition since. One of them had committed the same offset.",
    source=FENCED + "; which of both commits is stored is not known",
    expects={"commit_from_old_generation": UNDECIDED},
)
def one_of_two_owners_committed_the_same(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0)
    h.polled(0, 29, at=6.0)
    joined(h, 0, at=20.0, member="3", generation=2)
    left(h, 0, at=29.0, member="3", generation=2)
    joined(h, 0, at=30.0, member="2", generation=3)
    h.polled(0, 29, at=31.0, member="2")
    h.commit(30, 0, at=40.0, member="2", brokers=(1, 2), generation=3)
    h.commit(30, 0, at=40.02, generation=1, stored=False)


@asks(
    "Member 1 is assigned the partition again before it commits again.",
    source="KIP-429: a partition may come back to a member",
    expects={"commit_from_old_generation": NONE, "double_ownership": NONE},
)
def partition_comes_back_before_the_next_commit(h: History) -> None:
    _two_commit(h, third=70, generations=(1, 2), gives_back=True, comes_back=True)


@asks(
    "Member 1's last commit is stored before member 2's first one, and answered after it.",
    source="`OffsetCommit`: the requests of two members cross each other",
    expects={"commit_from_old_generation": NONE, "commit_regressed": NONE},
)
def commits_cross(h: History) -> None:
    _two_commit(h, third=50, generations=(2, 2), third_at=29.9)
    h.rows["commits"][-1]["committed_micros"] = h.at(30.2)


@asks(
    "The coordinator refuses member 1's commit after that of member 2.",
    source=FENCED,
    expects={"commit_from_old_generation": NONE, "double_ownership": NONE},
)
def later_commit_is_refused(h: History) -> None:
    _two_commit(h, third=70, generations=(1, 2), refused=True)


@asks(
    "A member goes on to deliver for 5 s after the partition was revoked, and another one has it.",
    source=REVOKED,
    expects={"double_ownership": VIOLATION},
)
def delivers_after_its_revocation(h: History) -> None:
    _delivers_on(h, reported="revoked")


@asks(
    "A member goes on to deliver for 5 s after it was told that it lost the partition.",
    source=REVOKED,
    expects={"double_ownership": f"{VIOLATION}: after its revocation"},
)
def delivers_after_its_loss(h: History) -> None:
    _delivers_on(h, reported="lost")


@asks(
    "A Java member delivers for 5 s after its commit was refused; another one has the partition.",
    source=REFUSED,
    expects={"double_ownership": VIOLATION},
)
def delivers_after_a_refusal(h: History) -> None:
    _delivers_on(h, reported="CommitFailedException")


@asks(
    "The same of a static member, whose group.instance.id was taken over.",
    source="KIP-345: FENCED_INSTANCE_ID is fatal",
    expects={"double_ownership": VIOLATION},
)
def delivers_after_it_was_fenced(h: History) -> None:
    _delivers_on(h, reported="FencedInstanceIdException")


@asks(
    "The same while a fault cuts the member off from its coordinator.",
    source=CUT_OFF,
    expects={"double_ownership": PERMITTED},
)
def cut_off_member_delivers_after_a_refusal(h: History) -> None:
    _delivers_on(h, reported="CommitFailedException", cut=True)


@asks(
    "The same of librdkafka, whose thread rejoins while the application polls what is there.",
    source="librdkafka: `rd_kafka_cgrp_rebalance` revokes by a callback in the queue of messages",
    expects={"double_ownership": UNDECIDED},
)
def librdkafka_delivers_after_a_refusal(h: History) -> None:
    _delivers_on(h, reported="ILLEGAL_GENERATION", client="librdkafka")


@asks(
    "A member whose generation is older delivers for 5 s, and no response has told it.",
    source="KIP-429: a member learns of its expulsion by its next response",
    expects={"double_ownership": NONE},
)
def delivers_untold(h: History) -> None:
    _delivers_on(h, reported=None)


@asks(
    "A member that reads on after its revocation was assigned the partition again before.",
    source="KIP-429: a partition may come back to a member",
    expects={"double_ownership": NONE},
)
def delivers_after_it_has_it_again(h: History) -> None:
    _delivers_on(h, reported="revoked", has_again=True)


@asks(
    "A commit fails since the group rebalances; the member keeps the partition and delivers on.",
    source="Errors.REBALANCE_IN_PROGRESS: the member is to rejoin, and is still one of the group",
    expects={"double_ownership": NONE},
)
def delivers_during_a_rebalance(h: History) -> None:
    _delivers_on(h, reported="RebalanceInProgressException", other=False)


def _two_commit(
    h: History,
    *,
    third: int,
    generations: tuple[int, int],
    gives_back: bool = False,
    comes_back: bool = False,
    refused: bool = False,
    third_at: float = 40.0,
) -> None:
    """Member 1 commits 30, member 2 commits 60, and member 1 commits `third` at second 40."""
    first, second = generations
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=first)
    h.polled(0, 29, at=6.0)
    h.commit(30, 0, at=8.0, brokers=(1, 2), generation=first)
    joined(h, 30, at=20.0, member="2", generation=second)
    h.polled(30, 59, at=21.0, member="2")
    h.commit(60, 0, at=30.0, member="2", brokers=(1, 2), generation=second)
    if gives_back:
        left(h, 60, at=35.0, member="2", generation=second)
    again = 3 if comes_back else first
    if comes_back:
        h.changed("revoked", at=19.0, position=30, generation=first)
        h.changed("assigned", at=36.0, position=60, generation=again)
        h.polled(60, third - 1, at=37.0)
    reported = {"outcome": "failed", "error": "CommitFailedException", "stored": False}
    h.commit(
        third, 0, at=third_at, brokers=(1, 2), generation=again, **(reported if refused else {})
    )


def _delivers_on(
    h: History,
    *,
    reported: str | None,
    client: str = "java",
    cut: bool = False,
    has_again: bool = False,
    other: bool = True,
) -> None:
    """Member 1 reads 0 to 29, is told at second 20, and reads 30 to 49 from second 22 to 27."""
    h.topic()
    h.group(client=client)
    plain(h, 99)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 29, at=6.0)
    if cut:
        h.fault("cut", h.on_client("c"), injected=15.0, proved=16.0, healed=60.0)
    if other:
        joined(h, 0, at=19.0, member="2", generation=2)
    if reported in ("revoked", "lost"):
        h.changed(reported, at=20.0, position=30, generation=1)
    elif reported:
        h.commit(30, 0, at=20.0, generation=1, outcome="failed", error=reported, stored=False)
    if has_again:
        h.changed("revoked", at=20.5, member="2", position=0, generation=2)
        h.changed("assigned", at=21.0, position=30, generation=3)
    h.polled(30, 39, at=22.0)
    h.polled(40, 49, at=27.0)


@asks(
    "A KIP-848 member keeps partition 0 while the group's epoch grows, and commits with the epoch "
    "at which it got it.",
    source="KIP-1251: an epoch not older than that of the assignment may commit; KIP-848",
    expects={
        "commit_from_old_generation": NONE,
        "double_ownership": NONE,
        "commit_regressed": NONE,
        "start_mismatch": NONE,
        "commit_beyond_processed": NONE,
    },
)
def member_commits_with_the_epoch_of_its_assignment(h: History) -> None:
    h.topic(partitions=2)
    h.group(client="java-consumer")
    for partition in (0, 1):
        plain(h, 99, partition=partition)
    joined(h, 0, at=5.0, partitions=(0, 1), generation=1)
    h.polled(0, 49, at=6.0)
    h.polled(0, 29, at=6.1, partition=1, producer="p1")
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.commit(30, 0, at=8.1, brokers=(1, 2), generation=1, partition=1)
    h.changed("revoked", at=20.0, position=30, generation=1, partition=1)
    joined(h, 30, at=21.0, member="2", partitions=(1,), generation=2)
    h.polled(30, 99, at=22.0, member="2", partition=1, producer="p1")
    h.commit(100, 0, at=24.0, member="2", brokers=(1, 2), generation=2, partition=1)
    h.polled(50, 79, at=25.0)
    h.commit(80, 0, at=26.0, brokers=(1, 2), generation=1)
    left(h, 80, at=40.0, generation=2)
    h.changed("assigned", at=42.0, position=80, member="2", generation=3)
    h.polled(80, 99, at=43.0, member="2")
    h.commit(100, 0, at=45.0, member="2", brokers=(1, 2), generation=3)
    h.changed("caught_up", at=79.0, position=100, member="2", generation=3)
    h.changed("revoked", at=80.0, position=100, member="2", generation=3, partition=1)
    left(h, 100, at=80.1, member="2", generation=3)


@asks(
    "A partition goes to a second member under generation 2, and back under 3 to the first.",
    source=GENERATION + "; KIP-429",
    expects={
        "commit_from_old_generation": NONE,
        "double_ownership": NONE,
        "commit_regressed": NONE,
        "start_mismatch": NONE,
    },
)
def partition_comes_back_to_its_first_owner(h: History) -> None:
    _back_and_forth(h)


@asks(
    "It is back at the first member under generation 3, and the second one's commit of "
    "generation 2 is acknowledged.",
    source=GENERATION,
    expects={"commit_from_old_generation": VIOLATION, "double_ownership": NONE},
)
def second_owner_commits_after_the_first_is_back(h: History) -> None:
    _back_and_forth(h, late=True)


@asks(
    "A suspended member is expelled; resumed, it delivers what it had fetched, and its commit is "
    "refused.",
    source="session.timeout.ms: a member that is expelled learns it when it polls or commits",
    expects={
        "double_ownership": NONE,
        "commit_from_old_generation": NONE,
        "commit_mismatch": NONE,
        "lost_commit": NONE,
        "duplicate_delivery": PERMITTED,
    },
)
def suspended_member_learns_late_that_it_is_out(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    name = h.on_client("w")
    h.fault("pause", name, injected=12.0, proved=13.0, heal_began=49.5, healed=50.0)
    reads_to(h, 49)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    joined(h, 50, at=25.0, member="2", generation=3)
    h.polled(50, 99, at=26.0, member="2")
    h.commit(100, 0, at=30.0, member="2", brokers=(1, 2), generation=3)
    h.polled(50, 69, at=50.2)
    refused = {"stored": False, "outcome": "failed", "error": "CommitFailedException"}
    h.commit(70, 0, at=50.5, generation=1, **refused)
    left(h, 70, at=50.8)
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)
    for table in ("polls", "commits", "group_events"):
        for row in h.rows[table]:
            if row["member"] == h.member("2"):
                row["worker"] = h.own("w2")
    h.worker()
    h.worker("w2")


def _back_and_forth(h: History, *, late: bool = False) -> None:
    """Generations 1, 2 and 3 of a partition, which two members own in turn.

    late: the second member does not hear of generation 3, and commits 60 after its begin.
    """
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 29, at=6.0)
    h.commit(30, 0, at=8.0, brokers=(1, 2), generation=1)
    h.changed("revoked", at=20.0, position=30, generation=1)
    joined(h, 30, at=21.0, member="2", generation=2)
    again = 50 if late else 60
    h.polled(30, again - 1, at=22.0, member="2")
    h.commit(again, 0, at=24.0, member="2", brokers=(1, 2), generation=2)
    if late:
        h.polled(50, 59, at=26.0, member="2")
    h.changed("revoked", at=55.0 if late else 40.0, position=60, member="2", generation=2)
    h.changed("assigned", at=42.0, position=again, generation=3)
    h.polled(again, 79, at=44.0)
    h.commit(80, 0, at=46.0, brokers=(1, 2), generation=3)
    if late:
        h.commit(60, 0, at=50.0, member="2", brokers=(1, 2), generation=2)
    h.polled(80, 99, at=60.0)
    h.commit(100, 0, at=62.0, brokers=(1, 2), generation=3)
    h.changed("closed", at=70.0, member="2")
    left(h, 100, at=80.0, generation=3, caught_up=True)
