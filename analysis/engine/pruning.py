"""Which columns of the frames in a statement are read, so that the others are left out.

Spark analyzes each column of each SELECT several times, which for few rows costs more than they do.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from analysis.engine.columns import text_of
from analysis.engine.flattening import GENERATOR, words_of
from analysis.engine.frames import Frame, Select, Text, Union

_ALL = re.compile(r"(?:^|[(,.])\s*\*")
_PLACES = re.compile(r"GROUP BY 1(?:, \d+)*$")

Needs = dict[int, set[str]]


def needed_columns(root: Frame) -> Needs:
    """The columns that are read of each frame of a statement, by the frame's identity."""
    needs: Needs = defaultdict(set)
    needs[id(root)] = set(root.columns)
    for frame in _parents_first(root):
        for part, columns in _read_by(frame, needs[id(frame)]):
            needs[id(part)] |= columns or set(part.columns[:1])
    return needs


def pruned(select: Select, columns: Iterable[str], needed: set[str]) -> Select:
    """A SELECT with those items that are needed, or that make rows."""
    items = select.items or tuple((name, text_of(name)) for name in columns)
    if select.is_distinct:
        return replace(select, items=items)
    keys = _PLACES.search(select.tail)
    first = len(keys.group().split(",")) if select.is_aggregated and keys else 0
    rest = [(name, sql) for name, sql in items[first:] if name in needed or GENERATOR.search(sql)]
    return replace(select, items=(*items[:first], *rest))


def _parents_first(root: Frame) -> list[Frame]:
    """All frames of a statement, each after those that are made of it."""
    ordered: list[Frame] = []
    known: set[int] = set()

    def visit(frame: Frame) -> None:
        if id(frame) in known:
            return
        known.add(id(frame))
        for part in frame.inputs:
            visit(part)
        ordered.append(frame)

    visit(root)
    return ordered[::-1]


def _read_by(frame: Frame, needed: set[str]) -> Iterator[tuple[Frame, set[str]]]:
    """The inputs of a frame with the columns of them that it reads."""
    body = frame.body
    if isinstance(body, Union):
        places = [place for place, name in enumerate(frame.columns) if name in needed]
        for part in body.parts:
            yield part, {part.columns[place] for place in places}
    elif isinstance(body, Text):
        for part in frame.inputs:
            yield part, set(part.columns)
    elif isinstance(body, Select):
        kept = [sql for _, sql in pruned(body, frame.columns, needed).items]
        texts = [*kept, *body.where, *(one.on for one in body.joined), body.tail]
        is_all = any(map(_ALL.search, texts))
        words = {word for text in texts for word in words_of(text)}
        for part in frame.inputs:
            yield part, {name for name in part.columns if is_all or name in words}
