"""The workflow of GitHub Actions calls what there is; docs/outputs.md names what is written."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from analysis.report.metrics import FAMILIES
from analysis.report.outputs import OUTPUT_FILES
from contract.findings import FINDINGS
from harness.cli import app

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/fencepost.yml").read_text())
PAGE = (ROOT / "docs" / "outputs.md").read_text()
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["night"]["steps"]


def test_actions_are_pinned_by_a_whole_version_and_no_secret_is_used() -> None:
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert used
    assert [one for one in used if not re.fullmatch(r"actions/[a-z-]+@v\d+\.\d+\.\d+", one)] == []
    assert "secrets" not in str(WORKFLOW)
    assert WORKFLOW["permissions"] == {"contents": "read"}


def test_the_commands_of_the_workflow_exist() -> None:
    runs = [step["run"] for step in STEPS if "run" in step]
    (command,) = (run.split() for run in runs if "fencepost" in run)
    shown = CliRunner().invoke(app, [command[1], "--help"], env={"COLUMNS": "200"}).output
    for option in (word for word in command if word.startswith("--")):
        assert option in shown
    (target,) = (run.removeprefix("make ") for run in runs if run.startswith("make "))
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_summary_is_shown_and_the_reports_are_kept_also_after_a_failure() -> None:
    always = [step for step in STEPS if step.get("if") == "always()"]
    summary, kept = always
    assert f"report/{OUTPUT_FILES[1]}" in summary["run"]
    assert "report/" in kept["with"]["path"]


@pytest.mark.parametrize("name", [*OUTPUT_FILES, *FINDINGS.names, *FAMILIES])
def test_the_page_has_each_file_column_and_family(name: str) -> None:
    assert f"`{name}`" in PAGE
