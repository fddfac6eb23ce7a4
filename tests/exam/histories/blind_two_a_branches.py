"""Epochs and truncations in a row: which of them a commit, a client's notice or a loss is about.

Commits at and around the start of an epoch, clients that notice a truncation late, too early, by
another member or not at all, and elections of which only one permits what is missing.
"""

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import Batch, replica, started, step
from tests.exam.verbs import begun, cut, joined, left, watched

KIP_320 = "KIP-320, Consumer Handling"
ACROSS = "KIP-320: a committed epoch lets a group notice a truncation across restarts"
REGRESS = "KIP-320: only a seek or a reset moves a position back"
RECORD = "OffsetAndMetadata.leaderEpoch: that of the record consumed before"
END = "LeaderEpochFileCache.endOffsetFor: an epoch ends where the next larger one starts"
CLEAN = (
    "Kafka's documentation, Replication: a clean election loses no committed record, whatever "
    "unclean.leader.election.enable says"
)


@asks(
    "A client reports a truncation of its position a second before the leader is killed whose "
    "records are then truncated.",
    source="KIP-320; KAFKA-19902: at that time the position was on its branch",
    expects={"false_truncation": VIOLATION, "unjustified_reset": VIOLATION},
)
def exception_comes_before_the_election(h: History) -> None:
    _cut(h)
    _read_to_100(h)
    _noticed(h, 100, 50, at=19.0, epoch=0)
    h.polled(50, 99, at=19.4)
    _noticed(h, 100, 50, at=46.0, epoch=0)
    h.polled(50, 149, at=47.0, epoch=1, sequence=100)
    left(h, 150, at=80.0, caught_up=True)


@asks(
    "A group leaves a branch that is truncated; then the old leader, which never truncated it, is "
    "elected again, and the group's new branch is the one that is gone.",
    source=KIP_320 + "; " + END + ": of an epoch that its log lacks, too",
    expects={
        "false_truncation": NONE,
        "unjustified_reset": NONE,
        "record_epoch_regressed": PERMITTED,
        "truncation_undetected": PERMITTED,
        "lost_record": PERMITTED,
    },
)
def old_leader_brings_the_first_branch_back(h: History) -> None:
    _brought_back(h)
    joined(h, 0, at=4.0)
    h.polled(0, 49, at=6.0)
    h.polled(50, 99, at=13.0)
    h.commit(100, 0, at=15.0, generation=1)
    _noticed(h, 100, 50, at=28.0, epoch=0)
    h.polled(50, 69, at=29.0, epoch=1, sequence=100)
    h.commit(70, 1, at=31.0, generation=1)
    h.polled(70, 99, at=56.0)
    h.polled(100, 119, at=56.5, epoch=3, sequence=120)
    h.commit(120, 3, at=58.0, generation=1)
    left(h, 120, at=80.0, caught_up=True)


@asks(
    "A group notices the first of two truncations, and reads on over the second.",
    source=KIP_320 + ": a position is validated at each change of the leader",
    expects={
        "truncation_undetected": VIOLATION,
        "skipped_record": VIOLATION,
        "silent_revalidation": VIOLATION,
    },
)
def second_of_two_truncations_is_not_noticed(h: History) -> None:
    _twice(h)
    h.polled(120, 159, at=52.0, epoch=3, sequence=210)
    h.commit(160, 3, at=54.0, generation=1)
    left(h, 160, at=80.0, caught_up=True)


@asks(
    "It notices both, each at the divergence of its time.",
    source=KIP_320,
    expects={
        "truncation_undetected": NONE,
        "skipped_record": NONE,
        "false_truncation": NONE,
        "commit_regressed": NONE,
        "orphan_commit": PERMITTED,
    },
)
def each_of_two_truncations_is_noticed(h: History) -> None:
    _twice(h)
    _noticed(h, 120, 80, at=48.0, epoch=1)
    h.polled(80, 159, at=52.0, epoch=3, sequence=170)
    h.commit(160, 3, at=54.0, generation=1)
    left(h, 160, at=80.0, caught_up=True)


