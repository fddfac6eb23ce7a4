"""Columns and windows: expressions in Spark's SQL."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Self

_AS = re.compile(r"(?s)(.*\S)\s+as\s+`?(\w+)`?")
_NAME = re.compile(r"(?:\w+\.)*(\w+)")


def literal(value: Any) -> str:
    """A Python value in Spark's SQL."""
    match value:
        case None:
            return "null"
        case Enum():
            return literal(value.value)
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if -(2**31) <= value < 2**31 else f"{value}L"
        case float():
            return f"{value!r}D"
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
    raise TypeError(f"{value!r} has no literal in SQL")


def quoted(name: str) -> str:
    """The name of a column, `a`, or of a field of a struct, `a.b`."""
    return ".".join(f"`{part}`" for part in name.split("."))


def text_of(value: Any) -> str:
    """The SQL of a function's argument: a column, the name of one, or a value."""
    if isinstance(value, Column):
        return value.sql
    return quoted(value) if isinstance(value, str) else literal(value)


def _operand(value: Any) -> str:
    return value.sql if isinstance(value, Column) else literal(value)


def _operator(symbol: str, *, is_swapped: bool = False) -> "Callable[[Column, Any], Column]":
    """An operator between this column and another one, or the other way round."""

    def apply(self: "Column", other: Any) -> "Column":
        left, right = _operand(self), _operand(other)
        if is_swapped:
            left, right = right, left
        return Column(f"({left} {symbol} {right})")

    return apply


@dataclass(frozen=True, eq=False)
class Column:
    """An expression over the columns of a frame.

    Attributes:
        sql: the expression. Operators are in parentheses.
        name: what it is called in a frame; empty if it has no name yet.
    """

    sql: str
    name: str = ""

    __hash__ = None  # type: ignore[assignment]
    __eq__ = _operator("=")  # type: ignore[assignment]
    __ne__ = _operator("!=")  # type: ignore[assignment]
    __lt__ = _operator("<")
    __le__ = _operator("<=")
    __gt__ = _operator(">")
    __ge__ = _operator(">=")
    __and__ = _operator("AND")
    __or__ = _operator("OR")
    __add__ = _operator("+")
    __radd__ = _operator("+", is_swapped=True)
    __sub__ = _operator("-")
    __rsub__ = _operator("-", is_swapped=True)
    __mul__ = _operator("*")
    __rmul__ = _operator("*", is_swapped=True)
    __truediv__ = _operator("/")
    __mod__ = _operator("%")
    eqNullSafe = _operator("<=>")

    def __invert__(self) -> "Column":
        """Whether it does not hold."""
        return Column(f"(NOT {self.sql})")

    def __bool__(self) -> bool:
        """Refuse `and`, `or` and `not`, which have no SQL."""
        raise TypeError("a column has no truth value: use &, | and ~ instead of and, or and not")

    def alias(self, name: str) -> Self:
        """The same under a name."""
        return replace(self, name=name)

    def cast(self, kind: str) -> "Column":
        """The value as another type of Spark's."""
        return Column(f"CAST({self.sql} AS {kind})", self.name)

    def isNull(self) -> "Column":
        """Whether there is no value."""
        return Column(f"({self.sql} IS NULL)")

    def isNotNull(self) -> "Column":
        """Whether there is a value."""
        return Column(f"({self.sql} IS NOT NULL)")

    def isin(self, *values: Any) -> "Column":
        """Whether it is one of the values, given one by one or as one list."""
        flat = values[0] if len(values) == 1 and not isinstance(values[0], str) else values
        if not flat:
            return Column("FALSE")
        return Column(f"({self.sql} IN ({', '.join(map(_operand, flat))}))")

    def desc(self) -> "Column":
        """In descending order, nulls last."""
        return Column(f"{self.sql} DESC")

    def over(self, window: "WindowSpec") -> "Column":
        """Computed over a window."""
        return Column(f"{self.sql} OVER ({window.sql})")


@dataclass(frozen=True, eq=False)
class Case(Column):
    """A CASE expression that may have further branches; null if none holds."""

    @classmethod
    def of(cls, condition: Column, value: Any) -> "Case":
        """A case with one branch."""
        return cls(f"CASE WHEN {condition.sql} THEN {_operand(value)} END")

    def when(self, condition: Column, value: Any) -> "Case":
        """One more branch."""
        branch = f" WHEN {condition.sql} THEN {_operand(value)} END"
        return Case(self.sql.removesuffix(" END") + branch)

    def otherwise(self, value: Any) -> Column:
        """The value if no branch holds."""
        return Column(f"{self.sql.removesuffix(' END')} ELSE {_operand(value)} END")


def expression(text: str) -> Column:
    """An expression in Spark's SQL, which may end with its name: `x + 1 as y`."""
    text = text.strip()
    if named := _AS.fullmatch(text):
        return Column(f"({named[1]})", named[2])
    if bare := _NAME.fullmatch(text):
        return Column(text, bare[1])
    return Column(f"({text})")


@dataclass(frozen=True)
class WindowSpec:
    """Rows around one: by which keys, in which order, from where to where."""

    keys: str = ""
    order: str = ""
    frame: str = ""

    @property
    def sql(self) -> str:
        """The window in SQL."""
        return " ".join(part for part in (self.keys, self.order, self.frame) if part)

    def orderBy(self, *order: Any) -> "WindowSpec":
        """In this order, nulls first where it ascends."""
        return replace(self, order=f"ORDER BY {_listed(order)}")

    def rowsBetween(self, first: int, last: int) -> "WindowSpec":
        """From one row to another, counted from the row itself."""
        return replace(self, frame=f"ROWS BETWEEN {_bound(first)} AND {_bound(last)}")

    def rangeBetween(self, first: int, last: int) -> "WindowSpec":
        """From one value of the order to another, counted from the row's own."""
        return replace(self, frame=f"RANGE BETWEEN {_bound(first)} AND {_bound(last)}")


class Window:
    """Where the description of a window begins."""

    unboundedPreceding = -(2**63)
    unboundedFollowing = 2**63 - 1

    @staticmethod
    def partitionBy(*keys: Any) -> WindowSpec:
        """Rows of equal keys."""
        return WindowSpec(keys=f"PARTITION BY {_listed(keys)}")

    @staticmethod
    def orderBy(*order: Any) -> WindowSpec:
        """All rows, in this order."""
        return WindowSpec().orderBy(*order)


def _listed(columns: Iterable[Any]) -> str:
    return ", ".join(map(text_of, columns))


def _bound(offset: int) -> str:
    if offset == Window.unboundedPreceding:
        return "UNBOUNDED PRECEDING"
    if offset == Window.unboundedFollowing:
        return "UNBOUNDED FOLLOWING"
    if offset == 0:
        return "CURRENT ROW"
    return f"{abs(offset)} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"
