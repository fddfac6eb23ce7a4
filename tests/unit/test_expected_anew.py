"""A run is judged by what its scenario's file expects now: `analyze --expect`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.report.first_screen import expected_line
from contract.run_folder import Expectation, RunFolder
from contract.verdicts import Verdict
from harness.commands import run
from tests.conftest import Fencepost
from tests.descriptions import description_of, plan_of
from tests.made import make_struct

SOURCE = (Path(__file__).parent / "sound_story.py").read_text()
STORED = plan_of(
    scenario="own", question="before", must_judge=["reset"], groups=[], answer="before"
)
Analyze = Callable[..., "tuple[int, str]"]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    found = RunFolder(tmp_path / "runs" / "one")
    found.write_plan(STORED)
    found.write_run(description_of(run_id="own_test.OwnScenario.test_own", kafka="4.4.0"))
    return found


@pytest.fixture
def analyze(
    fencepost: Fencepost, folder: RunFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Analyze:
    monkeypatch.setattr(run, "analyse_in_own_process", lambda *_, **__: 0)
    monkeypatch.setattr(run, "decode_again", lambda _: True)
    monkeypatch.setattr(run, "require_programs", lambda: None)

    def call(source: str | None = None, name: str = "own_test.py") -> tuple[int, str]:
        given = []
        if source is not None:
            (tmp_path / name).write_text(source)
            given = ["--expect", str(tmp_path / name)]
        ended = fencepost("analyze", str(folder.path), *given)
        return ended.returncode, ended.stderr

    return call


def test_the_file_counts_until_the_run_is_judged_without_it(
    analyze: Analyze, folder: RunFolder
) -> None:
    before = (folder.path / "plan.json").read_bytes()
    edited = SOURCE.replace(
        "expects: Sequence[Expectation] = ()",
        "expects = (Expectation(check=Check.LOST_RECORD, is_optional=True),)",
    )
    assert analyze(edited)[0] == 0
    plan, newer = folder.plan(), folder.expected()
    assert plan.expects == [Expectation(check="lost_record", is_optional=True)]
    assert plan.must_judge == ["lost_record", "skipped_record", "fault_landed"]
    assert plan.question.startswith("Does an acknowledged record survive")
    assert plan.answer.startswith("{{ yes_if_none(lost_record.records")
    assert newer is not None
    assert newer.source.startswith("own_test.py as of 20")
    assert (folder.path / "plan.json").read_bytes() == before
    assert analyze()[0] == 0
    assert folder.plan() == STORED


@pytest.mark.parametrize(
    ("source", "name", "reported"),
    [
        (SOURCE, "other_test.py", "is a run of own, not of"),
        (SOURCE.replace("test_own", "test_new"), "own_test.py", "has no longer the test of"),
        (
            SOURCE.replace("        with self.running", "        1 / 0\n        with self.running"),
            "own_test.py",
            "test_own does not come to its cluster: ZeroDivisionError",
        ),
        (
            SOURCE.replace("= ()\n", '= (Expectation(check="reset", groups=["h"]),)\n'),
            "own_test.py",
            "there is no group h",
        ),
    ],
    ids=["another scenario", "another test", "an error", "an unknown group"],
)
def test_a_file_that_is_not_of_the_run_is_refused(
    analyze: Analyze, folder: RunFolder, source: str, name: str, reported: str
) -> None:
    code, stderr = analyze(source, name)
    assert code == 64
    assert reported in stderr
    assert folder.expected() is None


def test_a_report_says_that_its_expectations_are_newer() -> None:
    verdict = make_struct(Verdict, expected_by="own_test.py as of now")
    said = "expected: none, by own_test.py as of now, which is newer than the run"
    assert expected_line(verdict) == said
