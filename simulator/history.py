"""Whole histories: universes one after the other, written as the folder of a run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import BinaryIO

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from contract.checks import Check
from contract.clients import Client
from contract.errors import UsageError
from contract.ranges import RECORDS, count_rows
from contract.run_folder import GENERATED, NO_KAFKA, Plan, RunDescription, RunFolder
from contract.tables import TABLES, of_run
from simulator.finish import Numbering, finish, laid_out
from simulator.log import micros
from simulator.plain import fragmented_universe, plain_universe, unhealthy_universe
from simulator.plants import PLANTS
from simulator.transactional import transactional_universe
from simulator.unclean import unclean_universe
from simulator.universe import BEGINNING_MICROS, UNIVERSE_SECONDS, Place, Universe

EVENT_TABLES = ("sends", "polls", "commits")
"""The tables whose rows count as events."""
KINDS = {
    "plain": plain_universe,
    "unclean": unclean_universe,
    "transactional": transactional_universe,
}
"""The universes of a clean history, which follow each other in turn."""
EVENTS_MIN = 1_000
EVENTS_MAX = 10_000_000_000
"""Some 100 GB, and days."""
COUNT_MAX = 100_000
"""Each anomaly has a universe of its own."""
_STREAMED = ("sends", "polls", "commits", "committed_offsets", "replica_records", "replica_batches")
"""Tables that are written universe by universe; the others are small."""
_UNIVERSE_EVENTS = 250_000
_SMALL_RECORDS = 2_000
_RECORDS_MIN = 24
_PLANTING = 1


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """A kind of histories.

    Attributes:
        universes: by kind; they follow each other in turn.
        events_a_record: a send and its deliveries, less pauses while leaders change.
        commits: the number of commits of each partition.
        partitions: of each topic; None: by the number of records.
    """

    universes: Mapping[str, Callable[[int, int, int, int], Universe]]
    events_a_record: float
    commits: int
    partitions: int | None = None


CLEAN = "clean"
HISTORIES = {
    CLEAN: _Kind(universes=KINDS, events_a_record=2.84, commits=56),
    "unhealthy": _Kind(
        universes={"unhealthy": unhealthy_universe}, events_a_record=6.9, commits=10
    ),
    "fragmented": _Kind(
        universes={"fragmented": fragmented_universe},
        events_a_record=3.9,
        commits=84,
        partitions=60,
    ),
}
_UNIVERSES = {name: one for kind in HISTORIES.values() for name, one in kind.universes.items()}


@dataclass(frozen=True, kw_only=True)
class Request:
    """The history to generate.

    Attributes:
        events: the approximate number of rows of sends, polls and commits.
        kind: of HISTORIES.
        plant: a class of PLANTS, or None.
        count: the number of its anomalies, each in a universe of its own.
    """

    events: int
    seed: int
    kind: str = CLEAN
    plant: str | None = None
    count: int = 1

    @property
    def run_id(self) -> str:
        """All that was asked for but the seed: two histories that differ are two runs."""
        planted = "" if self.plant is None else f", {self.count} of {self.plant}"
        return f"generated: {self.kind}, {self.events} events{planted}"


@dataclass
class Generated:
    """A written history.

    Attributes:
        rows: by table; of tables of records the records.
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


