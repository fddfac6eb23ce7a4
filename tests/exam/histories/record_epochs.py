"""Epochs over time: of records as they are read, and of commits one after the other."""

from tests.exam.history import NONE, PERMITTED, UNDECIDED, VIOLATION, History, asks, asks_each
from tests.exam.scenes import copies
from tests.exam.verbs import begun, cut, joined, left, moved, plain, reads_to, watched


@asks(
    "A group commits (70, epoch 1), and then (90, epoch 0) with no reset between.",
    source="KIP-320: epochs grow with offsets",
    expects={
        "committed_epoch_regressed": VIOLATION,
        "committed_epoch_stale": VIOLATION,
        "commit_regressed": NONE,
    },
)
def committed_epoch_goes_back(h: History) -> None:
    h.topic()
    h.group()
    moved(h)
    joined(h, 0, at=25.0)
    h.polled(0, 49, at=26.0)
    h.polled(50, 69, at=27.0, epoch=1)
    h.commit(70, 1, at=30.0, cluster_epoch=1, brokers=(1, 2))
    h.polled(70, 89, at=35.0, epoch=1)
    h.commit(90, 0, at=40.0, record_epoch=1, cluster_epoch=1, brokers=(1, 2))
    left(h, 90, at=80.0)


@asks(
    "A member commits (30, epoch 1), its metadata's; the next one of the group (40, epoch 0).",
    source="contract/outcomes.py, metadata; a member commits in its own style",
    expects={
        "committed_epoch_regressed": PERMITTED,
        "committed_epoch_ahead": PERMITTED,
        "commit_mismatch": NONE,
        "start_mismatch": NONE,
    },
)
def members_of_a_group_commit_in_two_styles(h: History) -> None:
    h.topic()
    h.group()
    moved(h)
    joined(h, 0, at=25.0, generation=1)
    h.polled(0, 29, at=26.0)
    h.commit(
        30,
        1,
        at=30.0,
        style="metadata",
        record_epoch=0,
        cluster_epoch=1,
        brokers=(1, 2),
        generation=1,
    )
    left(h, 30, at=32.0, generation=1)
    joined(h, 30, at=35.0, member="2", generation=3)
    h.polled(30, 39, at=36.0, member="2")
    h.commit(40, 0, at=40.0, cluster_epoch=1, member="2", brokers=(1, 2), generation=3)
    left(h, 40, at=80.0, member="2", generation=3)


@asks(
    "Two partitions are committed in turn, one with epoch 1 and one with epoch 0.",
    source="LeaderEpochFileCache: a replica of a partition has epochs of its own",
    expects={
        "committed_epoch_regressed": NONE,
        "record_epoch_regressed": NONE,
        "committed_epoch_stale": NONE,
        "committed_epoch_unknown": NONE,
    },
)
def each_partition_has_its_own_epochs(h: History) -> None:
    h.topic(partitions=2)
    h.group()
    moved(h)
    plain(h, 199, partition=1)
    joined(h, 0, at=25.0, partitions=(0, 1))
    h.polled(0, 49, at=26.0)
    h.polled(50, 99, at=27.0, epoch=1)
    h.polled(0, 149, at=28.0, partition=1, producer="p1")
    h.commit(100, 1, at=30.0, cluster_epoch=1, brokers=(1, 2))
    h.commit(150, 0, at=31.0, cluster_epoch=0, partition=1, brokers=(1, 2))
    h.polled(150, 199, at=32.0, partition=1, producer="p1")


@asks(
    "A commit with epoch 1 times out and is stored nowhere; its successor commits epoch 0 below.",
    source="contract/outcomes.py: unknown leaves both possible, and no replica has the commit",
    expects={
        "committed_epoch_regressed": NONE,
        "commit_regressed": NONE,
        "record_epoch_regressed": NONE,
    },
)
def unstored_epoch_is_no_step_back(h: History) -> None:
    h.topic()
    h.group()
    moved(h)
    joined(h, 0, at=5.0)
    h.polled(0, 49, at=26.0)
    h.polled(50, 69, at=27.0, epoch=1)
    h.commit(70, 1, at=40.0, stored=False, outcome="unknown", error="TimeoutException")
    left(h, 70, at=42.0)
    joined(h, 0, at=50.0, member="2", generation=3)
    h.polled(0, 39, at=51.0, member="2")
    h.commit(40, 0, at=52.0, member="2", cluster_epoch=1, brokers=(1, 2), generation=3)
    left(h, 40, at=80.0, member="2", generation=3)


