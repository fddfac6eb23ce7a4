"""What a run prints at its end: the answer, what is unexpected, and all checks only if asked."""

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pages_of import (
    everything,
    finding,
    make_expectation,
    make_unexpected,
    result,
    run_folder,
    verdict_of,
)
from rich.console import Console
from rich.padding import Padding

from analysis.report.first_screen import reasons
from analysis.report.night_rows import Judged
from analysis.report.terminal import show
from analysis.results import show_runs_of
from contract.nights import NightRow, NightSummary, Outcome
from contract.program import Terminal
from contract.run_folder import RunDescription
from contract.verdicts import (
    CheckResult,
    CheckVerdict,
    FindingVerdict,
    Judging,
    RunVerdict,
    Timing,
    Verdict,
)
from tests import golden
from tests.made import make_struct

LOST = finding(cause="2 records [red]were truncated")
HOLDS = result()
FAILED = verdict_of(
    {"lost_record": result(LOST, findings=12), "reset": HOLDS},
    verdict=RunVerdict.FAIL,
    parameters={"recipe": "pause"},
    unexpected=[make_unexpected(LOST, findings=12, number=3)],
    expectations=[make_expectation("reset", is_met=False), make_expectation("lost_record")],
    timing=Timing(starting=9.4, story=7.1, collecting=3.4, forced=0.0, forced_by=[], phases=[]),
    judging=Judging(why="few rows", seconds=2.5),
)


def printed_verdict(
    verdict: Verdict,
    run: RunDescription | None = None,
    *,
    is_verbose: bool = False,
    **of_console: Any,
) -> str:
    out = io.StringIO()
    values: dict[str, Any] = {"width": 100} | of_console
    show(verdict, Console(file=out, **values), run=run, is_verbose=is_verbose)
    return out.getvalue()


@pytest.mark.parametrize("verdict", [everything(), FAILED, verdict_of({"reset": HOLDS})])
def test_golden_terminal(tmp_path: Path, verdict: Verdict) -> None:
    run = run_folder(tmp_path).run()
    brief, whole = printed_verdict(verdict, run), printed_verdict(verdict, run, is_verbose=True)
    assert whole.endswith(brief)
    name = f"terminal-{verdict.verdict}-{len(verdict.checks)}.txt"
    assert golden.is_golden(name, golden.plain(whole, tmp_path))


@pytest.mark.parametrize(
    "result",
    [
        result(verdict=CheckVerdict.UNDECIDED, reason="a [gap]"),
        result(verdict=CheckVerdict.NOT_EVALUABLE, reason="no rows"),
    ],
)
def test_what_is_open_is_printed_with_its_reason(tmp_path: Path, result: CheckResult) -> None:
    run = run_folder(tmp_path, error="NodeError: node [b]1\nmore").run()
    verdict = verdict_of({"reset": result}, verdict=RunVerdict.UNDECIDED)
    lines = printed_verdict(verdict, run).splitlines()
    reported = [f"undecided: {reason.text}" for reason in reasons(verdict, run)]
    assert [line for line in lines if line.startswith("undecided: ")] == reported
    assert any(result.reason in line for line in reported)
    assert lines[-1] == "error of the scenario: NodeError: node [b]1"


@pytest.mark.parametrize("of", [FindingVerdict.VIOLATION, FindingVerdict.UNDECIDED])
def test_a_client_that_failed_comes_before_the_answer(tmp_path: Path, of: FindingVerdict) -> None:
    ended = finding("failed_client", verdict=of, kind="ended", cause="the client raised Gone")
    went_on = msgspec.structs.replace(
        ended, verdict=FindingVerdict.PERMITTED, kind="raised, then went on", cause="raised Late"
    )
    is_violation = of is FindingVerdict.VIOLATION
    verdict = verdict_of(
        {"failed_client": result(ended, went_on), "lost_record": result(LOST)},
        verdict=RunVerdict.FAIL,
        unexpected=[make_unexpected(ended)] * is_violation + [make_unexpected(LOST)],
    )
    lines = printed_verdict(verdict, run_folder(tmp_path).run()).splitlines()
    said = [number for number, line in enumerate(lines) if "raised Gone" in line]
    assert said == [lines.index("It is so.") - 1]
    assert not any("raised Late" in line for line in lines)


def test_many_lines_of_a_kind_are_counted(tmp_path: Path) -> None:
    found = [make_unexpected(LOST, number=number) for number in range(1, 15)]
    verdict = msgspec.structs.replace(FAILED, unexpected=found, doubts=["a gap"] * 30)
    lines = printed_verdict(verdict, run_folder(tmp_path).run()).splitlines()
    assert sum(line.startswith("unexpected: ") for line in lines) == 10
    assert "and 4 more on the page" in lines
    assert sum(line.startswith("undecided: ") for line in lines) == 10
    assert lines[-1].startswith("and 2")


def test_there_are_no_escape_sequences_without_a_terminal() -> None:
    assert "\x1b" not in printed_verdict(FAILED, is_verbose=True)
    assert "\x1b[" in printed_verdict(FAILED, force_terminal=True)


def test_lines_of_a_file_are_not_filled_with_blanks() -> None:
    file = io.StringIO()
    Terminal(file=file).print(Padding("cause", (0, 0, 0, 4)))
    Terminal(file=file).print("as it ", end="")
    assert file.getvalue() == "    cause\nas it "


def test_no_color_leaves_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    coloured = [f"\x1b[{style}{number}m" for style in ("", "1;") for number in range(30, 38)]
    out = printed_verdict(FAILED, is_verbose=True, force_terminal=True)
    assert not any(code in out for code in coloured)


def test_a_verdict_of_an_earlier_release_is_read() -> None:
    fields = msgspec.to_builtins(verdict_of({"reset": HOLDS}))
    for name in ("answer", "expectations", "unexpected"):
        fields.pop(name)
    assert printed_verdict(msgspec.convert(fields, Verdict)).startswith("pass micro, seed 1")


def night_row(verdict: RunVerdict, outcome: Outcome, name: str) -> NightRow:
    page = f"{name}/report/index.html"
    return make_struct(NightRow, scenario="micro", verdict=verdict, outcome=outcome, report=page)


@pytest.mark.parametrize(("is_verbose", "shown"), [(False, ["fail"]), (True, ["pass", "fail"])])
def test_a_night_shows_its_failures(tmp_path: Path, *, is_verbose: bool, shown: list[str]) -> None:
    verdicts = {"0": verdict_of({"reset": HOLDS}), "1": FAILED}
    judged = [Judged(run_folder(tmp_path / name), verdict) for name, verdict in verdicts.items()]
    rows = [
        night_row(RunVerdict.PASS, Outcome.EXPECTED, "0"),
        night_row(RunVerdict.FAIL, Outcome.UNEXPECTED, "1"),
    ]
    summary = make_struct(NightSummary, verdict=RunVerdict.FAIL, runs=rows)
    out = io.StringIO()
    show_runs_of(tmp_path, summary, judged, Console(file=out, width=100), is_verbose=is_verbose)
    lines = [line.split()[0] for line in out.getvalue().splitlines() if " micro" in line]
    assert lines == shown
