"""Groups and their commits: who may commit, when a commit may vanish, and where a member starts.

What was true at the time decides, not what the end of the run shows.
"""

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import started, step, stored_in_transaction
from tests.exam.verbs import begun, cut, joined, left, plain, reads_to, watched

POSITION = "KafkaConsumer Javadoc, Offsets and Consumer Position"
GENERATION = (
    "ClassicGroup.validateOffsetCommit: another generation than the group's is answered with "
    "ILLEGAL_GENERATION"
)
STORED = "GroupCoordinator.commitOffsets: acknowledged once every in-sync replica has the record"
COMPACTED = "Cleaner.shouldRetainRecord: compaction keeps a key's last record; " + STORED
ABORTED = "KIP-98: offsets of an aborted transaction never take effect"
OFFSETS = "__consumer_offsets"


@asks(
    "A truncation leads a group from 100 to 50; it commits 150, and then 120.",
    source="KIP-320: a reset moves a position once; " + POSITION,
    expects={"commit_regressed": VIOLATION, "commit_beyond_processed": NONE, "lost_commit": NONE},
)
def reset_before_the_previous_commit_is_no_excuse(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    reads_to(h, 49)
    h.polled(50, 99, at=13.0)
    h.commit(100, 0, at=15.0, brokers=(1, 2), generation=1)
    h.reset("truncation", 100, 50, at=32.0, epoch=0, member="1")
    h.polled(50, 149, at=33.0, epoch=1, sequence=100)
    h.commit(150, 1, at=50.0, brokers=(1, 2), generation=1)
    h.commit(120, 1, at=60.0, brokers=(1, 2), generation=1)
    left(h, 150, at=80.0, caught_up=True)


@asks(
    "A reset of partition 1 lies between two commits of partition 0, of which the second is lower.",
    source="auto.offset.reset: a reset is of one partition; " + POSITION,
    expects={"commit_regressed": VIOLATION, "unjustified_reset": NONE, "commit_expired": NONE},
)
def reset_of_the_other_partition_is_no_excuse(h: History) -> None:
    h.topic(partitions=2, deletes=True)
    h.group()
    for partition in (0, 1):
        plain(h, 99, partition=partition)
    target = h.on_partition("t", 1)
    h.fault("delete records", target, injected=19.8, proved=20.3)
    for broker in (1, 2):
        reason = "client delete records request" if broker == 1 else "leader offset increment"
        h.log_started(broker, 40, at=20.0, reason=reason, partition=1)
    for table, column in (
        ("log_starts", "log_start_offset"),
        ("epoch_checkpoints", "start_offset"),
    ):
        for row in h.rows[table]:
            row[column] = 40 * row["partition"]
    for row in h.rows["samples"]:
        if row["at_micros"] > h.at(20):
            row["log_start_offset"] = 40 * row["partition"]
    joined(h, 0, at=5.0, partitions=(0, 1))
    h.polled(0, 79, at=6.0)
    h.polled(0, 9, at=6.1, partition=1, producer="p1")
    h.commit(80, 0, at=8.0, brokers=(1, 2), generation=1)
    h.commit(10, 0, at=8.1, brokers=(1, 2), generation=1, partition=1)
    h.reset("out_of_range", 10, 40, at=26.0, epoch=0, member="1", partition=1)
    h.polled(40, 99, at=27.0, partition=1, producer="p1")
    h.commit(60, 0, at=30.0, brokers=(1, 2), generation=1)
    h.commit(100, 0, at=30.1, brokers=(1, 2), generation=1, partition=1)
    left(h, 80, at=80.0)


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
    "A commit of 80 at 10 s, when the log ended at 60; at 40 s it grows to 100.",
    source="KIP-320: a position is one that a broker gave out; " + POSITION,
    expects={"commit_beyond_log": VIOLATION},
)
def log_reaches_the_commit_half_a_minute_later(h: History) -> None:
    h.topic()
    h.group()
    _grows(h, at=40.0)
    joined(h, 0, at=3.0)
    h.polled(0, 59, at=6.0)
    h.commit(80, 0, at=10.0, brokers=(1, 2), generation=1)
    h.polled(60, 99, at=42.0)
    h.commit(100, 0, at=44.0, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "The last report before a commit of 100 has a high watermark of 60, the next one of 100.",
    source=POSITION + ": what a poll returned lay below the high watermark",
    expects={"commit_beyond_log": NONE, "commit_beyond_processed": NONE, "orphan_commit": NONE},
)
def report_of_the_end_is_older_than_the_commit(h: History) -> None:
    h.topic()
    h.group()
    _grows(h, at=5.5)
    joined(h, 0, at=3.0)
    h.polled(0, 59, at=5.2)
    h.polled(60, 99, at=6.0)
    h.commit(100, 0, at=6.2, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0, caught_up=True)


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


