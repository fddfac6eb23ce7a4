"""Judges tampered copies of genuine runs: many in one trace, or each from a folder of its own."""

import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from analysis.statements.registry import CHECKS
from analysis.statements.trace import Trace
from analysis.verdict.judge import judge
from contract.errors import FencepostError
from contract.manifest import write_manifest
from contract.run_folder import RunFolder
from contract.terms import Check
from contract.verdicts import CheckResult, CheckVerdict, RunVerdict, Verdict
from harness.collection.collect import decode_clients, decode_server_logs
from tests.exam.tamperings.files import change_file
from tests.exam.tamperings.genuine import Genuine, copy_run, write_rows
from tests.exam.tamperings.rows import NoPlaceError
from tests.exam.tamperings.tampering import VERDICTS, Tampering
from tests.exam.world import KAFKAS_OWN, METADATA_ENTRIES, NUMBERS, Place, Row, Tables, World

Load = Callable[[RunFolder], Trace]
"""Reads a run's tables."""
Seen = Counter[tuple[Any, ...]]
"""Findings, as (check, verdict, kind, topic, partition, group, offsets), without their place."""

SEED = 19902
ACCUSERS = (
    Check.LOST_RECORD,
    Check.SKIPPED_RECORD,
    Check.PHANTOM_RECORD,
    Check.OUTCOME_MISMATCH,
    Check.COMMIT_BEYOND_PROCESSED,
    Check.COMMIT_BEYOND_LOG,
    Check.LOST_COMMIT,
    Check.COMMIT_MISMATCH,
    Check.START_MISMATCH,
    Check.ORPHAN_COMMIT,
    Check.COMMITTED_EPOCH_UNKNOWN,
    Check.TRUNCATION_UNDETECTED,
    Check.UNJUSTIFIED_RESET,
    Check.LEADER_COMPLETENESS,
    Check.ISR_INCOMPLETE,
    Check.METADATA_DIVERGENCE,
    Check.UNCLEAN_ELECTION_UNCONFIGURED,
    Check.PRODUCE_UNAVAILABLE,
    Check.HISTORY_COMPLETE,
)
"""Checks that could report missing evidence as a violation."""
_ROWS_MAX = 200_000
"""Of a trace with several tamperings: more rows take more memory, and the same time."""
_SHARED_BY_ALL = (Check.CLOCK_SKEW, Check.PHASE_OVERRUN)
"""They judge all copies at once."""


@dataclass
class Outcome:
    """What the checks said of a tampered run.

    Attributes:
        new: by (check, verdict), the number of findings that the genuine run does not have.
        run: of one that was judged alone, the verdict of the run.
        seen: and that of the named check.
        is_new: whether it, its findings or its reason differ from those in the genuine run.
        accusers: checks that report a violation because of damaged evidence.
        error: the reason why the run could not be tampered with, or judged.
    """

    tampering: Tampering
    new: Counter[tuple[str, str]] = field(default_factory=Counter)
    run: str = ""
    seen: str = ""
    is_new: bool = False
    accusers: tuple[str, ...] = ()
    error: str = ""

    @property
    def is_noticed(self) -> bool:
        """Whether the named check has a new finding, or alone a result, of the named verdict.

        A run that is judged alone must not pass.
        """
        tampering = self.tampering
        if not tampering.alone:
            return bool(self.new[str(tampering.check), str(tampering.finding)])
        is_clear = self.run == RunVerdict.PASS and tampering.verdict != "permitted"
        is_seen = tampering.check is None or (
            self.is_new and self.seen in VERDICTS[tampering.verdict]
        )
        return not self.error and not is_clear and is_seen


def judge_together(
    load: Load,
    tamperings: Iterable[Tampering],
    genuine: dict[str, Genuine],
    place: Path,
    *,
    checks: Iterable[Check] = tuple(CHECKS),
) -> Iterator[Outcome]:
    """Judge as few small traces as possible, each with the genuine runs beside the tampered."""
    for number, batch in enumerate(_batches(tamperings, genuine)):
        folder = RunFolder(place / f"tampered-{number}")
        yield from _judge_batch(load, batch, genuine, folder, checks)
        shutil.rmtree(folder.path)


