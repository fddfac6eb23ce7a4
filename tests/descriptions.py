"""Plans and descriptions of runs in which only what a test is about differs."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from contract.ranges import RECORDS
from contract.run_folder import Plan, RunDescription
from contract.table_columns import Column
from contract.tables import DECLARED


def plan_of(**fields: Any) -> Plan:
    """A plan of no topics and groups, which must judge and expects nothing."""
    usual: dict[str, Any] = {
        "scenario": "s",
        "question": "?",
        "parameters": {},
        "topics": [],
        "groups": [],
        "must_judge": [],
        "expects": [],
    }
    return Plan(**(usual | fields))


def description_of(**fields: Any) -> RunDescription:
    """A run of Kafka 4.4.0 on the embedded pool."""
    usual: dict[str, Any] = {
        "run_id": "r",
        "scenario": "s",
        "seed": 1,
        "kafka": "4.4.0",
        "cluster": "embedded",
        "clients": {},
        "git_head": "",
        "versions": {},
        "config": {},
        "command": "",
        "rerun": "",
        "started_micros": 1,
    }
    return RunDescription(**(usual | fields))


def complete_rows(table: str, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows that keep the contract of a table: with the least value of each column they lack.

    Single records stay as they are.
    """
    return [
        dict(row)
        if row.keys() & {"sequence", "value", "offset"} and table in RECORDS
        else {
            column.name: row.get(column.name, _least(column)) for column in DECLARED[table].columns
        }
        for row in rows
    ]


def _least(column: Column) -> Any:
    if column.null:
        return None
    if column.values:
        return column.values[0]
    if pa.types.is_list(column.type):
        return []
    if pa.types.is_string(column.type):
        return "{}" if column.is_json else ""
    return False if pa.types.is_boolean(column.type) else column.least or 0
