"""Lies about the metadata log, what brokers reported to the observer, and faults."""

from functools import partial
from random import Random

from bench.lies.genuine import Row, Tables
from bench.lies.lie import (
    PERMITTED,
    UNDECIDED,
    Lie,
    Verb,
    Where,
    alter,
    both,
    drop,
    fitting,
    having,
    plus,
    repeat,
    swap,
    within,
)
from bench.lies.stories import BASELINE, TRUNCATION
from contract.checks import Check
from contract.tables import MICROS_PER_SECOND

_lie = partial(Lie, story=TRUNCATION)
_SECOND = MICROS_PER_SECOND


def state(topic: str, partition_epoch: int) -> Where:
    """One state of a partition in the metadata log."""
    return having(topic=topic, partition_epoch=partition_epoch)


def led(topic: str, leader_epoch: int) -> Where:
    """Samples of the log of a leader in one epoch, as it reported them to the observer."""
    return lambda row: (
        (row["topic"], row["leader_epoch"]) == (topic, leader_epoch)
        and row["broker"] == row["leader"]
        and row["log_end_offset"] >= 0
    )


def filled(where: Where) -> Where:
    """Those of these rows with records in the log."""
    return lambda row: where(row) and row["log_end_offset"] > 0


def unfenced(broker: int) -> Where:
    """States in which a broker is in service."""
    return lambda row: row["broker"] == broker and not row["is_fenced"]


def of_server(server: int) -> Where:
    """Batches of a server's metadata log."""
    return lambda row: row["server"] == server and 20 <= row["base_offset"] <= 60  # noqa: PLR2004


def elected(row: Row) -> bool:
    """Whether a batch has an election."""
    return row["leader"] is not None


def elected_before_a_commit(tables: Tables, random: Random) -> None:
    """Repeat the first state as a second epoch, a second before the last commit of a group."""
    commits = fitting(tables, "committed_offsets", having(topic="orders"))
    at_micros = max(row["committed_micros"] for row in commits) - _SECOND
    change = repeat(
        "leaderships",
        state("orders", 0),
        leader_epoch=1,
        partition_epoch=1,
        metadata_offset=plus("metadata_offset", 40),
        at_micros=at_micros,
    )
    change(tables, random)


