"""All findings of a check are kept, whether the driver or Spark counts them."""

from collections.abc import Mapping

import pyarrow as pa
import pytest
from conftest import TraceMaker
from histories import WENT_ON
from micro import Row

from analysis.verdict import decision
from analysis.verdict.judge import judge
from contract.terms import Check
from contract.verdicts import Verdict


def test_many_findings_are_counted_and_kept_as_few_are(
    make_trace: TraceMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = [{**row, "group": "h", "member": "h#1"} for row in WENT_ON["polls"]]
    rows = {**WENT_ON, "polls": [*WENT_ON["polls"], *other]}
    checks = (Check.SKIPPED_RECORD, Check.LOST_RECORD)

    def judge_with(driver_rows: int) -> tuple[Verdict, dict[str, list[Row]]]:
        monkeypatch.setattr(decision, "DRIVER_ROWS", driver_rows)
        kept: dict[str, list[Row]] = {}

        def keep(check: str, findings: pa.Table, clients: Mapping[str, str]) -> None:
            assert clients == {"g": "java", "h": "java"}
            kept[check] = findings.to_pylist()

        trace = make_trace(rows, groups=("g", "h"), checks=checks)
        return judge(trace, only=checks, keep=keep), kept

    few, kept = judge_with(decision.DRIVER_ROWS)
    assert judge_with(0) == (few, kept)
    assert few.unexpected
    for check, result in few.checks.items():
        assert [example.cause for example in result.examples] == [
            row["cause"] for row in kept[check]
        ]
