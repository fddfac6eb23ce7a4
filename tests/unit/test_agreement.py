"""What counts as the same findings."""

from typing import Any

import pytest

from tests.exam.agreement import Judged, differing


def make_judged(
    *findings: dict[str, Any], evaluated: int = 5, check: str = "c"
) -> dict[str, Judged]:
    return {check: Judged(evaluated=evaluated, findings=list(findings))}


def row(evidence: str = '{"a":1}', **values: Any) -> dict[str, Any]:
    return {"kind": "k", "offset_first": 1, "evidence": evidence} | values


def test_the_order_of_findings_makes_no_difference() -> None:
    one, other = row(), row(offset_first=2)
    assert differing(make_judged(one, other), make_judged(other, one)) == []


@pytest.mark.parametrize(
    "other",
    [
        make_judged(),
        make_judged(row(), row()),
        make_judged(row(kind="else")),
        make_judged(row('{"a":2}')),
        make_judged(row('{"a":1,"b":null}')),
        make_judged(row(), evaluated=6),
        make_judged(row(), check="d"),
        {"c": Judged(lacks="table polls is empty")},
    ],
)
def test_any_other_finding_or_count_is_a_difference(other: dict[str, Judged]) -> None:
    assert "c" in differing(make_judged(row()), other)
