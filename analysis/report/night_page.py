"""The page of a night: is all as its suite expects, and what changed since the last one?"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from analysis.report.matrix import matrix, row_name
from analysis.report.morning_view import TRENDS_MAX, view_of
from analysis.report.night_rows import Judged, decide_night, rows_of, unexercised_checks, with_known
from analysis.report.run_rows import CARDS_MAX, RUNS_MAX, run_of, run_row
from analysis.report.templating import environment
from analysis.report.words import duration
from contract.errors import RunFolderError
from contract.files import SCHEMA, printable, replace_text
from contract.nights import (
    NIGHT_FILE,
    RANDOM,
    SUMMARY_FILE,
    Change,
    CheckCount,
    Morning,
    Night,
    NightRow,
    NightSummary,
    Outcome,
    read_night,
    read_summary,
    write_atomically,
)
from contract.run_folder import report_folder
from contract.verdicts import CheckVerdict, RunVerdict


def write_night(
    path: Path, night: Night, judged: list[Judged], morning: Morning | None = None
) -> NightSummary:
    """Write a night's `report/index.html` and `report/summary.json`; returns the summary."""
    rows = rows_of(path, night, judged)
    if morning is not None:
        rows = with_known(rows, morning)
    before = last_night(path, night)
    summary = NightSummary(
        schema=SCHEMA,
        night=printable(path.resolve().name),
        suite=night.suite,
        cluster=night.cluster,
        seed=night.seed,
        verdict=decide_night(rows),
        runs=rows,
        compared_with=None if before is None else before.night,
        changes=[] if before is None else changes(before.runs, rows),
        unexercised=unexercised_checks(rows),
        stopped=night.stopped,
        morning=morning,
    )
    report = report_folder(path)
    failing = {row.report for row in rows if row.expect is RunVerdict.FAIL}
    with_reasons = {row.report for row in rows if row.outcome is Outcome.KNOWN}
    view = None if morning is None else view_of(path, night, rows, morning)
    omitted = [] if view is None else view.omitted
    with_findings = set() if morning is None else _with_findings(morning)
    of_report = {_report_of(run, path): run for run in judged}
    known = {name: run_row(run, report) for name, run in of_report.items()}
    page = (
        environment()
        .get_template("night.html.j2")
        .render(
            summary=summary,
            night=night,
            counts=_counts(rows),
            view=view,
            unexpected=[
                row
                for row in rows
                if row.outcome is Outcome.UNEXPECTED and row.report not in with_findings
            ],
            undecided=[
                row for row in rows if row.outcome is Outcome.UNDECIDED and row not in omitted
            ],
            omitted=[row for row in rows if row.outcome is Outcome.OMITTED and row not in omitted],
            known=known,
            row_name=row_name,
            matrix=matrix(
                [
                    run_of(
                        run,
                        known[name],
                        must_fail=name in failing,
                        is_known=name in with_reasons,
                    )
                    for name, run in of_report.items()
                ]
            ),
            runs_max=RUNS_MAX,
            trends_max=TRENDS_MAX,
            cards_max=CARDS_MAX,
            duration=duration,
        )
    )
    replace_text(report / "index.html", page)
    write_atomically(report / SUMMARY_FILE, summary)
    return summary


def _counts(rows: list[NightRow]) -> dict[Outcome, int]:
    """How many runs came to which outcome; none is said of those that are omitted or known."""
    counts = {outcome: sum(row.outcome is outcome for row in rows) for outcome in Outcome}
    for rare in (Outcome.OMITTED, Outcome.KNOWN):
        if not counts[rare]:
            del counts[rare]
    return counts


def _with_findings(morning: Morning) -> set[str]:
    """The reports of the runs that have a card of one of their findings."""
    sightings = (sighting for finding in morning.findings for sighting in finding.sightings)
    return {f"{sighting.run}/report/index.html" for sighting in sightings}


def _report_of(judged: Judged, path: Path) -> str:
    """As in `NightRow.report`."""
    return str((judged.folder.report / "index.html").relative_to(path))


# What changed from one night of a suite to the next.

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
    """Verdicts that changed, findings that came or went, and runs that did.

    Where only their counts differ, which depend on the seed, a run has one line of them.

    And per run the checks that were evaluated in one of the nights only.

    Runs are matched by scenario, parameters, version and repeat, not by seed. A run that could
    not be judged on either side is compared by its verdict alone. Runs of random plans are not
    compared, as each night has other plans.
    """
    old, new = _by_name(_comparable(before)), _by_name(_comparable(after))
    found: list[Change] = []
    for name, row in new.items():
        if row.outcome is Outcome.OMITTED or (name in old and old[name].outcome is Outcome.OMITTED):
            continue
        if name not in old:
            found.append(Change(run=name, what="run", change=f"new: {row.verdict}"))
        else:
            found += _changes_of(name, old[name], row)
    gone = [name for name in old if name not in new]
    found += [Change(run=name, what="run", change=f"gone: {old[name].verdict}") for name in gone]
    return found


def _comparable(rows: list[NightRow]) -> list[NightRow]:
    return [row for row in rows if row.scenario != RANDOM]


def _changes_of(name: str, old: NightRow, new: NightRow) -> list[Change]:
    found: list[Change] = []
    if old.verdict is not new.verdict:
        found.append(Change(run=name, what="verdict", change=f"{old.verdict} → {new.verdict}"))
    if not old.checks or not new.checks:
        return found
    if old.evaluated != new.evaluated:
        found.append(Change(run=name, what="evaluated", change=_evaluated_change(old, new)))
    counts = []
    for check in new.evaluated:
        before, after = old.checks.get(check, _NOTHING), new.checks[check]
        reported = _check_change(before, after)
        if reported and (after.findings or before.verdict is not CheckVerdict.NOT_EVALUABLE):
            found.append(Change(run=name, what=check, change=reported))
        elif after.findings != before.findings:
            counts.append(f"{check} {before.findings} → {after.findings}")
    if counts:
        found.append(Change(run=name, what="findings", change=f"counted: {', '.join(counts)}"))
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
    """Empty where both came to the same; other counts depend on the seed."""
    parts = []
    if bool(old.findings) != bool(new.findings):
        way = "disappeared" if old.findings else "appeared"
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
