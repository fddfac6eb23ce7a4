"""`fencepost analyze` over a session whose runs are damaged, each in its own way."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from contract.run_folder import Plan, RunDescription, RunFolder

pytestmark = pytest.mark.spark

PLAN = Plan(
    scenario="s",
    question="",
    parameters={},
    topics=[],
    groups=[],
    must_judge=["lost_record"],
    expects=[],
)
RUN = RunDescription(
    run_id="r",
    scenario="s",
    seed=1,
    kafka="4.4.0",
    cluster="embedded",
    clients={},
    git_head="",
    versions={},
    config={},
    command="",
    rerun="",
    started_micros=1_790_000_000_000_000,
    ended_micros=1_790_000_001_000_000,
    jars={"tiny-1.0.jar": "5eed" * 16},
)
TOO_LONG_AGO = -(10**400)


def run_folder(path: Path, run: RunDescription = RUN) -> RunFolder:
    """A run without tables that an earlier analysis found to pass."""
    folder = RunFolder(path)
    folder.write_plan(PLAN)
    folder.write_run(run)
    folder.report.mkdir()
    for name in ("verdict.json", "index.html"):
        (folder.report / name).write_text("pass")
    return folder


def test_a_run_that_can_not_be_judged_stops_no_other_and_keeps_no_verdict(tmp_path: Path) -> None:
    crashing = run_folder(tmp_path / "a", msgspec.structs.replace(RUN, started_micros=TOO_LONG_AGO))
    damaged = run_folder(tmp_path / "b")
    (damaged.path / "plan.json").write_text("{")
    empty = run_folder(tmp_path / "c")
    command = [sys.executable, "-m", "harness", "analyze", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 70, ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr
    assert f"error: {crashing.path}: the analysis failed: unexpected" in ended.stderr
    assert (
        f"error: {damaged.path}: {damaged.path / 'plan.json'} is not a valid Plan" in ended.stderr
    )
    for folder in (crashing, damaged):
        left = {path.name for path in folder.report.iterdir()}
        assert not left & {"verdict.json", "index.html"}
    page = (empty.report / "index.html").read_text()
    assert "<td>tiny-1.0.jar</td><td><code>" + "5eed" * 16 in page
    assert "Traceback" in (crashing.report / "traceback.txt").read_text()
    verdict = msgspec.json.decode((empty.report / "verdict.json").read_bytes())
    assert verdict["verdict"] == "undecided"
    summary = msgspec.json.decode((tmp_path / "report" / "summary.json").read_bytes())
    assert [row["verdict"] for row in summary["runs"]] == ["undecided"] * 3
    assert ["error" in row for row in summary["runs"]] == [True, True, False]