def planted_universe(
    plant: str | None, index: int, seed: int, *, records: int, partitions: int, kind: str = "plain"
) -> Universe:
    """A universe with one anomaly of a class of PLANTS, or a clean one of a kind."""
    simulate = _UNIVERSES[kind if plant is None else PLANTS[plant].kind]
    universe = simulate(index, seed, records, partitions)
    if plant is not None:
        universe.plant = plant
        universe.planted = PLANTS[plant].apply(universe, universe.random(_PLANTING))
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
    asked = HISTORIES[request.kind]
    kinds = list(asked.universes)
    count = max(len(kinds), -(-request.events // _UNIVERSE_EVENTS))
    hosts: list[int] = []
    if request.plant is not None:
        kind = kinds.index(PLANTS[request.plant].kind)
        count = max(count, len(kinds) * request.count)
        able = np.arange(kind, count, len(kinds))
        chosen = np.random.default_rng([request.seed, _PLANTING])
        hosts = [int(one) for one in chosen.permutation(able)[: request.count]]
    each = request.events / count
    partitions = asked.partitions or (2 if each / asked.events_a_record < _SMALL_RECORDS else 4)
    records = int((each / partitions - asked.commits) / asked.events_a_record)
    if records < _RECORDS_MIN:
        least = count * partitions * (_RECORDS_MIN * asked.events_a_record + asked.commits)
        what = f"{request.count} anomalies need" if request.plant else f"{request.kind} needs"
        raise UsageError(f"{what} --events {int(least) + 1} or more")
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
    if request.events > EVENTS_MAX:
        raise UsageError(f"--events {request.events}: a history has {EVENTS_MAX} or fewer")
    if request.kind not in HISTORIES:
        kinds = ", ".join(HISTORIES)
        raise UsageError(f"--kind {request.kind}: the kinds of histories are {kinds}")
    if request.plant is not None and request.kind != CLEAN:
        raise UsageError(f"--kind {request.kind}: anomalies are planted in {CLEAN} histories only")
    if request.plant is not None and request.plant not in PLANTS:
        known = ", ".join(sorted(PLANTS))
        raise UsageError(f"no class {request.plant} can be planted; there are {known}")
    if not 1 <= request.count <= COUNT_MAX:
        raise UsageError(f"--count {request.count}: from 1 to {COUNT_MAX} anomalies, or no --plant")


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
    made, identity = Generated(), description.identity
    small: dict[str, list[pa.Table]] = {name: [] for name in TABLES if name not in _STREAMED}
    topics, groups = [], []
    numbering = Numbering()
    with ExitStack() as files:
        writers = {
            name: files.enter_context(
                pq.ParquetWriter(
                    files.enter_context(_opened(folder, name)),
                    of_run(TABLES[name], identity),
                    compression="zstd",
                )
            )
            for name in _STREAMED
        }
        for universe in universes:
            for name, table in finish(universe, numbering).items():
                made.rows[name] += count_rows(name, table)
                if name in writers:
                    writers[name].write_table(table.cast(of_run(table.schema, identity)))
                else:
                    small[name].append(table)
            topics.append(universe.plan)
            groups += universe.groups
            made.expected[universe.topic] = universe.expected
            if universe.plant is not None:
                made.planted[universe.topic] = universe.planted
                made.plants[universe.topic] = universe.plant
    for name, tables in small.items():
        whole = pa.concat_tables([TABLES[name].empty_table(), *tables])
        table = whole if name in RECORDS else laid_out(name, whole)
        table = table.cast(of_run(table.schema, identity))
        with _opened(folder, name) as file:
            pq.write_table(table, file, compression="zstd")
    has_transactions = made.rows["transactions"] > 0
    required = [one for one in _MUST_JUDGE if has_transactions or one != Check.ABORTED_READ]
    folder.write_plan(
        Plan(
            scenario="generated",
            question="Do the checks find the planted anomalies, and nothing else?",
            parameters={},
            topics=topics,
            groups=groups,
            must_judge=list(dict.fromkeys([*required, *made.plants.values()])),
            expects=[],
        )
    )
    ended_micros = BEGINNING_MICROS + micros(len(topics) * UNIVERSE_SECONDS)
    folder.write_run(msgspec.structs.replace(description, ended_micros=ended_micros))
    return made


def _opened(folder: RunFolder, table: str) -> BinaryIO:
    """A table's file to write; the folder's name may be no text in UTF-8."""
    return (folder.tables / f"{table}.parquet").open("wb")


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
"""The checks that every history requires, a clean one too.

A history without transactions does not require `aborted_read`.
"""


def description(
    seed: int,
    command: str,
    git_head: str,
    versions: dict[str, str],
    *,
    run_id: str = GENERATED,
) -> RunDescription:
    """Return `run.json` of a generated history; `run_id` as of its request."""
    return RunDescription(
        run_id=run_id,
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