@asks(
    "A group that commits without epochs stays open over a truncation, and reads on above it.",
    source=KIP_320 + ": an open consumer has the epoch of what it fetched last, whatever it "
    "commits; FetchCollector sets it",
    expects={"truncation_undetected": VIOLATION},
)
def open_reader_without_committed_epochs_reads_on(h: History) -> None:
    _cut(h, style="none")
    _read_to_100(h, epoch=-1, style="none")
    h.polled(100, 149, at=47.0, epoch=1, sequence=150)
    h.commit(150, -1, at=48.0, style="none", record_epoch=1, generation=1)
    left(h, 150, at=80.0, caught_up=True)


@asks(
    "A librdkafka group commits the epoch; its successor starts there without validating it.",
    source=ACROSS,
    expects={
        "truncation_undetected": VIOLATION,
        "skipped_record": VIOLATION,
        "silent_revalidation": VIOLATION,
        "start_mismatch": NONE,
    },
)
def librdkafka_successor_does_not_validate_the_commit(h: History) -> None:
    _cut(h, client="librdkafka")
    h.worker()
    h.rows["histories"][-1].update(client="librdkafka", client_version="2.16.0")
    _read_to_100(h, generation=-1)
    left(h, 100, at=18.0, generation=-1)
    joined(h, 100, at=60.0, member="2", generation=-1)
    h.polled(100, 149, at=61.0, member="2", epoch=1, sequence=150)
    h.commit(150, 1, at=63.0, member="2")
    left(h, 150, at=80.0, member="2", generation=-1, caught_up=True)


@asks(
    "The truncation is noticed 50 s later, by the group's next member.",
    source=ACROSS,
    expects={
        "truncation_detected": PERMITTED,
        "truncation_undetected": NONE,
        "skipped_record": NONE,
        "start_mismatch": PERMITTED,
        "unjustified_reset": NONE,
    },
)
def next_member_notices_the_truncation_much_later(h: History) -> None:
    _cut(h)
    _read_to_100(h)
    left(h, 100, at=18.0)
    h.changed("opened", at=74.0, member="2")
    _noticed(h, 100, 50, at=74.5, epoch=0, member="2")
    h.changed("assigned", at=74.8, position=50, member="2", generation=3)
    h.polled(50, 149, at=76.0, member="2", epoch=1, sequence=100)
    h.commit(150, 1, at=77.0, member="2", generation=3)
    left(h, 150, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "A truncation leads a group from 100 to 80; it reads on, commits 150, and 90 at the end.",
    source=REGRESS + "; that reset came before the commit of 150",
    expects={"commit_regressed": VIOLATION},
)
def reset_is_older_than_the_commit_that_is_taken_back(h: History) -> None:
    _cut(h, survives=80)
    _read_to_100(h)
    _noticed(h, 100, 80, at=46.0, epoch=0)
    h.polled(80, 149, at=47.0, epoch=1, sequence=100)
    h.commit(150, 1, at=48.0, generation=1)
    h.commit(90, 1, at=60.0, generation=1)
    left(h, 150, at=80.0, caught_up=True)


@asks(
    "After an unclean election and its truncation a clean one loses what was committed since.",
    source=CLEAN,
    expects={
        "orphan_commit": VIOLATION,
        "lost_record": VIOLATION,
        "leader_completeness": VIOLATION,
    },
)
def clean_election_loses_more_than_the_unclean_one_before(h: History) -> None:
    _cut(h)
    _elected_again(h, 120, (120, 159))
    h.truncated(2, 120, at=61.0)
    _read_to_100(h)
    _noticed(h, 100, 50, at=46.0, epoch=0)
    h.polled(50, 149, at=47.0, epoch=1, sequence=100)
    h.commit(150, 1, at=50.0, generation=1)
    _noticed(h, 150, 120, at=62.0, epoch=1)
    h.polled(120, 159, at=63.0, epoch=2, sequence=200)
    left(h, 160, at=80.0, caught_up=True)