@asks(
    "Records 40 to 49 come with epoch 1, and 50 to 59 with epoch 0 from the leader of before.",
    source="KIP-320: epochs grow with offsets in one log",
    expects={
        "record_epoch_regressed": f"{VIOLATION}: within a session: of epoch 1 was followed by "
        "offset 50 of the older epoch 0",
        "nonmonotonic_poll": NONE,
        "poll_skip": NONE,
    },
)
def record_epoch_goes_back_in_a_session(h: History) -> None:
    _record_epoch_goes_back(h, other_member=False)


@asks(
    "A member reads 40 to 49 with epoch 1; its successor reads 50 to 59 with epoch 0.",
    source="KIP-320: epochs grow with offsets in one log, whoever reads it",
    expects={"record_epoch_regressed": VIOLATION, "start_mismatch": NONE},
)
def record_epoch_goes_back_across_members(h: History) -> None:
    _record_epoch_goes_back(h, other_member=True)


@asks(
    "A successor reads again from its commit 20, where records are of an earlier epoch.",
    source="KIP-320: epochs grow with offsets; KafkaConsumer Javadoc: a successor starts at the "
    "committed position",
    expects={
        "record_epoch_regressed": NONE,
        "start_mismatch": NONE,
        "committed_epoch_regressed": NONE,
    },
)
def successor_reads_earlier_epochs_again(h: History) -> None:
    h.topic()
    h.group()
    moved(h)
    reads_to(h, 19)
    h.commit(20, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(20, 49, at=26.0)
    h.polled(50, 99, at=27.0, epoch=1)
    h.changed("revoked", at=30.0, position=100)
    joined(h, 20, at=40.0, member="2", generation=3)
    h.polled(20, 49, at=41.0, member="2")
    h.polled(50, 99, at=42.0, epoch=1, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "A group is set back by a truncation and reads other records at 50 to 99 with epoch 1.",
    source="KIP-320: after a detected truncation the position goes back to the divergence",
    expects={
        "record_epoch_regressed": NONE,
        "truncation_undetected": NONE,
        "commit_beyond_log": NONE,
    },
)
def reset_reads_a_later_epoch_at_lower_offsets(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    joined(h, 0, at=5.0)
    h.polled(0, 99, at=13.0)
    h.reset("truncation", 100, 50, at=32.0, epoch=0, member="1")
    h.polled(50, 149, at=33.0, epoch=1, sequence=100)
    h.commit(150, 1, at=40.0, cluster_epoch=1, brokers=(1, 2))
    left(h, 150, at=80.0, caught_up=True)


def _record_epoch_goes_back(h: History, *, other_member: bool) -> None:
    """Epoch 1 begins at 40; the leader of before has 40 to 59 of epoch 0 until it is cut."""
    h.topic()
    h.group()
    begun(h)
    h.sent(0, 39, at=2.0)
    watched(h, 1, 40, times=(5.0, 15.0))
    h.led(2, 1, at=20.0, isr=(2,), starts=40)
    h.sent(40, 59, at=21.0, acks="1", producer="zombie", sequence=0)
    h.sent(40, 69, at=24.0)
    watched(h, 2, 70, times=(25.0, 35.0, 45.0), epoch=1, isr=(2,))
    h.truncated(1, 40, at=50.0)
    h.led(2, 1, at=52.0, isr=(1, 2))
    watched(h, 2, 70, times=(55.0, 65.0, 75.0, 85.0), epoch=1)
    copies(h, (1, 2), (0, 39, 0), (40, 69, 1), high_watermark=70)
    joined(h, 0, at=25.0)
    h.polled(0, 39, at=26.0)
    h.polled(40, 49, at=27.0, epoch=1)
    member = "1"
    if other_member:
        h.commit(50, 1, at=28.0, cluster_epoch=1, brokers=(1, 2), generation=1)
        left(h, 50, at=29.0)
        joined(h, 50, at=31.0, member="2", generation=3)
        member = "2"
    h.polled(50, 59, at=32.0, member=member, producer="zombie", sequence=10)
    left(h, 60, at=80.0, member=member, generation=3 if other_member else 1)


@asks_each(
    "A member reads 40 with epoch 1, and another one 50 with epoch 0,",
    source="KIP-320: epochs grow with offsets; docs/findings.md, clock bound",
    check="record_epoch_regressed",
    cases={
        "9 ms later: their clocks do not tell who came first.": (
            f"{UNDECIDED}: across members",
            {"after": 0.009},
        ),
        "90 ms later.": (f"{VIOLATION}: across members", {"after": 0.09}),
        "of another partition.": (NONE, {"after": 0.09, "partition": 1}),
        "which its broker did not tell.": (NONE, {"after": 0.09, "epoch": -1}),
    },
)
def epoch_0_after_epoch_1(h: History, *, after: float, partition: int = 0, epoch: int = 0) -> None:
    h.topic(partitions=2)
    h.group()
    plain(h, 99)
    h.polled(40, at=20, epoch=1)
    h.polled(50, at=20 + after, epoch=epoch, member="2", partition=partition)


@asks_each(
    "A commit of 50 has an epoch that the metadata log does not show.",
    source="contract/tables_of_servers.py: the metadata log may begin after the partition; "
    "decision "
    "11: a gap in a source makes findings undecided",
    check="committed_epoch_unknown",
    cases={
        "It begins with epoch 4, and the commit has epoch 0.": (
            f"{UNDECIDED}: no such epoch: older than the oldest one in the metadata log",
            {},
        ),
        "It has changes of the other partition only.": (
            f"{UNDECIDED}: no such epoch",
            {"partition": 1},
        ),
    },
)
def commit_of_an_epoch_before_the_metadata_log(h: History, *, partition: int = 0) -> None:
    h.topic(partitions=2)
    h.group()
    h.led(1, 4, at=0.5, isr=(1, 2), partition=partition)
    h.commit(50, 0, at=10, brokers=(1, 2))


@asks_each(
    "A group commits 50 without an epoch.",
    source="OffsetAndMetadata.leaderEpoch Javadoc: the epoch of the record consumed before",
    check="committed_epoch_missing",
    cases={
        "Nothing it read had one.": (NONE, {}),
        "It had committed 50 with epoch 0 before.": (VIOLATION, {"before": 50}),
        "It had committed 40 with epoch 0 before.": (NONE, {"before": 40}),
        "The member has read record 49.": (VIOLATION, {"read_by": "1"}),
        "A former member has read record 49.": (NONE, {"read_by": "0"}),
        "Its application chooses an epoch, and has read record 49.": (
            VIOLATION,
            {"read_by": "1", "style": "application"},
        ),
        "Its style says which epoch is committed.": (PERMITTED, {"style": "forced"}),
    },
)
def commit_of_50_without_an_epoch(
    h: History, *, before: int | None = None, read_by: str = "", style: str = "record"
) -> None:
    h.topic()
    h.group(commit_epoch=style)
    plain(h, 99)
    h.changed("opened", at=5, member="0")
    if read_by == "0":
        h.polled(49, at=6, member="0")
    if before is not None:
        h.commit(before, 0, at=7, style=style, member="0")
    h.changed("opened", at=20)
    if read_by == "1":
        h.polled(49, at=21)
    h.commit(50, -1, at=30, style=style)


@asks(
    "Clocks are 3 s apart: which of its deliveries came before a group's commit is not known.",
    source="docs/findings.md: the clock bound is as large as clocks are apart; decision 15",
    expects={
        "committed_epoch_missing": UNDECIDED,
        "committed_epoch_stale": UNDECIDED,
        "committed_epoch_ahead": UNDECIDED,
        "clock_skew": UNDECIDED,
    },
    alone=True,
)
def clocks_are_apart_at_a_commit(h: History) -> None:
    h.topic()
    moved(h)
    for group, committed in (("missing", -1), ("stale", 0), ("ahead", 2)):
        h.group(group)
        joined(h, 0, at=20.0, group=group)
        h.polled(0, 49, at=26.0, group=group)
        joined(h, 50, at=35.0, member="2", group=group, generation=2)
        h.polled(50, 99, at=40.5, epoch=1, member="2", group=group)
        h.commit(100, committed, at=40.0, group=group, record_epoch=1)
    h.add("clocks", node="a", ahead_micros=3_000_000, behind_micros=2_900_000, at_micros=h.at(0.5))
    h.add("clocks", node="b", ahead_micros=0, behind_micros=-1_000, at_micros=h.at(0.6))
