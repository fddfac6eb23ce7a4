"""Functions of Spark's SQL as columns; each by the name that it has in `pyspark.sql.functions`."""

from collections.abc import Callable
from typing import Any

from analysis.engine.columns import Case, Column, expression, literal, quoted, text_of

_WITH_LITERAL_FIRST = ("format_string", "concat_ws")


def __getattr__(name: str) -> Callable[..., Column]:
    """Any function of Spark's SQL. A text among its arguments is the name of a column."""
    if name.startswith("_"):
        raise AttributeError(name)

    def call(*arguments: Any) -> Column:
        texts = [text_of(one) for one in arguments]
        if name in _WITH_LITERAL_FIRST:
            texts[0] = literal(arguments[0])
        return Column(f"{name}({', '.join(texts)})")

    return call


def col(name: str) -> Column:
    """A column by its name; a field of a struct by `column.field`."""
    return Column(quoted(name), name.rpartition(".")[2])


def lit(value: Any) -> Column:
    """A value that is the same in each row."""
    return value if isinstance(value, Column) else Column(literal(value))


expr = expression


def when(condition: Column, value: Any) -> Case:
    """The first branch of a case."""
    return Case.of(condition, value)


def desc(name: str) -> Column:
    """A column in descending order, nulls last."""
    return col(name).desc()


def struct(*columns: Any) -> Column:
    """Columns as one value, each under its name."""
    fields = [field if isinstance(field, Column) else col(field) for field in columns]
    texts = [f"{one.sql} AS `{one.name}`" if one.name else one.sql for one in fields]
    return Column(f"struct({', '.join(texts)})")


def count_distinct(*columns: Any) -> Column:
    """The number of different values, or of different combinations of values."""
    return Column(f"count(DISTINCT {', '.join(map(text_of, columns))})")


def last(column: Any, *, ignorenulls: bool = False) -> Column:
    """The last value of a window."""
    return Column(f"last_value({text_of(column)})" + (" IGNORE NULLS" if ignorenulls else ""))
