"""The trace tables in docs/results.md, from their declarations (`make results-page`)."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from contract.table_columns import Table
from contract.tables import DECLARED

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results.md"
_BEGIN, _END = "<!-- made by make results-page -->", "<!-- end of what make results-page made -->"
_MADE = re.compile(f"{_BEGIN}.*{_END}", re.DOTALL)
_WIDTH = 100
_HEAD = "| column | type | |\n|---|---|---|"


def with_tables(page: str) -> str:
    """Return the page with its tables made again; the text outside of the markers is unchanged.

    Raises:
        ValueError: the page has no markers.
    """
    if not _MADE.search(page):
        raise ValueError(f"docs/results.md needs the lines {_BEGIN} and {_END}")
    made = "\n\n".join(_section(name, table) for name, table in DECLARED.items())
    return _MADE.sub(lambda _: f"{_BEGIN}\n\n{made}\n\n{_END}", page)


def _section(name: str, table: Table) -> str:
    about = textwrap.fill(table.about, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return f"## {name}\n\n{about}\n\n" + "\n".join([_HEAD, *_rows(table)])


def _rows(table: Table) -> Iterator[str]:
    for column in table.columns:
        yield f"| {column.name} | {_type(column.type)} | {column.about} |"


def _type(kind: pa.DataType) -> str:
    """Return the name of a type in words, e.g. `list of int32`."""
    return f"list of {kind.value_type}" if pa.types.is_list(kind) else str(kind)


def main() -> None:
    """Write the tables."""
    PAGE.write_text(with_tables(PAGE.read_text()))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
