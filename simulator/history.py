"""Whole histories: universes one after the other, written as the folder of a run."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from contract.checks import Check
from contract.clients import Client
from contract.errors import UsageError
from contract.run_folder import GENERATED, NO_KAFKA, Plan, RunDescription, RunFolder
from contract.tables import TABLES
from simulator.finish import Numbering, finish, laid_out
from simulator.log import micros
from simulator.plain import plain_universe
from simulator.plants import PLANTS
from simulator.transactional import transactional_universe
from simulator.unclean import unclean_universe
from simulator.universe import (
    BEGINNING_MICROS,
    UNIVERSE_SECONDS,
    Place,
    Universe,
)

EVENT_TABLES = ("sends", "polls", "commits")
"""The tables whose rows count as events."""
KINDS = {
    "plain": plain_universe,
    "unclean": unclean_universe,
    "transactional": transactional_universe,
}
EVENTS_MIN = 1_000
_STREAMED = ("sends", "polls", "commits", "committed_offsets", "replica_records", "replica_batches")
"""Tables that are written universe by universe; the others are small."""
_UNIVERSE_EVENTS = 250_000
_SMALL_RECORDS = 2_000
_EVENTS_A_RECORD = 2.84
"""Events per record: a send and two deliveries, less pauses while leaders change."""
_COMMITS_A_PARTITION = 56
_RECORDS_MIN = 24
_PLANTING = 1


@dataclass(frozen=True, kw_only=True)
class Request:
    """The history to generate.

    Attributes:
        events: the approximate number of rows of sends, polls and commits.
        plant: a class of PLANTS, or None.
        count: the number of its anomalies, each in a universe of its own.
    """

    events: int
    seed: int
    plant: str | None = None
    count: int = 1


@dataclass
class Generated:
    """A written history.

    Attributes:
        rows: by table.
        planted, expected: by topic: the findings that are required, and others that are allowed.
    """

    rows: Counter[str] = field(default_factory=Counter)
    planted: dict[str, list[Place]] = field(default_factory=dict)
    expected: dict[str, list[Place]] = field(default_factory=dict)
    plants: dict[str, str] = field(default_factory=dict)

    @property
    def events(self) -> int:
        """Rows of sends, polls and commits."""
        return sum(self.rows[table] for table in EVENT_TABLES)


def make_universe(kind: str, index: int, seed: int, *, records: int, partitions: int) -> Universe:
    """A clean universe of a kind of KINDS."""
    return KINDS[kind](index, seed, records, partitions)


def planted_universe(
    plant: str | None, index: int, seed: int, *, records: int, partitions: int, kind: str = "plain"
) -> Universe:
    """A universe with one anomaly of a class of PLANTS, or a clean one of a kind."""
    if plant is None:
        universe = make_universe(kind, index, seed, records=records, partitions=partitions)
    else:
        made = PLANTS[plant]
        universe = make_universe(made.kind, index, seed, records=records, partitions=partitions)
        universe.plant = plant
        universe.planted = made.apply(universe, universe.random(_PLANTING))
    universe.expected += commits_behind_leaders(universe)
    universe.expected += reprocessing(universe)
    return universe


def commits_behind_leaders(universe: Universe) -> list[Place]:
    """Return the groups that committed exact epochs after a newer leader was elected."""
    commits = universe.frame("commits")
    groups_seen = set()
    for index in range(len(commits)):
        row = commits.row(index)
        at = int(row["committed_micros"]) // 1000 * 1000 + 1000
        led = universe.led_at(int(row["partition"]), at).epoch
        if row["committed_epoch"] < led:
            groups_seen.add((int(row["partition"]), str(row["group"])))
    return [
        Place("committed_epoch_behind_leader", "permitted", partition, group)
        for partition, group in sorted(groups_seen)
    ]


def reprocessing(universe: Universe) -> list[Place]:
    """The groups that must have, or may have, had records again."""
    known = (*universe.planted, *universe.expected)
    again = {place.group for place in known if place.check == "duplicate_delivery"}
    return [
        Place("reprocessing_amplification", None, None, group)
        for group in sorted(group for group in again if group is not None)
    ]


def universes_of(request: Request) -> Iterator[Universe]:
    """The universes of a history, in their order.

    Raises:
        UsageError: there is no such class, or too few events for what is asked.
    """
    require(request)
    kinds = list(KINDS)
    count = max(len(kinds), -(-request.events // _UNIVERSE_EVENTS))
    hosts: list[int] = []
    if request.plant is not None:
        kind = kinds.index(PLANTS[request.plant].kind)
        count = max(count, len(kinds) * request.count)
        able = np.arange(kind, count, len(kinds))
        chosen = np.random.default_rng([request.seed, _PLANTING])
        hosts = [int(one) for one in chosen.permutation(able)[: request.count]]
    each = request.events / count
    partitions = 2 if each / _EVENTS_A_RECORD < _SMALL_RECORDS else 4
    records = int((each / partitions - _COMMITS_A_PARTITION) / _EVENTS_A_RECORD)
    if records < _RECORDS_MIN:
        least = count * partitions * (_RECORDS_MIN * _EVENTS_A_RECORD + _COMMITS_A_PARTITION)
        raise UsageError(f"{request.count} anomalies need --events {int(least) + 1} or more")
    for index in range(count):
        yield planted_universe(
            request.plant if index in hosts else None,
            index,
            request.seed,
            records=records,
            partitions=partitions,
            kind=kinds[index % len(kinds)],
        )


def require(request: Request) -> None:
    """Check what is asked for.

    Raises:
        UsageError: it can't be generated.
    """
    if request.events < EVENTS_MIN:
        raise UsageError(f"--events {request.events}: a history has {EVENTS_MIN} or more")
    if request.plant is not None and request.plant not in PLANTS:
        known = ", ".join(sorted(PLANTS))
        raise UsageError(f"no class {request.plant} can be planted; there are {known}")
    if request.count < 1:
        raise UsageError(f"--count {request.count}: at least one, or no --plant")


def write_history(
    folder: RunFolder, universes: Iterable[Universe], description: RunDescription
) -> Generated:
    """Write `tables/`, `plan.json` and `run.json`; only one universe is in memory at a time.

    Args:
        folder: where to; what it has of these is replaced.
        universes: in the order of their topics.
        description: of the run; when it ended is added.
    """
    folder.tables.mkdir(parents=True, exist_ok=True)
    made = Generated()
    small: dict[str, list[pa.Table]] = {name: [] for name in TABLES if name not in _STREAMED}
    topics, groups = [], []
    numbering = Numbering()
    writers = {
        name: pq.ParquetWriter(folder.tables / f"{name}.parquet", TABLES[name], compression="zstd")
        for name in _STREAMED
    }
    try:
        for universe in universes:
            for name, table in finish(universe, numbering).items():
                made.rows[name] += table.num_rows
                if name in writers:
                    writers[name].write_table(table)
                else:
                    small[name].append(table)
            topics.append(universe.plan)
            groups += universe.groups
            made.expected[universe.topic] = universe.expected
            if universe.plant is not None:
                made.planted[universe.topic] = universe.planted
                made.plants[universe.topic] = universe.plant
    finally:
        for writer in writers.values():
            writer.close()
    for name, tables in small.items():
        whole = pa.concat_tables([TABLES[name].empty_table(), *tables])
        pq.write_table(laid_out(name, whole), folder.tables / f"{name}.parquet", compression="zstd")
    folder.write_plan(
        Plan(
            scenario="generated",
            question="Do the checks find the planted anomalies, and nothing else?",
            parameters={},
            topics=topics,
            groups=groups,
            must_judge=list(dict.fromkeys([*_MUST_JUDGE, *made.plants.values()])),
            expects=[],
        )
    )
    folder.write_run(description_of(description, len(topics)))
    return made


_MUST_JUDGE = [
    str(check)
    for check in (
        Check.LOST_RECORD,
        Check.SKIPPED_RECORD,
        Check.DUPLICATE_DELIVERY,
        Check.DUPLICATE_APPEND,
        Check.PHANTOM_RECORD,
        Check.COMMIT_REGRESSED,
        Check.COMMITTED_EPOCH_STALE,
        Check.ABORTED_READ,
        Check.LOG_DIVERGENCE,
    )
]
"""The checks that every history requires, a clean one too."""


def description_of(description: RunDescription, universes: int) -> RunDescription:
    """Return a description with the duration of this many universes."""
    return msgspec.structs.replace(
        description, ended_micros=BEGINNING_MICROS + micros(universes * UNIVERSE_SECONDS)
    )


def description(seed: int, command: str, git_head: str, versions: dict[str, str]) -> RunDescription:
    """Return `run.json` of a generated history."""
    return RunDescription(
        run_id="generated",
        scenario="generated",
        seed=seed,
        kafka=NO_KAFKA,
        cluster=GENERATED,
        clients={Client.JAVA.value: GENERATED},
        git_head=git_head,
        versions=versions,
        config={},
        command=command,
        rerun=command,
        started_micros=BEGINNING_MICROS,
    )
