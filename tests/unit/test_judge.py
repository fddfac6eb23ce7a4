"""The verdict of a run, its resumption rows, and its report."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from conftest import Rows, TraceMaker, TraceReader
from histories import HEALTHY, WENT_BACK, WENT_ON, WHOLE_HANDED_ON
from judging import judge
from micro import Row, changed, committed, log_bounds, polled, reported_commit
from rich.console import Console

from analysis.report.page import write_report
from analysis.report.run_facts import RunFacts
from analysis.report.terminal import show
from analysis.statements.files import Source
from analysis.statements.registry import CHECKS, CheckDefinition, CheckHeader, CheckOutcome
from analysis.statements.trace import Trace
from analysis.verdict.decision import lacking
from analysis.verdict.judge import judge as judge_all
from contract.run_folder import Expectation, RunFolder
from contract.tables import TABLES
from contract.terms import Check
from contract.verdicts import RunVerdict

_SILENT = (Check.SKIPPED_RECORD,)
_RESUMED = (Check.RESUMPTION,)
_EVALUATED_MIN = 60


def test_a_healthy_run_passes(make_trace: TraceMaker) -> None:
    other = [{**row, "group": "h", "member": "h#1"} for row in WHOLE_HANDED_ON["polls"]]
    rows = {**WHOLE_HANDED_ON, "polls": [*WHOLE_HANDED_ON["polls"], *other]}
    verdict = judge_all(make_trace(rows, groups=("g", "h"), checks=_SILENT))
    reported = {name: str(result.verdict) for name, result in verdict.checks.items()}
    assert set(reported) == set(Check)
    assert set(reported.values()) == {"holds", "not_evaluable"}
    assert list(reported.values()).count("holds") >= _EVALUATED_MIN
    assert all(result.reason for result in verdict.checks.values() if not result.evaluated)
    assert verdict.verdict is RunVerdict.PASS


def test_every_check_is_judged_by_somebody() -> None:
    assert set(Check) == {*CHECKS, Check.RESUMPTION, Check.VACUOUS_CHECK}


@pytest.mark.parametrize(
    ("history", "verdict"), [(HEALTHY, RunVerdict.PASS), (WENT_ON, RunVerdict.FAIL)]
)
def test_a_violation_counts_whether_its_check_must_be_judged_or_not(
    make_trace: TraceMaker, history: Rows, verdict: RunVerdict
) -> None:
    trace = make_trace(history, checks=(Check.DUPLICATE_DELIVERY,))
    reported = judge_all(trace, only=(Check.DUPLICATE_DELIVERY, Check.SKIPPED_RECORD))
    assert reported.must_judge == [Check.DUPLICATE_DELIVERY]
    assert reported.verdict is verdict


@pytest.mark.parametrize(
    ("must_judge", "verdict"),
    [
        (Check.SKIPPED_RECORD, RunVerdict.PASS),
        (Check.ABORTED_READ, RunVerdict.UNDECIDED),
    ],
)
def test_only_checks_that_must_be_judged_need_a_case(
    make_trace: TraceMaker, must_judge: Check, verdict: RunVerdict
) -> None:
    asked = (Check.SKIPPED_RECORD, Check.ABORTED_READ, Check.VACUOUS_CHECK)
    reported = judge_all(make_trace(HEALTHY, checks=(must_judge,)), only=asked)
    assert reported.checks[Check.ABORTED_READ].verdict == "not_evaluable"
    assert reported.verdict is verdict


def test_a_check_without_a_case_is_undecided_where_a_gap_may_hide_it(
    make_trace: TraceMaker,
) -> None:
    broken = {**HEALTHY["histories"][0], "malformed_lines": 1, "malformed_at": "line 3"}
    rows = {**HEALTHY, "commits": [], "histories": [broken]}
    reported = judge_all(make_trace(rows, checks=_SILENT), only=(Check.LOST_COMMIT,))
    lost = reported.checks[Check.LOST_COMMIT]
    assert (lost.verdict, lost.reason.partition(":")[0]) == ("undecided", "table commits is empty")
    assert reported.verdict is RunVerdict.UNDECIDED


@pytest.mark.parametrize(
    ("gap", "reason"),
    [
        ("table clocks is empty, but it should not", "table clocks is empty, but it should not"),
        ("line 3", "table clocks is empty: line 3"),
    ],
)
def test_a_gap_that_names_the_empty_table_is_the_whole_reason(gap: str, reason: str) -> None:
    assert lacking("table clocks is empty", gap).reason == reason


def test_what_must_be_judged_and_is_no_check_leaves_no_pass(make_trace: TraceMaker) -> None:
    reported = judge_all(make_trace(HEALTHY, checks=(*_SILENT, "of_tomorrow")), only=_SILENT)
    assert reported.doubts == ["this release has no check of_tomorrow, which must be judged"]
    assert reported.verdict is RunVerdict.UNDECIDED


def test_violations_that_are_expected_pass_and_no_others(make_trace: TraceMaker) -> None:
    went_on, went_back = (make_trace(tables, checks=_SILENT) for tables in (WENT_ON, WENT_BACK))

    def verdict(trace: Trace, **expected: Any) -> RunVerdict:
        expects = [Expectation(check=Check.SKIPPED_RECORD, **expected)] if expected else []
        return judge(
            replace(trace, plan=msgspec.structs.replace(trace.plan, expects=expects))
        ).verdict

    assert verdict(went_on) is RunVerdict.FAIL
    assert verdict(went_on, groups=["g"]) is RunVerdict.PASS
    # Nothing meets it.
    assert verdict(went_back, groups=["g"]) is RunVerdict.UNDECIDED
    # In each of its groups, or in any.
    assert verdict(went_on, groups=["g", "other"]) is RunVerdict.UNDECIDED
    assert verdict(went_on, groups=["g", "other"], in_each=False) is RunVerdict.PASS
    # Of another group.
    assert verdict(went_on, groups=["other"], in_each=False) is RunVerdict.FAIL
    assert verdict(went_on, groups=["g"], is_optional=True) is RunVerdict.PASS
    assert verdict(went_back, groups=["g"], is_optional=True) is RunVerdict.PASS
    assert verdict(went_on, groups=["other"], is_optional=True) is RunVerdict.FAIL


def test_a_missing_table_is_no_empty_one(make_trace: TraceMaker) -> None:
    calm = {**HEALTHY, "resets": []}
    checks = (Check.RESET, Check.UNJUSTIFIED_RESET, Check.TRUNCATION_UNDETECTED)
    empty = judge(make_trace(calm, checks=checks)).checks
    assert {name: (r.verdict, r.reason) for name, r in empty.items()} == dict.fromkeys(
        map(str, checks), ("holds", "")
    )
    missing = judge(make_trace(calm, checks=checks, missing=("resets",))).checks
    assert {name: (r.verdict, r.reason) for name, r in missing.items()} == dict.fromkeys(
        map(str, checks), ("not_evaluable", "table resets is missing")
    )
    reported = judge_all(make_trace(calm, checks=_SILENT, missing=("resets",)), only=_SILENT)
    assert reported.doubts == ["table resets is missing"]
    assert reported.verdict is RunVerdict.UNDECIDED


def test_an_empty_table_is_the_reason_where_rows_are_needed(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "polls": [], "sends": []}
    found = judge(make_trace(rows, checks=(Check.PHANTOM_RECORD, Check.RESUMPTION))).checks
    assert found[Check.PHANTOM_RECORD].reason == "table polls is empty, table sends is empty"
    assert found[Check.RESUMPTION].reason == "table polls is empty"


def test_a_plan_without_checks_never_passes(make_trace: TraceMaker) -> None:
    trace = make_trace(HEALTHY)
    verdict = judge(replace(trace, plan=msgspec.structs.replace(trace.plan, must_judge=[])))
    assert verdict.verdict is RunVerdict.UNDECIDED
    assert verdict.doubts == ["the plan names no check that must be judged"]


def test_everything_is_lost_where_every_log_is_empty(make_trace: TraceMaker) -> None:
    rows = {**HEALTHY, "replica_records": [], "log_starts": log_bounds(0, 0)}
    found = judge(make_trace(rows, checks=(Check.LOST_RECORD,))).checks[Check.LOST_RECORD]
    assert found.verdict == "violated"


def test_a_table_without_a_file_is_reported_as_missing(
    make_trace: TraceMaker, read_run: TraceReader, tmp_path: Path
) -> None:
    folder, described = RunFolder(tmp_path), make_trace({})
    folder.write_plan(described.plan)
    folder.write_run(described.run)
    folder.tables.mkdir()
    pq.write_table(TABLES["resets"].empty_table(), folder.tables / "resets.parquet")
    trace = read_run(folder)
    assert trace.missing == TABLES.keys() - {"resets"}


class _CrashesAtOnce(CheckDefinition):
    def judge(self, trace: Trace) -> CheckOutcome:
        raise ValueError(f"no {trace.plan.scenario}\nat all")


_HEADER = """
id: A6
definition: It crashes.
evaluates: nothing.
source: this test.
needs: []
evaluated: select 1 as evaluated
cases:
- violation: x
  cause: it crashes
