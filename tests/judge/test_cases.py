"""How findings are made of rows by their cases."""

from typing import Any

import pyarrow as pa
import pytest

from analysis.checks.cases import (
    DECIDED,
    Case,
    Cases,
    decided,
    findings,
    permitted,
    undecided,
    violation,
)
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.duckdb import DuckDBEngine
from analysis.engine.frames import Frame
from contract.verdicts import FindingVerdict

LATE = Cases(
    permitted("{reason}", "100 % of {records} came {seconds:.1f} s late", when="reason != ''"),
    undecided("unknown", "no source has the time", when="seconds is null"),
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


def rows(engine: DuckDBEngine, **columns: list[Any]) -> Frame:
    return engine.table(pa.table(columns))


def judged(frame: Frame, cases: Cases) -> list[tuple[str, str, str]]:
    return [(one["kind"], one["verdict"], one["cause"]) for one in findings(frame, cases).collect()]


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
    engine: DuckDBEngine,
    reason: str,
    seconds: float | None,
    records: int,
    finding: tuple[str, str, str],
) -> None:
    frame = rows(
        engine,
        reason=[reason],
        seconds=pa.array([seconds], pa.float64()),
        records=[records],
        start=[40],
    )
    assert judged(frame, LATE) == [finding]


def test_a_finding_says_where_it_is(engine: DuckDBEngine) -> None:
    frame = rows(
        engine, reason=[""], seconds=[2.0], records=[7], start=[40], topic=["t"], partition=[3]
    )
    (found,) = findings(frame, LATE).collect()
    assert (found["topic"], found["partition"], found["at"]) == ("t", 3, None)
    assert (found["offset_first"], found["offset_last"]) == (40, 46)
    assert found["evidence"] == '{"records":7,"seconds":2.0}'


def test_a_row_without_a_case_is_no_finding(engine: DuckDBEngine) -> None:
    frame = rows(engine, reason=[""], seconds=[1.0], records=[7], start=[40])
    assert judged(frame, LATE) == []


def test_a_case_is_for_rows_of_its_kind(engine: DuckDBEngine) -> None:
    cases = Cases(
        violation("{kind}", "always so", when="offset < 0"),
        permitted("behind", "behind {offset}"),
        permitted("gone", "gone at {offset}; {permit.words}", when="permit is not null"),
        undecided("gone", "gone at {offset}", when="is_unreported"),
        violation("gone", "gone at {offset}"),
    )
    permit = pa.array(
        [None, None, None, {"words": "unclean: broker 1, epoch 2, metadata offset 3"}]
    )
    frame = rows(
        engine,
        kind=["gone", "behind", "gone", "gone"],
        offset=[-1, 5, 6, 7],
        permit=permit,
        is_unreported=[True, True, True, False],
    )
    assert sorted(judged(frame, cases)) == [
        ("behind", "permitted", "behind 5"),
        ("gone", "permitted", "gone at 7; unclean: broker 1, epoch 2, metadata offset 3"),
        ("gone", "undecided", "gone at 6"),
        ("gone", "violation", "always so"),
    ]


def test_a_kind_without_a_case_has_no_verdict(engine: DuckDBEngine) -> None:
    cases = Cases(violation("behind", "behind"), permitted("ahead", "ahead"))
    (found,) = findings(rows(engine, kind=["beyond"]), cases).collect()
    assert found["verdict"] is None


def test_rows_keep_their_case_when_they_are_grouped(engine: DuckDBEngine) -> None:
    cases = Cases(
        violation("lost", "{records} lost, unread", when="is_unread", permitted_if="acks = '1'"),
        violation("lost", "{records} lost", when="acks = 'all'"),
    )
    each = rows(engine, acks=["1", "1", "all", "0"], is_unread=[True, True, False, False])
    groups = decided(each, cases).groupBy(*DECIDED).agg(F.count(F.lit(1)).alias("records"))
    assert sorted(judged(groups, cases)) == [
        ("lost", "permitted", "2 lost, unread"),
        ("lost", "violation", "1 lost"),
    ]


def test_a_case_that_can_never_hold_is_refused(engine: DuckDBEngine) -> None:
    cases = Cases(violation("lost", "lost"), permitted("late", "late", when="offset > 1"))
    with pytest.raises(ValueError, match="not the last one"):
        findings(rows(engine, offset=[1]), cases)


def test_a_case_has_the_verdicts_of_its_exceptions() -> None:
    case = violation("{reason}", "lost", undecided_if="is_unreported")
    assert case.verdicts == {FindingVerdict.VIOLATION, FindingVerdict.UNDECIDED}
    assert not case.is_of_one_kind
    assert Case("lost", FindingVerdict.PERMITTED, "lost").is_of_one_kind
