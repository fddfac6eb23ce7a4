"""A night against what its suite expects, and against the night before."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pages_of import result, run_folder, verdict_of

from analysis.report.matrix import row_name
from analysis.report.night_page import changes, write_night
from analysis.report.night_rows import Judged, decide_night, outcome_of, runs_of
from contract.errors import RunFolderError
from contract.nights import (
    NIGHT_FILE,
    CheckCount,
    Night,
    NightRow,
    Outcome,
    PlannedRun,
    RunStatus,
    read_night,
    read_summary,
    write_atomically,
)
from contract.verdicts import EXIT_CODES, CheckVerdict, RunVerdict
from tests.made import make_struct

PASS, FAIL, UNDECIDED = RunVerdict.PASS, RunVerdict.FAIL, RunVerdict.UNDECIDED
EVIL = "<script>alert(1)</script>"


def make_planned(number: int = 1, **fields: Any) -> PlannedRun:
    values: dict[str, Any] = {
        "id": f"{number:03}",
        "scenario": f"s{number}",
        "kafka": "4.4.0",
        "rerun": f"fencepost run s{number}",
        "status": RunStatus.DONE,
        "folder": f"runs/{number:03}/session",
    }
    return make_struct(PlannedRun, **values | fields)


def night(runs: list[PlannedRun], **fields: Any) -> Night:
    values: dict[str, Any] = {"suite": "smoke", "cluster": "embedded", "started_micros": 1}
    return make_struct(Night, runs=runs, **values | fields)


def judged_run(
    path: Path, run: PlannedRun, verdict: RunVerdict = PASS, *, findings: int = 0, **fields: Any
) -> Judged:
    """A run folder on disk with a verdict of one check."""
    described = {"scenario": run.scenario, "seed": run.seed, "kafka": run.kafka}
    folder = run_folder(path / str(run.folder) / "S" / "test" / "0", **described, **fields)
    held = CheckVerdict.VIOLATED if findings else CheckVerdict.HOLDS
    checks = {"lost_record": result(verdict=held, findings=findings)}
    return Judged(folder, verdict_of(checks, verdict=verdict, **described))


def row(**fields: Any) -> NightRow:
    values: dict[str, Any] = {
        "scenario": "s",
        "kafka": "4.4.0",
        "checks": {"reset": CheckCount(verdict=CheckVerdict.HOLDS, findings=0)},
        "report": "r",
    }
    return make_struct(NightRow, **values | fields)


def check_counts(
    findings: int, verdict: CheckVerdict = CheckVerdict.VIOLATED
) -> dict[str, CheckCount]:
    return {"reset": CheckCount(verdict=verdict, findings=findings)}


def test_a_run_outside_of_the_night_is_none_of_its_runs(tmp_path: Path) -> None:
    night_folder = tmp_path / "night"
    night_folder.mkdir()
    outside = make_planned(folder="../elsewhere")
    judged_run(night_folder, outside)
    with pytest.raises(RunFolderError, match="which is outside of the night"):
        runs_of(night_folder, night([outside]))


@pytest.mark.parametrize(
    ("verdict", "expect", "error", "outcome"),
    [
        (PASS, PASS, None, Outcome.EXPECTED),
        (FAIL, PASS, None, Outcome.UNEXPECTED),
        (FAIL, PASS, "boom", Outcome.UNEXPECTED),
        (FAIL, FAIL, None, Outcome.EXPECTED),
        (PASS, FAIL, None, Outcome.UNEXPECTED),
        (UNDECIDED, PASS, None, Outcome.UNDECIDED),
        (UNDECIDED, FAIL, None, Outcome.UNDECIDED),
        (FAIL, FAIL, "boom", Outcome.UNDECIDED),
    ],
)
def test_a_verdict_is_held_against_what_is_expected(
    verdict: RunVerdict, expect: RunVerdict, error: str | None, outcome: Outcome
) -> None:
    assert outcome_of(verdict, expect=expect, error=error) is outcome


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([Outcome.EXPECTED, Outcome.EXPECTED], 0),
        ([Outcome.EXPECTED, Outcome.UNDECIDED], 2),
        ([Outcome.UNDECIDED, Outcome.UNEXPECTED], 1),
    ],
)
def test_the_night_ends_with_the_gravest(outcomes: list[Outcome], code: int) -> None:
    assert EXIT_CODES[decide_night([row(outcome=outcome) for outcome in outcomes])] == code


def test_a_canary_that_fails_is_good_and_one_that_passes_fails_the_night(tmp_path: Path) -> None:
    runs = [make_planned(1), make_planned(2, expect=FAIL)]
    first = judged_run(tmp_path, runs[0])
    good = write_night(tmp_path, night(runs), [first, judged_run(tmp_path, runs[1], FAIL)])
    assert good.verdict is PASS
    blind = write_night(tmp_path, night(runs), [first, judged_run(tmp_path, runs[1], PASS)])
    assert blind.verdict is FAIL
    assert read_summary(tmp_path) == blind


@pytest.mark.parametrize(
    ("run", "reported"),
    [
        (make_planned(folder=None, exit_code=None, error="no scenario ran"), "no scenario ran"),
        (make_planned(folder="runs/gone"), "no run folder"),
        (make_planned(folder=None, status=RunStatus.RUNNING), "has not started"),
    ],
)
def test_what_was_not_judged_is_undecided(tmp_path: Path, run: PlannedRun, reported: str) -> None:
    state = night([run])
    assert runs_of(tmp_path, state) == []
    summary = write_night(tmp_path, state, [])
    assert summary.verdict is UNDECIDED
    assert reported in str(summary.runs[0].error)
    assert reported in (tmp_path / "report" / "index.html").read_text()


def test_a_run_is_not_named_by_a_file_of_its_night(tmp_path: Path) -> None:
    """Random runs of earlier releases have such a parameter."""
    given = {"coverage": "/results/nightly/n/coverage.json"}
    done, gone = (
        make_planned(1, parameters=given),
        make_planned(2, parameters=given, folder="runs/gone"),
    )
    summary = write_night(tmp_path, night([done, gone]), [judged_run(tmp_path, done)])
    assert [row.parameters for row in summary.runs] == [{}, {}]
    assert [row.key for row in summary.runs] == ["s1, Kafka 4.4.0", "s2, Kafka 4.4.0"]
    assert row_name("s1", {**given, "plan": "p"}) == "s1, plan p"


def test_a_run_that_never_ran_is_named_and_leaves_the_night_undecided(tmp_path: Path) -> None:
    done, late = (
        make_planned(1),
        make_planned(2, status=RunStatus.OMITTED, folder=None, error="no time"),
    )
    summary = write_night(tmp_path, night([done, late]), [judged_run(tmp_path, done)])
    assert [row.outcome for row in summary.runs] == [Outcome.EXPECTED, Outcome.OMITTED]
    assert summary.verdict is UNDECIDED
    page = (tmp_path / "report" / "index.html").read_text()
    assert "1 expected, 0 unexpected, 0 undecided, 1 omitted." in page
    assert "1 never ran:" in page
    assert f"{summary.runs[1].key}: no time" in page


def test_a_run_whose_analysis_broke_is_undecided(tmp_path: Path) -> None:
    run = make_planned()
    whole = judged_run(tmp_path, run)
    summary = write_night(tmp_path, night([run]), [Judged(whole.folder, None, "torn table")])
    assert (summary.verdict, summary.runs[0].error) == (UNDECIDED, "torn table")


def test_a_session_that_ended_badly_is_not_as_expected(tmp_path: Path) -> None:
    run = make_planned(exit_code=1)
    summary = write_night(tmp_path, night([run]), [judged_run(tmp_path, run)])
    assert [listed.outcome for listed in summary.runs] == ["expected", "undecided"]
    assert "ducktape.log" in str(summary.runs[1].error)


def test_a_part_of_a_run_that_is_missing_is_undecided_by_its_name(tmp_path: Path) -> None:
    run = make_planned(exit_code=1, error="T.test@recipe=pause has no run: refused")
    summary = write_night(tmp_path, night([run]), [judged_run(tmp_path, run, FAIL)])
    assert [listed.outcome for listed in summary.runs] == ["unexpected", "undecided"]
    assert summary.runs[1].error == "T.test@recipe=pause has no run: refused"


def test_the_page_links_reports_and_reads_offline(tmp_path: Path) -> None:
    run = make_planned(scenario=EVIL, rerun=EVIL, parameters={EVIL: EVIL})
    damaged = judged_run(tmp_path, run, UNDECIDED, error=EVIL)
    summary = write_night(tmp_path, night([run], description=EVIL), [damaged])
    page = (tmp_path / "report" / "index.html").read_text()
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "http" not in page
    assert summary.runs[0].report == "runs/001/session/S/test/0/report/index.html"
    assert f'href="../{summary.runs[0].report}"' in page
    assert summary.runs[0].seconds == 30.0


def test_a_night_is_compared_with_the_last_finished_of_its_suite_and_pool(tmp_path: Path) -> None:
    def write(name: str, findings: int, **fields: Any) -> str | None:
        state, path = night([make_planned()], **fields), tmp_path / name
        path.mkdir()
        verdict = FAIL if findings else PASS
        summary = write_night(
            path, state, [judged_run(path, make_planned(), verdict, findings=findings)]
        )
        write_atomically(path / NIGHT_FILE, state)
        assert read_night(path) == state
        reported.extend((name, change.what, change.change) for change in summary.changes)
        return summary.compared_with

    reported: list[tuple[str, str, str]] = []
    assert write("first", 0, started_micros=1, ended_micros=2) is None
    assert write("unfinished", 5, started_micros=3) == "first"
    assert write("docker", 5, started_micros=4, ended_micros=5, cluster="docker") is None
    assert write("other", 5, started_micros=5, ended_micros=6, suite="nightly") is None
    reported.clear()
    assert write("second", 2, started_micros=6, ended_micros=7) == "first"
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / NIGHT_FILE).write_text("{")
    assert write("third", 2, started_micros=8, ended_micros=9) == "second"
    assert reported == [
        ("second", "verdict", "pass → fail"),
        ("second", "lost_record", "findings appeared: 0 → 2, holds → violated"),
    ]
    page = (tmp_path / "second" / "report" / "index.html").read_text()
    assert "findings appeared: 0 → 2" in page
    assert 'href="../../first/report/index.html"' in page


TWO, NO_ROWS = check_counts(2), check_counts(0, CheckVerdict.NOT_EVALUABLE)
WITH_ONE_MORE = {**row().checks, "x": check_counts(1)["reset"]}
OMITTED = row(verdict=UNDECIDED, checks={}, outcome=Outcome.OMITTED)


@pytest.mark.parametrize(
    ("before", "after", "reported"),
    [
        (row(seed=1, seconds=1.0), row(seed=2, seconds=9.0), []),
        (row(checks=TWO), row(checks=check_counts(3)), ["counted: reset 2 → 3"]),
        (row(checks=TWO), row(), ["findings disappeared: 2 → 0, violated → holds"]),
        (row(), row(checks=NO_ROWS), ["1 → 0 checks; no longer: reset"]),
        (row(checks=NO_ROWS), row(), ["0 → 1 checks; newly: reset"]),
        (
            row(),
            row(checks=WITH_ONE_MORE),
            ["1 → 2 checks; newly: x", "findings appeared: 0 → 1, not_evaluable → violated"],
        ),
        (row(checks=WITH_ONE_MORE), row(), ["2 → 1 checks; no longer: x"]),
        (row(), row(verdict=UNDECIDED, checks={}), ["pass → undecided"]),
        (row(), row(kafka="3.9.0"), ["new: pass", "gone: pass"]),
        (row(), row(repeat=1), ["new: pass", "gone: pass"]),
        (row(), row(parameters={"a": 1}), ["new: pass", "gone: pass"]),
        (row(), OMITTED, []),
        (OMITTED, row(), []),
        (row(scenario="random"), row(scenario="random", verdict=FAIL), []),
    ],
)
def test_changes(before: NightRow, after: NightRow, reported: list[str]) -> None:
    found = [change.change for change in changes([before], [after])]
    assert len(found) == len(reported)
    for change, start in zip(found, reported, strict=True):
        assert change.startswith(start)


def test_rows_of_the_same_name_are_compared_in_order() -> None:
    same = [row(), row(verdict=FAIL)]
    assert changes(same, same) == []
    (change,) = changes(same, [same[0], msgspec.structs.replace(same[1], verdict=PASS)])
    assert (change.run, change.change) == ("s, Kafka 4.4.0 (2)", "fail → pass")


def test_checks_that_no_run_exercised_are_named(tmp_path: Path) -> None:
    """A run that had no case in which a check could fail proves nothing, though it evaluated."""
    runs = [make_planned(1), make_planned(2)]
    found = [judged_run(tmp_path, run) for run in runs]

    def with_counts(before: Judged, **exercised: int) -> Judged:
        held = {name: result(exercised=cases) for name, cases in exercised.items()}
        return replace(before, verdict=verdict_of(held))

    reported = [
        with_counts(found[0], lost_record=0, double_ownership=0, resumption=0),
        with_counts(found[1], lost_record=2, double_ownership=0),
    ]
    summary = write_night(tmp_path, night(runs), reported)
    assert summary.unexercised == ["double_ownership"]
    page = (tmp_path / "report" / "index.html").read_text()
    assert "Checks that no run exercised" in page
    assert "<p>double_ownership</p>" in page
