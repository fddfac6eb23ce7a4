"""Parts of all universes: spans, faults and phases."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from contract.run_folder import TopicPlan
from contract.software import Client
from contract.terms import PHASE_LIMIT_SECONDS, Stage
from simulator.frames import NULL
from simulator.log import Span, expand, micros
from simulator.universe import Universe

WRITES_FROM, WRITES_UNTIL = 3.0, 75.0
"""Seconds of a universe in which producers write."""
READS_UNTIL = 88.0
SAMPLES_UNTIL = 86.0
ENDS = 95.0
_LEADER_CHANGE_SECONDS = 0.4
"""Nothing is appended for this time after a leader change."""
_GAP_BEFORE_MICROS = 100_000
"""Nor for this time before it."""
_CLOCK_MICROS = 200
"""Round-trip time of a reading of a node's clock."""
_BATCH_SHARE, _BATCH_MIN, _BATCH_MAX = 100, 2, 500


def even_spans(universe: Universe, partition: int, *, until: float = WRITES_UNTIL) -> list[Span]:
    """Return one span of an idempotent producer for each leader epoch of a partition.

    Records are appended at an even rate, until a second of the universe.
    """
    rate = universe.records / (until - WRITES_FROM)
    led = [c for c in universe.changes if c.partition == partition]
    reigns = led[:1] + [after for before, after in pairwise(led) if before.epoch != after.epoch]
    producer = f"{universe.topic}.writer-{partition}"
    spans: list[Span] = []
    offset = 0
    for index, reign in enumerate(reigns):
        gap = micros(_LEADER_CHANGE_SECONDS) if index else 0
        began = max(reign.at + gap, universe.at(WRITES_FROM))
        last = index + 1 == len(reigns)
        ended = universe.at(until) if last else reigns[index + 1].at - _GAP_BEFORE_MICROS
        count = int(rate * (ended - began) / 1_000_000)
        if reign.leader < 0 or count <= 0:
            continue
        spans.append(
            Span(
                partition=partition,
                epoch=reign.epoch,
                leader=reign.leader,
                first_offset=offset,
                count=count,
                began=began,
                ended=ended,
                producer=producer,
                first_sequence=offset,
                producer_id=universe.first_producer_id + partition,
                producer_epoch=0,
                base_sequence=offset,
            )
        )
        offset += count
    return spans


def expand_log(universe: Universe, *, keys: np.random.Generator | None = None) -> None:
    """Make the records of the universe's spans.

    Batches are as large as a partition's number of records suggests; with `keys`, which
    `log.expand` describes, each record is a batch.
    """
    batch_records = min(max(_BATCH_MIN, universe.records // _BATCH_SHARE), _BATCH_MAX)
    universe.log = expand(universe.spans, batch_records if keys is None else 1, keys=keys)


def write_phase(universe: Universe, doing: str) -> None:
    """Add the universe's phase, its clients' history, and the readings of their node's clock."""
    universe.write(
        "phases",
        stage=Stage.STEADY.value,
        doing=f"{universe.topic}: {doing}",
        began_micros=universe.began,
        ended_micros=universe.at(ENDS),
        limit_seconds=PHASE_LIMIT_SECONDS[Stage.STEADY],
    )
    universe.write(
        "histories",
        worker=universe.worker,
        role="generated",
        client=Client.JAVA.value,
        client_version="generated",
        ended_by_itself=True,
        missing_seqs=0,
        torn_lines=0,
        malformed_lines=0,
        events=0,
    )
    universe.write(
        "clocks",
        node=universe.worker,
        ahead_micros=_CLOCK_MICROS,
        behind_micros=-_CLOCK_MICROS,
        at_micros=universe.began,
    )


def write_fault(
    universe: Universe, fault: str, broker: int, *, injected: float, healed: float | None
) -> None:
    """Add a fault that landed."""
    universe.write(
        "faults",
        fault=fault,
        target_kind="broker",
        brokers=(broker,),
        landed=True,
        injected_micros=universe.at(injected),
        proved_micros=universe.at(injected),
        heal_began_micros=NULL if healed is None else universe.at(healed),
        healed_micros=NULL if healed is None else universe.at(healed),
        evidence=f'{{"broker":{broker}}}',
        forced_ms=0,
        forced_by="",
    )


def write_truncation(universe: Universe, partition: int, broker: int, *, to: int, at: int) -> None:
    """Add the truncation of a replica, and the line of its server's log."""
    universe.write(
        "truncations",
        broker=broker,
        topic=universe.topic,
        partition=partition,
        to_offset=to,
        at_micros=at // 1000 * 1000,
        log_line=f"Truncating partition {universe.topic}-{partition} to {to}",
    )


def topic_plan(
    topic: str,
    partitions: int,
    *,
    replication: int,
    min_insync: int,
    unclean_election: bool = False,
    retention_ms: int | None = None,
) -> TopicPlan:
    """A topic's plan."""
    return TopicPlan(
        topic=topic,
        partitions=partitions,
        replication=replication,
        min_insync=min_insync,
        unclean_election=unclean_election,
        retention_ms=retention_ms,
    )


def rotate(brokers: Sequence[int], by: int) -> tuple[int, ...]:
    """Replicas of the partition of this number, its preferred leader first."""
    by %= len(brokers)
    return (*brokers[by:], *brokers[:by])
