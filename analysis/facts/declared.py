"""How a fact is declared: its columns, with their types and descriptions.

As the tables of the contract are (`contract.table_columns`). `analysis.facts.trace.fact` declares
one; docs/facts.md has them all (`make facts-page`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from contract.table_columns import PARTITION, Column


@dataclass(frozen=True)
class Fact:
    """What is derived from the tables of a run.

    Attributes:
        subject: the module that has it.
        name: of the function that returns it.
        about: what a row is: the docstring of that function.
        columns: in their order.
        is_kept: whether its rows are computed once a trace, for all that ask for them.
    """

    subject: str
    name: str
    about: str
    columns: tuple[Column, ...]
    is_kept: bool

    @property
    def key(self) -> str:
        """The name among the facts of all subjects."""
        return f"{self.subject}.{self.name}"

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        return pa.schema([(column.name, column.type) for column in self.columns])


FACTS: dict[str, Fact] = {}
"""Every fact of the modules that were imported, by its key."""


def each(kind: Callable[[str], Column], names: str) -> tuple[Column, ...]:
    """Declare columns of one kind whose names, separated by spaces, say all."""
    return tuple(map(kind, names.split()))


def structs(name: str, *fields: Column, about: str = "") -> Column:
    """Declare a column of lists of several values together."""
    return Column(name, pa.list_(_struct_of(fields)), about)


def _struct_of(fields: Sequence[Column]) -> pa.DataType:
    return pa.struct([(field.name, field.type) for field in fields])


LOG = PARTITION
