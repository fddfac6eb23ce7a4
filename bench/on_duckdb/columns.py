"""Columns and windows: expressions of Spark's SQL, kept as syntax trees until a frame uses them."""

from collections.abc import Sequence
from enum import Enum
from typing import Any, Self

from sqlglot import exp, parse_one

SPARK = "spark"
_WHOLE = (exp.Column, exp.Dot, exp.Func, exp.Identifier, exp.Literal, exp.Null, exp.Window)
"""Expressions without parentheses; in sqlglot `and` and `or` are functions."""


def sql(text: str) -> exp.Expression:
    """The tree of an expression written in Spark's SQL."""
    return parse_one(text, read=SPARK)


def named(name: str) -> exp.Expression:
    """The tree of a column's name: `a`, or `a.b` for a field, or of a frame's alias."""
    if name == "*":
        return exp.Star()
    parts = [exp.to_identifier(part, quoted=True) for part in name.split(".")]
    if parts[-1].this == "*":
        return exp.Column(this=exp.Star(), table=parts[0])
    tree: exp.Expression = exp.Column(
        this=parts[min(1, len(parts) - 1)], table=parts[0] if len(parts) > 1 else None
    )
    for part in parts[2:]:
        tree = exp.Dot(this=tree, expression=part)
    return tree


def literal(value: Any) -> exp.Expression:
    """The tree of a Python value."""
    return exp.convert(value.value if isinstance(value, Enum) else value)


def tree_of(value: Any) -> exp.Expression:
    """The tree of a column, of a name of one, or of any other value."""
    if isinstance(value, Column):
        return value.tree
    return named(value) if isinstance(value, str) else literal(value)


def _operand(value: Any) -> exp.Expression:
    tree = value.tree if isinstance(value, Column) else literal(value)
    is_whole = isinstance(tree, _WHOLE) and not isinstance(tree, exp.Connector)
    return tree.copy() if is_whole else exp.Paren(this=tree.copy())