def _batches(
    tamperings: Iterable[Tampering], genuine: dict[str, Genuine]
) -> Iterator[list[Tampering]]:
    batch: list[Tampering] = []
    rows = 0
    for tampering in sorted(tamperings, key=lambda tampering: tampering.run):
        is_new = tampering.run not in {other.run for other in batch}
        more = genuine[tampering.run].row_count * (1 + is_new)
        if batch and rows + more > _ROWS_MAX:
            yield batch
            batch, rows, more = [], 0, genuine[tampering.run].row_count * 2
        batch.append(tampering)
        rows += more
    if batch:
        yield batch


def _judge_batch(
    load: Load,
    batch: list[Tampering],
    genuine: dict[str, Genuine],
    folder: RunFolder,
    checks: Iterable[Check],
) -> Iterator[Outcome]:
    runs = sorted({tampering.run for tampering in batch})
    parts = [(genuine[run], genuine[run].tables) for run in runs]
    outcomes: list[Outcome] = []
    for tampering in batch:
        outcome, run = Outcome(tampering), genuine[tampering.run]
        try:
            with run.rows.change_rows(tampering.steps, chance(tampering)) as changed:
                parts.append((run, run.tables | changed))
        except NoPlaceError as error:
            outcome.error = str(error)
            yield outcome
            continue
        outcomes.append(outcome)
    # There is none with the genuine places in the metadata log, where what is judged by the log's
    # start would differ from all others.
    world = World([f"r{number:03}" for number in range(len(parts))], first=1)
    seen = _found(load(lay_out(parts, world, folder)), world, checks)
    base = {run: seen[place] for run, place in zip(runs, world.places, strict=False)}
    for whole, place in zip(outcomes, world.places[len(runs) :], strict=True):
        for (check, verdict, *_), count in (seen[place] - base[whole.tampering.run]).items():
            whole.new[check, verdict] += count
        yield whole


def chance(tampering: Tampering) -> Random:
    """What chooses a tampering's place."""
    return Random(f"{SEED} {tampering.name}")


def lay_out(parts: list[tuple[Genuine, Tables]], world: World, folder: RunFolder) -> RunFolder:
    """Write a trace of runs, or tampered copies of them, each in a place of its own."""
    tables: Tables = defaultdict(list)
    first = parts[0][0]
    topics, groups = [], []
    for (genuine, rows), place in zip(parts, world.places, strict=True):
        for table, own in place.lay(rows, genuine.run.started_micros).items():
            tables[table] += own
        topics += place.topics(genuine.plan)
        groups += place.groups(genuine.plan)
    folder.write_plan(
        msgspec.structs.replace(first.plan, topics=topics, groups=groups, must_judge=[], expects=[])
    )
    began = world.places[0].began_micros
    folder.write_run(msgspec.structs.replace(first.run, started_micros=began, ended_micros=None))
    for table, own in tables.items():
        write_rows(folder, table, own)
    write_manifest(folder)
    return folder


def _found(trace: Trace, world: World, checks: Iterable[Check]) -> dict[Place, Seen]:
    """The findings of the checks, counted by place."""
    seen: dict[Place, Seen] = defaultdict(Counter)
    asked = [check for check in checks if check not in _SHARED_BY_ALL]
    for check in asked:
        for row in _findings(trace, check):
            place = world.place_of(row)
            if place is not None:
                seen[place][_without_place(check, row, place)] += 1
    return seen


def _findings(trace: Trace, check: Check) -> list[Row]:
    """The findings of a check; none if a table that it needs is missing."""
    if CHECKS[check].lacks(trace):
        return []
    rows: list[Row] = CHECKS[check].judge(trace).findings.collect()
    return rows


