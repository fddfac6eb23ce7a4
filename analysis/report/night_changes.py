"""What changed from one night of a suite to the next."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from contract.errors import RunFolderError
from contract.nights import (
    NIGHT_FILE,
    Change,
    CheckCount,
    Night,
    NightRow,
    NightSummary,
    read_night,
    read_summary,
)
from contract.verdicts import CheckVerdict

_T = TypeVar("_T")
_NOTHING = CheckCount(verdict=CheckVerdict.NOT_EVALUABLE, findings=0)


def last_night(path: Path, night: Night) -> NightSummary | None:
    """The summary of the last finished night before this one, of the same suite and pool.

    A night whose files do not read is passed over: it is no reason to have no report of this one.
    """
    before: list[tuple[int, Path]] = []
    for file in path.resolve().parent.glob(f"*/{NIGHT_FILE}"):
        other = _unless_damaged(read_night, file.parent)
        if (
            other is not None
            and other.ended_micros is not None
            and other.started_micros < night.started_micros
            and (other.suite, other.cluster) == (night.suite, night.cluster)
        ):
            before.append((other.started_micros, file.parent))
    newest_first = (folder for _, folder in sorted(before, reverse=True))
    summaries = (_unless_damaged(read_summary, folder) for folder in newest_first)
    return next((summary for summary in summaries if summary is not None), None)


def _unless_damaged(read: Callable[[Path], _T | None], folder: Path) -> _T | None:
    try:
        return read(folder)
    except RunFolderError:
        return None


def changes(before: list[NightRow], after: list[NightRow]) -> list[Change]:
    """Verdicts that changed, findings that came, went or differ in count, and runs that did.

    And per run the checks that were evaluated in one of the nights only.

    Runs are matched by scenario, parameters, version and repeat, not by seed. A run that could
    not be judged on either side is compared by its verdict alone.
    """
    old, new = _by_name(before), _by_name(after)
    found: list[Change] = []
    for name, row in new.items():
        if name not in old:
            found.append(Change(run=name, what="run", change=f"new: {row.verdict}"))
        else:
            found += _changes_of(name, old[name], row)
    gone = [name for name in old if name not in new]
    found += [Change(run=name, what="run", change=f"gone: {old[name].verdict}") for name in gone]
    return found


def _changes_of(name: str, old: NightRow, new: NightRow) -> list[Change]:
    found: list[Change] = []
    if old.verdict is not new.verdict:
        found.append(Change(run=name, what="verdict", change=f"{old.verdict} → {new.verdict}"))
    if not old.checks or not new.checks:
        return found
    if old.evaluated != new.evaluated:
        found.append(Change(run=name, what="evaluated", change=_evaluated_change(old, new)))
    for check in new.evaluated:
        before, after = old.checks.get(check, _NOTHING), new.checks[check]
        reported = _check_change(before, after)
        if reported and (after.findings or before.verdict is not CheckVerdict.NOT_EVALUABLE):
            found.append(Change(run=name, what=check, change=reported))
    return found


def _evaluated_change(old: NightRow, new: NightRow) -> str:
    """Such as `62 → 61 checks; no longer: lost_commit`."""
    gone = sorted(set(old.evaluated) - set(new.evaluated))
    come = sorted(set(new.evaluated) - set(old.evaluated))
    parts = [f"{len(old.evaluated)} → {len(new.evaluated)} checks"]
    parts += [f"no longer: {', '.join(gone)}"] if gone else []
    parts += [f"newly: {', '.join(come)}"] if come else []
    return "; ".join(parts)


def _check_change(old: CheckCount, new: CheckCount) -> str:
    """Empty where both came to the same."""
    parts = []
    if old.findings != new.findings:
        way = "appeared" if not old.findings else "changed" if new.findings else "disappeared"
        parts.append(f"findings {way}: {old.findings} → {new.findings}")
    if old.verdict is not new.verdict:
        parts.append(f"{old.verdict} → {new.verdict}")
    return ", ".join(parts)


def _by_name(rows: list[NightRow]) -> dict[str, NightRow]:
    """Rows by their key; a number behind it where several have the same."""
    seen: Counter[str] = Counter()
    named: dict[str, NightRow] = {}
    for row in rows:
        seen[row.key] += 1
        named[row.key if seen[row.key] == 1 else f"{row.key} ({seen[row.key]})"] = row
    return named
