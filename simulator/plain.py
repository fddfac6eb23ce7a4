"""Universes with acks=all and clean leader changes: plain, unhealthy and fragmented ones."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from contract.terms import Outcome
from simulator.appends import write_appends, write_failed_sends
from simulator.frames import NULL
from simulator.metadata import register_brokers, write_metadata, write_samples
from simulator.reading import Reader, Stint, read_all, stored_rows
from simulator.stories import (
    READS_UNTIL,
    SAMPLES_UNTIL,
    WRITES_UNTIL,
    even_spans,
    expand_log,
    rotate,
    topic_plan,
    write_fault,
    write_phase,
)
from simulator.universe import BrokerChange, Change, Universe, group_plan
from simulator.wire import write_wire_calls
from simulator.wire_commits import write_wire_commits

RETENTION_MS = 20_000
RETAINED_AT = 80.0
_FIRST_BOUNCE, _SECOND_BOUNCE = 20.0, 45.0
_DOWN_SECONDS, _CAUGHT_UP_SECONDS = 6.0, 7.0
_PREFERRED_AT = 35.0
_FENCED_AFTER = 0.4
_KEPT_FROM = 30.0
"""Records appended before this second are deleted at the end."""
_FAILED, _UNKNOWN = 2, 2
"""Sends of each partition that failed, and those of unknown outcome."""
_PASSES = ((2.2, 52.0), (54.0, 70.0), (72.0, READS_UNTIL))
"""The seconds in which the members of an unhealthy group read, one after the other."""
_FRAGMENTED_GROUPS = 3
_KEYING = 2


@dataclass(frozen=True, kw_only=True)
class _Story:
    """What happens in a universe besides its leader changes.

    Attributes:
        groups: by name, how a group of a number reads.
        writes_until: the second of the last record.
        is_keyed: one producer writes to all partitions, by random keys, one record a batch.
        has_doubtful_sends: some sends fail, or their outcome is unknown.
        is_retained: the first records are deleted at the end.
    """

    name: str
    doing: str
    groups: Mapping[str, Callable[[Universe, int], None]]
    writes_until: float = WRITES_UNTIL
    is_keyed: bool = False
    has_doubtful_sends: bool = False
    is_retained: bool = False


def plain_universe(index: int, seed: int, records: int, partitions: int) -> Universe:
    """Simulate one; `records` is for each partition."""
    story = _Story(
        name="plain",
        doing="clean leader changes, rebalances, retention",
        groups={"steady": read_all, "restarted": _read_with_restarts},
        has_doubtful_sends=True,
        is_retained=True,
    )
    universe = _simulate(story, index, seed, records, partitions)
    write_wire_calls(universe)
    write_wire_commits(universe)
    return universe


def unhealthy_universe(index: int, seed: int, records: int, partitions: int) -> Universe:
    """Simulate one whose groups read everything three times, since their members do not commit.

    One group's members are killed, the other's lose their partitions in rebalances.
    """
    story = _Story(
        name="unhealthy",
        doing="clean leader changes, groups that begin from the beginning again",
        groups={
            "killed": partial(_read_again, ends="killed"),
            "rebalanced": partial(_read_again, ends="revoked"),
        },
        writes_until=_PASSES[0][1] - 2,
        has_doubtful_sends=True,
    )
    return _simulate(story, index, seed, records, partitions)


def fragmented_universe(index: int, seed: int, records: int, partitions: int) -> Universe:
    """Simulate one whose records have keys, and a batch each: few of them form a range."""
    story = _Story(
        name="fragmented",
        doing="clean leader changes, keyed records, one record a batch",
        groups={f"steady-{number}": read_all for number in range(_FRAGMENTED_GROUPS)},
        is_keyed=True,
        is_retained=True,
    )
    return _simulate(story, index, seed, records, partitions)


def _simulate(story: _Story, index: int, seed: int, records: int, partitions: int) -> Universe:
    topic = f"u{index:05d}.{story.name}"
    retention_ms = RETENTION_MS if story.is_retained else None
    universe = Universe(
        index=index,
        topic=topic,
        partitions=partitions,
        records=records,
        seed=seed,
        plan=topic_plan(topic, partitions, replication=3, min_insync=2, retention_ms=retention_ms),
        groups=[group_plan(f"{topic}.{name}", topic) for name in story.groups],
    )
    random = universe.random(0)
    replicas = [rotate(universe.brokers, p) for p in range(partitions)]
    first, second = (float(x) for x in random.uniform(-1, 1, 2))
    _elect(universe, replicas, (_FIRST_BOUNCE + first, _SECOND_BOUNCE + second))
    for partition in range(partitions):
        universe.spans += even_spans(universe, partition, until=story.writes_until)
    if story.is_keyed:
        universe.spans = [
            replace(span, producer=f"{topic}.writer", producer_id=universe.first_producer_id)
            for span in universe.spans
        ]
    expand_log(universe, keys=universe.random(_KEYING) if story.is_keyed else None)
    write_appends(universe, acks="all", replicas=universe.brokers)
    if story.has_doubtful_sends:
        _doubtful_sends(universe, random)
    write_metadata(universe, replicas)
    write_samples(universe, until=SAMPLES_UNTIL)
    for number, read in enumerate(story.groups.values()):
        read(universe, number)
    universe.add(stored_rows(universe, universe.frame("commits")))
    write_phase(universe, story.doing)
    if story.is_retained:
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
        isr = tuple(replica for replica in now.isr if replica != broker)
        leader = (
            next(replica for replica in ids if replica in isr)
            if now.leader == broker
            else now.leader
        )
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


def _read_with_restarts(universe: Universe, number: int) -> None:
    """A second member takes over and is killed, and the first one comes back."""
    reader = Reader(universe, universe.groups[number], number)
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


def _read_again(universe: Universe, number: int, *, ends: str) -> None:
    """Only the last member commits, so each one begins at the beginning."""
    reader = Reader(universe, universe.groups[number], number)
    last = len(_PASSES)
    for incarnation, (began, ended) in enumerate(_PASSES, 1):
        member = f"{reader.plan.group}#{incarnation}"
        reader.event(member, "opened", universe.at(began - 0.7))
        for partition in range(universe.partitions):
            reader.read(
                Stint(
                    member,
                    partition,
                    universe.at(began),
                    universe.at(ended),
                    ends="end" if incarnation == last else ends,
                    commits=incarnation == last,
                    is_catching_up=incarnation > 1,
                )
            )
        if incarnation == last or ends == "revoked":
            reader.event(member, "closed", universe.at(ended + 1))


def _retain(universe: Universe) -> None:
    """Choose the final log start; records below it are deleted at the end."""
    log = universe.the_log()
    universe.retained_micros = universe.at(RETAINED_AT)
    until = universe.at(_KEPT_FROM)
    for partition in range(universe.partitions):
        old = (log.partition == partition) & (log.at < until)
        batch = log.batch[old].max()
        universe.log_start[partition] = int(log.offset[log.batch == batch].min())
