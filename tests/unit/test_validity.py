"""A table that is missing, damaged or breaks its contract is named, and nothing is concluded."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TraceMaker, TraceReader
from histories import WHOLE_HANDED_ON
from judging import judge

from analysis.engine.duckdb import Database
from analysis.runs import validity
from analysis.tasks import Share, judge_here
from contract.errors import RunFolderError
from contract.ranges import to_records
from contract.run_folder import RunFolder
from contract.table_columns import YEAR_10000_MICROS
from contract.tables import OF_RUN
from contract.terms import Check
from contract.verdicts import CheckVerdict, RunVerdict
from harness.decode.tables import write_table
from tests.descriptions import description_of
from tests.traces import generated

Row = dict[str, Any]
Change = Callable[[list[Row]], list[Row]]


def first(**values: Any) -> Change:
    """The first row has other values."""
    return lambda rows: [{**rows[0], **values}, *rows[1:]]


def twice(rows: list[Row]) -> list[Row]:
    return [rows[0], *rows]


def backwards(rows: list[Row]) -> list[Row]:
    row = rows[0]
    return [{**row, "first_offset": row["last_offset"] + 1}, *rows[1:]]


BREAKS: dict[str, tuple[str, Change, str]] = {
    "null broker": ("samples", first(broker=None), "broker is missing in 1 row"),
    "negative offset": ("polls", first(first_offset=-5), "first_offset is below 0 in 1 row"),
    "epoch below none": ("commits", first(record_epoch=-2), "record_epoch is below -1 in 1 row"),
    "doubled key": ("commits", twice, "1 row with the worker, seq, group, topic, partition of"),
    "doubled replica": ("log_starts", twice, "1 row with the broker, topic, partition of another"),
    "unknown outcome": ("sends", first(outcome="perhaps"), "outcome is none of ok, failed, unkn"),
    "unknown stage": ("phases", first(stage="later"), "stage is none of starting, warm up, st"),
    "range backwards": ("replica_records", backwards, "last_offset is below first_offset in 1"),
    "null in a list": ("leaderships", first(isr=[1, None]), "isr has an element that is missing"),
    "negative in a list": ("leaderships", first(replicas=[-7]), "replicas has an element that"),
    "time of no year": (
        "samples",
        first(at_micros=YEAR_10000_MICROS + 1),
        f"at_micros is above {YEAR_10000_MICROS} in 1 row",
    ),
    "offset that overflows": (
        "log_starts",
        first(log_end_offset=2**62 + 1),
        "log_end_offset is a",
    ),
    "evidence with NaN": ("faults", first(evidence='{"x":NaN}'), "evidence is no JSON object in 1"),
    "evidence of no object": ("faults", first(evidence="7"), "evidence is no JSON object in 1 row"),
    "no key of a history": ("histories", first(worker=None), "worker is missing in 1 row"),
}


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return generated(tmp_path_factory.mktemp("genuine") / "run", seed=2)


def break_table(genuine: RunFolder, path: Path, name: str) -> RunFolder:
    table, change, _ = BREAKS[name]
    folder = RunFolder(Path(shutil.copytree(genuine.path, path / "run")))
    file = folder.tables / f"{table}.parquet"
    content = pq.read_table(file)
    rows = change(content.to_pylist())
    pq.write_table(pa.Table.from_pylist(rows, schema=content.schema), file)
    return folder


def test_what_keeps_its_contract_is_read(genuine: RunFolder, read_run: TraceReader) -> None:
    assert read_run(genuine).unreadable == {}


@pytest.mark.parametrize("name", sorted(BREAKS))
def test_what_breaks_its_contract_is_named(
    genuine: RunFolder, read_run: TraceReader, tmp_path: Path, name: str
) -> None:
    table, _, words = BREAKS[name]
    trace = read_run(break_table(genuine, tmp_path, name))
    assert list(trace.unreadable) == [table]
    assert trace.unreadable[table].startswith(f"table {table} breaks its contract: {words}")
    assert trace.rows[table] == 0


def test_a_run_with_such_a_table_is_undecided_and_has_a_page(
    genuine: RunFolder, tmp_path: Path
) -> None:
    table, _, words = BREAKS["unknown outcome"]
    folder = break_table(genuine, tmp_path, "unknown outcome")
    found = judge_here(Share(at_once=1), folder)
    verdict = found.verdict
    assert verdict is not None, found.error
    assert verdict.verdict is RunVerdict.UNDECIDED
    assert verdict.judging is not None
    assert verdict.judging.why.endswith(" rows of tables, in a process of its own")
    assert verdict.unusable == [table]
    (doubt,) = [text for text in verdict.doubts if "breaks its contract" in text]
    assert words in doubt
    assert not [
        result for result in verdict.checks.values() if result.verdict is CheckVerdict.VIOLATED
    ]
    assert words in (folder.report / "index.html").read_text()


def test_a_table_with_a_damaged_page_is_named_alone(
    genuine: RunFolder, read_run: TraceReader, tmp_path: Path
) -> None:
    folder = break_table(genuine, tmp_path, "null broker")
    file = folder.tables / "polls.parquet"
    content = bytearray(file.read_bytes())
    content[4:200] = bytes(196)
    file.write_bytes(content)
    unreadable = read_run(folder).unreadable
    assert set(unreadable) == {"polls", "samples"}
    assert unreadable["polls"].startswith("table polls can't be read: ")


def test_keys_of_large_tables_are_not_compared(
    genuine: RunFolder, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = break_table(genuine, tmp_path, "doubled key")
    content = pq.read_table(folder.tables / "commits.parquet")
    engine, rows = database.engine(), {"commits": content.num_rows}
    engine.add("commits", content)
    assert validity.broken_tables(engine, rows)
    monkeypatch.setattr(validity, "KEY_ROWS_MAX", content.num_rows - 1)
    assert validity.broken_tables(engine, rows) == {}


def test_a_table_of_another_run_is_refused(
    genuine: RunFolder, read_run: TraceReader, tmp_path: Path
) -> None:
    other = generated(tmp_path / "other", seed=3)
    mine = RunFolder(Path(shutil.copytree(genuine.path, tmp_path / "mine")))
    shutil.copy(other.tables / "polls.parquet", mine.tables)
    assert read_run(mine).unreadable == {
        "polls": f"table polls is of another run: {other.run().identity}"
    }


def test_a_table_that_names_no_run_is_taken(tmp_path: Path) -> None:
    for run, named in (("", None), ("r", {OF_RUN: b"r"})):
        write_table(tmp_path, "waits", [], run=run)
        assert pq.read_schema(tmp_path / "waits.parquet").metadata == named


@pytest.mark.parametrize(
    ("written", "refused"),
    [
        ('"verdict":"violation"', '"verdict":"guilty"'),
        ('"isolation":"read_uncommitted"', '"isolation":"snapshot"'),
        ('"manner":"sync"', '"manner":"shyly"'),
        ('"commit_epoch":"record"', '"commit_epoch":"newest"'),
        ('"partitions":', '"partitions":-'),
    ],
)
def test_a_plan_with_an_unknown_word_is_refused(
    genuine: RunFolder, tmp_path: Path, written: str, refused: str
) -> None:
    text = (genuine.path / "plan.json").read_text().replace('": ', '":')
    text = text.replace('"expects":[]', '"expects":[{"check":"reset","verdict":"violation"}]')
    assert written in text
    (tmp_path / "plan.json").write_text(text.replace(written, refused))
    with pytest.raises(RunFolderError, match="is not a valid Plan"):
        RunFolder(tmp_path).plan()


def test_a_description_with_a_time_of_no_year_is_refused(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write_run(description_of(started_micros=-(10**400)))
    with pytest.raises(RunFolderError, match="is not a valid RunDescription"):
        folder.run()


# Columns that a table lacks, and files that are torn.


_OF_RECORDS = (Check.LOST_RECORD, Check.PHANTOM_RECORD)


def test_a_check_that_touches_an_unusable_table_is_not_evaluated(make_trace: TraceMaker) -> None:
    problem = "table replica_records has no column x"
    checks = (Check.LOST_RECORD, Check.SKIPPED_RECORD, Check.POLL_SKIP, Check.CORRUPTED_RECORD)
    trace = make_trace(WHOLE_HANDED_ON, checks=checks)
    found = judge(replace(trace, unreadable={"replica_records": problem})).checks
    assert {name: (result.verdict, result.reason) for name, result in found.items()} == {
        **{str(check): ("not_evaluable", problem) for check in checks[:3]},
        "corrupted_record": ("holds", ""),
    }


@pytest.fixture(scope="module")
def recorded(read_run: TraceReader, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
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
    recorded: RunFolder, read_run: TraceReader, tmp_path: Path, damage: str, reason: str
) -> None:
    folder = RunFolder(Path(shutil.copytree(recorded.path, tmp_path / "run")))
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
    folder = generated(path)
    must_judge = [str(check) for check in _OF_RECORDS]
    folder.write_plan(msgspec.structs.replace(folder.plan(), must_judge=must_judge))
    return folder
