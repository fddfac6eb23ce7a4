"""Tables that are missing, damaged or of an earlier release."""

import shutil
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TraceMaker, TraceReader
from histories import WHOLE_HANDED_ON
from judging import judge

from analysis.statements.registry import CHECKS
from contract.ranges import to_records
from contract.run_folder import RunFolder
from contract.terms import Check
from contract.verdicts import RunVerdict
from simulator.history import Request, description, universes_of, write_history

_OF_RECORDS = (Check.LOST_RECORD, Check.PHANTOM_RECORD)


def test_a_check_touches_the_tables_that_it_needs(make_trace: TraceMaker) -> None:
    """Whatever a check asks for is recorded: nothing but what needs rows has to be declared."""
    trace = make_trace(WHOLE_HANDED_ON)
    untouched = {}
    for check, definition in CHECKS.items():
        with trace.touched() as tables:
            definition.judge(trace)
        if extra := set(definition.needs) - tables:
            untouched[str(check)] = extra
    assert untouched == {}


def test_a_check_that_touches_an_unusable_table_is_not_evaluated(make_trace: TraceMaker) -> None:
    problem = "table replica_records has no column x"
    checks = (Check.LOST_RECORD, Check.SKIPPED_RECORD, Check.POLL_SKIP, Check.CORRUPTED_RECORD)
    trace = make_trace(WHOLE_HANDED_ON, checks=checks)
    found = judge(replace(trace, unreadable={"replica_records": problem})).checks
    assert {name: (one.verdict, one.reason) for name, one in found.items()} == {
        **{str(check): ("not_evaluable", problem) for check in checks[:3]},
        "corrupted_record": ("holds", ""),
    }


@pytest.fixture(scope="module")
def genuine(read_run: TraceReader, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run that passes."""
    folder = _written(tmp_path_factory.mktemp("genuine") / "run")
    assert judge(read_run(folder)).verdict is RunVerdict.PASS
    return folder


def _damaged(content: pa.Table, damage: str) -> pa.Table:
    index = content.schema.get_field_index("value")
    match damage:
        case "dropped":
            return content.drop_columns("value")
        case _:
            return content.set_column(index, "value", content["first_offset"])


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("dropped", "table replica_records has no column value"),
        ("mistyped", "table replica_records has column value as int64, which is not string"),
        ("torn", "table replica_records is not a Parquet file"),
    ],
)
def test_a_damaged_table_is_not_evaluated_by_name(
    genuine: RunFolder, read_run: TraceReader, tmp_path: Path, damage: str, reason: str
) -> None:
    folder = RunFolder(Path(shutil.copytree(genuine.path, tmp_path / "run")))
    path = folder.tables / "replica_records.parquet"
    if damage == "torn":
        path.write_bytes(path.read_bytes()[:-9])
    else:
        pq.write_table(_damaged(pq.read_table(path), damage), path)
    verdict = judge(read_run(folder))
    lost, phantom = (verdict.checks[name] for name in _OF_RECORDS)
    assert (lost.verdict, lost.reason.startswith(reason)) == ("not_evaluable", True)
    assert phantom.verdict == "holds"
    assert verdict.verdict is RunVerdict.UNDECIDED


def test_a_run_of_an_earlier_release_is_refused(read_run: TraceReader, tmp_path: Path) -> None:
    folder = _written(tmp_path)
    sends = folder.tables / "sends.parquet"
    pq.write_table(to_records("sends", pq.read_table(sends)), sends)
    problem = read_run(folder).unreadable["sends"]
    assert "has a row for each record: an earlier release collected this run" in problem


def _written(path: Path) -> RunFolder:
    """A generated run, which must be judged by checks of records."""
    folder = RunFolder(path)
    universes = universes_of(Request(events=1_000, seed=1))
    write_history(folder, universes, description(1, "test", "0", {}))
    must_judge = [str(check) for check in _OF_RECORDS]
    folder.write_plan(msgspec.structs.replace(folder.plan(), must_judge=must_judge))
    return folder
