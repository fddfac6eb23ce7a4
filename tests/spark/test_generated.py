"""Generated histories: a clean one passes every check, what is planted is found where it is."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis import digests, load
from analysis.checks.registry import CHECKS
from analysis.judge import judge
from analysis.load import Trace, load_trace
from harness.contract.checks import Check
from harness.contract.run_folder import RunFolder
from harness.contract.verdicts import CheckVerdict, FindingVerdict, RunVerdict
from harness.generate.history import (
    Generated,
    Request,
    description,
    universes_of,
    write_history,
)

pytestmark = pytest.mark.spark

EVENTS = 2_000


def generated(spark: SparkSession, path: Path, request: Request) -> tuple[Trace, Generated]:
    folder = RunFolder(path)
    made = write_history(folder, universes_of(request), description(request.seed, "test", "0", {}))
    return load_trace(spark, folder), made


def test_a_clean_history_passes_all_checks(spark: SparkSession, tmp_path: Path) -> None:
    trace, _ = generated(spark, tmp_path, Request(events=EVENTS, seed=3))
    verdict = judge(trace)
    told = {
        name: (result.verdict, result.reason, result.examples[:1])
        for name, result in verdict.checks.items()
        if result.verdict not in (CheckVerdict.HOLDS, CheckVerdict.PERMITTED)
    }
    assert told == {}
    assert verdict.verdict is RunVerdict.PASS


@pytest.mark.parametrize(
    "plant", [Check.LOST_RECORD, Check.COMMITTED_EPOCH_STALE, Check.TORN_TRANSACTION]
)
def test_what_is_planted_is_found_there_and_nowhere_else(
    spark: SparkSession, tmp_path: Path, plant: Check
) -> None:
    request = Request(events=EVENTS, seed=3, plant=str(plant), count=2)
    trace, made = generated(spark, tmp_path, request)
    rows = CHECKS[plant].judge(trace).findings.collect()
    found = [row for row in rows if row["verdict"] == FindingVerdict.VIOLATION]
    assert {(row["topic"], row["partition"], row["group"]) for row in found} == {
        (topic, place.partition, place.group)
        for topic, places in made.planted.items()
        for place in places
    }
    assert len(found) == request.count


@pytest.mark.parametrize(
    "plant",
    [
        None,
        Check.LOST_RECORD,
        Check.SKIPPED_RECORD,
        Check.DUPLICATE_DELIVERY,
        Check.PHANTOM_RECORD,
        Check.TRUNCATION_UNDETECTED,
    ],
)
def test_screens_hide_nothing(
    spark: SparkSession, tmp_path: Path, plant: Check | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Request(events=EVENTS, seed=4, plant=str(plant) if plant else None, count=2)
    trace, _ = generated(spark, tmp_path, request)
    joined = {check: told(trace, check) for check in _SCREENED}
    monkeypatch.setattr(load, "SMALL_INPUT_ROWS", 0)
    monkeypatch.setattr(digests, "BUCKET_OFFSETS", 50)
    large = load_trace(spark, RunFolder(tmp_path))
    assert not large.is_small
    assert {check: told(large, check) for check in _SCREENED} == joined
    if plant is not None:
        assert joined[plant]


_SCREENED = (
    Check.LOST_RECORD,
    Check.SKIPPED_RECORD,
    Check.DUPLICATE_DELIVERY,
    Check.PHANTOM_RECORD,
    Check.TRUNCATION_UNDETECTED,
)


def told(trace: Trace, check: Check) -> list[str]:
    rows = CHECKS[check].judge(trace).findings.collect()
    return sorted(str(row.asDict()) for row in rows)
