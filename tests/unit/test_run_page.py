"""A run's page: the answer first, each finding where it belongs, and nothing too large."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pages_of import (
    ALL,
    PERMITTED,
    changed,
    expected,
    finding,
    result,
    run_folder,
    sent,
    unexpected,
    verdict_of,
    with_tables,
)

from analysis.report.commands import pasted
from analysis.report.first_screen import expected_line, reasons, verdict_line
from analysis.report.page import Pictures, page, write_report
from analysis.report.run_facts import RunFacts
from analysis.report.standings import Standing, standing_of
from analysis.report.stories import FOLDED_MAX, FindingView, findings_of
from contract.consequence import Consequence
from contract.outcomes import CommitEpoch
from contract.run_folder import RunFolder
from contract.tables import TABLES
from contract.verdicts import (
    CheckVerdict,
    FaultResult,
    FindingVerdict,
    Note,
    Resumption,
    RuleRow,
    RunVerdict,
    StyleRow,
    Verdict,
)

EVIL = "<script>alert(1)</script>"
FAULT: dict[str, Any] = {"fault": "kill", **ALL, "landed": True, "evidence": "{}"}
BYTES_MAX, ELEMENTS_MAX = 2_000_000, 5_000


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    fault = FAULT | {"injected_micros": 500_000, "proved_micros": 700_000}
    rows = {name: [] for name in TABLES} | {"sends": [sent(0, 9)], "faults": [fault]}
    return with_tables(run_folder(tmp_path), **rows)


def text_of(html: str) -> str:
    """What a reader sees, in one line."""
    body = re.sub(r"<(script|style|title)>.*?</\1>", "", html, flags=re.DOTALL)
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))
    return re.sub(r" (?=[,:;])", "", words)


def text_of_story(one: FindingView) -> str:
    return "\n".join(line for passage in one.story for line, _ in passage.lines)


def failing() -> Verdict:
    one = finding()
    return verdict_of(
        {"lost_record": result(one), "reset": result()},
        verdict=RunVerdict.FAIL,
        unexpected=[unexpected(one)],
    )


def test_the_answer_and_what_is_unexpected_come_first(folder: RunFolder) -> None:
    html = page(RunFacts(folder), failing(), Pictures())
    text = text_of(html)
    places = [
        text.index(words)
        for words in (
            "Is it so?",
            "It is so.",
            "expected: none",
            "unexpected: 1",
            "1 finding is a violation that the scenario does not expect.",
            "lost_record: 2 records were truncated",
            "t-0, offsets 2 to 3",
            "Findings",
            "What holds",
            "Not evaluable",
            "How it was run",
        )
    ]
    assert places == sorted(places)
    assert '<a href="#finding-lost_record-1">' in html
    assert html.count('id="finding-lost_record-1"') == 1


def test_other_findings_make_another_first_screen(folder: RunFolder) -> None:
    other = finding("reset", cause="the client was reset", offset_last=2)
    other_run = changed(
        failing(),
        answer="It is not.",
        unexpected=[unexpected(other, findings=12, number=40)],
        checks={"reset": result(other, findings=50)},
    )
    html = page(RunFacts(folder), other_run, Pictures())
    text = text_of(html)
    assert "It is not." in text
    assert "unexpected: 12" in text
    assert "12 findings are violations that the scenario does not expect." in text
    assert "reset, 12 findings, the first of them: the client was reset t-0, offset 2" in text
    assert "lost_record" not in text
    assert 'id="finding-reset-40"' in html, "the first unexpected one may be behind the examples"


def test_what_is_expected_is_named_so(folder: RunFolder) -> None:
    seen = expected("lost_record", findings=3, groups=["a", "b"], seen=["a", "b"])
    rare = expected("reset", is_optional=True, findings=0, is_met=False)
    verdict = verdict_of({"lost_record": result(finding(group="a"))}, expectations=[seen, rare])
    html = page(RunFacts(folder), verdict, Pictures())
    assert "expected: 1 of 1 seen, 0 of 1 optional ones" in text_of(html)
    assert "the violations of lost_record are expected" in text_of(html)
    assert "each of 2 groups 3 yes" in text_of(html)
    before, _, after = html.partition('<h3 id="expected">')
    assert "finding-lost_record-1" not in before
    assert 'id="finding-lost_record-1"' in after
    body = after.partition("<h2>")[0]
    assert not re.search(r'class="[^"]*\b(unexpected|violat|fail|bad)', body), "no red"


@pytest.mark.parametrize(
    ("one", "fields", "standing"),
    [
        (finding(), {"unexpected": [unexpected(finding())]}, Standing.UNEXPECTED),
        (finding(group="g"), {"unexpected": [unexpected(finding())]}, Standing.EXPECTED),
        (finding(verdict=FindingVerdict.UNDECIDED), {}, Standing.UNDECIDED),
        (finding(verdict=PERMITTED), {}, Standing.PERMITTED),
        (
            finding(verdict=PERMITTED, group="g"),
            {"expectations": [expected("lost_record", verdict=PERMITTED, groups=["g"])]},
            Standing.EXPECTED,
        ),
        (
            finding(verdict=PERMITTED, group="h"),
            {"expectations": [expected("lost_record", verdict=PERMITTED, groups=["g"])]},
            Standing.PERMITTED,
        ),
    ],
)
def test_a_finding_stands_where_the_plan_puts_it(
    one: Any, fields: dict[str, Any], standing: Standing
) -> None:
    assert standing_of(one, verdict_of({}, **fields)) is standing


def test_the_first_screen_ends_with_what_follows(folder: RunFolder) -> None:
    follows = Consequence(sentence=f"Commit epochs. {EVIL}", document="KIP-320")
    html = page(RunFacts(folder), changed(failing(), follows=follows), Pictures())
    assert EVIL not in html
    header = html.partition("</header>")[0]
    assert text_of(header).endswith("alert(1)&lt;/script&gt; KIP-320 ")
    assert "What follows: Commit epochs." in text_of(header)
    assert 'id="follows"' not in page(RunFacts(folder), failing(), Pictures())


def test_a_check_counts_its_findings_by_what_they_mean(folder: RunFolder) -> None:
    mixed = result(
        *[finding(group="a")] * 3,
        finding(group="b"),
        *[finding(verdict=PERMITTED, group="a")] * 2,
        finding(verdict=FindingVerdict.UNDECIDED),
    )
    verdict = verdict_of(
        {"lost_record": mixed},
        unexpected=[unexpected(finding(group="b"), number=4)],
        expectations=[
            expected("lost_record", groups=["a"]),
            expected("lost_record", groups=["a"], is_optional=True),
        ],
    )
    found = findings_of(RunFacts(folder), verdict).checks
    assert {standing: [one.shown for one in checks] for standing, checks in found.items()} == {
        Standing.UNEXPECTED: ["1 violation"],
        Standing.UNDECIDED: ["1 undecided"],
        Standing.EXPECTED: ["3 violations"],
        Standing.PERMITTED: ["2 permitted"],
    }


def test_findings_behind_the_examples_are_counted_where_they_belong(folder: RunFolder) -> None:
    counted = {FindingVerdict.VIOLATION: 1_000, PERMITTED: 40}
    many = result(finding(), findings=1_040, by_verdict=counted)
    verdict = verdict_of({"lost_record": many}, unexpected=[unexpected(finding(), findings=1_000)])
    found = findings_of(RunFacts(folder), verdict).checks
    (violations,), (permitted,) = found[Standing.UNEXPECTED], found[Standing.PERMITTED]
    assert violations.shown == "1,000 violations, 999 of them only in report/findings.parquet"
    assert permitted.shown == "40 permitted, 40 of them only in report/findings.parquet"


def test_the_lines_of_a_verdict() -> None:
    assert verdict_line(verdict_of({})) == "Nothing unexpected, and no violation."
    assert expected_line(verdict_of({})) == "expected: none"
    half = [expected("reset"), expected("lost_record", is_met=False)]
    assert expected_line(verdict_of({}, expectations=half)) == "expected: 1 of 2 seen"


def test_all_reasons_of_an_undecided_run_are_given(tmp_path: Path) -> None:
    run = run_folder(tmp_path, error="boom").run()
    verdict = verdict_of(
        {
            "reset": result(verdict=CheckVerdict.UNDECIDED, reason="a gap"),
            "lost_commit": result(finding("lost_commit", verdict=FindingVerdict.UNDECIDED)),
            "stale_read": result(verdict=CheckVerdict.NOT_EVALUABLE, reason="no rows"),
            "poll_skip": result(verdict=CheckVerdict.NOT_EVALUABLE, reason="no rows"),
        },
        doubts=["the history has a gap", "history/a.jsonl was changed"],
        faults=[FaultResult(fault="kill", target="x", landed=False, evidence={})],
        expectations=[expected("lost_record", is_met=False)],
        must_judge=["stale_read"],
    )
    assert [one.text for one in reasons(verdict, run)] == [
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
        RunFacts(RunFolder(tmp_path)), changed(verdict, verdict=RunVerdict.UNDECIDED), Pictures()
    )
    for reason in reasons(verdict, run):
        assert not reason.anchor or f'id="{reason.anchor}"' in html, reason
    assert "boom" in html


def test_checks_that_are_undecided_for_one_reason_stand_together(tmp_path: Path) -> None:
    gap = result(verdict=CheckVerdict.UNDECIDED, reason="a gap")
    verdict = verdict_of({f"check_{at}": gap for at in range(70)})
    (only,) = reasons(verdict, run_folder(tmp_path).run())
    assert only.text == "Undecided: check_0, check_1, check_2 and 67 other checks (a gap)."


def test_a_story_counts_from_the_first_fault(folder: RunFolder) -> None:
    view = findings_of(RunFacts(folder), failing())
    assert view.origin == "the injection of the first fault"
    (check,) = view.checks[Standing.UNEXPECTED]
    (one,) = check.findings
    assert "+0.200  fault  kill all proved" in text_of_story(one)
    assert "> " + "   +0.500  p      receives the last response to 2 values" in text_of_story(one)
    assert (one.seconds, one.subjects) == ("1.000", "partition t-0")
    assert one.explain.endswith(f"fencepost explain {folder.path} lost_record:1")


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
    (one,) = [passage for passage in check.findings[0].story if passage.summary]
    assert one.summary.endswith("more events between")
    assert len(one.lines) == FOLDED_MAX + 1
    assert one.lines[-1][0].endswith("more events: see `explain --all`")
    assert "receives the last response" in text_of_story(check.findings[0])
    html = page(RunFacts(folder), failing(), Pictures())
    assert f"<details><summary>{one.summary}</summary><pre>" in html
    assert html.count('<strong class="decisive">&gt; ') == 1


def test_the_page_stays_small_and_names_where_the_rest_is(folder: RunFolder) -> None:
    checks = {
        name: result(*[finding(name, cause="x" * 200)] * 10, findings=22_610)
        for name in (f"check_{number}" for number in range(70))
    }
    shown = [unexpected(finding(name), findings=22_610) for name in checks]
    resumed = [
        Resumption(
            group=f"g{number}",
            client="java",
            commit_epoch="record",
            reset="none",
            committed_offset=1,
            committed_epoch=1,
            resumed_at=1,
            redelivered=0,
            never_delivered=0,
            exception=None,
        )
        for number in range(1_000)
    ]
    faults = [FaultResult(fault="kill", target="x", landed=True, evidence={})] * 1_000
    verdict = changed(
        verdict_of(checks, faults=faults, resumption=resumed, must_judge=["resumption"]),
        unexpected=shown,
        verdict=RunVerdict.FAIL,
    )
    html = page(RunFacts(folder), verdict, Pictures())
    assert len(html) < BYTES_MAX
    assert len(re.findall(r"<[a-z]", html)) < ELEMENTS_MAX
    text = text_of(html)
    assert "22,610 violations, 22,607 of them only in report/findings.parquet" in text
    assert "65 more checks and groups with unexpected findings: report/findings.parquet" in text
    assert "900 more rows: report/verdict.json" in text
    assert "900 more faults: report/verdict.json" in text


def test_all_that_a_run_says_is_escaped(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, error=EVIL, command=EVIL, versions={EVIL: EVIL})
    one = finding(EVIL, kind=EVIL, cause=EVIL, group=EVIL, topic=EVIL, evidence={EVIL: EVIL})
    verdict = verdict_of(
        {EVIL: result(one, summary=EVIL), "x": result(verdict=CheckVerdict.UNDECIDED, reason=EVIL)},
        answer=EVIL,
        scenario=EVIL,
        parameters={EVIL: EVIL},
        doubts=[EVIL],
        rerun=EVIL,
        unexpected=[unexpected(one)],
        expectations=[expected(EVIL, groups=[EVIL])],
        notes=[Note(text=EVIL, at_micros=1)],
    )
    html = page(RunFacts(folder), verdict, Pictures())
    assert EVIL not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "http" not in html


def test_a_note_of_the_scenario_has_its_time(folder: RunFolder) -> None:
    said = verdict_of({}, notes=[Note(text="the cache is cold", at_micros=1_750_000)])
    assert "+1.250 s the cache is cold" in text_of(page(RunFacts(folder), said, Pictures()))
    assert "Notes" not in page(RunFacts(folder), verdict_of({}), Pictures())


def test_checks_that_hold_are_folded_and_counted(folder: RunFolder) -> None:
    held = verdict_of({"reset": result(evaluated=12_000, exercised=7), "poll_skip": result()})
    assert "2 checks hold" in text_of(page(RunFacts(folder), held, Pictures()))
    assert "reset 12,000 7 yes" in text_of(page(RunFacts(folder), held, Pictures()))


def test_idle_checks_stand_by_their_reason(folder: RunFolder) -> None:
    idle = result(verdict=CheckVerdict.NOT_EVALUABLE, reason="no transactions")
    html = page(
        RunFacts(folder), verdict_of({"aborted_read": idle, "write_cycle": idle}), Pictures()
    )
    assert "aborted_read, write_cycle: no transactions." in text_of(html)


def test_commit_styles_are_a_small_table_on_the_first_screen(folder: RunFolder) -> None:
    def row(style: str, label: str, **fields: Any) -> StyleRow:
        values: dict[str, Any] = {
            "committed_offset": 200,
            "committed_epoch": 1,
            "resets": ["none"],
            "groups": 1,
            "of": 1,
            "resumed_at": 100,
            "redelivered": 0,
            "never_delivered": 0,
            "exception": None,
        }
        return StyleRow(
            commit_epoch=CommitEpoch(style), labels={"log_end": label}, **values | fields
        )

    styles = [
        row(CommitEpoch.RECORD, "above", groups=2, of=3),
        row(CommitEpoch.RECORD, "above", of=3, resumed_at=None, exception="OffsetError (x)"),
        row(CommitEpoch.RECORD, "below", redelivered=1),
        row(CommitEpoch.FORCED, "above", committed_epoch=3, resumed_at=1200, never_delivered=100),
        row(CommitEpoch.NONE, "below", committed_epoch=-1, resumed_at=None),
    ]
    text = text_of(page(RunFacts(folder), verdict_of({}, styles=styles), Pictures()))
    assert "log_end above" in text
    assert "2 of 3 resumed at 100; 1 of 3 raised OffsetError" in text
    assert "1 of 1 resumed at 100, read 1 record again" in text
    assert "3 1 of 1 resumed at 1,200, skipped 100 records" in text
    assert "none none 1 of 1 did not resume" in text
    assert text.index("log_end above") < text.index("Findings")


def test_rules_of_the_protocol_come_before_the_timeline(folder: RunFolder) -> None:
    rule = RuleRow(
        rule="older epoch", api="FETCH", versions="9-18", responses=1234, verdict="violated"
    )
    whole = page(RunFacts(folder), verdict_of({}, rules=[rule]), Pictures())
    assert "older epoch FETCH 9-18 1,234 violated" in text_of(whole)
    assert whole.index('href="#rules"') < whole.index('id="rules"') < whole.index('id="findings"')
    assert 'id="rules"' not in page(RunFacts(folder), verdict_of({}), Pictures())


def test_a_command_works_when_it_is_pasted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    programs = tmp_path / "the programs"
    programs.mkdir()
    (programs / "fencepost").write_text("#!/bin/sh\n")
    (programs / "fencepost").chmod(0o755)
    monkeypatch.setattr("sys.executable", str(programs / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    assert pasted("fencepost run 'a b'") == f"'{programs}/fencepost' run 'a b'"
    assert pasted("make demo") == "make demo"
    monkeypatch.setenv("PATH", str(programs))
    assert pasted("fencepost run x") == "fencepost run x"


ORDERS = "a\u202eb\u2028c\x1b[31md\u200fe"
NO_ORDERS = r"a\u202eb\u2028c\x1b[31md\u200fe"


def test_no_character_of_a_run_is_an_order_on_its_page(tmp_path: Path) -> None:
    fault = FAULT | {"injected_micros": 500_000, "proved_micros": 700_000, "topic": ORDERS}
    folder = with_tables(
        run_folder(tmp_path, command=ORDERS, rerun=ORDERS), sends=[sent(0, 9)], faults=[fault]
    )
    one = finding(cause=ORDERS, group=ORDERS, evidence={"exception": ORDERS})
    verdict = verdict_of(
        {"lost_record": result(one)},
        verdict=RunVerdict.FAIL,
        unexpected=[unexpected(one)],
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
