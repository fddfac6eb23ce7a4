"""How a trace table is declared: its columns, with their types, what they may be, and descriptions.

The site has the descriptions of each table (`make docs`). A column whose name says all has none.
What a column may be is compared when a run is judged (`analysis.runs.validity`): a table with a
value that is missing, out of range or unknown can't be evaluated.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

INT64_MAX = 2**62
"""So that the sum of two is an int64."""
YEAR_10000_MICROS = 253_402_300_800_000_000


@dataclass(frozen=True)
class Column:
    """A column of a trace table.

    Attributes:
        name: of the column.
        type: of its values.
        about: its description, empty where the name says all.
        null: whether a value may be missing; an element of a list never is.
        least, most: of a number, or of the elements of a list; None: any.
        values: of a text, if they are known.
        is_json: whether a text is a JSON object.
        is_time: whether it is a time of the run, from its start to its end.
    """

    name: str
    type: pa.DataType
    about: str = ""
    null: bool = False
    least: int | None = None
    most: int | None = None
    values: tuple[str, ...] = ()
    is_json: bool = False
    is_time: bool = False


@dataclass(frozen=True)
class Table:
    """A trace table.

    Attributes:
        about: what a row is, and where the rows come from.
        columns: in the order of the file.
        key: columns whose values no two rows have in common; empty where Kafka or a client decides
            how often a row comes, which the checks judge.
    """

    about: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        return pa.schema([(column.name, column.type) for column in self.columns])


def table(about: str, *columns: Column, key: str = "") -> Table:
    """Declare a table; `key` has the names of columns, separated by spaces."""
    return Table(about, columns, tuple(key.split()))


def string(name: str, about: str = "", *, null: bool = False, values: Iterable[str] = ()) -> Column:
    """Declare a column of text, of an enum's values if it is given."""
    return Column(name, pa.string(), about, null, values=tuple(map(str, values)))


def json(name: str, about: str = "") -> Column:
    """Declare a column of JSON objects."""
    return Column(name, pa.string(), about, is_json=True)


def int32(name: str, about: str = "", *, null: bool = False, least: int | None = 0) -> Column:
    """Declare a column of 32-bit integers: ids, epochs and small counts."""
    return Column(name, pa.int32(), about, null, least)


def int64(name: str, about: str = "", *, null: bool = False, least: int | None = 0) -> Column:
    """Declare a column of 64-bit integers: offsets and counts."""
    return Column(name, pa.int64(), about, null, least, INT64_MAX)


def micros(name: str, about: str = "", *, null: bool = False) -> Column:
    """Declare a column of times of the run, in microseconds since 1970."""
    return Column(name, pa.int64(), about, null, 0, YEAR_10000_MICROS, is_time=True)


def other_micros(name: str, about: str = "", *, null: bool = False, least: int = 0) -> Column:
    """Declare a column of other times, which may lie outside of the run, or of differences."""
    return Column(name, pa.int64(), about, null, least, YEAR_10000_MICROS)


def boolean(name: str, about: str = "", *, null: bool = False) -> Column:
    """Declare a column of true and false."""
    return Column(name, pa.bool_(), about, null)


def int32s(name: str, about: str = "", *, null: bool = False) -> Column:
    """Declare a column of lists of 32-bit integers."""
    return Column(name, pa.list_(pa.int32()), about, null, 0)


def int64s(name: str, about: str = "", *, null: bool = False, least: int = 0) -> Column:
    """Declare a column of lists of 64-bit integers."""
    return Column(name, pa.list_(pa.int64()), about, null, least, INT64_MAX)


def strings(name: str, about: str = "", *, null: bool = False) -> Column:
    """Declare a column of lists of texts."""
    return Column(name, pa.list_(pa.string()), about, null)


def wire_int32(name: str, about: str = "") -> Column:
    """Declare a column of a field of the protocol, which may be missing, or be anything."""
    return int32(name, about, null=True, least=None)


def wire_int64(name: str, about: str = "") -> Column:
    """Declare such a column of 64 bits."""
    return Column(name, pa.int64(), about, null=True)


def nullable(*columns: Column) -> tuple[Column, ...]:
    """Declare that values of these columns may be missing."""
    return tuple(replace(column, null=True) for column in columns)


WORKER = string("worker", "whose history or log has it")
PARTITION = (string("topic"), int32("partition"))
REPLICA = (int32("broker", "the broker of the replica"), *PARTITION)
MEMBER = (
    WORKER,
    string("group"),
    string("member", "`group#incarnation`: `orders#2` is the second one of its group"),
)


def _range(*, is_sent: bool) -> tuple[Column, ...]:
    return (
        string(
            "producer",
            "null where the value is damaged or missing, except in `sends`",
            null=not is_sent,
        ),
        int64(
            "first_sequence",
            "of the producer, from 0; null where `producer` is null",
            null=not is_sent,
        ),
        int64("last_sequence", null=not is_sent),
        string(
            "value",
            "text of a value that is damaged or, in `sends`, not that of its sequence number; else"
            " null",
            null=True,
        ),
        int64("first_offset", null=is_sent),
        int64("last_offset", null=is_sent),
    )


RANGE = _range(is_sent=False)
"""Records of one producer whose offsets and sequence numbers rise by one together; see
`contract.ranges`."""
RANGE_SENT = _range(is_sent=True)
"""The same of values that were sent, whose offsets may not be known."""
