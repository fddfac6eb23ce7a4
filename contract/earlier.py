"""What tables of earlier releases had, by which their runs are refused and left as they are."""

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from contract.ranges import RECORDS
from contract.regular_files import open_regular

_REFUSED = "an earlier release collected this run, and only that release can judge it"
_HAD = (
    (RECORDS, "offset", "a row for each record"),
    (("faults",), "target", "targets of faults as texts"),
)
"""Tables, a column that they have no more, and what it says."""


def of_earlier_release(table: str, columns: Collection[str]) -> str:
    """Why a table with these columns is refused, in words; empty if it is of no earlier release."""
    for tables, column, had in _HAD:
        if table in tables and column in columns:
            return f"has {had}: {_REFUSED}"
    return ""


def is_of_earlier_release(file: Path) -> bool:
    """Whether a table's file is of an earlier release; false where it can't be read."""
    try:
        with open_regular(file) as content:
            names = pq.read_schema(content).names
    except (pa.ArrowException, OSError):
        return False
    return bool(of_earlier_release(file.stem, names))