@asks(
    "The commit of 60 is not stored; that of 90 is, and so is the older one of 30.",
    source=COMPACTED + ", so it would have removed 30 as well",
    expects={"commit_mismatch": NONE, "lost_commit": VIOLATION, "commit_regressed": NONE},
)
def commit_between_two_stored_ones_is_gone(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0)
    for offset, at in ((30, 6.0), (60, 16.0), (90, 26.0)):
        h.polled(offset - 30, offset - 1, at=at)
        h.commit(offset, 0, at=at + 2, stored=offset != 60, brokers=(1, 2), generation=1)
    left(h, 90, at=80.0)


@asks(
    "After a commit of 80 the log of offsets is led by a broker that lacks it; the group is at 50.",
    source=STORED + "; unclean.leader.election.enable",
    expects={
        "lost_commit": PERMITTED,
        "start_mismatch": NONE,
        "commit_mismatch": NONE,
        "duplicate_delivery": PERMITTED,
    },
)
def log_of_offsets_loses_a_commit_uncleanly(h: History) -> None:
    _loses_a_commit(h, shrunk=12.0, elected=30.0)


@asks(
    "The unclean election of the log of offsets came 5 s before the commit that is gone.",
    source=STORED + ": an election can only lose what was there before it",
    expects={"lost_commit": VIOLATION},
)
def log_of_offsets_was_elected_before_the_commit(h: History) -> None:
    _loses_a_commit(h, shrunk=10.0, elected=15.0)


@asks(
    "Offset 50 is of a committed transaction, 80 of an aborted one; the next member starts at 50.",
    source=ABORTED,
    expects={
        "start_mismatch": NONE,
        "duplicate_delivery": PERMITTED,
        "commit_regressed": NONE,
        "skipped_record": NONE,
    },
)
def member_starts_before_an_aborted_offset(h: History) -> None:
    _aborted_offsets(h, start=50)


@asks(
    "It starts at the offset of the aborted transaction.",
    source=ABORTED,
    expects={"start_mismatch": f"{VIOLATION}: ahead"},
)
def member_starts_at_an_aborted_offset(h: History) -> None:
    _aborted_offsets(h, start=80)


@asks(
    "A topic is replaced; a member that had read 80 records of the old one commits 80 for the new "
    "one, which has 10.",
    source="KIP-516: a topic created again is another one; KIP-1319 on commits by name",
    expects={"commit_beyond_log": VIOLATION},
)
def commit_of_the_former_topic_is_stored_for_the_next(h: History) -> None:
    h.topic()
    h.group()
    begun(h)
    h.sent(0, 79, at=2.0)
    watched(h, 1, 80, times=(4.0, 10.0, 18.0))
    reads_to(h, 79)
    name = h.on_topic("t")
    h.fault("recreate", name, injected=20.0, proved=22.5, heal_began=22.6, healed=22.6)
    h.led(1, 0, at=22.0, isr=(1, 2), topic_id="id2", starts=0)
    h.sent(0, 9, at=25.0, sequence=100)
    watched(h, 1, 10, times=(27.0, 29.0, 31.0, 45.0, 65.0, 85.0))
    h.commit(80, 0, at=30.0, brokers=(1, 2), generation=1)
    left(h, 80, at=31.0)
    copies(h, (1, 2), (0, 9, 0), sequences={0: 100}, high_watermark=10, at=25.0)