"""
_CRASHING = Source(
    Path("corrupted_record.sql"), _HEADER, "select * from polls where int(member) > 0"
)


@pytest.mark.parametrize(
    ("crashing", "reason"),
    [(_CrashesAtOnce, "ValueError: no micro"), (CheckDefinition, "g#1")],
)
def test_a_check_that_crashes_leaves_the_others_theirs(
    make_trace: TraceMaker,
    monkeypatch: pytest.MonkeyPatch,
    crashing: type[CheckDefinition],
    reason: str,
) -> None:
    broken = crashing(_CRASHING, _CRASHING.header_as(CheckHeader))
    monkeypatch.setitem(CHECKS, Check.CORRUPTED_RECORD, broken)
    checks = (Check.CORRUPTED_RECORD, Check.DUPLICATE_DELIVERY, Check.SKIPPED_RECORD)
    verdict = judge(make_trace(HEALTHY, checks=checks))
    crashed = verdict.checks.pop(Check.CORRUPTED_RECORD)
    assert crashed.verdict == "undecided"
    assert reason in crashed.reason
    assert "\n" not in crashed.reason
    assert {result.verdict for result in verdict.checks.values()} == {"holds"}
    assert verdict.verdict is RunVerdict.UNDECIDED
    failing = judge(make_trace(WENT_ON, checks=checks))
    assert failing.verdict is RunVerdict.FAIL


def test_a_run_that_broke_off_is_undecided_at_best(make_trace: TraceMaker) -> None:
    assert judge(make_trace(HEALTHY, checks=_SILENT, error="boom")).verdict is RunVerdict.UNDECIDED


@pytest.mark.parametrize(
    ("history", "verdict"), [(HEALTHY, RunVerdict.UNDECIDED), (WENT_ON, RunVerdict.FAIL)]
)
def test_a_fault_that_did_not_land_leaves_no_pass(
    make_trace: TraceMaker, history: Rows, verdict: RunVerdict
) -> None:
    rows = {**history, "faults": [{**HEALTHY["faults"][0], "landed": False}]}
    assert judge(make_trace(rows, checks=_SILENT)).verdict is verdict


def second_life(*events: Row) -> list[Row]:
    """What the group's members tell: the first one is at 4, the second one as given."""
    return [*WENT_BACK["group_events"][:2], changed("opened", life=2, at=450), *events]


