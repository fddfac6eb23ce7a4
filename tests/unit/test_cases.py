"""How findings are made of rows by their cases."""

from typing import Any

import pyarrow as pa
import pytest

from analysis.engine.duckdb import Database
from analysis.statements.cases import FINDING_COLUMNS, Case, Cases
from contract.verdicts import FindingVerdict

Found = list[dict[str, Any]]


def violation(kind: str, cause: str, **conditions: str) -> Case:
    return Case(kind, FindingVerdict.VIOLATION, cause, **conditions)


def permitted_case(kind: str, cause: str, **conditions: str) -> Case:
    return Case(kind, FindingVerdict.PERMITTED, cause, **conditions)


def undecided_case(kind: str, cause: str, **conditions: str) -> Case:
    return Case(kind, FindingVerdict.UNDECIDED, cause, **conditions)


LATE = Cases(
    permitted_case("{reason}", "100 % of {records} came {seconds:.1f} s late", when="reason != ''"),
    undecided_case("unknown", "no source has the time", when="seconds is null"),
    violation(
        "late",
        "{records} came late{if(records > 1, ' together', '')}",
        when="seconds > 1",
        permitted_if="records = 1",
        undecided_if="records < 3",
    ),
    evidence="records, seconds",
    offset_first="start",
    offset_last="start + records - 1",
)


def findings(database: Database, cases: Cases, **columns: Any) -> Found:
    return run_statement(database, cases.findings_of("made", list(columns)), **columns)


def run_statement(database: Database, statement: str, **columns: Any) -> Found:
    engine = database.engine()
    engine.add("made", pa.table(columns))
    found: Found = engine.rows(statement, numbers={}).to_pylist()
    return found


def verdicts_of(found: Found) -> list[tuple[str, str, str]]:
    return [(row["kind"], row["verdict"], row["cause"]) for row in found]


@pytest.mark.parametrize(
    ("reason", "seconds", "records", "finding"),
    [
        ("a fault", 2.04, 7, ("a fault", "permitted", "100 % of 7 came 2.0 s late")),
        # A half is rounded up by both engines.
        ("a fault", 2.25, 7, ("a fault", "permitted", "100 % of 7 came 2.3 s late")),
        ("", None, 7, ("unknown", "undecided", "no source has the time")),
        ("", 2.0, 7, ("late", "violation", "7 came late together")),
        ("", 2.0, 1, ("late", "permitted", "1 came late")),
        ("", 2.0, 2, ("late", "undecided", "2 came late together")),
    ],
)
def test_the_first_case_that_holds_is_found(
    database: Database,
    reason: str,
    seconds: float | None,
    records: int,
    finding: tuple[str, str, str],
) -> None:
    found = findings(
        database,
        LATE,
        reason=[reason],
        seconds=pa.array([seconds], pa.float64()),
        records=[records],
        start=[40],
    )
    assert verdicts_of(found) == [finding]


def test_a_finding_says_where_it_is(database: Database) -> None:
    (found,) = findings(
        database,
        LATE,
        reason=[""],
        seconds=[2.0],
        records=[7],
        start=[40],
        topic=["t"],
        partition=[3],
    )
    assert tuple(found) == FINDING_COLUMNS
    assert (found["topic"], found["partition"], found["at"]) == ("t", 3, None)
    assert (found["offset_first"], found["offset_last"]) == (40, 46)
    assert found["evidence"] == '{"records":7,"seconds":2.0}'


def test_a_row_without_a_case_is_no_finding(database: Database) -> None:
    assert findings(database, LATE, reason=[""], seconds=[1.0], records=[7], start=[40]) == []


def test_a_case_is_for_rows_of_its_kind(database: Database) -> None:
    cases = Cases(
        violation("{kind}", "always so", when="offset < 0"),
        permitted_case("behind", "behind {offset}"),
        permitted_case("gone", "gone at {offset}; {permit.words}", when="permit is not null"),
        undecided_case("gone", "gone at {offset}", when="is_unreported"),
        violation("gone", "gone at {offset}"),
    )
    permit = pa.array(
        [None, None, None, {"words": "unclean: broker 1, epoch 2, metadata offset 3"}]
    )
    found = findings(
        database,
        cases,
        kind=["gone", "behind", "gone", "gone"],
        offset=[-1, 5, 6, 7],
        permit=permit,
        is_unreported=[True, True, True, False],
    )
    assert sorted(verdicts_of(found)) == [
        ("behind", "permitted", "behind 5"),
        ("gone", "permitted", "gone at 7; unclean: broker 1, epoch 2, metadata offset 3"),
        ("gone", "undecided", "gone at 6"),
        ("gone", "violation", "always so"),
    ]


def test_a_kind_without_a_case_has_no_verdict(database: Database) -> None:
    cases = Cases(violation("behind", "behind"), permitted_case("ahead", "ahead"))
    (found,) = findings(database, cases, kind=["beyond"])
    assert found["verdict"] is None


def test_rows_are_decided_before_they_are_counted(database: Database) -> None:
    """Of a summary, which reads the rows for which a case holds, whole."""
    cases = Cases(
        violation("lost", "lost, unread", when="is_unread", permitted_if="acks = '1'"),
        violation("lost", "lost", when="acks = 'all'"),
    )
    columns = {"acks": ["1", "1", "all", "0"], "is_unread": [True, True, False, False]}
    found = run_statement(database, cases.decided_of("made", list(columns)), **columns)
    assert sorted(tuple(row.values()) for row in found) == [
        ("1", True, "lost", "permitted"),
        ("1", True, "lost", "permitted"),
        ("all", False, "lost", "violation"),
    ]


def test_a_case_that_can_never_hold_is_refused() -> None:
    cases = Cases(violation("lost", "lost"), permitted_case("late", "late", when="offset > 1"))
    with pytest.raises(ValueError, match="not the last one"):
        cases.findings_of("made", ["offset"])


def test_a_case_has_the_verdicts_of_its_exceptions() -> None:
    case = violation("{reason}", "lost", undecided_if="is_unreported")
    assert case.verdicts == {FindingVerdict.VIOLATION, FindingVerdict.UNDECIDED}
    assert not case.is_of_one_kind
    assert Case("lost", FindingVerdict.PERMITTED, "lost").is_of_one_kind
