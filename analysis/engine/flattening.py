"""Fewer SELECTs for the same rows: one that only adds to the SELECT below it becomes part of it.

Spark analyzes, optimizes and plans each SELECT, which for few rows costs more than the rows do.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from analysis.engine.columns import text_of
from analysis.engine.frames import Frame, Select

_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'")
_WORD = re.compile(r"[A-Za-z_]\w*")
GENERATOR = re.compile(r"\b(?:explode|posexplode|inline|stack)\(", re.IGNORECASE)
_WINDOW = " OVER ("
_BEFORE_FILTER = ("inner", "left", "left_semi", "left_anti", "cross")
"""Joins for which rows of the left side may be filtered afterwards as well."""


def flattened(select: Select, columns: Iterable[str], is_shared: Callable[[Frame], bool]) -> Select:
    """A SELECT with as much of its sources as fits into it.

    Args:
        select: to be flattened.
        columns: of its frame.
        is_shared: whether a frame is used elsewhere too, and so stands by itself.
    """
    items = select.items or tuple((name, text_of(name)) for name in columns)
    whole = replace(select, items=items)
    while not is_shared(whole.source) and isinstance(whole.source.body, Select):
        merged = _merged(whole, whole.source.body, whole.source.columns)
        if merged is None:
            break
        whole = merged
    return whole


def _merged(outer: Select, inner: Select, columns: tuple[str, ...]) -> Select | None:
    """Both as one; None if that is another query."""
    if inner.tail or inner.is_distinct or inner.is_aggregated:
        return None
    below = dict(inner.items) or {name: text_of(name) for name in columns}
    changed = {name for name, sql in below.items() if sql != text_of(name)}
    if outer.joined and not _may_join(outer, inner, below, changed):
        return None
    texts = [*outer.where, *(one.on for one in outer.joined), *_order(outer)]
    if any(_mentions(text, changed) for text in texts):
        return None
    items = []
    for name, sql in outer.items:
        passed = _name_of(sql)
        if passed is None and _mentions(sql, changed):
            return None
        items.append((name, sql if passed is None else below.get(passed, sql)))
    if _clash([sql for _, sql in items], below, outer):
        return None
    return replace(
        outer,
        source=inner.source,
        joined=(*inner.joined, *outer.joined),
        where=(*inner.where, *outer.where),
        items=tuple(items),
    )


def _may_join(outer: Select, inner: Select, below: dict[str, str], changed: set[str]) -> bool:
    """Whether joins of a SELECT may stand in the SELECT below it."""
    if changed or any(one.how not in _BEFORE_FILTER for one in outer.joined):
        return False
    if inner.where and inner.joined:
        return False
    # What the SELECT below leaves out is in reach then, and must not be mistaken.
    hidden = {
        name
        for frame in (inner.source, *(one.frame for one in inner.joined))
        for name in frame.columns
    } - below.keys()
    return not any(hidden & set(one.frame.columns) for one in outer.joined)


def _clash(items: list[str], below: dict[str, str], outer: Select) -> bool:
    """Whether windows, generators and aggregates would see other rows than before."""
    is_generated = any(map(GENERATOR.search, below.values()))
    has_generator = any(map(GENERATOR.search, items))
    has_window = any(_WINDOW in sql for sql in items)
    is_windowed = any(_WINDOW in sql for sql in below.values())
    return (
        is_generated
        or (has_generator and (has_window or is_windowed or outer.is_aggregated))
        or (is_windowed and (bool(outer.where) or bool(outer.joined) or outer.is_aggregated))
    )


def _order(select: Select) -> list[str]:
    """The texts of ORDER BY; GROUP BY names places of the list."""
    return [] if select.is_aggregated else [select.tail]


def _name_of(sql: str) -> str | None:
    """The column of an item that is nothing but this column."""
    name = sql.strip("`")
    return name if sql == text_of(name) and "." not in name else None


def _mentions(sql: str, names: set[str]) -> bool:
    return bool(names) and not names.isdisjoint(words_of(sql))


def words_of(sql: str) -> list[str]:
    """All that may name a column in an expression."""
    return _WORD.findall(_TEXT.sub("", sql))