def _without_place(check: Check, row: Row, place: Place) -> tuple[Any, ...]:
    """What a finding is about, by the names and numbers that it has in the genuine run.

    Without a topic, its offsets are those of the metadata log.
    """
    back = 0 if row["topic"] else place.index * METADATA_ENTRIES
    partition = row["partition"]
    if partition is not None and str(row["topic"]).startswith(KAFKAS_OWN):
        partition -= place.index * NUMBERS
    own = f"{place.name}."
    names = (row[name] and row[name].removeprefix(own) for name in ("topic", "group"))
    offsets = (row[name] for name in ("offset_first", "offset_last"))
    moved = (None if offset is None else offset - back for offset in offsets)
    return (str(check), row["verdict"], row["kind"], *names, partition, *moved)


def judge_alone(
    load: Load,
    tamperings: Iterable[Tampering],
    genuine: Genuine,
    place: Path,
    *,
    accusers: Iterable[Check] = ACCUSERS,
) -> Iterator[Outcome]:
    """Judge each in a copy of the run's folder, by its check and `accusers`."""
    tamperings, accusers = list(tamperings), tuple(accusers)
    copy = copy_run(genuine.folder, place / "genuine")
    every = _checks_to_judge([*(tampering.check for tampering in tamperings), *accusers])
    _must_judge(copy, every)
    write_manifest(copy)
    before = judge(load(copy), only=every)
    touched = _tables_read(load(copy), accusers)
    whole = genuine.whole
    for number, tampering in enumerate(tamperings):
        folder = copy_run(genuine.folder, place / f"alone-{number}")
        accusing = [
            check for check in accusers if not tampering.tables or touched[check] & tampering.tables
        ]
        asked = _checks_to_judge([tampering.check, *accusing])
        _must_judge(folder, asked)
        try:
            tamper(folder, tampering, whole)
            write_manifest(folder)
            yield _compare(tampering, before, judge(load(folder), only=asked))
        except FencepostError as error:
            yield Outcome(tampering, error=f"{type(error).__name__}: {error}")
        shutil.rmtree(folder.path)


def tamper(folder: RunFolder, tampering: Tampering, genuine: Genuine) -> None:
    """Change a copy of a whole run's folder.

    Raises:
        FencepostError: no place fits, or what changed does not decode.
    """
    random = chance(tampering)
    if tampering.is_of_rows:
        with genuine.rows.change_rows(tampering.steps, random) as changed:
            for table, rows in changed.items():
                write_rows(folder, table, rows)
    else:
        for step in tampering.steps:
            change_file(folder, step, random)
    if tampering.decodes:
        decode_clients(folder, folder.tables)
        decode_server_logs(folder, folder.tables)


def _tables_read(trace: Trace, checks: Iterable[Check]) -> dict[Check, set[str]]:
    """By check, the tables that it reads."""
    tables: dict[Check, set[str]] = {check: set() for check in checks}
    for check in tables:
        if check in CHECKS:
            with trace.watch_tables() as asked:
                CHECKS[check].judge(trace)
            tables[check] = set(asked)
    return tables


def _checks_to_judge(checks: Iterable[Check | None]) -> list[Check]:
    return sorted({Check.HISTORY_COMPLETE, *(check for check in checks if check is not None)})


def _must_judge(folder: RunFolder, asked: list[Check]) -> None:
    """Keep only the asked checks in the plan's `must_judge`: all checks would take too long."""
    plan = folder.plan()
    named = [check for check in plan.must_judge if check in asked]
    must_judge = named or [str(Check.HISTORY_COMPLETE)]
    folder.write_plan(msgspec.structs.replace(plan, must_judge=must_judge))


def _compare(tampering: Tampering, before: Verdict, after: Verdict) -> Outcome:
    accusers = tuple(
        name
        for name, result in after.checks.items()
        if tampering.verdict != "violation"
        and result.verdict == CheckVerdict.VIOLATED
        and before.checks[name].verdict != CheckVerdict.VIOLATED
    )
    name = str(tampering.check)
    named, was = after.checks.get(name), before.checks.get(name)
    seen = str(named.verdict) if named else ""
    is_new = _result_of(named) != _result_of(was)
    run = str(after.verdict)
    return Outcome(tampering, run=run, seen=seen, is_new=is_new, accusers=accusers)


def _result_of(result: CheckResult | None) -> tuple[str, int, str] | None:
    return (str(result.verdict), result.findings, result.reason) if result else None
