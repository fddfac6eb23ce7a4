"""acks=1 and unclean election: records are truncated, as configured, and groups notice it."""

from contract.terms import ResetPolicy
from simulator.appends import write_appends
from simulator.log import Span
from simulator.metadata import register_brokers, write_metadata, write_samples
from simulator.reading import Reader, Stint, stored_rows
from simulator.stories import (
    READS_UNTIL,
    SAMPLES_UNTIL,
    WRITES_FROM,
    WRITES_UNTIL,
    expand_log,
    topic_plan,
    write_fault,
    write_phase,
    write_truncation,
)
from simulator.universe import BrokerChange, Change, Universe, group_plan

ALONE_FROM, LEADERLESS_FROM, ELECTED_AT = 20.0, 30.0, 31.5
READS_ON_AT, RETURNED_AT, IN_SYNC_AT = 33.0, 40.0, 41.0
_LAST_BEFORE = 29.0
_FIRST_AFTER = 31.8


def unclean_universe(index: int, seed: int, records: int, partitions: int) -> Universe:
    """Simulate one; `records` is for each partition."""
    topic = f"u{index:05d}.unclean"
    universe = Universe(
        index=index,
        topic=topic,
        partitions=partitions,
        records=records,
        seed=seed,
        plan=topic_plan(topic, partitions, replication=2, min_insync=1, unclean_election=True),
        groups=[
            group_plan(f"{topic}.earliest", topic),
            group_plan(f"{topic}.latest", topic, reset=ResetPolicy.LATEST),
        ],
    )
    first, second, _ = universe.brokers
    _elect(universe, first, second)
    rate = records / (WRITES_UNTIL - WRITES_FROM)
    share = float(universe.random(0).uniform(0.2, 0.8))
    for partition in range(partitions):
        universe.spans += _spans(universe, partition, rate, share)
    expand_log(universe)
    write_appends(universe, acks="1", replicas=(first, second))
    write_metadata(universe, [(first, second)] * partitions)
    write_samples(universe, until=SAMPLES_UNTIL)
    for partition in range(partitions):
        _truncate(universe, partition, first)
    for number in range(len(universe.groups)):
        _read_through(universe, number)
    universe.add(stored_rows(universe, universe.frame("commits")))
    write_phase(universe, "an unclean election, and groups that notice the truncation")
    return universe


def divergence(universe: Universe, partition: int) -> int:
    """Return the offset at which the surviving branch diverges from the truncated one."""
    log = universe.the_log()
    return int(log.offset[(log.partition == partition) & log.is_cut].min())


def _elect(universe: Universe, first: int, second: int) -> None:
    register_brokers(universe)
    write_fault(universe, "kill", second, injected=ALONE_FROM - 0.2, healed=ELECTED_AT - 0.5)
    write_fault(universe, "kill", first, injected=LEADERLESS_FROM - 0.2, healed=RETURNED_AT)
    universe.broker_changes += [
        BrokerChange(second, universe.at(ALONE_FROM), is_fenced=True),
        BrokerChange(first, universe.at(LEADERLESS_FROM), is_fenced=True),
        BrokerChange(second, universe.at(ELECTED_AT - 0.4), is_fenced=True, is_start=True),
        BrokerChange(second, universe.at(ELECTED_AT), is_fenced=False),
        BrokerChange(first, universe.at(RETURNED_AT - 0.5), is_fenced=True, is_start=True),
        BrokerChange(first, universe.at(RETURNED_AT), is_fenced=False),
    ]
    for partition in range(universe.partitions):
        universe.changes += [
            Change(partition, universe.at(1.0), first, 0, (first, second)),
            Change(partition, universe.at(ALONE_FROM), first, 0, (first,)),
            Change(partition, universe.at(LEADERLESS_FROM), -1, 1, (first,)),
            Change(partition, universe.at(ELECTED_AT), second, 2, (second,)),
            Change(partition, universe.at(IN_SYNC_AT), second, 2, (first, second)),
        ]


def _spans(universe: Universe, partition: int, rate: float, share: float) -> list[Span]:
    """Return the records of both replicas, of the first leader alone, and of its successor."""
    first, second, _ = universe.brokers
    common = max(4, int(rate * (ALONE_FROM - WRITES_FROM)))
    cut = max(4, int(rate * (_LAST_BEFORE - ALONE_FROM) * 2 * share))
    later = max(2 * cut + 8, int(rate * (WRITES_UNTIL - _FIRST_AFTER)))
    spans = []
    sequence = 0
    for epoch, leader, offset, count, began, ended, is_cut in (
        (0, first, 0, common, WRITES_FROM, ALONE_FROM - 0.3, False),
        (0, first, common, cut, ALONE_FROM + 0.3, _LAST_BEFORE, True),
        (2, second, common, later, _FIRST_AFTER, WRITES_UNTIL, False),
    ):
        spans.append(
            Span(
                partition=partition,
                epoch=epoch,
                leader=leader,
                first_offset=offset,
                count=count,
                began=universe.at(began),
                ended=universe.at(ended),
                producer=f"{universe.topic}.writer-{partition}",
                first_sequence=sequence,
                is_cut=is_cut,
            )
        )
        sequence += count
    return spans


def _truncate(universe: Universe, partition: int, broker: int) -> None:
    to, at = divergence(universe, partition), universe.at(RETURNED_AT)
    write_truncation(universe, partition, broker, to=to, at=at)


def _read_through(universe: Universe, number: int) -> None:
    """A member reads records that are truncated later, and continues at the divergence."""
    reader = Reader(universe, universe.groups[number], number)
    member = f"{reader.plan.group}#1"
    log = universe.the_log()
    reader.event(member, "opened", universe.at(1.5))
    for partition in range(universe.partitions):
        began, ended = universe.at(2.0), universe.at(LEADERLESS_FROM)
        reader.read(Stint(member, partition, began, ended, is_on_old_branch=True, ends="reads on"))
        to = divergence(universe, partition)
        old = (log.partition == partition) & (log.epoch == 0)
        reached = min(reader.positions[partition], int(log.offset[old].max()) + 1)
        reader.reset(
            member, partition, "truncation", universe.at(READS_ON_AT), to=to, of=(reached, 0)
        )
        reader.positions[partition] = to
        began, ended = universe.at(READS_ON_AT), universe.at(READS_UNTIL)
        reader.read(Stint(member, partition, began, ended, start=to, is_continued=True, ends="end"))
    reader.event(member, "closed", universe.at(READS_UNTIL + 1))
