"""How a trace table is declared: its columns, with their types and descriptions.

The descriptions are what docs/results.md has of a table (`make results-page`). A column whose name
says all has none.
"""

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Column:
    """A column of a trace table.

    Attributes:
        name: of the column.
        type: of its values.
        about: its description, empty where the name says all.
    """

    name: str
    type: pa.DataType
    about: str = ""


@dataclass(frozen=True)
class Table:
    """A trace table.

    Attributes:
        about: what a row is, and where the rows come from.
        columns: in the order of the file.
    """

    about: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        return pa.schema([(column.name, column.type) for column in self.columns])


def table(about: str, *columns: Column) -> Table:
    """Declare a table."""
    return Table(about, columns)


def string(name: str, about: str = "") -> Column:
    """Declare a column of text."""
    return Column(name, pa.string(), about)


def int32(name: str, about: str = "") -> Column:
    """Declare a column of 32-bit integers: ids, epochs and small counts."""
    return Column(name, pa.int32(), about)


def int64(name: str, about: str = "") -> Column:
    """Declare a column of 64-bit integers: offsets, times and counts."""
    return Column(name, pa.int64(), about)


def boolean(name: str, about: str = "") -> Column:
    """Declare a column of true and false."""
    return Column(name, pa.bool_(), about)


def int32s(name: str, about: str = "") -> Column:
    """Declare a column of lists of 32-bit integers."""
    return Column(name, pa.list_(pa.int32()), about)


def int64s(name: str, about: str = "") -> Column:
    """Declare a column of lists of 64-bit integers."""
    return Column(name, pa.list_(pa.int64()), about)


WORKER = string("worker", "whose history or log has it")
PARTITION = (string("topic"), int32("partition"))
REPLICA = (int32("broker", "the broker of the replica"), *PARTITION)
MEMBER = (
    WORKER,
    string("group"),
    string("member", "`group#incarnation`: `orders#2` is the second one of its group"),
)
RANGE = (
    string("producer", "null where the value is damaged or missing, except in `sends`"),
    int64("first_sequence", "of the producer, from 0; null where `producer` is null"),
    int64("last_sequence"),
    string(
        "value",
        "text of a value that is damaged or, in `sends`, not that of its sequence number; else"
        " null",
    ),
    int64("first_offset"),
    int64("last_offset"),
)
"""Records of one producer whose offsets and sequence numbers rise by one together; see
`contract.ranges`."""