@asks(
    "LogTruncationException names where the newest epoch starts, and not the one after its own.",
    source=END,
    expects={"divergence_mismatch": VIOLATION, "truncation_detected": PERMITTED},
)
def exception_names_the_start_of_the_newest_epoch(h: History) -> None:
    _raised(h, divergent=80)


@asks(
    "It names where the epoch after its own starts, though a newer one has begun since.",
    source=END,
    expects={
        "divergence_mismatch": NONE,
        "false_truncation": NONE,
        "truncation_detected": PERMITTED,
    },
)
def exception_names_the_start_of_the_next_epoch(h: History) -> None:
    _raised(h, divergent=50)


@asks(
    "A group commits at exactly where two newer epochs start, with the epoch of its last record.",
    source=RECORD + "; SubscriptionState.allConsumed",
    expects={
        "committed_epoch_behind_leader": PERMITTED,
        "committed_epoch_stale": NONE,
        "committed_epoch_ahead": NONE,
        "committed_epoch_unknown": NONE,
        "orphan_commit": NONE,
    },
)
def commit_at_the_start_of_two_epochs(h: History) -> None:
    _elected(h)
    h.commit(50, 0, at=25.0, cluster_epoch=2, brokers=(1, 2), generation=1)
    _reads_epoch_2(h)


@asks(
    "The marker of a transaction lies in the next epoch; a group commits behind it, with that.",
    source="CompletedFetch: the epoch of a position is that of the last batch, control or not",
    expects={
        "committed_epoch_ahead": NONE,
        "committed_epoch_stale": NONE,
        "commit_beyond_processed": NONE,
        "committed_epoch_unknown": NONE,
    },
)
def commit_has_the_epoch_of_the_marker_before_it(h: History) -> None:
    _marker_in_the_next_epoch(h, epoch=1)


@asks(
    "It commits behind the marker with the epoch of the records before that.",
    source="CompletedFetch: the epoch of a position is that of the last batch, control or not",
    expects={
        "committed_epoch_ahead": NONE,
        "committed_epoch_stale": f"{VIOLATION}: stale: the committed epoch is older than that "
        "of the record before",
    },
)
def commit_behind_a_marker_has_the_epoch_of_the_records(h: History) -> None:
    _marker_in_the_next_epoch(h, epoch=0)


def _noticed(h: History, start: int, to: int, *, at: float, epoch: int, member: str = "1") -> None:
    """A client notices a truncation, and goes where the branches part."""
    h.reset("truncation", start, to, at=at, epoch=epoch, member=member)


def _cut(h: History, *, survives: int = 50, style: str = "record", client: str = "java") -> None:
    """The scene of `cut`, where unclean elections are allowed."""
    h.topic(unclean_election=True)
    h.group(commit_epoch=style, client=client)
    cut(h, survives=survives)


def _read_to_100(h: History, *, epoch: int = 0, style: str = "record", generation: int = 1) -> None:
    """Member 1 reads epoch 0 to 99, and commits 100 at second 15."""
    joined(h, 0, at=4.0, generation=generation)
    h.polled(0, 49, at=6.0)
    h.polled(50, 99, at=13.0)
    h.commit(100, epoch, at=15.0, style=style, record_epoch=0, generation=generation)


def _killed(h: History, broker: int, *, at: float, back: float, broker_epoch: int = 1) -> None:
    """A broker is killed, fenced three seconds later, and started again."""
    name = h.on_broker(broker)
    h.fault("kill", name, injected=at, proved=at + 3, heal_began=back - 1, healed=back)
    h.registered(broker, at=at + 3, is_fenced=True, broker_epoch=broker_epoch)


def _came_back(h: History, broker: int, *, at: float, broker_epoch: int = 2) -> None:
    h.registered(broker, at=at, is_fenced=False, broker_epoch=broker_epoch)


