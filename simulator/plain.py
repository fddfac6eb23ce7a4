"""Universes with acks=all: clean leader changes, rebalances, restarts, retention."""

import numpy as np

from contract.outcomes import Outcome
from simulator.appends import write_appends, write_failed_sends
from simulator.frames import NULL
from simulator.metadata import register_brokers, write_metadata, write_samples
from simulator.reading import Reader, Stint, read_all, stored
from simulator.stories import (
    READS_UNTIL,
    SAMPLES_UNTIL,
    WRITES_FROM,
    WRITES_UNTIL,
    even_spans,
    expand_log,
    rotated,
    topic_plan,
    write_fault,
    write_phase,
)
from simulator.universe import BrokerChange, Change, Universe, group_plan

RETENTION_MS = 20_000
RETAINED_AT = 80.0
_FIRST_BOUNCE, _SECOND_BOUNCE = 20.0, 45.0
_DOWN_SECONDS, _CAUGHT_UP_SECONDS = 6.0, 7.0
_PREFERRED_AT = 35.0
_FENCED_AFTER = 0.4
_STEADY, _RESTARTED = 0, 1
_KEPT_FROM = 30.0
"""Records appended before this second are deleted at the end."""
_FAILED, _UNKNOWN = 2, 2
"""Sends of each partition that failed, and those of unknown outcome."""


def plain_universe(index: int, seed: int, records: int, partitions: int) -> Universe:
    """Simulate one; `records` is for each partition."""
    topic = f"u{index:05d}.plain"
    universe = Universe(
        index=index,
        topic=topic,
        partitions=partitions,
        records=records,
        seed=seed,
        plan=topic_plan(topic, partitions, replication=3, min_insync=2, retention_ms=RETENTION_MS),
        groups=[group_plan(f"{topic}.steady", topic), group_plan(f"{topic}.restarted", topic)],
    )
    random = universe.random(0)
    replicas = [rotated(universe.brokers, p) for p in range(partitions)]
    first, second = (float(x) for x in random.uniform(-1, 1, 2))
    _elect(universe, replicas, (_FIRST_BOUNCE + first, _SECOND_BOUNCE + second))
    rate = records / (WRITES_UNTIL - WRITES_FROM)
    for partition in range(partitions):
        universe.spans += even_spans(universe, partition, idempotent=True, rate=rate)
    expand_log(universe)
    write_appends(universe, acks="all", replicas=universe.brokers)
    _doubtful_sends(universe, random)
    write_metadata(universe, replicas)
    write_samples(universe, until=SAMPLES_UNTIL)
    read_all(universe, _STEADY)
    _read_with_restarts(universe)
    universe.add(stored(universe, universe.frame("commits")))
    write_phase(universe, "clean leader changes, rebalances, retention")
    _retain(universe)
    return universe


def _elect(
    universe: Universe, replicas: list[tuple[int, ...]], bounces: tuple[float, float]
) -> None:
    """Two brokers are stopped and come back; between them the preferred leaders are elected."""
    register_brokers(universe)
    for partition, ids in enumerate(replicas):
        universe.changes.append(Change(partition, universe.at(1.0), ids[0], 0, ids))
    bounced = replicas[0][:2]
    for number, (broker, stopped) in enumerate(zip(bounced, bounces, strict=True)):
        if number:
            _elect_preferred(universe, replicas)
        _bounce(universe, replicas, broker, stopped)


def _bounce(
    universe: Universe, replicas: list[tuple[int, ...]], broker: int, stopped: float
) -> None:
    back, in_sync = stopped + _DOWN_SECONDS, stopped + _CAUGHT_UP_SECONDS
    write_fault(universe, "stop", broker, injected=stopped - 0.2, healed=back)
    universe.broker_changes += [
        BrokerChange(broker, universe.at(stopped), is_fenced=False, in_controlled_shutdown=True),
        BrokerChange(
            broker,
            universe.at(stopped + _FENCED_AFTER),
            is_fenced=True,
            in_controlled_shutdown=True,
        ),
        BrokerChange(broker, universe.at(back - 0.5), is_fenced=True, is_start=True),
        BrokerChange(broker, universe.at(back), is_fenced=False),
    ]
    for partition, ids in enumerate(replicas):
        now = universe.led_at(partition, universe.at(stopped))
        isr = tuple(one for one in now.isr if one != broker)
        leader = next(one for one in ids if one in isr) if now.leader == broker else now.leader
        epoch = now.epoch + (leader != now.leader)
        universe.changes += [
            Change(partition, universe.at(stopped), leader, epoch, isr),
            Change(partition, universe.at(in_sync), leader, epoch, tuple(sorted((*isr, broker)))),
        ]


def _elect_preferred(universe: Universe, replicas: list[tuple[int, ...]]) -> None:
    at = universe.at(_PREFERRED_AT)
    for partition, ids in enumerate(replicas):
        now = universe.led_at(partition, at)
        if now.leader != ids[0]:
            universe.changes.append(Change(partition, at, ids[0], now.epoch + 1, now.isr))


def _doubtful_sends(universe: Universe, random: np.random.Generator) -> None:
    """Some sends failed; of some others, which are in the log, the outcome is unknown."""
    for partition in range(universe.partitions):
        sends = universe.frame("sends")
        mine = np.flatnonzero(sends["partition"] == partition)
        middle = mine[len(mine) // 2 : -len(mine) // 8]
        chosen = random.choice(middle, size=_UNKNOWN, replace=False)
        sends["outcome"][chosen] = Outcome.UNKNOWN.value
        sends["error"][chosen] = "TimeoutException"
        sends["offset"][chosen] = NULL
        write_failed_sends(
            universe,
            sends["producer"][mine[0]],
            partition,
            _FAILED,
            error="RecordTooLargeException",
            intended_micros=universe.at(WRITES_UNTIL + 0.5),
            answered_micros=universe.at(WRITES_UNTIL + 0.6),
        )


def _read_with_restarts(universe: Universe) -> None:
    """A second member takes over and is killed, and the first one comes back."""
    reader = Reader(universe, universe.groups[_RESTARTED], _RESTARTED)
    first, second = (f"{reader.plan.group}#{incarnation}" for incarnation in (1, 2))
    joined, took_over, died, noticed = 29.0, 30.5, 50.0, 56.0
    reader.event(first, "opened", universe.at(1.5))
    reader.event(second, "opened", universe.at(joined))
    for partition in range(universe.partitions):
        stints = [(first, 2.2, READS_UNTIL, "end")]
        if partition % 2 == 0:
            stints = [
                (first, 2.2, joined + 1, "revoked"),
                (second, took_over, died, "killed"),
                (first, noticed, READS_UNTIL, "end"),
            ]
        for member, began, ended, ends in stints:
            at = universe.at(began), universe.at(ended)
            reader.read(Stint(member, partition, *at, ends=ends, commits_last=ends == "revoked"))
    reader.event(first, "closed", universe.at(READS_UNTIL + 1))


def _retain(universe: Universe) -> None:
    """Choose the final log start; records below it are deleted at the end."""
    log = universe.the_log()
    universe.retained_micros = universe.at(RETAINED_AT)
    until = universe.at(_KEPT_FROM)
    for partition in range(universe.partitions):
        old = (log.partition == partition) & (log.at < until)
        batch = log.batch[old].max()
        universe.log_start[partition] = int(log.offset[log.batch == batch].min())
