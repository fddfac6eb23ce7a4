"""The Makefile and the workflow of GitHub Actions call what there is."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from analysis.report.outputs import FAMILIES, OUTPUT_FILES
from contract.findings import FINDINGS
from harness.cli import app

# What `make` hands to the shell: a path is one word, whatever is in it.


ROOT = Path(__file__).resolve().parents[2]
ODD = "it's; an odd `name` & more"


def printed(target: str, *variables: str) -> str:
    command = ["make", "--dry-run", "--old-file", ".venv/.ready", target, *variables]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("target", "variable"),
    [
        ("demo", "RESULTS"),
        ("scenario", "RESULTS"),
        ("nightly", "RESULTS"),
        ("playground", "RESULTS"),
        ("reproduction", "RESULTS"),
        ("clean", "RESULTS"),
        ("report", "RUN"),
        ("tamperings", "RUNS"),
        ("docker-image", "BASE_IMAGE"),
    ],
)
def test_a_path_is_one_word(target: str, variable: str) -> None:
    said = printed(target, f"{variable}={ODD}")
    (first, *_) = [line for line in said.splitlines() if "odd" in line]
    words = shlex.split(first, comments=False)
    assert {ODD, f"{ODD};"} & set(words)


EXTENDED = "extended"
Tests = set[tuple[Path, bool]]
"""Files, and whether it is their tests that are marked as extended."""


def with_marks(files: set[Path]) -> Tests:
    marked = {file for file in files if f"pytest.mark.{EXTENDED}" in file.read_text()}
    return {(file, False) for file in files} | {(file, True) for file in marked}


def collected(target: str) -> Tests:
    """What a target runs."""
    return {one for line in printed(target).splitlines() for one in of_line(line)}


def of_line(line: str) -> Tests:
    words, ignored = shlex.split(line), shlex.split(line.partition("--ignore")[2])[:1]
    named = {ROOT / word for word in words if word.startswith("tests/") and word not in ignored}
    files = {file for one in named for file in (one.rglob("test_*.py") if one.is_dir() else [one])}
    found = with_marks(files - {ROOT / word for word in ignored})
    if "-m" not in words:
        return found
    asked = words[words.index("-m") + 1]
    return {(file, is_extended) for file, is_extended in found if is_asked(asked, is_extended)}


def is_asked(expression: str, is_extended: bool) -> bool:  # noqa: FBT001 - of a pair
    return is_extended != expression.startswith(f"not {EXTENDED}")


def test_each_test_is_run_by_one_target() -> None:
    quick, live = collected("test"), collected("test-live")
    assert quick & live == set()
    assert quick | live == with_marks(set((ROOT / "tests").rglob("test_*.py")))


# The workflow of GitHub Actions calls what there is; docs/outputs.md names what is written.


WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/fencepost.yml").read_text())
PAGE = (ROOT / "docs" / "outputs.md").read_text()
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["night"]["steps"]


@pytest.mark.parametrize("name", ["fencepost.yml", "docs.yml"])
def test_actions_are_pinned_by_a_commit_and_no_secret_is_used(name: str) -> None:
    text = (ROOT / ".github" / "workflows" / name).read_text()
    used = re.findall(r"uses: (.*)", text)
    assert used
    pinned = re.compile(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [one for one in used if not pinned.fullmatch(one)] == []
    assert "secrets" not in text
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}


def test_the_site_is_published_by_a_job_of_its_own() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/docs.yml").read_text())["jobs"]
    assert "permissions" not in jobs["build"]
    assert jobs["publish"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert [step.get("run") for step in jobs["publish"]["steps"]] == [None]
    (built,) = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert built.startswith("make docs REPOSITORY=")
    assert jobs["build"]["steps"][-1]["with"] == {"path": "build/site/html"}


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
