"""The trace tables in docs/results.md, from their declarations (`make results-page`)."""

import textwrap
from collections.abc import Iterator

import pyarrow as pa

from contract.made_pages import MadePage
from contract.table_columns import YEAR_10000_MICROS, Column, Table
from contract.tables import DECLARED

_MADE = MadePage("results.md", "make results-page")
PAGE = _MADE.path
_WIDTH = 100
_HEAD = "| column | type | |\n|---|---|---|"


def with_tables(page: str) -> str:
    """Return the page with its tables made again; the text outside of the markers is unchanged.

    Raises:
        ValueError: the page has no markers.
    """
    return _MADE.filled(
        page, "\n\n".join(_section(name, table) for name, table in DECLARED.items())
    )


def _section(name: str, table: Table) -> str:
    about = textwrap.fill(table.about, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return f"## {name}\n\n{about}\n\n" + "\n".join([_HEAD, *_rows(table)])


def _rows(table: Table) -> Iterator[str]:
    for column in table.columns:
        yield f"| {column.name} | {_type(column.type)}{_bounds(column)} | {column.about} |"
    if table.key:
        yield f"\nNo two rows have the same {', '.join(table.key)}."


def _bounds(column: Column) -> str:
    """Return what a value may be, where its type does not say it; most numbers begin at 0."""
    told = []
    is_number = pa.types.is_integer(column.type) or pa.types.is_list(column.type)
    if is_number and column.least is None:
        told.append("any")
    elif column.least == -YEAR_10000_MICROS:
        told.append("also negative")
    elif column.least:
        told.append(f"from {column.least}")
    return "".join(f", {one}" for one in [*told, *(["may be null"] if column.null else [])])


def _type(kind: pa.DataType) -> str:
    """Return the name of a type in words, e.g. `list of int32`."""
    return f"list of {kind.value_type}" if pa.types.is_list(kind) else str(kind)


def main() -> None:
    """Write the tables."""
    PAGE.write_text(with_tables(PAGE.read_text()))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
