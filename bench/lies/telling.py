"""Plant lies about rows, many in one trace, and find the checks that notice them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from analysis.statements.registry import CHECKS
from analysis.statements.trace import Trace
from bench.lies.alone import Load
from bench.lies.genuine import Genuine, Row, Tables, write_rows
from bench.lies.laying import (
    FIRST,
    KAFKAS_OWN,
    METADATA_STRIDE,
    PARTITIONS_EACH,
    PREFIX,
    joined,
    universe_of,
)
from bench.lies.lie import Lie, NoPlaceError
from contract.checks import Check
from contract.manifest import write_manifest
from contract.run_folder import RunFolder
from contract.verdicts import FindingVerdict

Seen = Counter[tuple[Any, ...]]
"""Findings, as (check, verdict, kind, topic, partition, group, offsets), without the universe."""
_ROWS_MAX = 200_000
"""Of a trace with several lies: more rows take more memory, and the same time."""
_SHARED_BY_ALL = (Check.CLOCK_SKEW, Check.PHASE_OVERRUN)
"""They judge all universes at once."""


@dataclass
class Told:
    """The outcome of a lie.

    Attributes:
        noticed: by (check, verdict), the number of findings that the genuine run does not have.
        error: the reason why it could not be planted.
    """

    lie: Lie
    noticed: Counter[tuple[str, str]] = field(default_factory=Counter)
    error: str = ""

    @property
    def is_noticed(self) -> bool:
        """Whether the named check has a finding of the named verdict."""
        return bool(self.noticed[str(self.lie.check), str(self.lie.verdict)])

    @property
    def accusers(self) -> list[str]:
        """The checks that report a violation because of a lie that only damages evidence."""
        if self.lie.verdict != FindingVerdict.UNDECIDED:
            return []
        return sorted({c for c, verdict in self.noticed if verdict == FindingVerdict.VIOLATION})


def tell_all(
    load: Load,
    lies: Iterable[Lie],
    genuine: dict[str, Genuine],
    place: Path,
    seed: int,
) -> Iterator[Told]:
    """Plant lies in as few small traces as possible, each beside the genuine run."""
    for number, batch in enumerate(_batches(lies, genuine)):
        folder = RunFolder(place / f"lies-{number}")
        yield from tell(load, batch, genuine, folder, seed)


def _batches(lies: Iterable[Lie], genuine: dict[str, Genuine]) -> Iterator[list[Lie]]:
    batch: list[Lie] = []
    rows = 0
    for lie in sorted(lies, key=lambda one: one.story):
        is_new = lie.story not in {one.story for one in batch}
        more = genuine[lie.story].rows * (1 + is_new)
        if batch and rows + more > _ROWS_MAX:
            yield batch
            batch, rows, more = [], 0, genuine[lie.story].rows * 2
        batch.append(lie)
        rows += more
    if batch:
        yield batch


def tell(
    load: Load,
    lies: list[Lie],
    genuine: dict[str, Genuine],
    folder: RunFolder,
    seed: int,
    *,
    checks: Iterable[Check] = tuple(CHECKS),
) -> Iterator[Told]:
    """Plant lies in one trace, and judge it by `checks`."""
    stories = sorted({lie.story for lie in lies})
    parts: list[tuple[Genuine, Tables]] = [
        (genuine[story], genuine[story].copy()) for story in stories
    ]
    told: list[Told] = []
    for lie in lies:
        tables = genuine[lie.story].copy()
        one = Told(lie)
        try:
            lie.change(tables, Random(f"{seed} {lie.name}"))  # noqa: S311 - not for secrets
        except NoPlaceError as error:
            one.error = str(error)
            yield one
            continue
        parts.append((genuine[lie.story], tables))
        told.append(one)
    seen = _found(_written(load, parts, folder), checks)
    base = {story: seen[index] for index, story in enumerate(stories, FIRST)}
    for index, one in enumerate(told, FIRST + len(stories)):
        new = seen[index] - base[one.lie.story]
        for (check, verdict, *_), count in new.items():
            one.noticed[check, verdict] += count
        yield one


def _written(load: Load, parts: list[tuple[Genuine, Tables]], folder: RunFolder) -> Trace:
    """Write and load a trace of all parts, each in a universe of its own."""
    plan, tables = joined(parts)
    folder.write_plan(plan)
    began = min(genuine.run.started_micros for genuine, _ in parts)
    run = msgspec.structs.replace(parts[0][0].run, started_micros=began, ended_micros=None)
    folder.write_run(run)
    for table, rows in tables.items():
        write_rows(folder, table, rows)
    write_manifest(folder)
    return load(folder)


def _found(trace: Trace, checks: Iterable[Check]) -> dict[int, Seen]:
    """Return the findings of the checks, counted by universe."""
    seen: dict[int, Seen] = defaultdict(Counter)
    asked = [check for check in checks if check not in _SHARED_BY_ALL]
    all_found = trace.engine.each(lambda check: findings(trace, check), asked)
    for check, rows in zip(asked, all_found, strict=True):
        for row in rows:
            universe = universe_of(row, trace.run.started_micros)
            if universe is not None:
                seen[universe][_signature(check, row, universe)] += 1
    return seen


def findings(trace: Trace, check: Check) -> list[Row]:
    """Return the findings of a check; none if a table that it needs is missing."""
    if CHECKS[check].lacks(trace):
        return []
    rows = CHECKS[check].judge(trace).findings.collect()
    return [{**row, "evidence": msgspec.json.decode(row["evidence"])} for row in rows]


def _signature(check: Check, row: Row, universe: int) -> tuple[Any, ...]:
    """What a finding is about, by the places that it has in the genuine run.

    Without a topic, its offsets are those of the metadata log.
    """
    back = 0 if row["topic"] else universe * METADATA_STRIDE
    partition = row["partition"]
    if partition is not None and str(row["topic"]).startswith(KAFKAS_OWN):
        partition -= universe * PARTITIONS_EACH
    where = (row[name] for name in ("topic", "group"))
    names = (PREFIX.sub("", name) if name else name for name in where)
    offsets = (row[name] for name in ("offset_first", "offset_last"))
    moved = (None if offset is None else offset - back for offset in offsets)
    return (str(check), row["verdict"], row["kind"], *names, partition, *moved)
