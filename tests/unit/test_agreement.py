"""What counts as the same findings."""

from typing import Any

import pytest

from tests.exam.agreement import Judged, differing


def judged(*findings: dict[str, Any], evaluated: int = 5, check: str = "c") -> dict[str, Judged]:
    return {check: Judged(evaluated=evaluated, findings=list(findings))}


def row(evidence: str = '{"a":1}', **values: Any) -> dict[str, Any]:
    return {"kind": "k", "offset_first": 1, "evidence": evidence} | values


def test_the_order_of_findings_makes_no_difference() -> None:
    one, other = row(), row(offset_first=2)
    assert differing(judged(one, other), judged(other, one)) == []


@pytest.mark.parametrize(
    "other",
    [
        judged(),
        judged(row(), row()),
        judged(row(kind="else")),
        judged(row('{"a":2}')),
        judged(row('{"a":1,"b":null}')),
        judged(row(), evaluated=6),
        judged(row(), check="d"),
        {"c": Judged(lacks="table polls is empty")},
    ],
)
def test_any_other_finding_or_count_is_a_difference(other: dict[str, Judged]) -> None:
    assert "c" in differing(judged(row()), other)
