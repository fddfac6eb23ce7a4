"""Whole histories: universes one after the other, written as the folder of a run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from contract.errors import UsageError
from contract.files import replacing
from contract.ranges import RECORDS, count_rows
from contract.run_folder import GENERATED, NO_KAFKA, Plan, RunDescription, RunFolder
from contract.software import Client
from contract.tables import TABLES, of_run
from contract.terms import Check
from simulator.finish import Numbering, finish, laid_out
from simulator.log import micros
from simulator.plain import fragmented_universe, plain_universe, unhealthy_universe
from simulator.transactional import transactional_universe
from simulator.unclean import unclean_universe
from simulator.universe import BEGINNING_MICROS, UNIVERSE_SECONDS, Universe

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
_STREAMED = ("sends", "polls", "commits", "committed_offsets", "replica_records", "replica_batches")
"""Tables that are written universe by universe; the others are small."""
_UNIVERSE_EVENTS = 250_000
_SMALL_RECORDS = 2_000
_RECORDS_MIN = 24


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


@dataclass(frozen=True, kw_only=True)
class Request:
    """The history to generate.

    Attributes:
        events: the approximate number of rows of sends, polls and commits.
        kind: of HISTORIES.
    """

    events: int
    seed: int
    kind: str = CLEAN

    @property
    def run_id(self) -> str:
        """All that was asked for but the seed: two histories that differ are two runs."""
        return f"generated: {self.kind}, {self.events} events"


@dataclass
class Generated:
    """A written history.

    Attributes:
        rows: by table; of tables of records the records.
        topics: their names.
    """

    rows: Counter[str] = field(default_factory=Counter)
    topics: list[str] = field(default_factory=list)

    @property
    def events(self) -> int:
        """Rows of sends, polls and commits."""
        return sum(self.rows[table] for table in EVENT_TABLES)


def universes_of(request: Request) -> Iterator[Universe]:
    """The universes of a history, in their order.

    Raises:
        UsageError: there is no such kind, or too few events for it.
    """
    require(request)
    asked = HISTORIES[request.kind]
    kinds = list(asked.universes)
    count = max(len(kinds), -(-request.events // _UNIVERSE_EVENTS))
    each = request.events / count
    partitions = asked.partitions or (2 if each / asked.events_a_record < _SMALL_RECORDS else 4)
    records = int((each / partitions - asked.commits) / asked.events_a_record)
    if records < _RECORDS_MIN:
        least = count * partitions * (_RECORDS_MIN * asked.events_a_record + asked.commits)
        raise UsageError(f"{request.kind} needs --events {int(least) + 1} or more")
    for index in range(count):
        simulate = asked.universes[kinds[index % len(kinds)]]
        yield simulate(index, request.seed, records, partitions)


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
    with _without_empty(folder.tables), ExitStack() as files:
        writers = {
            name: files.enter_context(
                pq.ParquetWriter(
                    files.enter_context(_replace_table(folder, name)),
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
            made.topics.append(universe.topic)
    for name, tables in small.items():
        whole = pa.concat_tables([TABLES[name].empty_table(), *tables])
        table = whole if name in RECORDS else laid_out(name, whole)
        table = table.cast(of_run(table.schema, identity))
        with _replace_table(folder, name) as file:
            pq.write_table(table, file, compression="zstd")
    has_transactions = made.rows["transactions"] > 0
    required = [check for check in _MUST_JUDGE if has_transactions or check != Check.ABORTED_READ]
    folder.write_plan(
        Plan(
            scenario="generated",
            question="Do the checks find nothing?",
            parameters={},
            topics=topics,
            groups=groups,
            must_judge=required,
            expects=[],
        )
    )
    ended_micros = BEGINNING_MICROS + micros(len(topics) * UNIVERSE_SECONDS)
    folder.write_run(msgspec.structs.replace(description, ended_micros=ended_micros))
    return made


@contextmanager
def _without_empty(folder: Path) -> Iterator[None]:
    """Let an exception in the block leave no empty folder."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            folder.rmdir()
        raise


def _replace_table(folder: RunFolder, table: str) -> AbstractContextManager[BinaryIO]:
    """A table's file to write; the folder's name may be no text in UTF-8."""
    return replacing(folder.tables / f"{table}.parquet")


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
"""The checks that every history requires.

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
