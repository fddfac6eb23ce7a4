"""Leader epochs of delivered records that a client does not show: found in the logs."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from contract.events import make_value
from contract.ranges import RECORDS, to_ranges
from harness.decode.epochs import unshown_epochs, with_epochs_of_logs


def rows_of(table: str, *rows: dict[str, Any]) -> pa.Table:
    schema = RECORDS[table]
    nothing: dict[Any, Any] = {pa.string(): "", pa.bool_(): False}
    return pa.Table.from_pylist(
        [{field.name: nothing.get(field.type, 0) for field in schema} | row for row in rows], schema
    )


def record(offset: int, sequence: int, epoch: int) -> dict[str, Any]:
    return {
        "topic": "t",
        "offset": offset,
        "value": make_value("p", sequence),
        "leader_epoch": epoch,
    }


def test_an_epoch_that_is_not_shown_is_that_of_the_log_with_the_record(tmp_path: Path) -> None:
    logs = {"replica_records": [record(0, 0, 1), record(1, 5, 4)], "cut_records": [record(1, 1, 2)]}
    for table, rows in logs.items():
        ranges = to_ranges(table, rows_of(table, *rows))
        pq.write_table(ranges, tmp_path / f"{table}.parquet")
    polls = rows_of(
        "polls",
        record(0, 0, -1),
        record(1, 1, -1),
        record(1, 5, -1),
        record(0, 0, 7),
        record(2, 2, -1),
    )
    found = with_epochs_of_logs(polls, tmp_path)
    assert found["leader_epoch"].to_pylist() == [1, 2, 4, 7, -1]
    assert found.drop_columns("leader_epoch") == polls.drop_columns("leader_epoch")
    assert found.schema == polls.schema


def test_without_logs_epochs_stay_as_they_are(tmp_path: Path) -> None:
    polls = rows_of("polls", record(0, 0, -1), record(1, 1, 3))
    assert with_epochs_of_logs(polls, tmp_path) == polls


def test_members_that_are_shown_no_epoch() -> None:
    of = {"group": "g", "worker": "w"}
    polls = rows_of(
        "polls",
        record(0, 0, 3) | of | {"member": "shown"},
        record(0, 0, -1) | of | {"member": "not"},
        record(1, 1, -1) | of | {"member": "not"},
    )
    (row,) = unshown_epochs(polls)
    assert row == of | {"member": "not", "topic": "t", "partition": 0}
