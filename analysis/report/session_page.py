"""The page of a session, over all its runs."""

import os
from pathlib import Path
from typing import Any

import msgspec

from analysis.report.night_rows import Judged
from analysis.report.page import environment
from contract.verdicts import RunVerdict


def write_session(session: Path, runs: list[Judged]) -> None:
    """Write a session's `report/index.html` and `summary.json`; a single run has its own."""
    if not runs or session == runs[0].folder.path:
        return
    report = session / "report"
    report.mkdir(exist_ok=True)
    rows = [_row(one, session, report) for one in runs]
    text = msgspec.json.format(msgspec.json.encode({"schema": 1, "runs": rows}), indent=2)
    (report / "summary.json").write_bytes(text + b"\n")
    page = (
        environment().get_template("session.html.j2").render(rows=rows, name=session.resolve().name)
    )
    (report / "index.html").write_text(page)


def _row(judged: Judged, session: Path, report: Path) -> dict[str, Any]:
    """A run's row; one that can't be judged is undecided, and says why."""
    folder, verdict = judged.folder, judged.verdict
    if verdict is None:
        return {
            "scenario": str(folder.path.relative_to(session)),
            "verdict": str(RunVerdict.UNDECIDED),
            "error": judged.error,
        }
    return {
        "scenario": verdict.scenario,
        "verdict": str(verdict.verdict),
        "seed": verdict.seed,
        "kafka": verdict.kafka,
        "cluster": verdict.cluster,
        "violated": [name for name, r in verdict.checks.items() if r.verdict == "violated"],
        "report": os.path.relpath(folder.report / "index.html", report),
        "rerun": verdict.rerun,
    }
