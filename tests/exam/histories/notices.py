"""What clients notice of a truncation: late, too early, by another member, or not at all."""

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.verbs import cut, joined, left, noticed, watched

KIP_320 = "KIP-320, Consumer Handling"
ACROSS = "KIP-320: a committed epoch lets a group notice a truncation across restarts"
REGRESS = "KIP-320: only a seek or a reset moves a position back"
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
    noticed(h, 100, 50, at=19.0, epoch=0)
    h.polled(50, 99, at=19.4)
    noticed(h, 100, 50, at=46.0, epoch=0)
    h.polled(50, 149, at=47.0, epoch=1, sequence=100)
    left(h, 150, at=80.0, caught_up=True)


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
    noticed(h, 100, 50, at=74.5, epoch=0, member="2")
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
    noticed(h, 100, 80, at=46.0, epoch=0)
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
    noticed(h, 100, 50, at=46.0, epoch=0)
    h.polled(50, 149, at=47.0, epoch=1, sequence=100)
    h.commit(150, 1, at=50.0, generation=1)
    noticed(h, 150, 120, at=62.0, epoch=1)
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
