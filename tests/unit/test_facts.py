"""Facts are as declared: their columns, their types, and the page about them."""

from itertools import chain
from pathlib import Path

import pyarrow as pa

from analysis.engine.duckdb import Database
from analysis.statements.files import Fact, facts
from tests.unit.every_statement import declared_schemas


def in_words(kind: pa.DataType) -> str:
    """A type, whatever a list calls its elements. Sums are wider than they are declared."""
    if pa.types.is_list(kind):
        return f"[{in_words(kind.value_type)}]"
    if pa.types.is_struct(kind):
        return str({one.name: in_words(one.type) for one in kind})
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return "integer"
    return str(kind)


def differences(one: Fact, found: pa.Schema) -> list[str]:
    pairs = [
        (f"{one.name}.{known.name}", in_words(known.type), in_words(field.type))
        for known, field in zip(one.schema, found, strict=True)
    ]
    return [f"{name}: declared {known}, is {kind}" for name, known, kind in pairs if known != kind]


def test_every_fact_has_the_declared_columns_on_duckdb(tmp_path: Path) -> None:
    engine = Database(threads=1, memory="1GB", spill=tmp_path).engine()
    for name, schema in declared_schemas().items():
        engine.add(name, schema.empty_table())
    numbers = dict.fromkeys(("clock_micros", "skew_micros", "jump_micros"), 0)
    stated = [one for one in facts().values() if one.text]
    found = [engine.rows(one.text, numbers=numbers).schema for one in stated]
    assert [one.schema.names for one in stated] == [schema.names for schema in found]
    wrong = (differences(*pair) for pair in zip(stated, found, strict=True))
    assert list(chain.from_iterable(wrong)) == []


def test_every_fact_says_what_a_row_is() -> None:
    assert facts()
    assert [one.name for one in facts().values() if not one.about] == []


def test_every_fact_is_a_statement_or_computed() -> None:
    wrong = [one.name for one in facts().values() if bool(one.text) == (one.compute is not None)]
    assert wrong == []
