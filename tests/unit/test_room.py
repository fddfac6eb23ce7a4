"""Raw data make room: of expected runs first, of old nights; what was found stays."""

import errno
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pages_of import judged_run
from typer.testing import CliRunner

from analysis.judging import kept_verdict
from contract.nights import (
    NIGHT_FILE,
    Night,
    NightRow,
    NightSummary,
    Outcome,
    PlannedRun,
    RunStatus,
    write_atomically,
)
from contract.run_folder import REMOVED_FILE, Removed, RunFolder
from contract.verdicts import Verdict
from harness.cli import program
from harness.nightly import room
from harness.nightly.room import Budget, remove_raw_data, size_of
from tests.made import make_struct

MEGABYTE = 1 << 20
PAGE = "<header><h1>asked</h1></header><p>findings</p>"


def run_in(path: Path) -> RunFolder:
    """A judged run with a megabyte of raw data."""
    run = judged_run(path, make_struct(Verdict))
    for folder in (run.history, run.tables, run.clients):
        folder.mkdir()
    (run.tables / "sends.parquet").write_bytes(b"x" * MEGABYTE)
    (run.path / "random.json").write_text("{}")
    (run.report / "index.html").write_text(PAGE)
    (run.report / "findings.parquet").write_text("findings")
    return run


def night_in(
    nights: Path, name: str, outcomes: list[Outcome], *, number: int = 1, **fields: Any
) -> Path:
    """A judged night, whose runs came to these outcomes."""
    path = nights / name
    rows, planned = [], []
    for at, outcome in enumerate(outcomes, start=1):
        run = run_in(path / "runs" / f"{at:03}" / "S" / "test" / "0")
        of_both: dict[str, Any] = {"id": f"{at:03}", "scenario": "s", "kafka": "4.4.0", "seed": 1}
        planned.append(
            make_struct(PlannedRun, **of_both, status=RunStatus.DONE, folder=f"runs/{at:03}")
        )
        page = (run.report / "index.html").relative_to(path)
        rows.append(make_struct(NightRow, **of_both, report=str(page), outcome=outcome))
    given: dict[str, Any] = {
        "suite": "smoke",
        "cluster": "embedded",
        "started_micros": number,
        "ended_micros": number + 1,
    }
    write_atomically(path / NIGHT_FILE, make_struct(Night, **given | {"runs": planned, **fields}))
    (path / "report").mkdir()
    write_atomically(path / "report" / "summary.json", summary_of(rows))
    return path


def summary_of(rows: list[NightRow]) -> NightSummary:
    return make_struct(NightSummary, suite="smoke", cluster="embedded", runs=rows)


def runs_without_data(night: Path) -> list[str]:
    """The runs without raw data."""
    return sorted(path.relative_to(night).parts[1] for path in night.rglob(REMOVED_FILE))


def test_what_was_found_stays_and_the_page_says_what_was_removed(tmp_path: Path) -> None:
    run = run_in(tmp_path / "run")
    assert remove_raw_data(run) >= MEGABYTE
    assert run.data() == []
    left = {str(path.relative_to(run.path)) for path in run.path.rglob("*") if path.is_file()}
    assert left == {
        "plan.json",
        "run.json",
        "random.json",
        "removed.json",
        "report/index.html",
        "report/verdict.json",
        "report/findings.parquet",
    }
    page = (run.report / "index.html").read_text()
    assert page.count("The raw data and tables of this run were removed on") == 1
    assert page.index("removed on") < page.index("</header>")
    assert remove_raw_data(run) == 0
    assert kept_verdict(run).verdict == make_struct(Verdict)


def test_a_page_that_is_no_utf_8_is_kept_as_it_is(tmp_path: Path) -> None:
    run = run_in(tmp_path / "run")
    (run.report / "index.html").write_bytes(b"\xff</header>")
    assert remove_raw_data(run) >= MEGABYTE
    assert (run.report / "index.html").read_bytes().startswith(b"\xff<p")


def test_a_full_disk_is_freed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_in(tmp_path / "run")
    write, there = RunFolder.write_removed, len(run.data())

    def write_if_there_is_room(folder: RunFolder, removed: Removed) -> None:
        if len(folder.data()) == there:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(folder, removed)

    monkeypatch.setattr(RunFolder, "write_removed", write_if_there_is_room)
    assert remove_raw_data(run) >= MEGABYTE
    assert (run.is_removed, run.data()) == (True, [])


def test_no_link_is_followed(tmp_path: Path) -> None:
    run = run_in(tmp_path / "run")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    run.history.rmdir()
    run.history.symlink_to(outside)
    (run.tables / "link").symlink_to(outside)
    remove_raw_data(run)
    assert (outside / "mine").read_text() == "mine"
    assert run.history.is_symlink()


def test_a_run_without_raw_data_and_without_a_verdict_is_not_judged(tmp_path: Path) -> None:
    run = run_in(tmp_path / "run")
    remove_raw_data(run)
    (run.report / "verdict.json").write_text("{")
    kept = kept_verdict(run)
    assert kept.verdict is None
    assert "its raw data were removed" in (kept.error or "")