def _grows(h: History, *, at: float) -> None:
    """0 to 59 are written at 2 s, 60 to 99 at `at`."""
    begun(h)
    h.sent(0, 59, at=2.0)
    h.sent(60, 99, at=at)
    times = (5.0, 9.8, 10.2, 15.0, 25.0, 35.0, 45.0, 55.0, 65.0, 75.0, 85.0)
    for time in times:
        h.sampled(1, at=time, end=60 if time < at else 100, isr=(1, 2))
    copies(h, (1, 2), (0, 59, 0), (60, 99, 0), high_watermark=100, at=2.0)


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


def _loses_a_commit(h: History, *, shrunk: float, elected: float) -> None:
    """The group commits 50 at 8 s and 80 at 20 s; the second one is nowhere at the end.

    Broker 2 leaves the in-sync replicas of the group's partition of offsets at `shrunk`, and is
    elected there at `elected`, while broker 1 is down.
    """
    h.topic(replication=1)
    h.group()
    h.registered(1, at=0.2, is_fenced=False)
    h.registered(2, at=0.2, is_fenced=False)
    h.registered(3, at=0.2, is_fenced=False)
    h.led(3, 0, at=0.5, isr=(3,), replicas=(3,), starts=0)
    of_offsets = {"topic": OFFSETS, "partition": h.index, "topic_id": "__offsets"}
    h.led(1, 0, at=0.6, isr=(1, 2), starts=0, **of_offsets)
    h.led(1, 0, at=shrunk, isr=(1,), **of_offsets)
    name = h.on_broker(1)
    back = elected + 2.0
    h.fault(
        "kill", name, injected=elected - 2.5, proved=elected - 0.5, heal_began=back, healed=back + 1
    )
    h.registered(1, at=elected - 0.5, is_fenced=True)
    h.led(2, 1, at=elected, isr=(2,), **of_offsets)
    h.registered(1, at=back + 0.9, is_fenced=False, broker_epoch=2)
    h.led(2, 1, at=back + 1.5, isr=(1, 2), **of_offsets)
    h.sent(0, 99, at=2.0)
    watched(h, 3, 100, isr=(3,))
    h.log(3, (0, 99, 0), high_watermark=100, at=2.0)
    reads_to(h, 49)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(50, 79, at=9.0)
    h.commit(80, 0, at=20.0, stored=False, generation=1)
    left(h, 80, at=24.0)
    joined(h, 50, at=50.0, member="2", generation=3)
    h.polled(50, 99, at=52.0, member="2")
    h.commit(100, 0, at=55.0, member="2", brokers=(1, 2), generation=3)
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


def _aborted_offsets(h: History, *, start: int) -> None:
    """Transactions store 50, which is committed, and 80, which is aborted; then a member starts."""
    h.topic()
    h.group(manner="transactional")
    plain(h, 99)
    joined(h, 0, at=3.0)
    h.polled(0, 49, at=4.0)
    started(h, at=5.0, producer="copy")
    of_copy = {"producer": "copy"}
    step(h, "send_offsets", "offsets_sent", at=10.0, **of_copy)
    stored_in_transaction(h, 50, 0, at=9.98, marker="commit")
    step(h, "commit", "committed", at=11.0, **of_copy)
    h.polled(50, 79, at=12.0)
    step(h, "begin", "begun", at=13.0, transaction=1, **of_copy)
    step(h, "send_offsets", "offsets_sent", at=14.0, transaction=1, **of_copy)
    stored_in_transaction(h, 80, 0, at=13.98, marker="abort")
    step(h, "abort", "aborted", at=15.0, transaction=1, **of_copy)
    for row, ended in zip(h.rows["committed_offsets"], (10.98, 14.98), strict=True):
        row["marker_micros"] = h.at(ended)
    left(h, 80, at=20.0)
    joined(h, start, at=30.0, member="2", generation=3)
    h.polled(start, 99, at=32.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)
