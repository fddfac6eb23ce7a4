"""Statements in Spark's SQL that DuckDB runs: their spelling, and the tables that they name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.engine import duckdb as module
from analysis.engine.duckdb import Database, DuckDBEngine
from analysis.engine.prepared import has_parameters, with_numbers


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return Database(threads=1, memory="1GB", spill=tmp_path_factory.mktemp("spill"))


@pytest.fixture
def engine(database: Database) -> DuckDBEngine:
    return database.engine()


def rows_of(engine: DuckDBEngine, *statements: str, **numbers: int) -> list[tuple[Any, ...]]:
    rows = engine.rows(*statements, numbers=numbers).to_pylist()
    return [tuple(row.values()) for row in rows]


def value(engine: DuckDBEngine, expression: str) -> Any:
    ((found,),) = rows_of(engine, f"select {expression} as found")
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("struct(1 as a, 'x' as b).b", "x"),
        ("struct(1, 2).col2", 2),
        ("filter(array(struct(1 as id), struct(2 as id)), one -> one.id > 1).id", [2]),
        ("exists(array(1, 2), one -> one > 1)", True),
        ("exists(array(1, null), one -> one > 1)", False),
        ("exists(select 1 where false)", False),
        ("array(1, 2)[0]", 1),
        ("get(array(1, 2), 1)", 2),
        ("get(array(1, 2), 2)", None),
        ("arrays_overlap(array(1, 2), array(2, 3))", True),
        ("shiftrightunsigned(5, 1)", 2),
        ("substring_index('a-b-c', '-', 2)", "a-b"),
        ("substring_index('a-b-c', '-', -2)", "b-c"),
        ("replace('a-b', '-')", "ab"),
        ("replace('a-b', '-', '+')", "a+b"),
        (r"'it\'s a \\ here'", r"it's a \ here"),
        ("boolean(1)", True),
        ("int('7')", 7),
        ("string(7)", "7"),
        ("xxhash64('a', 1) = xxhash64('a', 1)", True),
        ("xxhash64('a', 1) = xxhash64('a', 2)", False),
        ("if(null > 1, 'more', 'not more')", "not more"),
        ("concat('a', null)", None),
        ("concat_ws('-', 'a', null, 'b')", "a-b"),
        ("greatest(1, null, 2)", 2),
        ("sort_array(array(2, 1))", [1, 2]),
        ("sequence(1, 3)", [1, 2, 3]),
        ("format_string('%,d of %s', 1234567, 1234567)", "1,234,567 of 1234567"),
    ],
)
def test_an_expression_has_the_value_that_spark_gives_it(
    engine: DuckDBEngine, expression: str, expected: object
) -> None:
    assert value(engine, expression) == expected


NUMBERS = {"one": [1.25, None], "name": ["a", None]}
NO_ROWS = """select collect_list(one) as each, sort_array(collect_set(name)) as distinct_ones,
    collect_list(one) filter (where name = 'b') as some, count_if(one > 0) as few, max(one) as most
    from rows where one > 2"""
AHEAD = "over (order by name rows between 1 following and 1 following)"
OF_JSON = "select to_json(struct(one, struct(one) as of)) as of_struct, to_json(more) as of_array"
ROUNDED = "format_string('%.0f %.1f %.2f', one, one, one)"


@pytest.mark.parametrize(
    ("rows", "statement", "found"),
    [
        ({"one": [1, None, 2]}, "select one from rows order by one", [(None,), (1,), (2,)]),
        ({"one": [1, None, 2]}, "select one from rows order by one desc", [(2,), (1,), (None,)]),
        (
            {"name": ["a", None], "at": [1, 2]},
            "select max_by(name, at) as newest, min_by(name, at) as oldest from rows",
            [(None, "a")],
        ),
        (
            {"one": [1, None], "more": [[1, None], None]},
            f"{OF_JSON} from rows",
            [('{"one":1,"of":{"one":1}}', "[1,null]"), ('{"of":{}}', None)],
        ),
        (
            NUMBERS,
            "select format_string('%s: %.0f, %.1f %%', name, one, one) as said from rows",
            [("a: 1, 1.3 %",), ("null: , n %",)],
        ),
        (NUMBERS, NO_ROWS, [([], [], [], 0, None)]),
        (NUMBERS, f"select collect_list(name) {AHEAD} as each from rows", [(["a"],), ([],)]),
        # As Java rounds.
        (
            {"one": [21820.5, 1.005, -0.04, 12345678.25]},
            f"select {ROUNDED} as said from rows",
            [
                ("21821 21820.5 21820.50",),
                ("1 1.0 1.01",),
                ("-0 -0.0 -0.04",),
                ("12345678 12345678.3 12345678.25",),
            ],
        ),
    ],
)
def test_a_statement_returns_what_spark_does(
    engine: DuckDBEngine, rows: dict[str, list[Any]], statement: str, found: list[tuple[Any, ...]]
) -> None:
    engine.add("rows", pa.table(rows))
    assert rows_of(engine, statement) == found


@pytest.mark.parametrize("name", ["it's", 'a "b"', "[1]*?", "leader=killed", "a;b%20", "ä\nb"])
def test_duckdb_reads_a_file_in_any_folder(tmp_path: Path, name: str) -> None:
    content = pa.table({"group": ["a", None], "leader": [1, 2]})
    (tmp_path / name).mkdir()
    pq.write_table(content, tmp_path / name / "rows.parquet")
    engine = Database(threads=1, memory="1GB", spill=tmp_path / name).engine()
    engine.add_file("rows", tmp_path / name / "rows.parquet", content.schema, 2)
    assert engine.rows("select * from rows", numbers={}) == content


def test_a_file_has_the_columns_of_its_schema(tmp_path: Path, engine: DuckDBEngine) -> None:
    pq.write_table(pa.table({"more": [1], "b": [2], "a": [3]}), tmp_path / "rows.parquet")
    schema = pa.schema({"a": pa.int64(), "b": pa.int64()})
    engine.add_file("rows", tmp_path / "rows.parquet", schema, 1)
    assert engine.rows("select * from rows", numbers={}).to_pylist() == [{"a": 3, "b": 2}]


def test_a_file_that_replaces_one_is_not_read(tmp_path: Path, engine: DuckDBEngine) -> None:
    file, other = tmp_path / "rows.parquet", tmp_path / "other.parquet"
    content = pa.table({"one": [1]})
    pq.write_table(content, file)
    engine.add_file("rows", file, content.schema, 1)
    pq.write_table(pa.table({"one": [2]}), other)
    other.replace(file)
    assert rows_of(engine, "select one from rows") == [(1,)]


def test_a_file_is_closed_with_its_engine(tmp_path: Path, database: Database) -> None:
    content = pa.table({"one": [1]})
    pq.write_table(content, tmp_path / "rows.parquet")

    def is_open() -> bool:
        return tmp_path / "rows.parquet" in open_files()

    engine = database.engine()
    engine.add_file("rows", tmp_path / "rows.parquet", content.schema, 1)
    assert is_open()
    del engine
    assert not is_open()


def open_files() -> Iterator[Path]:
    for path in Path("/proc/self/fd").iterdir():
        # That of the folder itself is closed meanwhile.
        if path.exists():
            yield path.readlink()


def test_a_file_that_is_dropped_may_have_a_table_of_its_name(
    tmp_path: Path, engine: DuckDBEngine
) -> None:
    content = pa.table({"one": [1]})
    pq.write_table(content, tmp_path / "rows.parquet")
    engine.add_file("rows", tmp_path / "rows.parquet", content.schema, 1)
    engine.drop("rows")
    engine.add("rows", content.slice(1))
    assert rows_of(engine, "select one from rows") == []


def test_each_engine_of_a_database_names_its_own_tables(database: Database) -> None:
    one, other = database.engine(), database.engine()
    for engine, number in ((one, 1), (other, 2)):
        engine.add("rows", pa.table({"number": [number]}))
        engine.define("doubled", "select 2 * number as number from rows", {})
        engine.keep("kept", "select number from doubled", {})
    assert rows_of(one, "select number from kept") == [(2,)]
    assert rows_of(other, "select number from kept") == [(4,)]
    with pytest.raises(duckdb.CatalogException, match="rows does not exist"):
        rows_of(database.engine(), "select * from rows")


def test_what_is_kept_says_whether_it_has_rows(engine: DuckDBEngine) -> None:
    engine.add("rows", pa.table({"one": [1, 2]}))
    assert engine.keep("few", "select one from rows where one > :least_micros", {"least_micros": 1})
    assert not engine.keep("nothing", "select one from rows where one > 2", {})
    assert rows_of(engine, "select one from few") == [(2,)]
    assert rows_of(engine, "select one from nothing") == []


def test_statements_of_the_same_columns_are_asked_at_once(engine: DuckDBEngine) -> None:
    engine.add("rows", pa.table({"one": [1, 2]}))
    each = ("select one from rows", "select one + :more_micros as one from rows")
    assert sorted(rows_of(engine, *each, more_micros=10)) == [(1,), (2,), (11,), (12,)]


def test_at_most_as_many_rows_are_returned_as_are_asked_for(engine: DuckDBEngine) -> None:
    engine.add("rows", pa.table({"one": [1, 2, 3]}))
    statement = "select one from rows order by one"
    assert engine.rows(statement, numbers={}, limit=2)["one"].to_pylist() == [1, 2]
    assert engine.rows(statement, numbers={}, limit=9).num_rows == 3
    assert engine.rows(statement, numbers={}, limit=0).schema.names == ["one"]


def test_parameters_are_numbers_of_the_trace() -> None:
    text = "at_micros - :clock_micros > 0 and cast(x as int)::bigint = :skew_micros"
    assert with_numbers(text, {"clock_micros": 50_000, "skew_micros": 0}) == (
        "at_micros - 50000 > 0 and cast(x as int)::bigint = 0"
    )
    assert has_parameters(text)
    assert not has_parameters("x::bigint = at_micros")
    with pytest.raises(KeyError):
        with_numbers(":other_micros", {})


def test_what_is_kept_of_a_large_run_is_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, spill = pa.table({"one": [1, 2]}), tmp_path / "it's"
    pq.write_table(content, tmp_path / "rows.parquet")
    database = Database(threads=1, memory="1GB", spill=spill)
    for rows, files in ((2, set()), (3, {"kept_2"})):
        monkeypatch.setattr(module, "_LARGE_ROWS", 2)
        engine = database.engine()
        engine.add_file("rows", tmp_path / "rows.parquet", content.schema, rows)
        engine.add("more", content)
        assert engine.keep("kept", "select one, get(array(one), 0) as same from rows", {})
        engine.define("joined", "select same from kept join more using (one)", {})
        assert sorted(rows_of(engine, "select same from joined")) == [(1,), (2,)]
        assert {file.stem for file in spill.iterdir()} == files


def test_many_rows_are_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    # DuckDB's `preserve_insertion_order = false` loses it, of several threads.
    engine = Database(threads=2, memory="1GB", spill=tmp_path).engine()
    places = list(range(200_000))
    engine.add("rows", pa.table({"place": places, "key": [-place for place in places]}))
    found = engine.rows("select place from rows order by key", numbers={})["place"].to_pylist()
    assert found == places[::-1]
