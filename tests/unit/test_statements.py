"""Facts and checks as files: what a header and a statement must have, and that names resolve."""

from pathlib import Path

import pytest

from analysis.checks.columns import output_columns, resolved
from analysis.checks.registry import CHECKS
from analysis.checks.stated import CheckHeader, stated_checks
from analysis.engine.statement_files import (
    Source,
    StatementError,
    parts_of,
    read,
    sources,
    tables_of,
    with_parameters,
)
from analysis.facts.stated import FactHeader, columns_of_fact
from contract.tables import TABLES

EACH = [*sources("facts").values(), *sources("checks").values()]
HEADER = "/*\nabout: rows\nsubject: faults\ncolumns: |\n  fault string\n*/\n"


def written(path: Path, text: str) -> Source:
    file = path / "one.sql"
    file.write_text(text)
    return read(file)


@pytest.mark.parametrize("source", EACH, ids=lambda source: source.name)
def test_every_column_of_a_statement_is_one_of_its_tables(source: Source) -> None:
    assert resolved(source).named_selects


@pytest.mark.parametrize("source", sources("facts").values(), ids=lambda source: source.name)
def test_a_fact_returns_its_columns(source: Source) -> None:
    declared = {column.name for column in columns_of_fact(source.name)}
    assert declared <= set(output_columns(source))
    assert source.header_as(FactHeader).about


@pytest.mark.parametrize("source", sources("facts").values(), ids=lambda source: source.name)
def test_a_fact_has_a_name_of_its_own(source: Source) -> None:
    assert source.name not in TABLES


@pytest.mark.parametrize("source", sources("checks").values(), ids=lambda source: source.name)
def test_a_check_needs_tables_of_the_contract(source: Source) -> None:
    header = source.header_as(CheckHeader)
    assert set(header.needs) <= TABLES.keys()


def test_a_check_is_a_statement_or_python() -> None:
    names = [one.name for one in stated_checks()]
    assert len(names) == len(set(names))
    assert set(names) <= CHECKS.keys()


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
        written(tmp_path, text)


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
    source = written(tmp_path, HEADER + statement)
    with pytest.raises(StatementError, match=message) as error:
        resolved(source)
    assert "one.sql" in str(error.value)


def test_a_header_with_an_unknown_or_missing_key_is_refused(tmp_path: Path) -> None:
    source = written(tmp_path, HEADER.replace("about", "abuot") + "select fault from faults")
    with pytest.raises(StatementError, match=r"one\.sql: header"):
        source.header_as(FactHeader)


def test_steps_are_no_tables() -> None:
    text = "with a as (select 1 from polls), b as (select * from a) select * from b join deliveries"
    assert tables_of(text, "") == ("deliveries", "polls")


def test_the_last_select_is_what_follows_the_steps(tmp_path: Path) -> None:
    steps = "with a as (\n  select fault from (select * from faults)\n)\n"
    final = "select fault from a\nunion all\nselect fault from a"
    assert parts_of(written(tmp_path, HEADER + steps + final)) == (steps, final)


def test_parameters_are_numbers_of_the_trace() -> None:
    text = "at_micros - :clock_micros > 0 and cast(x as int)::bigint = :skew_micros"
    assert with_parameters(text, {"clock_micros": 50_000, "skew_micros": 0}) == (
        "at_micros - 50000 > 0 and cast(x as int)::bigint = 0"
    )
    with pytest.raises(KeyError):
        with_parameters(":other_micros", {})


def test_a_fact_may_have_the_columns_of_a_table_or_of_another_fact() -> None:
    stored, present = map(columns_of_fact, ("client_offsets", "present_offsets"))
    assert [column.name for column in stored][:17] == TABLES["committed_offsets"].names
    assert present == stored
