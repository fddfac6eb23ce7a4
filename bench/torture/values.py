"""Tables with values that the contract forbids, under a manifest that was written again."""

import shutil
from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.torture.attempt import Area, Attempt
from bench.torture.folders import copy_run, tables_with_rows
from bench.torture.setting import Setting
from bench.torture.verdicts import unnamed
from contract.manifest import write_manifest
from contract.run_folder import RunFolder
from contract.table_columns import Column
from contract.tables import DECLARED

AREA = Area(
    "forbidden values",
    "a table with a null, a number out of its range, an unknown word, a row twice or a range that "
    "goes back is named, and the run is undecided",
    "`analysis.facts.validity`, the columns of `contract.tables`",
)
_IN_AN_HOUR = 180
_ROWS_MAX = 3
_TWICE = 1 / 4
"""How often rows of a table with a key are there twice."""

Row = dict[str, Any]


def attempts(setting: Setting) -> Iterator[Attempt]:
    """Change values of some rows of a table so that they break its contract, and judge."""
    for number in range(setting.count(_IN_AN_HOUR)):
        dice = setting.dice(AREA, number)
        copy = RunFolder(setting.place / f"values-{number}")
        copy_run(setting.elected, copy)
        file = dice.choice(tables_with_rows(copy))
        content = pq.read_table(file)
        rows = content.to_pylist()
        what = _break(file.stem, rows, dice)
        pq.write_table(pa.Table.from_pylist(rows, schema=content.schema), file)
        write_manifest(copy)
        yield Attempt(AREA.name, f"{file.stem}: {what}", _problem(copy, file.stem))
        shutil.rmtree(copy.path)


def _break(table: str, rows: list[Row], dice: Random) -> str:
    """Break the contract of a table in some rows; returns how, in words."""
    declared = DECLARED[table]
    chosen = dice.sample(rows, min(len(rows), dice.randint(1, _ROWS_MAX)))
    if declared.key and dice.random() < _TWICE:
        rows += [dict(row) for row in chosen]
        return "rows twice"
    kinds = [(column, kind) for column in declared.columns for kind in _kinds(column)]
    column, kind = dice.choice(kinds)
    for row in chosen:
        row[column.name] = _forbidden(column, kind, dice)
    return f"{column.name}: {kind}"


def _kinds(column: Column) -> Iterator[str]:
    """The ways to break the contract of a column."""
    if not column.null:
        yield "null"
    if column.values:
        yield "unknown word"
    if column.is_json:
        yield "no JSON"
    if column.least is not None:
        yield "too small"
    if column.most is not None:
        yield "too large"


def _forbidden(column: Column, kind: str, dice: Random) -> object:
    is_list = pa.types.is_list(column.type)
    value: object = {
        "null": None,
        "unknown word": dice.choice(["perhaps", "OK", "", "ok "]),
        "no JSON": dice.choice(["{", "NaN", '{"x":NaN}', "[]", "7", ""]),
        "too small": (column.least or 0) - dice.choice([1, 2, 10**6]),
        "too large": (column.most or 0) + dice.choice([1, 2**30]),
    }[kind]
    if is_list and kind != "null":
        return [dice.choice([None, value])]
    return value


def _problem(copy: RunFolder, table: str) -> str:
    return unnamed(
        copy,
        lambda verdict: table in verdict.unusable and any(table in one for one in verdict.doubts),
    )
