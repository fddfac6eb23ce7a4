"""Every finding is kept, in the order of the verdict's examples, and is read by its number."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.statements.cases import FINDING_COLUMNS
from analysis.verdict.decision import (
    Collected,
    collect,
    decide,
    doubt_findings,
    doubted_rows,
    every,
    finding_of,
    found_of,
    meet,
    result_of,
    unexpected_findings,
    with_expected,
)
from analysis.verdict.every_finding import FindingsFile, as_table, in_order
from contract.errors import RunFolderError
from contract.run_folder import Expectation, RunFolder
from contract.terms import Check
from contract.verdicts import (
    BY_SEVERITY,
    FINDINGS,
    FINDINGS_FILE,
    CheckResult,
    CheckVerdict,
    FindingVerdict,
    RunVerdict,
    read_finding,
)
from tests.made import make_struct

VIOLATION, UNDECIDED, PERMITTED = BY_SEVERITY
SCHEMA = pa.schema([FINDINGS.field(name) for name in FINDING_COLUMNS])
CLIENTS = {"g": "java", "h": "librdkafka"}


def row(verdict: str = "violation", group: str | None = "g", **values: Any) -> dict[str, Any]:
    return {
        "kind": "skipped",
        "verdict": verdict,
        "topic": "t",
        "partition": 0,
        "offset_first": 1,
        "offset_last": 2,
        "group": group,
        "at": 5,
        "cause": "a cause",
        "evidence": '{"records": 2}',
        **values,
    }


def table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


def make_collected(*rows: dict[str, Any]) -> Collected:
    few: Any = SimpleNamespace(is_without_rows=not rows, table=lambda limit: table(*rows[:limit]))
    return collect(few)


SHUFFLED = (
    row("permitted", offset_first=0),
    row("violation", "h"),
    row("undecided"),
    row("violation", "g", offset_first=9),
    row("violation", None),
    row("violation", "g", offset_first=None),
)


def test_violations_come_first_then_by_place() -> None:
    rows = in_order(table(*SHUFFLED)).to_pylist()
    assert [(kept["verdict"], kept["group"], kept["offset_first"]) for kept in rows] == [
        ("violation", None, 1),
        ("violation", "g", None),
        ("violation", "g", 9),
        ("violation", "h", 1),
        ("undecided", "g", 1),
        ("permitted", "g", 0),
    ]


def test_each_group_has_the_number_of_its_first_finding() -> None:
    found = found_of(Check.SKIPPED_RECORD, make_collected(*SHUFFLED), CLIENTS)
    assert [(entry.verdict, entry.group, entry.findings, entry.number) for entry in found] == [
        ("violation", None, 1, 1),
        ("violation", "g", 2, 2),
        ("violation", "h", 1, 4),
        ("undecided", "g", 1, 5),
        ("permitted", "g", 1, 6),
    ]
    assert [entry.first.client for entry in found] == [None, "java", "librdkafka", "java", "java"]


def test_a_result_counts_all_findings_by_verdict_and_by_what_is_expected() -> None:
    found = found_of(Check.SKIPPED_RECORD, make_collected(*SHUFFLED), CLIENTS)
    result = result_of(found, 9, [])
    assert result.by_verdict == {VIOLATION: 4, UNDECIDED: 1, PERMITTED: 1}
    expects = [
        Expectation(check="skipped_record", groups=["g"]),
        Expectation(check="skipped_record", groups=["g", "h"], is_optional=True),
        Expectation(check="skipped_record", verdict="permitted"),
        Expectation(check="lost_record"),
    ]
    (counted,) = with_expected({Check.SKIPPED_RECORD: result}, expects, found).values()
    assert counted.expected == {VIOLATION: 3, PERMITTED: 1}


def test_what_has_no_rows_for_certain_is_not_run() -> None:
    nothing: Any = SimpleNamespace(is_without_rows=True)
    assert collect(nothing).numbers == {}
    assert collect(nothing).rows.equals(table())


def test_what_rests_on_a_gap_is_counted_as_undecided() -> None:
    found = found_of(Check.SKIPPED_RECORD, make_collected(*SHUFFLED), CLIENTS)
    _, result = doubt_findings(found, result_of(found, 9, []), "a gap")
    assert result.by_verdict == {UNDECIDED: 6}


def test_an_engine_that_can_not_return_all_leaves_the_first() -> None:
    def refuse() -> pa.Table:
        raise MemoryError

    many: Any = SimpleNamespace(table=refuse)
    few = Collected(table(row()), {(FindingVerdict.VIOLATION, "g"): 20_000})
    assert every(many, few).num_rows == 1


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., RunFolder]:
    def write(*rows: dict[str, Any]) -> RunFolder:
        folder = RunFolder(tmp_path)
        folder.report.mkdir()
        with FindingsFile(folder.report / FINDINGS_FILE) as file:
            file.keep("skipped_record", in_order(table(*rows)), CLIENTS)
            file.keep("lost_record", table(), CLIENTS)
            file.keep("reset", table(row(group=None, topic=None)), CLIENTS)
        return folder

    return write


def test_a_finding_is_read_by_its_number(write_run: Callable[..., RunFolder]) -> None:
    folder = write_run(*SHUFFLED)
    rows = in_order(table(*SHUFFLED)).to_pylist()
    for number, kept in enumerate(rows, start=1):
        expected = finding_of(Check.SKIPPED_RECORD, kept, CLIENTS)
        assert read_finding(folder, "skipped_record", number) == expected
    assert read_finding(folder, "skipped_record", 7) is None
    assert read_finding(folder, "lost_record", 1) is None
    reset = read_finding(folder, "reset", 1)
    assert reset is not None
    assert (reset.topic, reset.client, reset.evidence) == (None, None, {"records": 2})


def test_the_file_has_the_declared_columns(write_run: Callable[..., RunFolder]) -> None:
    folder = write_run(*(row(offset_first=offset) for offset in range(50)))
    content = pq.read_table(folder.report / FINDINGS_FILE)
    assert content.schema.equals(FINDINGS)
    assert content.num_rows == 51


def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.report.mkdir()
    assert read_finding(folder, "reset", 1) is None
    (folder.report / FINDINGS_FILE).write_bytes(b"PAR1 no more")
    with pytest.raises(RunFolderError, match="not a valid file of findings"):
        read_finding(folder, "reset", 1)
    pq.write_table(pa.table({"check": ["reset"], "number": [1]}), folder.report / FINDINGS_FILE)
    with pytest.raises(RunFolderError, match="not a valid file of findings"):
        read_finding(folder, "reset", 1)


def test_a_file_that_lacks_findings_is_removed(tmp_path: Path) -> None:
    file = tmp_path / FINDINGS_FILE

    def crash() -> None:
        with FindingsFile(file) as findings:
            findings.keep("reset", table(row()), CLIENTS)
            raise MemoryError

    with pytest.raises(MemoryError):
        crash()
    assert not file.exists()


def test_findings_that_rest_on_a_gap_are_undecided() -> None:
    rows = doubted_rows(in_order(table(*SHUFFLED)))
    assert set(rows["verdict"].to_pylist()) == {"undecided"}
    assert rows.schema.names == list(FINDING_COLUMNS)


def test_findings_that_python_has_become_a_table() -> None:
    (first,) = (entry.first for entry in found_of(Check.RESET, make_collected(row()), CLIENTS))
    assert as_table([first]).to_pylist() == [row(evidence='{"records":2}')]
    assert as_table([]).num_rows == 0


def test_expectations_are_met_by_all_findings_not_by_the_examples() -> None:
    rows = [row(group="a", offset_first=offset) for offset in range(15)]
    found = found_of(Check.SKIPPED_RECORD, make_collected(*rows, row(group="b")), {})
    each = Expectation(check="skipped_record", groups=["a", "b"])
    (met,) = meet([each], found)
    assert (met.is_met, met.findings, met.seen) == (True, 16, ["a", "b"])
    assert unexpected_findings([each], found) == []
    one_group = Expectation(check="skipped_record", groups=["a"])
    (other,) = unexpected_findings([one_group], found)
    assert (other.group, other.findings, other.number) == ("b", 1, 16)
    assert other.first.group == "b"


@pytest.mark.parametrize(
    ("expectation", "is_met", "verdict"),
    [
        ({"verdict": "permitted"}, False, RunVerdict.FAIL),
        ({"groups": ["h"]}, False, RunVerdict.FAIL),
        ({"groups": ["g", "h"]}, False, RunVerdict.UNDECIDED),
        ({"groups": ["g", "h"], "in_each": False}, True, RunVerdict.PASS),
        ({"groups": ["g", "h"], "is_optional": True}, False, RunVerdict.PASS),
        ({}, True, RunVerdict.PASS),
    ],
)
def test_the_verdict_follows_from_expectations(
    expectation: dict[str, Any], *, is_met: bool, verdict: RunVerdict
) -> None:
    expects = [Expectation(check="skipped_record", **expectation)]
    found = found_of(Check.SKIPPED_RECORD, make_collected(row()), {})
    (met,) = meet(expects, found)
    assert met.is_met is is_met
    results = {Check.LOST_RECORD: make_struct(CheckResult, verdict=CheckVerdict.HOLDS)}
    decided = decide(
        [met], unexpected_findings(expects, found), results, must_judge=(), is_whole=True
    )
    assert decided is verdict
