"""What is known of a statement without a run: its tables, and which of them must have rows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis import prepare
from analysis.engine import prepared as module
from analysis.engine.duckdb import Database
from analysis.engine.prepared import _made, prepared, write
from analysis.runs.load import load_on_duckdb
from analysis.statements.files import facts
from analysis.statements.registry import CHECKS
from analysis.statements.trace import Trace, depends_on, returned_by, schema_of
from contract.errors import StatementError
from tests.exam.exam import Exam, questions
from tests.unit.every_statement import declared_schemas, statements

KEPT = {
    check: definition.rows for check, definition in CHECKS.items() if definition.header.is_by_rules
}
NUMBERS = dict.fromkeys(("clock_micros", "skew_micros", "jump_micros"), 0)


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("select * from polls", "polls"),
        ("select * from polls as p join sends as s on p.topic = s.topic", "polls sends"),
        ("select * from polls where topic in (select topic from sends)", "polls sends"),
        ("select (select max(offset) from sends) as most from polls", "polls sends"),
        ("select 1 as one", ""),
        ("with a as (select 1 from polls), b as (select * from a) select * from b", "polls"),
    ],
)
def test_a_statement_reads_the_tables_that_it_names(text: str, tables: str) -> None:
    assert prepared(text).tables == tuple(tables.split())


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("select * from a", "a"),
        ("select * from a where x > 1 order by x limit 3", "a"),
        ("select distinct x from a", "a"),
        ("select explode(xs) as x from a", "a"),
        ("select 1 as one", ""),
        ("select 1 as one from a having count(*) = 0", ""),
        ("select sum(count(*)) over () as n from a", ""),
        ("select x from a group by grouping sets ((x), ())", ""),
        # Joins.
        ("select * from a join b using (x)", "a b"),
        ("select * from a cross join b", "a b"),
        ("select * from a, b", "a b"),
        ("select * from a left semi join b using (x)", "a b"),
        ("select * from a left anti join b using (x)", "a"),
        ("select * from a left join b using (x)", "a"),
        ("select * from a right join b using (x)", "b"),
        ("select * from a full outer join b using (x)", ""),
        ("select * from a left join b using (x) join c using (x)", "a c"),
        ("select * from a full outer join b using (x) join c using (x)", "c"),
        ("select * from a join b using (x) right join c using (x)", "c"),
        ("select * from a full outer join a as again using (x)", "a"),
        # Unions.
        ("select x from a union all select x from b", ""),
        ("select x from a union all select x from a join b using (x)", "a"),
        ("select x from a union all select x from a union all select x from b", ""),
        # Queries within queries.
        ("select * from (select x from a join b using (x))", "a b"),
        ("select * from (select x from a) as one left join (select x from b) as two", "a"),
        ("select * from (select x from a union all select x from b)", ""),
        ("select * from a where exists (select 1 from b where b.x = a.x)", "a"),
        ("select * from a where x in (select x from b)", "a"),
        ("select x, (select max(y) from b) as most from a", "a"),
        # Steps.
        ("with s as (select x from a) select * from s join b using (x)", "a b"),
        ("with s as (select x from a) select * from b left join s using (x)", "b"),
        ("with s as (select x from a), t as (select * from s cross join b) select * from t", "a b"),
        ("with s as (select x from a), unread as (select * from b) select * from s", "a"),
        ("with s as (select count(*) as n from a) select * from s join b", "b"),
        ("select * from (with s as (select x from a) select * from s)", "a"),
        # Aggregations: without keys they have one row of no rows.
        ("select count(*) as n from a", ""),
        ("select if(count(*) > 0, max(x), 0) as n from a", ""),
        ("select struct(max(x) as most) as told from a", ""),
        ("select sum(x) filter (where x > 1) as n from a join b using (x)", ""),
        ("select n from (select count(*) as n from a)", ""),
        ("select count(*) as n from a having n > 0", ""),
        ("select x, count(*) as n from a group by x", "a"),
        ("select x, count(*) as n from a group by all", "a"),
        ("select count(*) as n, max(x) as most from a group by all", ""),
        ("select x, sum(y) over (partition by x) as total from a", "a"),
        ("select x, (select count(*) from b) as n from a", "a"),
    ],
)
def test_a_statement_needs_rows_of_tables(text: str, needed: str) -> None:
    assert prepared(text).needed == tuple(needed.split())


def test_a_text_that_is_no_statement_is_refused() -> None:
    for text in ("select x from where (", "select x from a where", ""):
        with pytest.raises(StatementError):
            prepared(text)


@pytest.fixture
def own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """That set-up makes, which is not there yet."""
    file = tmp_path / "prepared.msgpack"
    monkeypatch.setattr(module, "FILE", file)
    forget()
    yield file
    forget()


def forget() -> None:
    """Be as a new process."""
    for known in (prepared, _made, returned_by, depends_on):
        known.cache_clear()


KNOWN, UNKNOWN = "select x from a", "select x from b"


def test_what_set_up_prepared_is_not_prepared_again(
    own_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = prepared(KNOWN)
    write([KNOWN, KNOWN], {})
    assert list(own_file.parent.iterdir()) == [own_file]
    forget()
    monkeypatch.delattr(module, "parse_one")
    assert prepared(KNOWN) == before
    with pytest.raises(NameError):
        prepared(UNKNOWN)


@pytest.mark.usefixtures("own_file")
def test_what_other_code_prepared_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as of_another_release:
        of_another_release.setattr(module, "_BY", "another release")
        of_another_release.setattr(module, "in_duckdb", lambda _: "SELECT 'another spelling'")
        write([KNOWN], {})
        assert prepared(KNOWN).in_duckdb == "SELECT 'another spelling'"
    forget()
    assert prepared(KNOWN).in_duckdb == "SELECT x FROM a"


@pytest.mark.parametrize("content", [b"", b"\x82\xa2by\xa1", b"no MessagePack", b"\x80"])
def test_a_damaged_file_is_not_used(own_file: Path, content: bytes) -> None:
    own_file.write_bytes(content)
    assert prepared(KNOWN).tables == ("a",)


def test_what_is_no_statement_makes_no_file(own_file: Path) -> None:
    with pytest.raises(StatementError):
        write([KNOWN, "select x from where ("], {})
    assert not own_file.exists()


@pytest.mark.extended
@pytest.mark.usefixtures("own_file")
def test_set_up_prepares_every_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare.main()
    forget()
    monkeypatch.delattr(module, "parse_one")
    monkeypatch.delattr("analysis.statements.trace.derived_schema")
    assert all(prepared(text).tables for text in statements().values())
    assert all(schema_of(fact).names for fact in facts().values())
    assert all(
        returned_by(definition.source.text, definition.source.path).names
        for definition in CHECKS.values()
    )


def test_a_statement_that_needs_rows_has_none_of_a_trace_without_any(tmp_path: Path) -> None:
    engine = Database(threads=1, memory="1GB", spill=tmp_path).engine()
    for name, schema in declared_schemas().items():
        engine.add(name, schema.empty_table())
    for check, rows in KEPT.items():
        engine.define(str(check), rows.text, NUMBERS)
    needing = {name: text for name, text in statements().items() if prepared(text).needed}
    assert needing
    reported = {name: engine.rows(text, numbers=NUMBERS).num_rows for name, text in needing.items()}
    assert {name: rows for name, rows in reported.items() if rows} == {}


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """The exam, with all facts computed."""
    exam = Exam(tmp_path, [question for question in questions() if not question.alone])
    made = load_on_duckdb(exam.folder, tmp_path / "spill", threads=1, memory=1 << 30)
    for rows in KEPT.values():
        made.with_rows(rows)
    for text in statements().values():
        made.query(text)
        made.name_all(text)
    return made


@pytest.mark.extended
def test_a_statement_has_no_rows_without_those_of_any_table_that_it_needs(trace: Trace) -> None:
    for name, schema in declared_schemas().items():
        trace.engine.add(f"no_{name}", schema.empty_table())
    for check in KEPT:
        trace.engine.define(f"no_{check}", f"select * from {check} where false", {})
    wrong = []
    for name, text in statements().items():
        for table in prepared(text).needed:
            without = f"with {table} as (select * from no_{table}) select * from ({text})"
            if trace.engine.rows(without, numbers=trace.numbers_of(text), limit=1).num_rows:
                wrong.append(f"{name} has rows without {table}")
    assert wrong == []
