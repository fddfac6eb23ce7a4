"""Lies about whole tables and files, and about evidence as such: planted one at a time.

Each is judged from its folder, like a run, since a gap can make a whole run undecided.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import msgspec

from analysis.statements.registry import CHECKS
from analysis.statements.trace import Trace
from analysis.verdict.judge import judge
from bench.lies.genuine import Genuine, read_rows, write_rows
from bench.lies.lie import Change, NoPlaceError, Verb
from bench.lies.stories import TRUNCATION
from contract.checks import Check
from contract.errors import FencepostError
from contract.manifest import write_manifest
from contract.run_folder import PLAN_FILE, RUN_FILE, RunFolder
from contract.verdicts import CheckResult, CheckVerdict, RunVerdict, Verdict
from harness.collection.collect import decode_clients, decode_server_logs

Load = Callable[[RunFolder], Trace]
"""Reads a run's tables."""
Damage = Callable[[RunFolder, Random], None]
"""Changes a copy of a run's folder."""

UNCLEAR = (CheckVerdict.NOT_EVALUABLE, CheckVerdict.UNDECIDED)
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
_COPIED = ("history", "clients", "brokers", "segments", "tables")


@dataclass(frozen=True, kw_only=True)
class FileLie:
    """One lie about a table, a file or a description of the evidence.

    Attributes:
        of: the table or file.
        check: must have one of `verdicts`; None: the run as a whole must not pass.
        tables: only checks that read one of these can report a violation because of it; empty: all.
        story: the genuine run, by its name in `bench.lies.stories`.
        decodes: whether the lie changes histories or logs, so that they are decoded again.
    """

    name: str
    verb: Verb
    of: str
    check: Check | None
    change: Damage
    verdicts: tuple[CheckVerdict, ...] = UNCLEAR
    decodes: bool = False
    tables: tuple[str, ...] = ()
    story: str = TRUNCATION


@dataclass(frozen=True)
class ToldAlone:
    """The outcome of a lie.

    Attributes:
        verdict: of the run.
        seen: the named check's verdict.
        is_new: whether it, its findings or its reason differ from those in the genuine run.
        accusers: checks that are violated here and not in the genuine run; none for a lie that is
            a violation itself.
        error: the error's text, if the lie could not be planted or judged.
    """

    lie: FileLie
    verdict: str
    seen: str
    is_new: bool = False
    accusers: tuple[str, ...] = ()
    error: str = ""

    @property
    def is_noticed(self) -> bool:
        """Whether the run does not pass, and the named check has one of the lie's verdicts."""
        is_permitted = CheckVerdict.PERMITTED in self.lie.verdicts
        is_clear = self.verdict == RunVerdict.PASS and not is_permitted
        is_seen = self.lie.check is None or (self.is_new and self.seen in self.lie.verdicts)
        return not self.error and not is_clear and is_seen


def of_rows(change: Change) -> Damage:
    """Change rows of the tables."""

    def damage(folder: RunFolder, random: Random) -> None:
        names = [path.stem for path in folder.tables.glob("*.parquet")]
        tables = {table: read_rows(folder, table) for table in names}
        before = {table: [dict(row) for row in rows] for table, rows in tables.items()}
        change(tables, random)
        for table in names:
            if tables[table] != before[table]:
                write_rows(folder, table, tables[table])

    return damage


def tell_alone(
    load: Load,
    lies: Iterable[FileLie],
    genuine: Genuine,
    place: Path,
    seed: int,
    *,
    accusers: Iterable[Check] = ACCUSERS,
) -> Iterator[ToldAlone]:
    """Plant each lie in a copy of a run's folder, and judge it by its check and `accusers`."""
    lies, accusers = list(lies), tuple(accusers)
    copy = copied(genuine.folder, place / "genuine")
    every = _asked([*(lie.check for lie in lies), *accusers])
    _must_judge(copy, every)
    write_manifest(copy)
    before = judge(load(copy), only=every)
    touched = _touched(load(copy), accusers)
    for number, lie in enumerate(lies):
        folder = copied(genuine.folder, place / f"alone-{number}")
        accusing = [one for one in accusers if not lie.tables or touched[one] & set(lie.tables)]
        asked = _asked([lie.check, *accusing])
        _must_judge(folder, asked)
        try:
            lie.change(folder, Random(f"{seed} {lie.name}"))  # noqa: S311 - not for secrets
            if lie.decodes:
                decode_clients(folder, folder.tables)
                decode_server_logs(folder, folder.tables)
            write_manifest(folder)
            yield _compared(lie, before, judge(load(folder), only=asked))
        except (NoPlaceError, FencepostError) as error:
            yield ToldAlone(lie, "", "", error=f"{type(error).__name__}: {error}")
        shutil.rmtree(folder.path)


def copied(folder: RunFolder, place: Path) -> RunFolder:
    """Copy a run's folder without its report, and without its manifest, which shows any change.

    A lie is planted before the manifest of its copy is written.
    """
    place.mkdir(parents=True)
    for name in _COPIED:
        if (folder.path / name).exists():
            shutil.copytree(folder.path / name, place / name)
    for name in (PLAN_FILE, RUN_FILE):
        shutil.copy(folder.path / name, place)
    return RunFolder(place)


def _touched(trace: Trace, checks: Iterable[Check]) -> dict[Check, set[str]]:
    """Return, by check, the tables that it reads."""
    tables: dict[Check, set[str]] = {check: set() for check in checks}
    for check in tables:
        if check in CHECKS:
            with trace.touched() as asked:
                CHECKS[check].judge(trace)
            tables[check] = set(asked)
    return tables


def _asked(checks: Iterable[Check | None]) -> list[Check]:
    return sorted({Check.HISTORY_COMPLETE, *(check for check in checks if check is not None)})


def _must_judge(folder: RunFolder, asked: list[Check]) -> None:
    """Keep only the asked checks in the plan's `must_judge`: all checks would take too long."""
    plan = folder.plan()
    named = [check for check in plan.must_judge if check in asked]
    must_judge = named or [str(Check.HISTORY_COMPLETE)]
    folder.write_plan(msgspec.structs.replace(plan, must_judge=must_judge))


def _compared(lie: FileLie, before: Verdict, after: Verdict) -> ToldAlone:
    accusers = [
        name
        for name, result in after.checks.items()
        if CheckVerdict.VIOLATED not in lie.verdicts
        and result.verdict == CheckVerdict.VIOLATED
        and before.checks[name].verdict != CheckVerdict.VIOLATED
    ]
    name = str(lie.check)
    named, was = after.checks.get(name), before.checks.get(name)
    seen = str(named.verdict) if named else ""
    return ToldAlone(
        lie, str(after.verdict), seen, _result_of(named) != _result_of(was), tuple(accusers)
    )


def _result_of(result: CheckResult | None) -> tuple[str, int, str] | None:
    return (str(result.verdict), result.findings, result.reason) if result else None
