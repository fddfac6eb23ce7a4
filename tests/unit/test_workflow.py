"""The Makefile and what GitHub Actions runs call what there is."""

import json
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from analysis.report.outputs import FAMILIES, OUTPUT_FILES
from contract.nights import NightRow
from contract.verdicts import FINDINGS, UnexpectedFindings, Verdict
from tests.conftest import Fencepost
from tests.programs import ran

# What `make` hands to the shell: a path is one word, whatever is in it.


ROOT = Path(__file__).resolve().parents[2]
ODD = "it's; an odd `name` & more"


def print_commands(target: str, *variables: str) -> str:
    command = ["make", "--dry-run", "--old-file", ".venv/.ready", target, *variables]
    return ran(*command, cwd=ROOT).stdout


@pytest.mark.parametrize(
    ("target", "variable"), [("demo", "RESULTS"), ("clean", "RESULTS"), ("check", "BASE")]
)
def test_a_path_is_one_word(target: str, variable: str) -> None:
    said = print_commands(target, f"{variable}={ODD}")
    (first, *_) = [line for line in said.splitlines() if "odd" in line]
    words = shlex.split(first, comments=False)
    assert {ODD, f"{ODD};"} & set(words)


EXTENDED = "extended"
Tests = set[tuple[Path, bool]]
"""Files, and whether it is their tests that are marked as extended."""


def with_marks(files: set[Path]) -> Tests:
    marked = {file for file in files if f"pytest.mark.{EXTENDED}" in file.read_text()}
    return {(file, False) for file in files} | {(file, True) for file in marked}


def collected_tests(target: str) -> Tests:
    """What a target runs."""
    return {file for line in print_commands(target).splitlines() for file in of_line(line)}


def of_line(line: str) -> Tests:
    words, ignored = shlex.split(line), shlex.split(line.partition("--ignore")[2])[:1]
    named = {ROOT / word for word in words if word.startswith("tests/") and word not in ignored}
    files = {
        file for path in named for file in (path.rglob("test_*.py") if path.is_dir() else [path])
    }
    found = with_marks(files - {ROOT / word for word in ignored})
    if "-m" not in words:
        return found
    asked = words[words.index("-m") + 1]
    return {(file, is_extended) for file, is_extended in found if is_asked(asked, is_extended)}


def is_asked(expression: str, is_extended: bool) -> bool:  # noqa: FBT001 - of a pair
    return is_extended != expression.startswith(f"not {EXTENDED}")


def test_each_test_is_run_by_one_target() -> None:
    quick, live = collected_tests("test"), collected_tests("test-live")
    assert quick & live == set()
    assert quick | live == with_marks(set((ROOT / "tests").rglob("test_*.py")))


# What GitHub Actions runs is there; docs/outputs.md names what is written.


PAGE = (ROOT / "docs" / "outputs.md").read_text()
TEXT = (ROOT / "action.yml").read_text()
ACTION: dict[str, Any] = yaml.safe_load(TEXT)
STEPS: dict[str, dict[str, Any]] = {
    step["id"]: step for step in ACTION["runs"]["steps"] if "id" in step
}
FOLDER = ROOT / ".github" / "action"
SUMMARY = "report/summary.md"
A_NIGHT = """
case " $* " in *" --json "*) exit 64;; esac
mkdir -p "$RESULTS/nightly/smoke-2"
cp -r "$NIGHT/." "$RESULTS/nightly/smoke-2"
exit 1
"""


