"""The verdict of a run, its resumption rows, and its report."""

import json
from pathlib import Path

import pytest
from conftest import Rows, TraceMaker
from micro import changed, committed
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from test_checks import HEALTHY, WENT_BACK, WENT_ON

from analysis.judge import judge
from analysis.load import load_trace, spark_schema
from analysis.report.page import write_report
from harness.contract.checks import Check
from harness.contract.errors import RunFolderError
from harness.contract.run_folder import Expectation, RunFolder
from harness.contract.tables import TABLES
from harness.contract.verdicts import RunVerdict

pytestmark = pytest.mark.spark

_SILENT = (Check.SKIPPED_RECORD,)


@pytest.mark.parametrize("table", TABLES)
def test_spark_reads_tables_by_the_contract(table: str) -> None:
    schema = spark_schema(table)
    assert [field.name for field in schema] == TABLES[table].names
    assert to_arrow_schema(schema).types == TABLES[table].types


def test_a_healthy_run_passes(make_trace: TraceMaker) -> None:
    verdict = judge(make_trace(HEALTHY))
    assert all(result.evaluated > 0 for result in verdict.checks.values())
    assert {name: r.verdict for name, r in verdict.checks.items() if r.verdict != "holds"} == {}
    assert verdict.verdict is RunVerdict.PASS


def test_an_unexpected_violation_fails(make_trace: TraceMaker) -> None:
    assert judge(make_trace(WENT_ON, checks=_SILENT)).verdict is RunVerdict.FAIL


def test_an_expected_violation_passes(make_trace: TraceMaker) -> None:
    expects = (Expectation(check=Check.SKIPPED_RECORD, groups=["g"]),)
    trace = make_trace(WENT_ON, checks=_SILENT, expects=expects)
    assert judge(trace).verdict is RunVerdict.PASS


def test_an_expectation_that_nothing_meets_is_undecided(make_trace: TraceMaker) -> None:
    expects = (Expectation(check=Check.SKIPPED_RECORD, groups=["g"]),)
    trace = make_trace(WENT_BACK, checks=_SILENT, expects=expects)
    assert judge(trace).verdict is RunVerdict.UNDECIDED


def test_a_check_without_anything_to_judge_is_undecided(make_trace: TraceMaker) -> None:
    trace = make_trace({**HEALTHY, "polls": []})
    verdict = judge(trace)
    assert verdict.checks[Check.SKIPPED_RECORD].verdict == "not_evaluable"
    assert verdict.resumption == []
    assert verdict.verdict is RunVerdict.UNDECIDED


def test_a_run_that_broke_off_is_undecided_at_best(make_trace: TraceMaker) -> None:
    assert judge(make_trace(HEALTHY, error="boom")).verdict is RunVerdict.UNDECIDED


@pytest.mark.parametrize(
    ("history", "verdict"), [(HEALTHY, RunVerdict.UNDECIDED), (WENT_ON, RunVerdict.FAIL)]
)
def test_a_fault_that_did_not_land_leaves_no_pass(
    make_trace: TraceMaker, history: Rows, verdict: RunVerdict
) -> None:
    rows = {**history, "faults": [{**HEALTHY["faults"][0], "landed": False}]}
    assert judge(make_trace(rows, checks=_SILENT)).verdict is verdict


def test_resumption_of_a_group_that_went_on(make_trace: TraceMaker) -> None:
    (row,) = judge(make_trace(WENT_ON, commit_epoch="max")).resumption
    assert (row.committed_offset, row.committed_epoch, row.resumed_at) == (4, 1, 4)
    assert (row.redelivered, row.never_delivered, row.exception) == (0, 2, None)


def test_resumption_of_a_group_that_went_back(make_trace: TraceMaker) -> None:
    (row,) = judge(make_trace(WENT_BACK)).resumption
    assert (row.resumed_at, row.redelivered, row.never_delivered) == (2, 0, 0)


def test_resumption_tells_the_commit_that_stood_when_it_was_reopened(
    make_trace: TraceMaker,
) -> None:
    later = committed(6, 1, at=700)
    rows = {**WENT_BACK, "committed_offsets": [committed(4, 0), later]}
    (row,) = judge(make_trace(rows)).resumption
    assert row.committed_offset == 4


def test_resumption_of_a_group_that_raised(make_trace: TraceMaker) -> None:
    raised = changed(
        "failed", life=2, at=650, exception="LogTruncationException", divergent_offset=2
    )
    rows = {**WENT_ON, "group_events": [*WENT_ON["group_events"][:3], raised]}
    (row,) = judge(make_trace(rows)).resumption
    assert row.exception == "LogTruncationException (divergent offset 2)"
    assert (row.resumed_at, row.never_delivered) == (None, None)


def test_the_report_escapes_what_it_is_given(make_trace: TraceMaker, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    rows = {
        name: [{**row, "group": evil} if "group" in row else row for row in table]
        for name, table in WENT_ON.items()
    }
    trace = make_trace(rows, group=evil)
    folder = RunFolder(tmp_path)
    folder.report.mkdir()
    write_report(folder, judge(trace), trace)
    page = (folder.report / "index.html").read_text()
    assert evil not in page
    assert "&lt;script&gt;alert(1)" in page
    assert 'src="http' not in page


def test_a_folder_without_a_plan_says_so(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"plan\.json"):
        load_trace(spark, RunFolder(tmp_path))


def test_a_finding_is_json(make_trace: TraceMaker) -> None:
    verdict = judge(make_trace(WENT_ON, checks=_SILENT))
    (one,) = verdict.checks[Check.SKIPPED_RECORD].examples
    assert json.dumps(one.evidence)