def _brought_back(h: History) -> None:
    """Broker 1 leads epoch 0 to 99, broker 2 epoch 1 from 50 to 69, broker 1 epoch 3 from 100."""
    h.topic(unclean_election=True)
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0,))
    h.led(1, 0, at=8.0, isr=(1,))
    h.sent(50, 99, at=12.0)
    watched(h, 1, 100, times=(14.0, 18.0), isr=(1,))
    _killed(h, 1, at=20.0, back=50.0)
    h.led(2, 1, at=23.0, isr=(2,), starts=50)
    h.sent(50, 69, at=26.0, sequence=100)
    watched(h, 2, 70, times=(27.0, 35.0), epoch=1, isr=(2,))
    _killed(h, 2, at=40.0, back=62.0)
    h.led(-1, 2, at=43.0, isr=(2,))
    _came_back(h, 1, at=50.0)
    h.led(1, 3, at=50.5, isr=(1,), starts=100)
    h.sent(100, 119, at=52.0, sequence=120)
    watched(h, 1, 120, times=(55.0, 58.0), epoch=3, isr=(1,))
    _came_back(h, 2, at=62.0)
    h.truncated(2, 50, at=63.0)
    h.led(1, 3, at=68.0, isr=(1, 2))
    watched(h, 1, 120, times=(75.0, 85.0), epoch=3)
    spans = ((0, 49, 0), (50, 99, 0), (100, 119, 3))
    copies(h, (1, 2), *spans, sequences={100: 120}, high_watermark=120)


def _twice(h: History) -> None:
    """Epoch 0 reaches 99 and is cut to 50, epoch 1 reaches 119 and is cut to 80 by epoch 3.

    Member 1 reads epoch 0, notices the first truncation, reads epoch 1 and commits 120.
    """
    h.topic(unclean_election=True)
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    h.led(1, 0, at=6.0, isr=(1,))
    h.sent(50, 99, at=8.0)
    watched(h, 1, 100, times=(9.0,), isr=(1,))
    _killed(h, 1, at=12.0, back=25.0)
    h.led(2, 1, at=15.0, isr=(2,), starts=50)
    h.sent(50, 79, at=20.0, sequence=100)
    watched(h, 2, 80, times=(22.0,), epoch=1, isr=(2,))
    _came_back(h, 1, at=25.0)
    h.truncated(1, 50, at=26.0)
    h.led(2, 1, at=28.0, isr=(1, 2))
    watched(h, 2, 80, times=(29.0,), epoch=1)
    _killed(h, 1, at=31.0, back=46.0, broker_epoch=2)
    h.led(2, 1, at=34.0, isr=(2,))
    h.sent(80, 119, at=36.0, sequence=130)
    watched(h, 2, 120, times=(37.0,), epoch=1, isr=(2,))
    _killed(h, 2, at=40.0, back=61.0)
    h.led(-1, 2, at=43.0, isr=(2,))
    _came_back(h, 1, at=46.0, broker_epoch=3)
    h.led(1, 3, at=46.5, isr=(1,), starts=80)
    h.sent(80, 159, at=50.0, sequence=170)
    watched(h, 1, 160, times=(55.0,), epoch=3, isr=(1,))
    _came_back(h, 2, at=61.0)
    h.truncated(2, 80, at=62.0)
    h.led(1, 3, at=66.0, isr=(1, 2))
    watched(h, 1, 160, times=(75.0, 85.0), epoch=3)
    spans = ((0, 49, 0), (50, 79, 1), (80, 159, 3))
    copies(h, (1, 2), *spans, sequences={50: 100, 80: 170}, high_watermark=160)
    joined(h, 0, at=4.0)
    h.polled(0, 49, at=5.0)
    h.polled(50, 99, at=9.5)
    h.commit(100, 0, at=10.0, generation=1)
    _noticed(h, 100, 50, at=17.0, epoch=0)
    h.polled(50, 79, at=21.0, epoch=1, sequence=100)
    h.polled(80, 119, at=38.0, epoch=1, sequence=130)
    h.commit(120, 1, at=39.0, generation=1)


