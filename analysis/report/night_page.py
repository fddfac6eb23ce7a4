"""The page of a night: is all as its suite expects, and what changed since the last one?"""

from pathlib import Path

from analysis.report.matrix import matrix, row_name
from analysis.report.night_changes import changes, last_night
from analysis.report.night_rows import Judged, decide_night, rows_of, unexercised
from analysis.report.page import environment
from analysis.report.run_rows import CARDS_MAX, RUNS_MAX, run_of, run_row
from analysis.report.words import duration
from contract.described import SCHEMA
from contract.nights import (
    SUMMARY_FILE,
    Night,
    NightSummary,
    Outcome,
    write_atomically,
)
from contract.regular_files import printable, replace_text
from contract.run_folder import report_folder
from contract.verdicts import RunVerdict


def write_night(path: Path, night: Night, judged: list[Judged]) -> NightSummary:
    """Write a night's `report/index.html` and `report/summary.json`; returns the summary."""
    rows = rows_of(path, night, judged)
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
        unexercised=unexercised(rows),
    )
    report = report_folder(path)
    failing = {row.report for row in rows if row.expect is RunVerdict.FAIL}
    of_report = {_report_of(one, path): one for one in judged}
    known = {name: run_row(one, report) for name, one in of_report.items()}
    page = (
        environment()
        .get_template("night.html.j2")
        .render(
            summary=summary,
            night=night,
            counts={outcome: sum(row.outcome is outcome for row in rows) for outcome in Outcome},
            unexpected=[row for row in rows if row.outcome is Outcome.UNEXPECTED],
            undecided=[row for row in rows if row.outcome is Outcome.UNDECIDED],
            known=known,
            row_name=row_name,
            matrix=matrix(
                [
                    run_of(one, known[name], must_fail=name in failing)
                    for name, one in of_report.items()
                ]
            ),
            runs_max=RUNS_MAX,
            cards_max=CARDS_MAX,
            duration=duration,
        )
    )
    replace_text(report / "index.html", page)
    write_atomically(report / SUMMARY_FILE, summary)
    return summary


def _report_of(one: Judged, path: Path) -> str:
    """As in `NightRow.report`."""
    return str((one.folder.report / "index.html").relative_to(path))
