"""Facts and checks as files: what a header and a statement must have, and that names resolve."""

import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from analysis.statements.cases import FINDING_COLUMNS
from analysis.statements.files import ROOT, Fact, FactHeader, Source, facts, parts_of, read, sources
from analysis.statements.plan import PLANNED
from analysis.statements.registry import CHECKS, CheckDefinition, CheckHeader
from analysis.statements.trace import columns_of, returned_by, schema_of
from contract.errors import StatementError
from contract.table_columns import INT64_MAX
from contract.tables import DECLARED, TABLES
from tests.unit.every_statement import facts_named_in, made_of, read_by, statements, tables_of

EACH = [*sources("facts").values(), *sources("checks").values()]
CHECK_HEADER = """/*
id: A1
definition: One.
evaluates: all.
source: KIP-1.
needs: [faults]
evaluated: select 1 as evaluated
"""
HEADER = "/*\nabout: rows\nsubject: faults\ncolumns:\n  fault: of it\n*/\n"


def write_source(path: Path, text: str) -> Source:
    file = path / "one.sql"
    file.write_text(text)
    return read(file)


def test_every_column_of_a_statement_is_one_of_its_tables() -> None:
    wrong = []
    for source in EACH:
        try:
            assert returned_by(source.text, source.path).names, source.path
        except StatementError as error:
            wrong.append(str(error))
    assert wrong == []


def test_a_number_of_a_statement_leaves_room_for_what_is_added_to_it() -> None:
    """As values of tables do: the sum of a time and a bound, or of two of them, is an int64."""
    large = {
        name: number
        for name, text in statements().items()
        for number in map(int, re.findall(r"\b\d{10,}\b", text))
        if number > INT64_MAX
    }
    assert large == {}


def test_a_description_is_of_a_column_that_the_fact_returns() -> None:
    declared = {name: source.header_as(FactHeader) for name, source in sources("facts").items()}
    unknown = {
        name: header.columns.keys() - {*schema_of(facts()[name]).names}
        for name, header in declared.items()
    }
    assert {name: columns for name, columns in unknown.items() if columns} == {}


def test_every_column_of_a_header_is_one_of_its_statement() -> None:
    wrong = []
    for definition in CHECKS.values():
        texts = {definition.findings: FINDING_COLUMNS, definition.evaluated: ("evaluated",)}
        for text, columns in (texts | {definition.summary: ("summary",)}).items():
            try:
                assert not text or output_of(definition, text) == columns, definition.source.path
            except StatementError as error:
                wrong.append(str(error))
    assert wrong == []


def output_of(definition: CheckDefinition, text: str) -> tuple[str, ...]:
    if definition.header.is_by_rules:
        text = text.replace(
            f"select * from {definition.name}", f"select * from ({definition.rows.text})"
        )
    return tuple(returned_by(text, definition.source.path).names)


def test_a_fact_and_its_columns_have_names_of_their_own() -> None:
    assert facts().keys() & {*TABLES, *PLANNED, *CHECKS} == set()
    columns = {name: schema_of(fact).names for name, fact in facts().items()}
    assert [name for name, some in columns.items() if len(set(some)) < len(some)] == []


def test_facts_are_not_made_of_themselves() -> None:
    """Raises CycleError, which names them: who asks for one of them would wait for ever."""
    reads = {name: set(tables_of(fact)) for name, fact in facts().items()}
    assert set(TopologicalSorter(reads).static_order()) >= facts().keys()


def test_a_check_needs_tables_that_it_reads() -> None:
    read = {check: read_by(check) & TABLES.keys() for check in CHECKS}
    unread = {check: {*CHECKS[check].needs} - tables for check, tables in read.items()}
    assert {check: tables for check, tables in unread.items() if tables} == {}


