"""Facts are as declared: their columns, their types, and the page about them."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from analysis.engine.duckdb import DuckDBEngine
from analysis.engine.frames import Frame, Shared, View
from analysis.engine.sharing import resolved, shared
from analysis.engine.statement_files import sources
from analysis.facts.declared import FACTS, LOG, Fact, each, structs
from analysis.facts.load import trace_of
from analysis.facts.source import table_files
from analysis.facts.stated import fact_named
from analysis.facts.trace import Trace, fact
from analysis.facts_page import PAGE, declared, with_tables
from bench.mutation import universes
from contract.run_folder import RunFolder
from contract.table_columns import int32, int64
from simulator.history import description, write_history


def a_trace(*columns: str) -> Trace:
    """One whose tables have these columns; nothing of it can be run."""
    engine: Any = SimpleNamespace(materialized=shared)
    nothing: Any = None
    return Trace(engine, nothing, nothing, lambda name: Frame(engine, columns, View(name)), {})


@pytest.fixture
def nothing_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.facts.trace.FACTS", {})


def planted(path: Path) -> RunFolder:
    folder = RunFolder(path)
    write_history(folder, universes(1), description(1, "test", "0", {}))
    return folder


def types_of_facts(engine: Any, folder: RunFolder) -> Iterator[tuple[Fact, Frame]]:
    """Every fact of a run, as one statement over views of what it is made of."""
    trace = trace_of(engine, folder, table_files(folder))
    for one in declared().values():
        if one.name in sources("facts"):
            rows = fact_named(one.name)(trace)
        else:
            rows = getattr(import_module(f"analysis.facts.{one.subject}"), one.name)(trace)
        made_of = rows.body.frame if isinstance(rows.body, Shared) else rows
        found = resolved(made_of, engine.computed, frozenset())
        assert found, one.key
        yield one, found


def in_words(kind: pa.DataType, *, widths: bool) -> str:
    """A type, whatever a list calls its elements."""
    if pa.types.is_list(kind):
        return f"[{in_words(kind.value_type, widths=widths)}]"
    if pa.types.is_struct(kind):
        return str({one.name: in_words(one.type, widths=widths) for one in kind})
    if not widths and (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        return "integer"
    return str(kind)


def differences(one: Fact, found: pa.Schema, *, widths: bool = True) -> list[str]:
    pairs = [
        (f"{one.key}.{name}", in_words(known, widths=widths), in_words(field.type, widths=widths))
        for (name, known), field in zip(
            zip(one.schema.names, one.schema.types, strict=True), found, strict=True
        )
    ]
    return [f"{name}: declared {known}, is {kind}" for name, known, kind in pairs if known != kind]


def test_every_fact_has_the_declared_types_on_duckdb(tmp_path: Path) -> None:
    class Types(DuckDBEngine):
        """Nothing is left out for want of rows."""

        def table(self, content: pa.Table) -> Frame:
            return self._made_of(super().table(content))

        def computed(self, frame: Frame) -> Frame:
            return self._made_of(super().computed(frame))

        def _made_of(self, frame: Frame) -> Frame:
            return Frame(self, frame.columns, frame.body)

    engine = Types(threads=1, memory="1GB", spill=tmp_path)
    wrong = [
        difference
        for one, frame in types_of_facts(engine, planted(tmp_path))
        # Sums of DuckDB are wider than Spark's.
        for difference in differences(one, engine.fetched(frame).schema, widths=False)
    ]
    assert wrong == []


@pytest.mark.usefixtures("nothing_declared")
def test_a_fact_lacks_no_declared_column() -> None:
    @fact(*LOG, *each(int64, "at_micros log_start"))
    def bounds(trace: Trace) -> Frame:
        return trace["samples"]

    with pytest.raises(ValueError, match=r"fact test_facts.bounds declares log_start, but its"):
        bounds(a_trace("topic", "partition", "at_micros"))


@pytest.mark.usefixtures("nothing_declared")
def test_a_fact_has_the_declared_columns_in_their_order() -> None:
    @fact(*LOG, int64("at_micros"))
    def moments(trace: Trace) -> Frame:
        return trace["samples"]

    rows = moments(a_trace("at_micros", "partition", "broker", "topic"))
    assert rows.columns == ("topic", "partition", "at_micros")


def test_facts_of_structs_have_the_types_of_their_fields() -> None:
    column = structs("epochs", int32("leader_epoch"), int64("start_offset"))
    assert column.type == pa.list_(
        pa.struct([("leader_epoch", pa.int32()), ("start_offset", pa.int64())])
    )


def test_the_page_is_made_from_the_declarations() -> None:
    page = PAGE.read_text()
    assert with_tables(page) == page, "run `make facts-page`"


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="made by make facts-page"):
        with_tables("# Facts\n")


def test_every_fact_says_what_a_row_is() -> None:
    assert declared()
    assert [one.key for one in FACTS.values() if not one.about] == []