@pytest.mark.parametrize("name", [".github/workflows/docs.yml", "action.yml"])
def test_actions_are_pinned_by_a_commit_and_no_secret_is_used(name: str) -> None:
    text = (ROOT / name).read_text()
    used = re.findall(r"uses: (.*)", text)
    assert used
    pinned = re.compile(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [action for action in used if not pinned.fullmatch(action)] == []
    assert "secrets" not in text


def test_the_workflow_runs_the_action() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/fencepost.yml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    *_, used = workflow["jobs"]["night"]["steps"]
    assert used["uses"] == "./"
    assert set(used["with"]) <= set(ACTION["inputs"])


def test_a_script_of_the_action_gets_what_it_reads() -> None:
    for name, step in STEPS.items():
        script = FOLDER / f"{name}.sh"
        assert step["run"] == f'"$GITHUB_ACTION_PATH/.github/action/{script.name}"'
        assert os.access(script, os.X_OK)
        read = set(re.findall(r"\$\{?([A-Z_]+)", script.read_text()))
        assert read <= {*step["env"], *OF_GITHUB}
        outputs = re.findall(rf"steps\.{name}\.outputs\.([a-z-]+)", TEXT)
        assert {f"{output}=" in script.read_text() for output in outputs} == {True}


OF_GITHUB = ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY", "RUNNER_TEMP")


@pytest.fixture
def night(tmp_path: Path) -> Path:
    """A night as the action finds it: one run as expected, one that failed, one undecided."""
    folder = tmp_path / "made"
    (folder / "report").mkdir(parents=True)
    (folder / "report" / "summary.md").write_text("a row a run\n")
    runs = [
        row("baseline", "expected", None),
        row("zombie_leader", "unexpected", "runs/1/report/index.html"),
        {**row("canary", "undecided", None), "error": "100% of it\nis lost"},
    ]
    (folder / "report" / "summary.json").write_text(json.dumps({"runs": runs}))
    report = folder / "runs" / "1" / "report"
    report.mkdir(parents=True)
    found = {"check": "lost_record", "first": {"cause": "7 records were truncated"}}
    verdict = {"unexpected": [found], "doubts": ["a gap"]}
    (report / "verdict.json").write_text(json.dumps(verdict))
    return folder


def row(scenario: str, outcome: str, report: str | None) -> dict[str, Any]:
    given = {"scenario": scenario, "kafka": "4.4.0", "outcome": outcome, "report": report}
    return {**given, "verdict": "fail", "expect": "pass", "error": None, "rerun": "fencepost run"}


def step(tmp_path: Path, name: str, program: str, **given: str) -> tuple[int, str, str, str]:
    """What a step prints, and what it gives to GitHub, if `fencepost` is this program."""
    (tmp_path / "fencepost").write_text(f"#!/bin/sh\n{program}")
    (tmp_path / "fencepost").chmod(0o755)
    out, summary = tmp_path / "output", tmp_path / "summary"
    given |= {"CLUSTER": "embedded", "RESULTS": "results"}
    given |= {"GITHUB_OUTPUT": str(out), "GITHUB_STEP_SUMMARY": str(summary)}
    given |= {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    ended = ran("bash", FOLDER / name, cwd=tmp_path, env=os.environ | given)
    shown = summary.read_text() if summary.exists() else ""
    return ended.returncode, ended.stdout, out.read_text(), shown


def step_of_night(tmp_path: Path, night: Path, program: str) -> tuple[int, str, str, str]:
    (tmp_path / "own.yml").touch()
    given = {"SUITE": "own.yml", "ARGUMENTS": "-v", "NIGHT": str(night)}
    return step(tmp_path, "night.sh", program, **given)


def test_the_step_of_the_night_writes_summary_annotations_and_outputs(
    tmp_path: Path, night: Path
) -> None:
    code, printed, outputs, summary = step_of_night(tmp_path, night, A_NIGHT)
    assert (code, summary) == (1, "a row a run\n")
    assert outputs == "exit-code=1\nnight=results/nightly/smoke-2\n"
    assert printed.splitlines() == [
        (
            "::error file=own.yml,title=zombie_leader%2C Kafka 4.4.0%3A fail%2C expected pass::"
            "lost_record: 7 records were truncated%0Aa gap%0Aagain: fencepost run"
        ),
        (
            "::warning file=own.yml,title=canary%2C Kafka 4.4.0%3A fail%2C expected pass::"
            "100%25 of it%0Ais lost%0Aagain: fencepost run"
        ),
    ]


def test_a_night_that_was_not_judged_shows_no_earlier_one(tmp_path: Path, night: Path) -> None:
    earlier = tmp_path / "results" / "nightly" / "smoke-1"
    shutil.copytree(night, earlier)
    code, printed, outputs, summary = step_of_night(tmp_path, night, "exit 69")
    assert (code, outputs, summary) == (69, "exit-code=69\n", "")
    assert printed == "::error title=fencepost::the night was not judged, exit code 69\n"


def test_what_is_annotated_are_fields_of_the_contract() -> None:
    fields = {kind: set(kind.__struct_fields__) for kind in (NightRow, Verdict)}
    assert set(row("", "", None)) <= fields[NightRow]
    assert {"unexpected", "doubts"} <= fields[Verdict]
    assert {"check", "first"} <= set(UnexpectedFindings.__struct_fields__)


def test_the_command_of_the_action_exists(fencepost: Fencepost) -> None:
    script = (FOLDER / "night.sh").read_text()
    assert "\nfencepost nightly " in script
    shown = fencepost("nightly", "--help").stdout
    options = re.findall(r"--[a-z][a-z-]+", script)
    assert [option for option in options if option not in shown] == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_reads_the_units_of_a_night(tmp_path: Path) -> None:
    units = sorted((ROOT / "docs" / "systemd").iterdir())
    for unit in units:
        here = unit.read_text().replace("/opt/fencepost/bin/fencepost", "/bin/true")
        (tmp_path / unit.name).write_text(here)
    named = [str(tmp_path / unit.name) for unit in units]
    ended = ran("systemd-analyze", "verify", *named)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_service_and_the_crontab_have_options_that_there_are(fencepost: Fencepost) -> None:
    service = (ROOT / "docs" / "systemd" / "fencepost.service").read_text()
    page = (ROOT / "docs" / "running.md").read_text()
    commands = [
        line.partition("fencepost ")[2] for line in service.splitlines() if "/bin/f" in line
    ]
    commands += [
        line.partition("bin/fencepost ")[2] for line in page.splitlines() if "* * *" in line
    ]
    assert len(commands) == 3
    for command in commands:
        named, *options = re.split(r" (?=--)", command)
        shown = fencepost(*named.split(), "--help").stdout
        assert [option for option in options if option.split()[0] not in shown] == []


def test_the_site_is_published_by_a_job_of_its_own() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/docs.yml").read_text())["jobs"]
    assert "permissions" not in jobs["build"]
    assert jobs["publish"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert [step.get("run") for step in jobs["publish"]["steps"]] == [None]
    (built,) = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert built.startswith("make docs REPOSITORY=")
    assert jobs["build"]["steps"][-1]["with"] == {"path": "build/site/html"}


@pytest.mark.parametrize("name", [*OUTPUT_FILES, *FINDINGS.names, *FAMILIES])
def test_the_page_has_each_file_column_and_family(name: str) -> None:
    assert f"`{name}`" in PAGE