EXPECTED, UNEXPECTED, UNDECIDED = Outcome.EXPECTED, Outcome.UNEXPECTED, Outcome.UNDECIDED


def budget(night: Path, megabytes: float, outcomes: list[Outcome]) -> Budget:
    rows = [
        msgspec.structs.replace(row, outcome=outcome)
        for row, outcome in zip(_summary(night).runs, outcomes, strict=True)
    ]
    return Budget(night, int(megabytes * MEGABYTE), lambda: summary_of(rows))


def _summary(night: Path) -> NightSummary:
    return msgspec.json.decode((night / "report" / "summary.json").read_bytes(), type=NightSummary)


def test_room_is_made_by_expected_runs_the_oldest_first(tmp_path: Path) -> None:
    outcomes = [UNEXPECTED, EXPECTED, UNDECIDED, EXPECTED, EXPECTED]
    night = night_in(tmp_path, "n", outcomes)
    assert budget(night, 6, outcomes).make_room() is None
    assert runs_without_data(night) == []
    assert budget(night, 5, outcomes).make_room() is None
    assert runs_without_data(night) == ["002", "004"]
    assert size_of(night) < 5 * MEGABYTE


def test_what_is_unexpected_or_undecided_stays_and_no_run_begins(tmp_path: Path) -> None:
    outcomes = [UNEXPECTED, UNDECIDED, EXPECTED]
    night = night_in(tmp_path, "n", outcomes)
    lack = budget(night, 1, outcomes).make_room()
    assert lack == "it takes 2 MB of the 1 MB of --disk"
    assert runs_without_data(night) == ["003"]


def test_no_run_begins_without_free_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    night = night_in(tmp_path, "n", [EXPECTED])
    monkeypatch.setattr(room, "FREE_BYTES_MIN", 1 << 60)
    lack = budget(night, 100, [EXPECTED]).make_room()
    assert "are free on its disk" in (lack or "")


def test_a_night_that_can_not_be_judged_loses_nothing(tmp_path: Path) -> None:
    night = night_in(tmp_path, "n", [EXPECTED])
    unjudged = replace(budget(night, 0.5, [EXPECTED]), judge=lambda: None)
    assert unjudged.make_room() is not None
    assert runs_without_data(night) == []


def prune(results: Path, *options: str) -> str:
    ended = CliRunner().invoke(program(), ["clean", "nights", "--results", str(results), *options])
    assert ended.exit_code == 0, ended.output
    return ended.output


@pytest.fixture
def results(tmp_path: Path) -> Path:
    nights = tmp_path / "nightly"
    for number in range(1, 5):
        outcomes = [EXPECTED, UNEXPECTED, UNDECIDED, Outcome.KNOWN]
        night_in(nights, f"smoke-{number}", outcomes, number=number)
        night_in(nights, f"other-{number}", outcomes, number=number, suite="other")
    night_in(nights, "unfinished", [EXPECTED], number=0, ended_micros=None)
    (tmp_path / "judged").mkdir()
    (tmp_path / "judged" / "part").write_text("stored")
    return tmp_path


def prune_all(results: Path) -> dict[str, list[str]]:
    found = {path.name: runs_without_data(path) for path in (results / "nightly").iterdir()}
    return {name: runs for name, runs in found.items() if runs}


def test_the_newest_nights_of_each_suite_stay_whole(results: Path) -> None:
    said = prune(results, "--keep", "3")
    assert prune_all(results) == {"smoke-1": ["001"], "other-1": ["001"]}
    assert "smoke-1: 1 MB" in said
    assert "raw data of 2 runs were removed: 2 MB" in said
    assert (results / "judged" / "part").read_text() == "stored"
    assert (results / "nightly" / "smoke-1" / "report" / "summary.json").exists()


def test_all_removes_those_of_another_verdict_too(results: Path) -> None:
    prune(results, "--keep", "3", "--all")
    runs = ["001", "002", "003", "004"]
    assert prune_all(results) == {"smoke-1": runs, "other-1": runs}


def test_a_dry_run_says_the_same_and_removes_nothing(results: Path) -> None:
    said = prune(results, "--keep", "3", "--dry-run")
    assert "raw data of 2 runs would be removed" in said
    assert prune_all(results) == {}


def test_unfinished_nights_and_links_are_left(results: Path, tmp_path: Path) -> None:
    elsewhere = night_in(tmp_path / "elsewhere", "smoke-0", [EXPECTED], number=0)
    (results / "nightly" / "smoke-0").symlink_to(elsewhere)
    prune(results, "--keep", "0", "--all")
    assert runs_without_data(elsewhere) == []
    assert runs_without_data(results / "nightly" / "unfinished") == []


def test_default_keeps_fourteen(results: Path) -> None:
    assert "raw data of 0 runs were removed" in prune(results)
