"""Values that were acknowledged without an offset, as a duplicate is: whether the log has them."""

from tests.exam.history import NONE, UNDECIDED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.verbs import cluster, watched

DUPLICATE = (
    "Sender.completeBatch: DUPLICATE_SEQUENCE_NUMBER completes a batch without an error and without"
    " an offset, since the log has it already (KIP-98)"
)
UNCLEAN = "Kafka's documentation, unclean.leader.election.enable: records may be lost"


@asks(
    "Five values are acknowledged as duplicates, and no replica has them.",
    source=DUPLICATE,
    expects={"lost_record": VIOLATION},
)
def duplicates_are_in_no_log(h: History) -> None:
    _sent(h)


@asks(
    "Five values are acknowledged as duplicates, and the log has them.",
    source=DUPLICATE,
    expects={"lost_record": NONE, "duplicate_append": NONE, "outcome_mismatch": NONE},
)
def duplicates_are_in_the_log(h: History) -> None:
    _sent(h, kept=104)


@asks(
    "The log has three of the five values.",
    source=DUPLICATE,
    expects={"lost_record": VIOLATION},
)
def some_duplicates_are_in_the_log(h: History) -> None:
    _sent(h, kept=102)


@asks(
    "An unclean election follows, and starts its epoch at the end of the log.",
    source=UNCLEAN + "; without an offset it is not known whether it lost them",
    expects={"lost_record": UNDECIDED},
)
def unclean_election_follows_the_duplicates(h: History) -> None:
    _sent(h, elected=30.0)


@asks(
    "The election that follows is clean.",
    source="Kafka's documentation, Replication: a clean election loses no committed record",
    expects={"lost_record": VIOLATION},
)
def clean_election_follows_the_duplicates(h: History) -> None:
    _sent(h, elected=30.0, unclean=False)


@asks(
    "The unclean election came before the values were sent.",
    source=DUPLICATE,
    expects={"lost_record": VIOLATION},
)
def unclean_election_precedes_the_duplicates(h: History) -> None:
    _sent(h, elected=5.0)


@asks(
    "The producer has acks=0, and is told nothing by any broker.",
    source="ProducerConfig.ACKS: with acks=0 the offset of each record is -1, and nothing is"
    " guaranteed",
    expects={"lost_record": NONE},
)
def nobody_acknowledges_without_acks(h: History) -> None:
    _sent(h, acks="0")


@asks(
    "Retention has raised the log start since.",
    source="retention.ms: records are deleted; without an offset it is not known which",
    expects={"lost_record": UNDECIDED},
)
def duplicates_may_have_expired(h: History) -> None:
    _sent(h, retention_ms=20_000)


@asks(
    "The unclean election that follows is one of another partition.",
    source=UNCLEAN + ", of the partition that is elected",
    expects={"lost_record": VIOLATION},
)
def another_partition_is_elected_uncleanly(h: History) -> None:
    _sent(h, partitions=2)
    cluster(h, partition=1)
    h.led(1, 0, at=3.0, isr=(1,), partition=1)
    h.led(2, 1, at=30.0, isr=(2,), starts=0, partition=1)
    copies(h, (1, 2), checkpoints={1: 0}, high_watermark=0, partition=1)


@asks(
    "The log of another partition has the five values.",
    source=DUPLICATE + "; sequences are those of a producer and a partition",
    expects={"lost_record": VIOLATION},
)
def duplicates_are_in_the_log_of_another_partition(h: History) -> None:
    _sent(h, partitions=2)
    cluster(h, partition=1)
    copies(h, (1, 2), (0, 4, 0), sequences={0: 100}, high_watermark=5, partition=1)


def _sent(
    h: History,
    *,
    kept: int = 99,
    acks: str = "all",
    elected: float | None = None,
    unclean: bool = True,
    retention_ms: int | None = None,
    partitions: int = 1,
) -> None:
    """Values 0 to 99 have offsets, 100 to 104 none; the log has those up to `kept`.

    elected: when broker 2 is elected. retention_ms: the log start is 50 from 60 s on.
    """
    h.topic(partitions=partitions, unclean_election=True, retention_ms=retention_ms)
    h.group()
    cluster(h)
    h.sent(0, 99, at=2.0)
    epoch, leader = 0, 1
    if elected is not None:
        if unclean:
            h.led(1, 0, at=3.0, isr=(1,))
        epoch, leader = 1, 2
        h.led(2, 1, at=elected, isr=(2,), starts=100 if elected < 20 else kept + 1)
        h.led(2, 1, at=elected + 2, isr=(1, 2))
    h.sent(None, count=5, at=20.0, sequence=100, acks=acks, is_idempotent=acks == "all")
    start = 50 if retention_ms else 0
    watched(h, leader, kept + 1, times=(65.0, 85.0), epoch=epoch, start=start)
    for broker in (1, 2):
        if start:
            h.log_started(broker, start, at=60.0)
        spans = [(start, 99, 0)] + ([(100, kept, epoch)] if kept > 99 else [])
        h.log(broker, *spans, start=start, high_watermark=kept + 1)
