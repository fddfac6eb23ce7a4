"""Generated histories: a clean one passes every check, what is planted is found where it is."""

from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.checks.registry import CHECKS
from analysis.engine import spark as spark_engine
from analysis.facts import digests
from analysis.facts.load import Trace, load_trace
from analysis.verdict.judge import judge
from contract.checks import Check
from contract.run_folder import RunFolder
from contract.verdicts import CheckVerdict, FindingVerdict, RunVerdict
from simulator.history import (
    KINDS,
    Generated,
    Request,
    description,
    planted_universe,
    universes_of,
    write_history,
)
from simulator.plants import PLANTS

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
        if result.verdict in (CheckVerdict.VIOLATED, CheckVerdict.UNDECIDED)
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


@pytest.mark.timeout(600)
def test_what_is_not_looked_at_hides_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every class of anomalies, judged record by record, and as a large trace is."""
    # A clock that is ahead would leave undecided what others' anomalies prove.
    plants = [plant for plant in PLANTS if plant != Check.CLOCK_SKEW]
    universes = [
        planted_universe(plant, index, 19902, records=60, partitions=2)
        for index, plant in enumerate(plants)
    ]
    clean = [
        planted_universe(None, len(universes) + index, 19902, records=60, partitions=2, kind=kind)
        for index, kind in enumerate(KINDS)
    ]
    folder = RunFolder(tmp_path)
    write_history(folder, iter(universes + clean), description(7, "test", "0", {}))
    small = load_trace(spark, folder)
    by_records = all_told(small)
    monkeypatch.setattr(spark_engine, "SMALL_INPUT_ROWS", 0)
    monkeypatch.setattr(digests, "BUCKET_OFFSETS", 8)
    large = load_trace(spark, folder)
    assert not large.is_small
    by_stretches = all_told(large)
    for check, judged in by_records.items():
        assert by_stretches[check] == judged, check
    assert [
        str(check) for check in CHECKS if str(check) in plants and not by_records[check][1]
    ] == []


def all_told(trace: Trace) -> dict[Check, tuple[int, list[str]]]:
    """What each check tells."""
    return dict(zip(CHECKS, trace.engine.each(partial(told, trace), CHECKS), strict=True))


def told(trace: Trace, check: Check) -> tuple[int, list[str]]:
    """How much a check judged, and all its findings."""
    outcome = CHECKS[check].judge(trace)
    rows = sorted(str(dict(row)) for row in outcome.findings.collect())
    if isinstance(outcome.evaluated, int):
        return outcome.evaluated, rows
    return outcome.evaluated.collect()[0]["evaluated"], rows
