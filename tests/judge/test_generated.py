"""Generated histories: a clean one passes every check, what is planted is found where it is."""

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import TraceReader

from analysis.statements.registry import CHECKS
from analysis.statements.trace import Trace
from analysis.verdict.judge import judge
from contract.checks import Check
from contract.ranges import RECORDS, records_of
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

EVENTS = 2_000


def generated(read: TraceReader, path: Path, request: Request) -> tuple[Trace, Generated]:
    folder = RunFolder(path)
    made = write_history(folder, universes_of(request), description(request.seed, "test", "0", {}))
    return read(folder), made


@pytest.mark.parametrize(
    ("events", "kind"), [(EVENTS, "clean"), (3_000, "unhealthy"), (12_000, "fragmented")]
)
def test_a_history_without_plants_passes_all_checks(
    read_run: TraceReader, tmp_path: Path, events: int, kind: str
) -> None:
    trace, _ = generated(read_run, tmp_path, Request(events=events, seed=3, kind=kind))
    verdict = judge(trace)
    reported = {
        name: (result.verdict, result.reason, result.examples[:1])
        for name, result in verdict.checks.items()
        if result.verdict in (CheckVerdict.VIOLATED, CheckVerdict.UNDECIDED)
    }
    assert reported == {}
    assert verdict.verdict is RunVerdict.PASS


@pytest.mark.parametrize(
    "plant", [Check.LOST_RECORD, Check.COMMITTED_EPOCH_STALE, Check.TORN_TRANSACTION]
)
def test_what_is_planted_is_found_there_and_nowhere_else(
    read_run: TraceReader, tmp_path: Path, plant: Check
) -> None:
    request = Request(events=EVENTS, seed=3, plant=str(plant), count=2)
    trace, made = generated(read_run, tmp_path, request)
    rows = CHECKS[plant].judge(trace).findings.collect()
    found = [row for row in rows if row["verdict"] == FindingVerdict.VIOLATION]
    assert {(row["topic"], row["partition"], row["group"]) for row in found} == {
        (topic, place.partition, place.group)
        for topic, places in made.planted.items()
        for place in places
    }
    assert len(found) == request.count


def test_ranges_hide_nothing(read_run: TraceReader, tmp_path: Path) -> None:
    """Every class of anomalies: judged as ranges, and with a range for each record."""
    folder, plants = every_plant(tmp_path)
    by_ranges = all_reported(read_run(folder))
    split_ranges(folder)
    by_records = all_reported(read_run(folder))
    for check, judged in by_ranges.items():
        assert by_records[check] == judged, check
    assert [str(check) for check in CHECKS if check in plants and not by_ranges[check][1]] == []


def every_plant(path: Path) -> tuple[RunFolder, list[str]]:
    """A history of each class of anomalies, and of clean universes; and these classes."""
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
    folder = RunFolder(path)
    write_history(folder, iter(universes + clean), description(7, "test", "0", {}))
    return folder, plants


def split_ranges(folder: RunFolder) -> None:
    """A range for each record."""
    for table in RECORDS:
        path = folder.tables / f"{table}.parquet"
        pq.write_table(one_range_a_record(pq.read_table(path)), path)


def one_range_a_record(ranges: pa.Table) -> pa.Table:
    """The same records, none of them in a range with another."""
    count = np.asarray(records_of(ranges))
    which = np.repeat(np.arange(ranges.num_rows), count)
    ahead = pa.array(np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count))
    single = ranges.take(pa.array(which))
    for name in ("first_offset", "first_sequence", "first_place"):
        if name in single.column_names:
            place = single.schema.get_field_index(name)
            values = pc.add(single[name], ahead).cast(single.schema.field(name).type)
            single = single.set_column(place, single.schema.field(name), values)
    for name in ("offset", "sequence"):
        place = single.schema.get_field_index(f"last_{name}")
        single = single.set_column(place, single.schema.field(place), single[f"first_{name}"])
    return single


def all_reported(trace: Trace) -> dict[Check, tuple[int, list[str]]]:
    """What each check tells."""
    return dict(zip(CHECKS, trace.engine.each(partial(reported, trace), CHECKS), strict=True))


def reported(trace: Trace, check: Check) -> tuple[int, list[str]]:
    """How much a check judged, and all its findings."""
    outcome = CHECKS[check].judge(trace)
    ((evaluated,),) = outcome.evaluated.tuples()
    return int(evaluated), sorted(map(str, outcome.findings.collect()))
