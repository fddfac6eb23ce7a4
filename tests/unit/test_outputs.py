"""What a report has for machines says what the verdict says."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import msgspec
import pytest
from msgspec.structs import replace
from pages_of import (
    PERMITTED,
    finding,
    make_expectation,
    make_unexpected,
    result,
    run_folder,
    verdict_of,
)

from analysis.report.first_screen import expected_line
from analysis.report.night_rows import Judged
from analysis.report.outputs import (
    JUNIT_FILE,
    MARKDOWN_FILE,
    METRICS_FILE,
    OUTPUT_FILES,
    as_json,
    junit,
    markdown,
    metrics,
    write_night_outputs,
    write_run_outputs,
    write_session_outputs,
)
from analysis.report.run_output import RunOutput, output_of
from contract.nights import NightRow, NightSummary, Outcome
from contract.run_folder import Consequence
from contract.verdicts import (
    CheckVerdict,
    FaultResult,
    FindingVerdict,
    RunVerdict,
    Verdict,
)
from tests.made import make_struct

FAIL, UNDECIDED = RunVerdict.FAIL, RunVerdict.UNDECIDED
EVIL = 'a <b> | "c" & `d`\n\x00 ]]>'
LOST = finding(cause=EVIL)
IDLE = result(verdict=CheckVerdict.NOT_EVALUABLE, evaluated=0, reason="no table")
FAILED = verdict_of(
    {"lost_record": result(LOST, findings=12, exercised=3), "reset": result(), "fenced": IDLE},
    verdict=FAIL,
    unexpected=[make_unexpected(LOST, findings=12)],
    must_judge=["lost_record"],
)


def judged_run(path: Path, verdict: Verdict | None, **fields: Any) -> Judged:
    return Judged(run_folder(path, **fields), verdict, None if verdict else "it is damaged")


def output(path: Path, verdict: Verdict | None, **fields: Any) -> RunOutput:
    run = judged_run(path, verdict, **fields)
    return output_of(run, run.folder.report)


def parse_xml(document: bytes) -> Element:
    return fromstring(document)  # noqa: S314 - of our own making


def case(document: bytes, name: str) -> Element:
    return next(
        element for element in parse_xml(document).iter("testcase") if element.get("name") == name
    )


def words(document: bytes) -> dict[str, str]:
    """What each test case came to."""
    tags = ("failure", "error", "skipped")
    return {
        str(element.get("name")): next(
            (tag for tag in tags if element.find(tag) is not None), "pass"
        )
        for element in parse_xml(document).iter("testcase")
    }


def test_an_unexpected_violation_is_a_failure_of_its_check(tmp_path: Path) -> None:
    document = junit([output(tmp_path, FAILED)])
    assert words(document) == {
        "run": "pass",
        "lost_record": "failure",
        "reset": "pass",
        "fenced": "skipped",
    }
    failure = case(document, "lost_record").find("failure")
    assert failure is not None
    message = str(failure.get("message"))
    assert message.startswith('12 unexpected findings: a <b> | "c" & `d`')
    assert "\x00" not in message
    assert "lost_record:1 truncated" in str(failure.text)
    root = parse_xml(document)
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
    }
    (suite,) = root
    assert (suite.get("name"), suite.get("time")) == ("micro, Kafka 4.4.0", "30.000")
    named = {element.get("name"): element.get("value") for element in suite.iter("property")}
    assert named["verdict"] == "fail"
    assert named["rerun"] == "fencepost run micro --seed 1"
    assert named["page"] == "index.html"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"checks": {"reset": result(verdict=CheckVerdict.UNDECIDED, reason="a gap")}}, "reset"),
        ({"checks": {"reset": IDLE}, "must_judge": ["reset"]}, "reset"),
        ({"doubts": ["a clock jumped"]}, "run"),
        ({"faults": [FaultResult(fault="kill", target="b", landed=False, evidence={})]}, "run"),
        ({"expectations": [make_expectation("reset", is_met=False)]}, "run"),
    ],
)
def test_an_undecided_run_is_an_error(tmp_path: Path, changes: dict[str, Any], name: str) -> None:
    verdict = replace(verdict_of({"reset": result()}), verdict=UNDECIDED, **changes)
    found = words(junit([output(tmp_path, verdict)]))
    assert {case for case, word in found.items() if word == "error"} == {name}
    assert "failure" not in found.values()


def test_a_scenario_that_did_not_finish_is_an_error(tmp_path: Path) -> None:
    verdict = verdict_of({"reset": result()}, verdict=UNDECIDED)
    document = junit([output(tmp_path, verdict, error="NodeError: node 1")])
    assert words(document)["run"] == "error"
    assert b"NodeError: node 1" in document


def test_a_run_that_can_not_be_judged_is_an_error(tmp_path: Path) -> None:
    document = junit([output(tmp_path, None)])
    assert words(document) == {"run": "error"}
    assert b"it is damaged" in document


def test_expected_and_permitted_findings_are_no_failures(tmp_path: Path) -> None:
    permitted = result(finding(check="reset", verdict=PERMITTED), summary="one of a kind")
    verdict = verdict_of(
        {"lost_record": result(LOST), "reset": permitted},
        expectations=[make_expectation("lost_record")],
    )
    document = junit([output(tmp_path, verdict)])
    assert set(words(document).values()) == {"pass"}
    reported = str(case(document, "lost_record").findtext("system-out"))
    assert reported.startswith("1 violation as the scenario expects: ")
    reported = case(document, "reset").findtext("system-out")
    assert reported == "1 permitted by the configuration: one of a kind"
    assert "expected: 1 of 1 seen" in str(case(document, "run").findtext("system-out"))


def test_a_run_that_never_ran_is_an_error_and_has_no_metrics(tmp_path: Path) -> None:
    late = night_row(None, outcome=Outcome.OMITTED, error="it never ran: no time")
    (tmp_path / "report").mkdir()
    write_night_outputs(tmp_path, summary_of(late), [])
    report = tmp_path / "report"
    assert words((report / JUNIT_FILE).read_bytes()) == {"run": "error"}
    assert "it never ran: no time" in (report / MARKDOWN_FILE).read_text()
    assert (report / METRICS_FILE).read_text() == "# EOF\n"


def summary_of(*rows: NightRow) -> NightSummary:
    return make_struct(NightSummary, night="smoke-1", verdict=FAIL, runs=list(rows))


def night_row(report: str | None, **fields: Any) -> NightRow:
    named: dict[str, Any] = {"scenario": "micro", "kafka": "4.4.0", "repeat": 1}
    verdicts: dict[str, Any] = {"expect": FAIL, "verdict": FAIL}
    return make_struct(NightRow, report=report, **named | verdicts | fields)


@pytest.mark.parametrize(
    ("verdict", "outcome", "word"),
    [
        (FAILED, Outcome.EXPECTED, "pass"),
        (verdict_of({"reset": result()}), Outcome.UNEXPECTED, "failure"),
    ],
)
def test_a_canary_must_fail(tmp_path: Path, verdict: Verdict, outcome: Outcome, word: str) -> None:
    run = judged_run(tmp_path / "runs" / "0", verdict)
    row = night_row("runs/0/report/index.html", verdict=verdict.verdict, outcome=outcome)
    missing = night_row(None, outcome=Outcome.UNDECIDED, error="no run folder")
    (tmp_path / "report").mkdir()
    write_night_outputs(tmp_path, summary_of(row, missing), [run])
    document = (tmp_path / "report" / "junit.xml").read_bytes()
    first, second = parse_xml(document)
    assert first.get("name") == "micro, Kafka 4.4.0, #2"
    assert ("failure" if int(str(first.get("failures"))) else "pass") == word
    assert second.get("errors") == "1"
    assert ("12 violations as the suite expects" in document.decode()) is (word == "pass")
    summary = (tmp_path / "report" / "summary.md").read_text()
    assert "(../runs/0/report" not in summary
    assert "the suite expects fail" in summary
    assert "- error: no run folder" in summary
    text = (tmp_path / "report" / "metrics.txt").read_text()
    assert value_of(text, "fencepost_run_as_expected") == {"1" if word == "pass" else "0", "0"}


def test_the_summary_has_the_answer_and_the_unexpected_with_its_cause(tmp_path: Path) -> None:
    text = markdown("a | session", [output(tmp_path, replace(FAILED, answer="No: 12 are lost."))])
    assert text.startswith("# Fencepost: a \\| session\n\n1 run: 1 unexpected.\n")
    row = next(line for line in text.splitlines() if line.startswith("| ❌"))
    assert re.split(r"(?<!\\) ?\| ?", row)[2:6] == [
        "micro, Kafka 4.4.0",
        "fail",
        "No: 12 are lost.",
        expected_line(FAILED),
    ]
    assert "- **lost\\_record**, 12 unexpected findings: a \\<b\\> \\| " in text
    assert "(t-0, offsets 2 to 3)" in text
    assert "```\nfencepost run micro --seed 1\n```" in text


def test_the_summary_has_what_follows_once(tmp_path: Path) -> None:
    follows = Consequence(sentence="Commit <epochs>.", document="KIP-320")
    shown = output(tmp_path, replace(FAILED, follows=follows))
    text = markdown("s", [shown, shown, output(tmp_path, FAILED)])
    assert text.count("- **micro**: Commit \\<epochs\\>. (KIP-320)") == 1
    assert text.index("## What follows") < text.index("## micro")


LABELS = r'[a-z_]+="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(rf"([a-z_]+)\{{({LABELS}(?:,{LABELS})*)\}} (-?\d+(?:\.\d+)?)")


def families(text: str) -> dict[str, list[tuple[str, str]]]:
    """The samples of each family; checks the form that OpenMetrics requires."""
    *lines, end = text.removesuffix("\n").split("\n")
    assert end == "# EOF"
    found: dict[str, list[tuple[str, str]]] = {}
    name = ""
    for line in lines:
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert kind == "gauge"
            assert name not in found, "a family comes once"
            found[name] = []
        elif line.startswith("# UNIT "):
            assert name.endswith(line.split(" ")[3])
        elif line.startswith("# HELP "):
            assert line.split(" ")[2] == name
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            assert sample[1] == name, "samples follow their family's lines"
            found[name].append((sample[2], sample[3]))
    for samples in found.values():
        assert samples
        assert len({labels for labels, _ in samples}) == len(samples)
    return found


def value_of(text: str, name: str, label: str = "") -> set[str]:
    return {value for labels, value in families(text)[name] if label in labels}


def test_metrics_have_the_numbers_of_the_verdict(tmp_path: Path) -> None:
    verdict = replace(
        FAILED, expectations=[make_expectation("reset", is_met=False), make_expectation("reset")]
    )
    text = metrics([output(tmp_path, verdict)])
    assert value_of(text, "fencepost_run_unexpected_findings") == {"12"}
    assert value_of(text, "fencepost_run_verdict", 'verdict="fail"') == {"1"}
    assert value_of(text, "fencepost_run_verdict", 'verdict="pass"') == {"0"}
    assert value_of(text, "fencepost_run_duration_seconds") == {"30"}
    assert value_of(text, "fencepost_expectations_met") == {"1"}
    assert value_of(text, "fencepost_expectations") == {"2"}
    assert value_of(text, "fencepost_check_findings", 'check="lost_record"') == {"12"}
    unexpected = "fencepost_check_unexpected_findings"
    assert value_of(text, unexpected, 'check="lost_record"') == {"12"}
    assert value_of(text, unexpected, 'check="reset"') == {"0"}
    assert value_of(text, "fencepost_check_exercised", 'check="lost_record"') == {"3"}


def test_metrics_escape_labels(tmp_path: Path) -> None:
    text = metrics([output(tmp_path, replace(FAILED, scenario='a"b\\c\nd'))])
    assert 'scenario="a\\"b\\\\c\\nd"' in text
    assert families(text)


def test_a_run_without_a_verdict_has_metrics(tmp_path: Path) -> None:
    text = metrics([output(tmp_path, None)])
    assert value_of(text, "fencepost_run_verdict", 'verdict="undecided"') == {"1"}
    assert "fencepost_check_findings" not in text


@pytest.mark.parametrize("started", [-(10**400), 10**30])
def test_damaged_times_are_left_out(tmp_path: Path, started: int) -> None:
    damaged = output(tmp_path, None, started_micros=started)
    (suite,) = parse_xml(junit([damaged]))
    assert suite.get("timestamp") is None
    assert families(metrics([damaged]))
    assert "it is damaged" in markdown("s", [damaged])


def test_no_run_makes_valid_files() -> None:
    assert parse_xml(junit([])).get("tests") == "0"
    assert metrics([]) == "# EOF\n"


def test_each_run_and_the_session_have_their_files(tmp_path: Path) -> None:
    runs = [judged_run(tmp_path / "s" / name, FAILED) for name in ("0", "1")]
    (tmp_path / "s" / "report").mkdir()
    for run in runs:
        write_run_outputs(run)
    write_session_outputs(tmp_path / "s", runs)
    for report in (tmp_path / "s" / "report", *(run.folder.report for run in runs)):
        assert {file.name for file in report.iterdir()} >= set(OUTPUT_FILES)
    assert len(parse_xml((tmp_path / "s" / "report" / "junit.xml").read_bytes())) == 2
    assert len(families((tmp_path / "s" / "report" / "metrics.txt").read_text()))
    text = (tmp_path / "s" / "report" / "summary.md").read_text()
    assert r"| micro, Kafka 4.4.0, \#<!-- -->2 |" in text
    assert "../0/report/index.html" in (tmp_path / "s" / "report" / "junit.xml").read_text()
    write_session_outputs(runs[0].folder.path, runs[:1])
    assert len(parse_xml((runs[0].folder.report / "junit.xml").read_bytes())) == 1


def test_json_has_whole_verdicts_and_errors(tmp_path: Path) -> None:
    runs = [judged_run(tmp_path / "0", FAILED), judged_run(tmp_path / "1", None)]
    summary = summary_of(night_row(None))
    reported = json.loads(as_json(runs, [(tmp_path / "n", summary)]))
    assert msgspec.convert(reported["runs"][0]["verdict"], Verdict) == FAILED
    assert (reported["runs"][1]["verdict"], reported["runs"][1]["error"]) == (None, "it is damaged")
    assert reported["runs"][0]["page"] is None, "no page was written"
    assert msgspec.convert(reported["nights"][0]["summary"], NightSummary) == summary
    assert FindingVerdict(reported["runs"][0]["verdict"]["unexpected"][0]["first"]["verdict"])
