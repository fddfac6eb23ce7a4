"""The part of `pyspark.sql.functions` that the checks use."""

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from bench.on_duckdb.columns import SPARK, Column, literal, sql, tree_of

_WITH_LITERAL_FIRST = {"format_string", "concat_ws"}


def __getattr__(name: str) -> Callable[..., Column]:
    """Any function of Spark's, by its name: sqlglot knows what DuckDB calls it."""
    if name.startswith("_"):
        raise AttributeError(name)

    def call(*arguments: Any) -> Column:
        first = [literal(arguments[0])] if name in _WITH_LITERAL_FIRST else []
        trees = first + [tree_of(one) for one in arguments[len(first) :]]
        return Column(exp.func(name, *(tree.copy() for tree in trees), dialect=SPARK))

    return call


def col(name: str) -> Column:
    """A column by its name."""
    return Column(tree_of(name))


def lit(value: Any) -> Column:
    """A value that is the same in each row."""
    return Column(literal(value))


def expr(text: str) -> Column:
    """An expression in Spark's SQL."""
    return Column(sql(text))


def broadcast(frame: Any) -> Any:
    """The frame: DuckDB chooses by itself which side of a join it builds on."""
    return frame


def when(condition: Column, value: Any) -> Column:
    """The first branch of a case."""
    return Column(exp.Case()).when(condition, value)


def desc(name: str) -> Column:
    """A column in descending order, nulls last."""
    return col(name).desc()


def count(what: Any) -> Column:
    """The number of rows with a value."""
    return Column(exp.Count(this=tree_of(what).copy()))


def count_distinct(*columns: Any) -> Column:
    """The number of different values, or combinations of values."""
    trees = [tree_of(one).copy() for one in columns]
    return Column(exp.Count(this=exp.Distinct(expressions=trees)))


def last(what: Any, *, ignorenulls: bool = False) -> Column:
    """The last value in a window."""
    call = exp.LastValue(this=tree_of(what).copy())
    return Column(exp.IgnoreNulls(this=call) if ignorenulls else call)


def lag(what: Any, offset: int = 1) -> Column:
    """The value of a row before."""
    return Column(exp.Lag(this=tree_of(what).copy(), offset=literal(offset)))


def lead(what: Any, offset: int = 1) -> Column:
    """The value of a row after."""
    return Column(exp.Lead(this=tree_of(what).copy(), offset=literal(offset)))


def row_number() -> Column:
    """The number of a row in its window, from 1."""
    return Column(exp.RowNumber())


def filter(what: Any, keep: Callable[[Column], Column]) -> Column:  # noqa: A001 - Spark's name
    """The elements of an array that are to be kept."""
    return Column(exp.ArrayFilter(this=tree_of(what).copy(), expression=_lambda(keep)))


def exists(what: Any, holds: Callable[[Column], Column]) -> Column:
    """Whether it holds for any element of an array."""
    return Column(exp.Exists(this=tree_of(what).copy(), expression=_lambda(holds)))


def _lambda(function: Callable[[Column], Column]) -> exp.Expression:
    name = exp.to_identifier("element")
    return exp.Lambda(this=function(Column(name)).tree.copy(), expressions=[name.copy()])