AT_THE_END = changed("caught_up", life=2, at=650, position=6)
# Its last member was there before the truncation: what it read before counts for nothing.
STOPPED_AND_READ_ON = {
    **WENT_BACK,
    "polls": [
        *polled(0, 1),
        *polled(2, 3, life=2, at=500),
        *polled(2, 3, 4, 5, epoch=1, producer="q", life=2, at=600),
    ],
    "committed_offsets": [committed(2, 0), committed(4, 0, at=550)],
    "group_events": second_life(changed("caught_up", life=2, at=510, position=4), AT_THE_END),
}
STALLED_AND_READ_ON = {
    **WENT_BACK,
    "group_events": second_life(changed("stalled", life=2, at=550, position=4), AT_THE_END),
    "polls": [
        *WENT_BACK["polls"][:4],
        *polled(2, 3, epoch=1, producer="q", life=2, at=500),
        *polled(4, 5, epoch=1, producer="q", life=2, at=600),
    ],
}
RAISED = changed("failed", life=2, at=650, exception="LogTruncationException", divergent_offset=2)


@pytest.mark.parametrize(
    ("rows", "reported"),
    [
        (
            WENT_ON,
            {"committed_offset": 4, "committed_epoch": 1, "resumed_at": 4, "redelivered": 0}
            | {"never_delivered": 2, "exception": None},
        ),
        (WENT_BACK, {"resumed_at": 2, "redelivered": 0, "never_delivered": 0}),
        # The commit that stood when it was reopened.
        (
            {**WENT_BACK, "committed_offsets": [committed(4, 0), committed(6, 1, at=700)]},
            {"committed_offset": 4},
        ),
        (STOPPED_AND_READ_ON, {"committed_offset": 4, "resumed_at": 2, "never_delivered": 0}),
        (STALLED_AND_READ_ON, {"committed_offset": 4, "resumed_at": 2}),
        (
            {**WENT_ON, "group_events": second_life(RAISED)},
            {"exception": "LogTruncationException (divergent offset 2)"}
            | {"resumed_at": None, "never_delivered": None},
        ),
    ],
)
def test_how_a_group_resumed(make_trace: TraceMaker, rows: Rows, reported: dict[str, Any]) -> None:
    (row,) = judge(make_trace(rows, commit_epoch="max", checks=_RESUMED)).resumption
    assert {name: getattr(row, name) for name in reported} == reported


