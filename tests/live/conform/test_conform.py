"""`fencepost conform` with the reference guest: a planted fault, and a stale expectation."""

import shlex
import sys
from pathlib import Path

import msgspec
import pytest
from command import run_to_end

from extras.conform.expected import Job, Standing

ROOT = Path(__file__).resolve().parents[3]
PLACE = "expired.restart.explicit.earliest"
EXPECTED = f"- cell: {PLACE}\n  outcome: skips 10\n  reason: it is planted\n"

pytestmark = pytest.mark.long


def job_of(tmp_path: Path, fault: str, *, known: str = EXPECTED) -> tuple[int, Job, str]:
    """The exit code, what came of the reference guest, and what the command said."""
    module = "extras.conform.released.guests.reference.guest"
    command = [sys.executable, "-m", module, "--kafka", "4.4.0", "--fault", fault]
    expected = tmp_path / "expected.yml"
    expected.write_text(known)
    code, said = run_to_end(
        "conform",
        *("--client-command", shlex.join(command), "--name", "reference"),
        *("--hazards", "expired", "--expected", str(expected), "--results", str(tmp_path)),
    )
    (home,) = tmp_path.glob("conform-*")
    assert {"index.html", "junit.xml", "badge.json"} <= {path.name for path in home.iterdir()}, said
    return code, msgspec.json.decode((home / "conform.json").read_bytes(), type=Job), said


def test_a_planted_fault_fails_the_job_and_its_cell_is_named(tmp_path: Path) -> None:
    code, job, said = job_of(tmp_path, "skips=10", known="")
    (cell,) = [result for result in job.results if result.cell.place == PLACE]
    assert (code, cell.standing, cell.cell.words) == (1, Standing.UNEXPECTED, "skips 10")
    assert f"unexpected: {PLACE}: skips 10" in said


def test_a_planted_fault_comes_out_as_its_author_expects(tmp_path: Path) -> None:
    code, job, _ = job_of(tmp_path, "skips=10")
    (cell,) = [result for result in job.results if result.cell.place == PLACE]
    assert (code, cell.standing, cell.cell.words) == (0, Standing.EXPECTED, "skips 10")
    assert job.version.startswith("kafka-clients")


def test_an_expected_failure_that_was_fixed_fails_the_job(tmp_path: Path) -> None:
    code, job, said = job_of(tmp_path, "keeps")
    (cell,) = [result for result in job.results if result.cell.place == PLACE]
    assert (code, cell.standing) == (1, Standing.BETTER)
    assert f"better: {PLACE}: {cell.words}" in said
    assert "remove line 1" in cell.words