def test_what_may_be_missing_is_read() -> None:
    each: list[Fact | CheckDefinition] = [*facts().values(), *CHECKS.values()]
    for definition in each:
        reported, tables = (
            definition if isinstance(definition, Fact) else definition.header,
            {*tables_of(definition)},
        )
        assert {*reported.optional} <= tables & {*TABLES, *facts()}, definition.name
        assert {*reported.regardless} <= tables & TABLES.keys(), definition.name


def test_every_fact_is_read() -> None:
    """By a check, by Python, or by another fact that is read."""
    named = {definition.header.exercised for definition in CHECKS.values()} - {""}
    named |= {name for check in CHECKS.values() for name in tables_of(check)}
    named |= {name for path in ROOT.rglob("*.py") for name in facts_named_in(path)}
    assert facts().keys() - made_of(named) == set()


def test_what_exercises_a_check_is_a_table_or_fact() -> None:
    named = {definition.header.exercised for definition in CHECKS.values()} - {""}
    assert named
    assert named <= {*TABLES, *facts()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select 1", "does not begin with a header"),
        (HEADER + "select {{ unknown_macro }} from faults", "unknown_macro"),
        (HEADER + "select {% if %} from faults", "one.sql: "),
    ],
)
def test_a_file_that_is_no_statement_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        write_source(tmp_path, text)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("select broken from faults", "broken"),
        ("select fault from faults cross join phases where began_micros = heal_micros", "heal_"),
        ("select group from polls join commits using (topic)", "[Aa]mbiguous|group"),
        ("select fault from no_such_fact", "no table or fact is called no_such_fact"),
        ("select fault from faults where (", "one.sql: "),
    ],
)
def test_a_name_that_does_not_resolve_is_an_error(
    tmp_path: Path, statement: str, message: str
) -> None:
    source = write_source(tmp_path, HEADER + statement)
    with pytest.raises(StatementError, match=message) as error:
        returned_by(source.text, source.path)
    assert "one.sql" in str(error.value)


def test_a_header_with_an_unknown_or_missing_key_is_refused(tmp_path: Path) -> None:
    source = write_source(tmp_path, HEADER.replace("about", "abuot") + "select fault from faults")
    with pytest.raises(StatementError, match=r"one\.sql: header"):
        source.header_as(FactHeader)


def test_the_last_select_is_what_follows_the_steps(tmp_path: Path) -> None:
    steps = "with a as (\n  select fault from (select * from faults)\n)\n"
    final = "select fault from a\nunion all\nselect fault from a"
    assert parts_of(write_source(tmp_path, HEADER + steps + final)) == (steps, final)


def test_a_fact_describes_its_columns_like_a_table_or_another_fact() -> None:
    kept, stored, present = (
        {column.name: column.about for column in columns}
        for columns in (
            DECLARED["committed_offsets"].columns,
            columns_of(facts()["client_offsets"]),
            columns_of(facts()["present_offsets"]),
        )
    )
    assert stored["committed_epoch"] == kept["committed_epoch"] != ""
    assert present == stored


@pytest.mark.parametrize("values", ["", "violation: a\n  permitted: b"])
def test_a_case_of_no_or_of_two_verdicts_is_refused(tmp_path: Path, values: str) -> None:
    header = f"{CHECK_HEADER}cases:\n- cause: why\n  {values}\n*/\n"
    source = write_source(tmp_path, header + "select fault from faults")
    definition = CheckDefinition(source, source.header_as(CheckHeader))
    with pytest.raises(StatementError, match=r"one\.sql: a case has one verdict: why"):
        assert definition.cases


@pytest.mark.parametrize("key", ["definition", "evaluates", "source", "id", "needs", "evaluated"])
def test_a_check_without_a_part_of_its_header_is_refused(tmp_path: Path, key: str) -> None:
    header = f"{CHECK_HEADER}cases: []\n*/\n".replace(f"{key}: ", f"{key}_of_it: ")
    source = write_source(tmp_path, header + "select fault from faults")
    with pytest.raises(StatementError, match=r"one\.sql: header"):
        source.header_as(CheckHeader)