class Column:
    """An expression over a frame's columns."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tree: exp.Expression) -> None:
        """Wrap a tree."""
        self.tree = tree

    def _with(self, kind: type[exp.Expression], other: Any, *, is_swapped: bool = False) -> Self:
        sides = _operand(self), _operand(other)
        left, right = sides[::-1] if is_swapped else sides
        return type(self)(kind(this=left, expression=right))

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return self._with(exp.EQ, other)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self._with(exp.NEQ, other)

    def __lt__(self, other: Any) -> Self:
        return self._with(exp.LT, other)

    def __le__(self, other: Any) -> Self:
        return self._with(exp.LTE, other)

    def __gt__(self, other: Any) -> Self:
        return self._with(exp.GT, other)

    def __ge__(self, other: Any) -> Self:
        return self._with(exp.GTE, other)

    def __and__(self, other: Any) -> Self:
        return self._with(exp.And, other)

    def __or__(self, other: Any) -> Self:
        return self._with(exp.Or, other)

    def __add__(self, other: Any) -> Self:
        return self._with(exp.Add, other)

    def __radd__(self, other: Any) -> Self:
        return self._with(exp.Add, other, is_swapped=True)

    def __sub__(self, other: Any) -> Self:
        return self._with(exp.Sub, other)

    def __rsub__(self, other: Any) -> Self:
        return self._with(exp.Sub, other, is_swapped=True)

    def __mul__(self, other: Any) -> Self:
        return self._with(exp.Mul, other)

    def __rmul__(self, other: Any) -> Self:
        return self._with(exp.Mul, other, is_swapped=True)

    def __truediv__(self, other: Any) -> Self:
        return self._with(exp.Div, other)

    def __mod__(self, other: Any) -> Self:
        return self._with(exp.Mod, other)

    def __invert__(self) -> Self:
        return type(self)(exp.Not(this=_operand(self)))

    def __neg__(self) -> Self:
        return type(self)(exp.Neg(this=_operand(self)))

    def __getitem__(self, field: str) -> Self:
        return type(self)(exp.Dot(this=_operand(self), expression=exp.to_identifier(field)))

    def alias(self, name: str) -> Self:
        """The same under a name."""
        return type(self)(exp.alias_(self.tree.copy(), name, quoted=True))

    def cast(self, kind: str) -> Self:
        """The value as another type, named as in Spark."""
        return type(self)(exp.cast(_operand(self), kind, dialect=SPARK))

    def isNull(self) -> Self:
        """Whether there is no value."""
        return type(self)(exp.Is(this=_operand(self), expression=exp.Null()))

    def isNotNull(self) -> Self:
        """Whether there is a value."""
        return ~self.isNull()

    def isin(self, *values: Any) -> Self:
        """Whether it is one of the values."""
        flat = values[0] if len(values) == 1 and not isinstance(values[0], str) else values
        found = [literal(value) for value in flat]
        return type(self)(exp.In(this=_operand(self), expressions=found))

    def between(self, low: Any, high: Any) -> Self:
        """Whether it lies between two values, both included."""
        within: Self = (self >= low) & (self <= high)
        return within

    def rlike(self, pattern: str) -> Self:
        """Whether the pattern is found in it."""
        return type(self)(exp.RegexpLike(this=_operand(self), expression=literal(pattern)))

    def desc(self) -> Self:
        """In descending order, nulls last."""
        return type(self)(exp.Ordered(this=self.tree.copy(), desc=True, nulls_first=False))

    def when(self, condition: Self, value: Any) -> Self:
        """One more branch of a case."""
        return type(self)(self.tree.when(condition.tree, _operand(value)))

    def otherwise(self, value: Any) -> Self:
        """The value of a case if no branch holds."""
        return type(self)(self.tree.else_(_operand(value)))

    def over(self, window: "WindowSpec") -> Self:
        """Computed over a window."""
        return type(self)(window.over(self.tree.copy()))


class WindowSpec:
    """Rows beside one: by which keys, in which order, from where to where."""

    def __init__(
        self,
        keys: Sequence[exp.Expression] = (),
        order: Sequence[exp.Expression] = (),
        frame: exp.Expression | None = None,
    ) -> None:
        """Collect the parts."""
        self._keys, self._order, self._frame = keys, order, frame

    def orderBy(self, *order: Any) -> "WindowSpec":
        """In this order, nulls first where it ascends."""
        return WindowSpec(self._keys, [ordered(tree_of(one)) for one in order], self._frame)

    def rowsBetween(self, first: int, last: int) -> "WindowSpec":
        """From one row to another, counted from the row itself."""
        return WindowSpec(self._keys, self._order, _frame("ROWS", first, last))

    def rangeBetween(self, first: int, last: int) -> "WindowSpec":
        """From one value of the order to another, counted from the row's own."""
        return WindowSpec(self._keys, self._order, _frame("RANGE", first, last))

    def over(self, call: exp.Expression) -> exp.Expression:
        """The call, over this window."""
        order = exp.Order(expressions=[one.copy() for one in self._order]) if self._order else None
        return exp.Window(
            this=call,
            partition_by=[key.copy() for key in self._keys],
            order=order,
            spec=self._frame.copy() if self._frame is not None else None,
        )


class Window:
    """Where a window's description begins."""

    unboundedPreceding = -(1 << 63)
    unboundedFollowing = (1 << 63) - 1
    currentRow = 0

    @staticmethod
    def partitionBy(*keys: Any) -> WindowSpec:
        """Rows of equal keys."""
        return WindowSpec([tree_of(key) for key in keys])

    @staticmethod
    def orderBy(*order: Any) -> WindowSpec:
        """All rows, in this order."""
        return WindowSpec().orderBy(*order)


def ordered(tree: exp.Expression) -> exp.Expression:
    """A term of an order, as Spark means it: ascending with nulls first by default."""
    if isinstance(tree, exp.Ordered):
        return tree.copy()
    return exp.Ordered(this=tree.copy(), desc=False, nulls_first=True)


def _frame(kind: str, first: int, last: int) -> exp.Expression:
    start, start_side = _bound(first)
    end, end_side = _bound(last)
    return exp.WindowSpec(kind=kind, start=start, start_side=start_side, end=end, end_side=end_side)


def _bound(offset: int) -> tuple[Any, str | None]:
    side = "PRECEDING" if offset < 0 else "FOLLOWING"
    if offset in (Window.unboundedPreceding, Window.unboundedFollowing):
        return "UNBOUNDED", side
    return ("CURRENT ROW", None) if offset == 0 else (exp.Literal.number(abs(offset)), side)
