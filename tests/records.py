"""Tables of the contract as rows: single records where a table has ranges."""

import pyarrow as pa

from contract.ranges import RECORDS, to_ranges, to_records


def as_rows(table: str, content: pa.Table) -> pa.Table:
    """Return the records of a table of ranges, or the rows of another table."""
    return to_records(table, content) if table in RECORDS else content


def from_rows(table: str, rows: pa.Table) -> pa.Table:
    """Return what a table holds of rows of `row_schema`."""
    return to_ranges(table, rows) if table in RECORDS else rows
