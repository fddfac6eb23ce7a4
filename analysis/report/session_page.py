"""The page of a session, over all its runs; and ducktape's own report, which names it."""

import os
from pathlib import Path
from typing import Any

import msgspec

from analysis.report.matrix import matrix
from analysis.report.night_rows import Judged
from analysis.report.run_rows import CARDS_MAX, RUNS_MAX, RunRow, run_of, run_row
from analysis.report.templating import environment
from analysis.report.words import duration, with_noun
from contract.files import is_below, printable, read_file, replace_file, replace_text
from contract.program import escape_orders
from contract.run_folder import report_folder
from contract.verdicts import RunVerdict


def write_session(session: Path, runs: list[Judged]) -> None:
    """Write a session's `report/index.html` and `summary.json`; a single run has its own."""
    if not runs or session == runs[0].folder.path:
        return
    report = report_folder(session)
    rows = [_row(run, session, report) for run in runs]
    text = msgspec.json.format(msgspec.json.encode({"schema": 1, "runs": rows}), indent=2)
    replace_file(report / "summary.json", text + b"\n")
    listed = [run_row(run, report) for run in runs]
    page = (
        environment()
        .get_template("session.html.j2")
        .render(
            name=escape_orders(session.resolve().name),
            summary=summary_line(listed),
            rows=listed,
            unexpected=[row for row in listed if row.unexpected],
            undecided=[row for row in listed if row.verdict == RunVerdict.UNDECIDED],
            matrix=matrix([run_of(run, row) for run, row in zip(runs, listed, strict=True)]),
            duration=duration,
            runs_max=RUNS_MAX,
            cards_max=CARDS_MAX,
            ducktape=os.path.relpath(session / NAME, report) if name_ours(session) else "",
        )
    )
    replace_text(report / "index.html", page)


def summary_line(rows: list[RunRow]) -> str:
    """How many runs pass, fail and are undecided, and how many findings are unexpected."""
    by_verdict = {verdict: sum(row.verdict == verdict for row in rows) for verdict in RunVerdict}
    counted = [f"{count} {verdict}" for verdict, count in by_verdict.items() if count]
    unexpected = sum(entry.findings for row in rows for entry in row.unexpected)
    found = with_noun(unexpected, "unexpected finding")
    return f"{with_noun(len(rows), 'run')}: {', '.join(counted)}; {found}."


def _row(judged: Judged, session: Path, report: Path) -> dict[str, Any]:
    """A run's row; one that can't be judged is undecided, and says why."""
    folder, verdict = judged.folder, judged.verdict
    if verdict is None:
        return {
            "scenario": printable(str(folder.path.relative_to(session))),
            "verdict": str(RunVerdict.UNDECIDED),
            "error": judged.error,
        }
    return {
        "scenario": verdict.scenario,
        "parameters": verdict.parameters,
        "verdict": str(verdict.verdict),
        "answer": verdict.answer,
        "seed": verdict.seed,
        "kafka": verdict.on,
        "cluster": verdict.cluster,
        "violated": [name for name, r in verdict.checks.items() if r.verdict == "violated"],
        "unexpected": sum(entry.findings for entry in verdict.unexpected),
        "report": printable(os.path.relpath(folder.report / "index.html", report)),
        "rerun": verdict.rerun,
    }


NAME = "report.html"
_BODY = "<body>"
_NOTE = (
    '\n    <p id="fencepost">This is the report of ducktape: a test that passed came to its end. '
    'Whether Kafka kept its promises is in <a href="report/index.html">the report of Fencepost</a>.'
    "</p>"
)


def name_ours(session: Path) -> bool:
    """Let ducktape's report of a session name ours; returns whether there is one."""
    file = session / NAME
    if not is_below(file, session):
        return False
    try:
        text = read_file(file).decode()
    except (OSError, UnicodeDecodeError):
        return False
    if _NOTE not in text:
        replace_file(file, text.replace(_BODY, _BODY + _NOTE, 1).encode())
    return True
