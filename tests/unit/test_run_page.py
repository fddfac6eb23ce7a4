"""A run's page: the answer first, each finding where it belongs, and nothing too large."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pages_of import (
    ALL,
    PERMITTED,
    change_verdict,
    everything,
    finding,
    make_expectation,
    make_resumption,
    make_send,
    make_unexpected,
    result,
    run_folder,
    verdict_of,
    with_tables,
)

from analysis.report.commands import command_to_paste
from analysis.report.first_screen import reasons
from analysis.report.page import Pictures, page, write_report
from analysis.report.run_facts import RunFacts
from analysis.report.standings import Standing, standing_of
from analysis.report.stories import FOLDED_MAX, FindingView, findings_of
from contract.run_folder import Consequence, RunFolder
from contract.tables import TABLES
from contract.verdicts import (
    CheckVerdict,
    FaultResult,
    FindingVerdict,
    Note,
    RunVerdict,
    Verdict,
)
from tests import golden

EVIL = "<script>alert(1)</script>"
FAULT: dict[str, Any] = {"fault": "kill", **ALL, "landed": True, "evidence": "{}"}
BYTES_MAX, ELEMENTS_MAX = 2_000_000, 5_000


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    fault = FAULT | {"injected_micros": 500_000, "proved_micros": 700_000}
    rows = {name: [] for name in TABLES} | {"sends": [make_send(0, 9)], "faults": [fault]}
    return with_tables(run_folder(tmp_path), **rows)


def text_of_story(view: FindingView) -> str:
    return "\n".join(line for passage in view.story for line, _ in passage.lines)


def failing() -> Verdict:
    first = finding()
    return verdict_of(
        {"lost_record": result(first), "reset": result()},
        verdict=RunVerdict.FAIL,
        unexpected=[make_unexpected(first)],
    )


def test_golden_run(folder: RunFolder) -> None:
    text = page(RunFacts(folder), everything(), Pictures())
    assert golden.is_golden("run.txt", golden.outline(text, folder.path))
    quiet = page(RunFacts(folder), verdict_of({}), Pictures())
    for part in ("follows", "rules", "notes", "groups", "log", "timeline"):
        assert f'id="{part}"' not in quiet


@pytest.mark.parametrize(
    ("one", "fields", "standing"),
    [
        (finding(), {"unexpected": [make_unexpected(finding())]}, Standing.UNEXPECTED),
        (finding(group="g"), {"unexpected": [make_unexpected(finding())]}, Standing.EXPECTED),
        (finding(verdict=FindingVerdict.UNDECIDED), {}, Standing.UNDECIDED),
        (finding(verdict=PERMITTED), {}, Standing.PERMITTED),
        (
            finding(verdict=PERMITTED, group="g"),
            {"expectations": [make_expectation("lost_record", verdict=PERMITTED, groups=["g"])]},
            Standing.EXPECTED,
        ),
        (
            finding(verdict=PERMITTED, group="h"),
            {"expectations": [make_expectation("lost_record", verdict=PERMITTED, groups=["g"])]},
            Standing.PERMITTED,
        ),
    ],
)
def test_the_plan_places_a_finding(one: Any, fields: dict[str, Any], standing: Standing) -> None:
    assert standing_of(one, verdict_of({}, **fields)) is standing


def test_a_check_counts_its_findings_by_what_they_mean(folder: RunFolder) -> None:
    mixed = result(
        *[finding(group="a")] * 3,
        finding(group="b"),
        *[finding(verdict=PERMITTED, group="a")] * 2,
        finding(verdict=FindingVerdict.UNDECIDED),
    )
    verdict = verdict_of(
        {"lost_record": mixed},
        unexpected=[make_unexpected(finding(group="b"), number=4)],
        expectations=[
            make_expectation("lost_record", groups=["a"]),
            make_expectation("lost_record", groups=["a"], is_optional=True),
        ],
    )
    found = findings_of(RunFacts(folder), verdict).checks
    assert {standing: [check.shown for check in checks] for standing, checks in found.items()} == {
        Standing.UNEXPECTED: ["1 violation"],
        Standing.UNDECIDED: ["1 undecided"],
        Standing.EXPECTED: ["3 violations"],
        Standing.PERMITTED: ["2 permitted"],
    }


def test_all_reasons_of_an_undecided_run_are_given(tmp_path: Path) -> None:
    run = run_folder(tmp_path, error="boom").run()
    verdict = verdict_of(
        {
            "reset": result(verdict=CheckVerdict.UNDECIDED, reason="a gap"),
            "lost_commit": result(finding("lost_commit", verdict=FindingVerdict.UNDECIDED)),
            "vacuous_check": result(finding("vacuous_check", verdict=FindingVerdict.UNDECIDED)),
            "stale_read": result(verdict=CheckVerdict.NOT_EVALUABLE, reason="no rows"),
            "poll_skip": result(verdict=CheckVerdict.NOT_EVALUABLE, reason="no rows"),
        },
        doubts=["the history has a gap", "history/a.jsonl was changed"],
        faults=[FaultResult(fault="kill", target="x", landed=False, evidence={})],
        expectations=[make_expectation("lost_record", is_met=False)],
        must_judge=["stale_read"],
    )
    assert [reason.text for reason in reasons(verdict, run)] == [
        "The scenario ended with an error.",
        "The history has a gap.",
        "history/a.jsonl was changed.",
        "No effect of kill x was seen.",
        "An expected finding was not seen: lost_record.",
        "Undecided: reset (a gap).",
        "Undecided: lost_commit (1 finding).",
        "Nothing to judge: stale_read (no rows).",
    ]
    html = page(
        RunFacts(RunFolder(tmp_path)),
        change_verdict(verdict, verdict=RunVerdict.UNDECIDED),
        Pictures(),
    )
    for reason in reasons(verdict, run):
        assert not reason.anchor or f'id="{reason.anchor}"' in html, reason
    assert "boom" in html


def test_checks_that_are_undecided_for_one_reason_stand_together(tmp_path: Path) -> None:
    gap = result(verdict=CheckVerdict.UNDECIDED, reason="a gap")
    verdict = verdict_of({f"check_{at}": gap for at in range(70)})
    (only,) = reasons(verdict, run_folder(tmp_path).run())
    assert only.text == "Undecided: check_0, check_1, check_2 and 67 other checks (a gap)."


def test_without_a_fault_a_story_counts_from_the_start_of_the_run(tmp_path: Path) -> None:
    view = findings_of(RunFacts(run_folder(tmp_path)), failing())
    assert view.origin == "the start of the run"


def test_a_damaged_table_leaves_a_story_without_its_events(folder: RunFolder) -> None:
    (folder.tables / "faults.parquet").write_bytes(b"damaged")
    html = page(RunFacts(folder), failing(), Pictures())
    assert "receives the last response" in html
    assert "kill x" not in html


def test_a_long_story_is_folded_around_the_decisive_event(folder: RunFolder) -> None:
    rows = [
        {"broker": at % 2, "is_fenced": at % 4 < 2, "metadata_offset": at, "at_micros": at}
        for at in range(3 * FOLDED_MAX)
    ]
    with_tables(folder, broker_states=rows)
    (check,) = findings_of(RunFacts(folder), failing()).checks[Standing.UNEXPECTED]
    (passage,) = [passage for passage in check.findings[0].story if passage.summary]
    assert passage.summary.endswith("more events between")
    assert len(passage.lines) == FOLDED_MAX + 1
    assert passage.lines[-1][0].endswith("more events: see `explain --all`")
    assert "receives the last response" in text_of_story(check.findings[0])
    html = page(RunFacts(folder), failing(), Pictures())
    assert f"<details><summary>{passage.summary}</summary><pre>" in html
    assert html.count('<strong class="decisive">&gt; ') == 1


def test_the_page_stays_small_and_names_where_the_rest_is(folder: RunFolder) -> None:
    checks = {
        name: result(*[finding(name, cause="x" * 200)] * 10, findings=22_610)
        for name in (f"check_{number}" for number in range(70))
    }
    shown = [make_unexpected(finding(name), findings=22_610) for name in checks]
    groups = [make_resumption(f"g{number}") for number in range(1_000)]
    faults = [FaultResult(fault="kill", target="x", landed=True, evidence={})] * 1_000
    verdict = change_verdict(
        verdict_of(checks, faults=faults, resumption=groups, must_judge=["resumption"]),
        unexpected=shown,
        verdict=RunVerdict.FAIL,
    )
    html = page(RunFacts(folder), verdict, Pictures())
    assert len(html) < BYTES_MAX
    assert len(re.findall(r"<[a-z]", html)) < ELEMENTS_MAX
    text = golden.outline(html)
    assert "22,610 violations, 22,607 of them only in report/findings.parquet" in text
    assert "65 more checks and groups with unexpected findings: report/findings.parquet" in text
    assert "900 more rows: report/verdict.json" in text
    assert "900 more faults: report/verdict.json" in text


def test_all_that_a_run_says_is_escaped(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, error=EVIL, command=EVIL, versions={EVIL: EVIL})
    first = finding(EVIL, kind=EVIL, cause=EVIL, group=EVIL, topic=EVIL, evidence={EVIL: EVIL})
    verdict = verdict_of(
        {
            EVIL: result(first, summary=EVIL),
            "x": result(verdict=CheckVerdict.UNDECIDED, reason=EVIL),
        },
        answer=EVIL,
        scenario=EVIL,
        parameters={EVIL: EVIL},
        doubts=[EVIL],
        rerun=EVIL,
        unexpected=[make_unexpected(first)],
        expectations=[make_expectation(EVIL, groups=[EVIL])],
        notes=[Note(text=EVIL, at_micros=1)],
        follows=Consequence(sentence=EVIL, document=EVIL),
    )
    html = page(RunFacts(folder), verdict, Pictures())
    assert EVIL not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "http" not in html


def test_a_command_works_when_it_is_pasted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    programs = tmp_path / "the programs"
    programs.mkdir()
    (programs / "fencepost").write_text("#!/bin/sh\n")
    (programs / "fencepost").chmod(0o755)
    monkeypatch.setattr("sys.executable", str(programs / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    assert command_to_paste("fencepost run 'a b'") == f"'{programs}/fencepost' run 'a b'"
    assert command_to_paste("make demo") == "make demo"
    monkeypatch.setenv("PATH", str(programs))
    assert command_to_paste("fencepost run x") == "fencepost run x"


ORDERS = "a\u202eb\u2028c\x1b[31md\u200fe"
NO_ORDERS = r"a\u202eb\u2028c\x1b[31md\u200fe"


def test_no_character_of_a_run_is_an_order_on_its_page(tmp_path: Path) -> None:
    fault = FAULT | {"injected_micros": 500_000, "proved_micros": 700_000, "topic": ORDERS}
    folder = with_tables(
        run_folder(tmp_path, command=ORDERS, rerun=ORDERS), sends=[make_send(0, 9)], faults=[fault]
    )
    first = finding(cause=ORDERS, group=ORDERS, evidence={"exception": ORDERS})
    verdict = verdict_of(
        {"lost_record": result(first)},
        verdict=RunVerdict.FAIL,
        unexpected=[make_unexpected(first)],
        answer=ORDERS,
        rerun=ORDERS,
    )
    write_report(RunFacts(folder), verdict)
    html = (folder.report / "index.html").read_text()
    assert set(html) & set("\u202e\u2028\x1b\u200f") == set()
    assert html.count(NO_ORDERS) >= 3
    data = re.search(r'class="fp-data">(.*?)</script>', html, flags=re.DOTALL)
    assert data is not None
    assert set(json.dumps(json.loads(data[1]), ensure_ascii=False)) & set("\u202e\u2028") == set()
