"""What a report has for machines, beside its page: docs/outputs.md."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from analysis.report.junit import junit
from analysis.report.markdown import markdown
from analysis.report.metrics import metrics
from analysis.report.night_rows import Judged
from analysis.report.run_output import RunOutput, named_apart, output_of, outputs_of_night
from contract.nights import NightSummary
from contract.regular_files import printable, replace_file
from contract.terminal import shown

JUNIT_FILE, MARKDOWN_FILE, METRICS_FILE = "junit.xml", "summary.md", "metrics.txt"
OUTPUT_FILES = (JUNIT_FILE, MARKDOWN_FILE, METRICS_FILE)
SCHEMA = 1


def write_run_outputs(one: Judged) -> None:
    """Write the outputs of one run."""
    outputs = [output_of(one, one.folder.report)]
    write_outputs(one.folder.report, outputs[0].name, outputs)


def write_session_outputs(session: Path, runs: Sequence[Judged]) -> None:
    """Write the outputs of a session; a single run has its own."""
    if runs and session != runs[0].folder.path:
        report = session / "report"
        outputs = named_apart(output_of(one, report) for one in runs)
        write_outputs(report, printable(session.resolve().name), outputs)


def write_night_outputs(path: Path, summary: NightSummary, runs: Sequence[Judged]) -> None:
    """Write the outputs of a night."""
    outputs = named_apart(outputs_of_night(path, summary, runs))
    write_outputs(path / "report", summary.night, outputs)


def write_outputs(report: Path, title: str, outputs: Sequence[RunOutput]) -> None:
    """Write the files for machines beside a page.

    Args:
        report: the page's folder.
        title: of the Markdown summary.
        outputs: the runs.
    """
    files = {
        JUNIT_FILE: junit(outputs),
        MARKDOWN_FILE: shown(markdown(title, outputs)).encode(),
        METRICS_FILE: shown(metrics(outputs)).encode(),
    }
    for name, content in files.items():
        replace_file(report / name, content)


def as_json(runs: Sequence[Judged], nights: Sequence[tuple[Path, NightSummary]]) -> str:
    """The JSON document that `--json` prints.

    Args:
        runs: outside of nights, with their whole verdicts.
        nights: by their folders.
    """
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "runs": [
            {
                "folder": printable(str(one.folder.path)),
                "page": _page(one),
                "error": one.error,
                "verdict": one.verdict,
            }
            for one in runs
        ],
        "nights": [
            {
                "folder": printable(str(path)),
                "page": printable(str(path / "report" / "index.html")),
                "summary": summary,
            }
            for path, summary in nights
        ],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _page(one: Judged) -> str | None:
    page = one.folder.report / "index.html"
    return printable(str(page)) if page.is_file() else None
