"""The page of a session, over all its runs."""

import os
from pathlib import Path

import msgspec

from analysis.report.page import environment
from harness.contract.run_folder import RunFolder
from harness.contract.verdicts import Verdict


def write_session(session: Path, runs: list[tuple[RunFolder, Verdict]]) -> None:
    """Write a session's `report/index.html` and `summary.json`; a single run has its own."""
    if not runs or session == runs[0][0].path:
        return
    report = session / "report"
    report.mkdir(exist_ok=True)
    rows = [
        {
            "scenario": verdict.scenario,
            "verdict": str(verdict.verdict),
            "seed": verdict.seed,
            "kafka": verdict.kafka,
            "cluster": verdict.cluster,
            "violated": [name for name, r in verdict.checks.items() if r.verdict == "violated"],
            "report": os.path.relpath(folder.report / "index.html", report),
            "rerun": verdict.rerun,
        }
        for folder, verdict in runs
    ]
    text = msgspec.json.format(msgspec.json.encode({"schema": 1, "runs": rows}), indent=2)
    (report / "summary.json").write_bytes(text + b"\n")
    page = (
        environment().get_template("session.html.j2").render(rows=rows, name=session.resolve().name)
    )
    (report / "index.html").write_text(page)