LEADERSHIPS = (
    _lie("a leader epoch goes down", Verb.SHIFT, "leaderships", Check.EPOCH_REGRESSED,
         alter("leaderships", state("above", 6), leader_epoch=1)),
    _lie("a partition epoch goes down", Verb.SHIFT, "leaderships", Check.EPOCH_REGRESSED,
         alter("leaderships", state("above", 5), partition_epoch=1)),
    _lie("two brokers lead in one epoch", Verb.ALTER, "leaderships", Check.EPOCH_REGRESSED,
         alter("leaderships", state("above", 3), leader=2, isr=[1, 2])),
    _lie("two states of a partition are the other way round", Verb.SWAP, "leaderships",
         Check.EPOCH_REGRESSED,
         swap("leaderships", within(3, 4, "partition_epoch", topic="above"),
              "metadata_offset", by="partition_epoch")),
    _lie("an election that a broker reported is missing", Verb.DROP, "leaderships",
         Check.METADATA_DIVERGENCE,
         drop("leaderships", having(topic="above", leader_epoch=1),
              same=("topic", "leader_epoch"))),
    _lie("the last election has a higher epoch than any broker reported", Verb.SHIFT,
         "leaderships", Check.METADATA_DIVERGENCE,
         alter("leaderships", having(topic="above", leader_epoch=3),
               same=("topic", "leader_epoch"), leader_epoch=4)),
    _lie("a replica returned and did not join the ISR", Verb.DROP, "leaderships",
         Check.NEVER_CAUGHT_UP, drop("leaderships", state("above", 6)), verdict=PERMITTED),
    _lie("a leader was elected again before a group committed", Verb.REPEAT, "leaderships",
         Check.COMMITTED_EPOCH_BEHIND_LEADER, elected_before_a_commit,
         story=BASELINE, verdict=PERMITTED),
    _lie("a broker from outside the ISR is elected", Verb.ALTER, "leaderships",
         Check.UNCLEAN_ELECTION_UNCONFIGURED,
         both(alter("leaderships", state("orders", 0), isr=[1, 3]),
              repeat("leaderships", state("orders", 0), leader=2, leader_epoch=1,
                partition_epoch=2, isr=[2], metadata_offset=plus("metadata_offset", 40),
                at_micros=plus("at_micros", 20 * _SECOND))),
         story=BASELINE),
    _lie("an eligible leader is in the ISR", Verb.ALTER, "leaderships",
         Check.ELIGIBLE_LEADER_REPLICAS, alter("leaderships", state("above", 3), elr=[1])),
    _lie("an eligible leader is no replica", Verb.ALTER, "leaderships",
         Check.ELIGIBLE_LEADER_REPLICAS, alter("leaderships", state("above", 4), elr=[3])),
    _lie("there are eligible leaders though the ISR is large enough", Verb.ALTER,
         "leaderships", Check.ELIGIBLE_LEADER_REPLICAS,
         alter("leaderships", state("above", 3), elr=[2])),
    _lie("a partition changed and kept a fenced broker in its ISR", Verb.ALTER, "leaderships",
         Check.FENCED_IN_ISR, alter("leaderships", state("above", 5), isr=[1, 2])),
    _lie("the ISR is too small for the acknowledgements", Verb.ALTER, "leaderships",
         Check.MIN_INSYNC_BREACHED, alter("leaderships", state("orders", 0), isr=[1],
         at_micros=plus("at_micros", -20 * _SECOND)), story=BASELINE),
    _lie("an epoch begins after it was committed", Verb.SHIFT, "leaderships",
         Check.COMMITTED_EPOCH_UNKNOWN,
         alter("leaderships", having(topic="above", leader_epoch=1),
               same=("topic", "leader_epoch"), at_micros=plus("at_micros", 60 * _SECOND))),
)  # fmt: skip
BROKERS = (
    _lie("a broker is never in service, and is in the ISR", Verb.ALTER, "broker_states",
         Check.FENCED_IN_ISR,
         alter("broker_states", having(broker=2), same=("broker",),
               is_fenced=True)),
    _lie("a broker that shuts down comes into the ISR", Verb.ALTER, "broker_states",
         Check.FENCED_IN_ISR,
         alter("broker_states", having(broker=2), same=("broker",),
               in_controlled_shutdown=True)),
    _lie("a broker of the ISR has no registration", Verb.DROP, "broker_states",
         Check.FENCED_IN_ISR,
         drop("broker_states", having(broker=1), same=("broker",)),
         verdict=UNDECIDED),
)  # fmt: skip
SAMPLES = (
    _lie("a leader reported a lower high watermark than before", Verb.SHIFT, "samples",
         Check.HIGH_WATERMARK_REGRESSED,
         alter("samples", filled(led("orders", 0)), log_end_offset=0,
               at_micros=plus("at_micros", 60 * _SECOND),
               asked_micros=plus("asked_micros", 60 * _SECOND)), story=BASELINE),
    _lie("a leader reported a high watermark that was never reached", Verb.SHIFT, "samples",
         Check.HIGH_WATERMARK_REGRESSED,
         alter("samples", led("above", 0), log_end_offset=300)),
    _lie("a leader reported a lower log start than before", Verb.SHIFT, "samples",
         Check.RETENTION_OVERREACH,
         alter("samples", lambda row: led("orders", 0)(row) and row["log_end_offset"] == 1000,  # noqa: PLR2004
               log_start_offset=600), story=BASELINE),
    _lie("a leader reported a log start above 0 in a topic without deletion", Verb.SHIFT,
         "samples", Check.RETENTION_OVERREACH,
         alter("samples", led("above", 0), log_start_offset=40)),
    _lie("a broker reported a leader that never led", Verb.ALTER, "samples",
         Check.METADATA_DIVERGENCE, alter("samples", led("above", 1), leader=3)),
    _lie("a broker reported an epoch that never existed", Verb.SHIFT, "samples",
         Check.METADATA_DIVERGENCE,
         alter("samples", led("above", 3), leader_epoch=9)),
    _lie("a broker went back in epochs", Verb.SHIFT, "samples", Check.EPOCH_REGRESSED,
         alter("samples", led("above", 3), leader_epoch=0, leader=2)),
    _lie("a leader reported a log end that a clean election lost", Verb.SHIFT, "samples",
         Check.LEADER_COMPLETENESS,
         alter("samples", led("above", 0), log_end_offset=80)),
)  # fmt: skip
QUORUM = (
    _lie("a batch of one server's metadata log has another checksum", Verb.ALTER,
         "metadata_batches", Check.METADATA_DIVERGENCE,
         alter("metadata_batches", of_server(2), checksum=7)),
    _lie("a batch is missing in one server's metadata log", Verb.DROP, "metadata_batches",
         Check.METADATA_DIVERGENCE, drop("metadata_batches", of_server(2))),
    _lie("a batch of one server's metadata log is of another epoch", Verb.SHIFT,
         "metadata_batches", Check.METADATA_DIVERGENCE,
         alter("metadata_batches", of_server(2), metadata_epoch=plus("metadata_epoch", 1))),
    _lie("a batch of one server's metadata log ends later", Verb.SHIFT, "metadata_batches",
         Check.METADATA_DIVERGENCE,
         alter("metadata_batches", of_server(2), last_offset=plus("last_offset", 1))),
    _lie("two controllers lead in one epoch", Verb.REPEAT, "metadata_batches",
         Check.METADATA_DIVERGENCE,
         alter("metadata_batches", lambda row: elected(row) and row["server"] == 1, leader=1,
               checksum=7)),
)  # fmt: skip
FAULTS = (
    _lie("a fault has no evidence of its effect", Verb.ALTER, "faults", Check.FAULT_LANDED,
         alter("faults", landed=False), verdict=UNDECIDED),
)  # fmt: skip