def test_resumption_has_the_epochs_of_the_clients_last_commit_before(
    make_trace: TraceMaker,
) -> None:
    def knew(at: int, *, metadata_epoch: int) -> Row:
        epochs = {"record_epoch": 0, "position_epoch": 0, "cluster_epoch": 1}
        return {**reported_commit(4, at=at), **epochs, "metadata_epoch": metadata_epoch}

    commits = [knew(250, metadata_epoch=-1), knew(300, metadata_epoch=1)]
    rows = {**WENT_BACK, "commits": [*commits, knew(9000, metadata_epoch=2)]}
    (row,) = judge(make_trace(rows, checks=_RESUMED)).resumption
    known = (row.record_epoch, row.position_epoch, row.metadata_epoch, row.cluster_epoch)
    assert known == (0, 0, 1, 1)
    (unknown,) = judge(make_trace({**WENT_BACK, "commits": []}, checks=_RESUMED)).resumption
    assert unknown.metadata_epoch is None


def describe_run(trace: Trace, path: Path) -> RunFolder:
    folder = RunFolder(path)
    folder.report.mkdir()
    folder.write_plan(trace.plan)
    folder.write_run(trace.run)
    return folder


def test_resumption_of_several_partitions_is_reported_by_partition(
    make_trace: TraceMaker, tmp_path: Path
) -> None:
    one = judge(make_trace(WENT_BACK, checks=_RESUMED))
    both = {
        name: [*rows, *({**row, "partition": 1} for row in rows if "partition" in row)]
        for name, rows in WENT_BACK.items()
    }
    trace = make_trace(both, checks=_RESUMED)
    two = judge(trace)
    assert [(r.group, r.topic, r.partition) for r in one.resumption] == [("g", "t", 0)]
    assert [(r.group, r.topic, r.partition) for r in two.resumption] == [
        ("g", "t", 0),
        ("g", "t", 1),
    ]
    folder = describe_run(trace, tmp_path)
    write_report(RunFacts(folder), two)
    assert "<td>g t-1</td>" in (folder.report / "index.html").read_text()
    for verdict, reported in ((one, False), (two, True)):
        console = Console(record=True, width=200, file=io.StringIO())
        show(verdict, console, is_verbose=True)
        assert ("g t-1" in console.export_text()) is reported


def test_the_report_escapes_what_it_is_given(make_trace: TraceMaker, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    rows = {
        name: [{**row, "group": evil} if "group" in row else row for row in table]
        for name, table in WENT_ON.items()
    }
    trace = make_trace(rows, groups=(evil,), checks=_SILENT)
    folder = describe_run(trace, tmp_path)
    write_report(RunFacts(folder), judge(trace))
    page = (folder.report / "index.html").read_text()
    assert evil not in page
    assert "&lt;script&gt;alert(1)" in page
    assert 'src="http' not in page