def _elected_again(h: History, starts: int, sent: tuple[int, int]) -> None:
    """After `cut`, at 60, broker 1 is elected from the ISR under epoch 2, which starts there."""
    h.rows["samples"] = [row for row in h.rows["samples"] if row["at_micros"] < h.at(60)]
    for table in ("replica_records", "replica_batches", "log_starts", "epoch_checkpoints"):
        h.rows[table] = []
    h.led(1, 2, at=60.0, isr=(1, 2), starts=starts)
    h.sent(*sent, at=61.5, sequence=200)
    end = sent[1] + 1
    watched(h, 1, end, times=(65.0, 75.0, 85.0), epoch=2)
    spans = ((0, 49, 0), (50, starts - 1, 1), (*sent, 2))
    sequences = {50: 100, sent[0]: 200}
    copies(h, (1, 2), *spans, sequences=sequences, high_watermark=end)


def _raised(h: History, *, divergent: int) -> None:
    """Epoch 0 is cut to 50, epoch 2 starts at 80; member 2 raises from a commit of 100."""
    h.topic(unclean_election=True)
    h.group(reset="none")
    cut(h, last=79)
    _elected_again(h, 80, (80, 179))
    _read_to_100(h)
    left(h, 100, at=18.0)
    h.changed("opened", at=69.0, member="2")
    h.reset("truncation", 100, None, at=70.0, epoch=0, policy="none")
    h.changed("assigned", at=70.1, position=100, member="2", generation=3)
    h.changed(
        "failed",
        at=70.2,
        member="2",
        generation=3,
        exception="LogTruncationException",
        message="Detected log truncation",
        divergent_offset=divergent,
        divergent_epoch=0,
    )
    h.changed("closed", at=71.0, member="2")


def _elected(h: History) -> None:
    """Epoch 0 has 0 to 49, epoch 1 nothing, epoch 2 50 to 99; all elections are clean."""
    h.topic()
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0, 14.0))
    h.led(2, 1, at=15.0, isr=(1, 2), starts=50)
    watched(h, 2, 50, times=(16.0, 19.0), epoch=1)
    h.led(1, 2, at=20.0, isr=(1, 2), starts=50)
    watched(h, 1, 50, times=(22.0, 28.0), epoch=2)
    h.sent(50, 99, at=30.0)
    watched(h, 1, 100, times=(35.0, 55.0, 75.0, 85.0), epoch=2)
    copies(h, (1, 2), (0, 49, 0), (50, 99, 2), high_watermark=100, at=2.0)
    joined(h, 0, at=4.0)
    h.polled(0, 49, at=6.0)


def _reads_epoch_2(h: History) -> None:
    """Member 1 reads to the end, and commits that."""
    h.polled(50, 99, at=31.0, epoch=2)
    h.commit(100, 2, at=33.0, cluster_epoch=2, brokers=(1, 2), generation=1)
    left(h, 100, at=50.0, caught_up=True)


def _marker_in_the_next_epoch(h: History, *, epoch: int) -> None:
    """A transaction writes 0 to 4 in epoch 0; its marker, 5, is the first batch of epoch 1."""
    h.topic()
    h.group(isolation="read_committed")
    begun(h)
    started(h, at=2.0)
    h.sent(0, 4, at=5.0, transaction=0)
    h.led(2, 1, at=9.0, isr=(1, 2), starts=5)
    step(h, "commit", "committed", at=12.0)
    watched(h, 2, 6, times=(15.0, 35.0, 55.0, 85.0), epoch=1)
    for broker in (1, 2):
        replica(
            h,
            broker,
            Batch(0, 4, pid=1, base_sequence=0, at=5.0),
            Batch(5, 5, epoch=1, pid=1, control="commit", at=12.0),
        )
    joined(h, 0, at=14.0)
    h.polled(0, 4, at=16.0)
    h.commit(6, epoch, at=20.0, record_epoch=0, cluster_epoch=1, brokers=(1, 2), generation=1)
    left(h, 6, at=80.0, caught_up=True)
