"""A frame as one statement in Spark's SQL."""

from collections import Counter

from analysis.engine.columns import text_of
from analysis.engine.flattening import flattened
from analysis.engine.frames import JOINS, Frame, Select, Shared, Text, Union, View
from analysis.engine.pruning import needed_columns, pruned


def statement(frame: Frame) -> str:
    """All that a frame is made of. Frames that are used several times stand first, once."""
    return _Writer(frame).statement()


class _Writer:
    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._uses: Counter[int] = Counter()
        self._steps: dict[int, tuple[str, str]] = {}
        """Name and text, by the frame's identity."""
        self._count(frame)
        self._needs = needed_columns(frame)

    def statement(self) -> str:
        text = self._text(self._frame)
        steps = ",\n".join(f"{name} AS ({step})" for name, step in self._steps.values())
        return f"WITH {steps}\n{text}" if steps else text

    def _count(self, frame: Frame) -> None:
        for one in frame.inputs:
            self._uses[id(one)] += 1
            if self._uses[id(one)] == 1:
                self._count(one)

    def _text(self, frame: Frame) -> str:
        match frame.body:
            case View(name=name):
                return f"SELECT * FROM {name}"
            case Union(parts=parts):
                places = [p for p, name in enumerate(frame.columns) if name in self._needed(frame)]
                return "\nUNION ALL ".join(self._part(one, places) for one in parts)
            case Select() as select:
                return self._select(pruned(select, frame.columns, self._needed(frame)), frame)
            case Text(sql=sql, named=named):
                steps = ", ".join(
                    f"{name} AS (SELECT * FROM {self._named(one)} AS _0)" for name, one in named
                )
                return f"WITH {steps} SELECT * FROM ({sql}) AS _0" if steps else sql
            case Shared():
                raise ValueError("what is shared has to be resolved first")

    def _needed(self, frame: Frame) -> set[str]:
        return self._needs[id(frame)]

    def _select(self, whole: Select, frame: Frame) -> str:
        select = flattened(whole, frame.columns, lambda one: self._uses[id(one)] > 1)
        distinct = "DISTINCT " if select.is_distinct else ""
        items = ", ".join(
            sql if sql == text_of(name) else f"{sql} AS {text_of(name)}"
            for name, sql in select.items
        )
        lines = [f"SELECT {distinct}{items} FROM {self._named(select.source)} AS _0"]
        for place, one in enumerate(select.joined, 1):
            lines.append(f"{JOINS[one.how]} {self._named(one.frame)} AS _{place} {one.on}".rstrip())
        if select.where:
            lines.append(f"WHERE {' AND '.join(select.where)}")
        return "\n".join([*lines, select.tail] if select.tail else lines)

    def _part(self, frame: Frame, places: list[int]) -> str:
        """A part of a union, with the columns at these places."""
        names = [frame.columns[place] for place in places]
        body = frame.body
        if isinstance(body, Select) and not body.tail and self._uses[id(frame)] == 1:
            items = pruned(body, frame.columns, self._needed(frame)).items
            if [name for name, _ in items] == names:
                return self._text(frame)
        return f"SELECT {', '.join(map(text_of, names))} FROM {self._named(frame)}"

    def _named(self, frame: Frame) -> str:
        """A frame in FROM: by its name, or all of it in parentheses."""
        if isinstance(frame.body, View):
            return frame.body.name
        if self._uses[id(frame)] == 1:
            return f"({self._text(frame)})"
        if id(frame) not in self._steps:
            text = self._text(frame)
            self._steps[id(frame)] = f"step_{len(self._steps) + 1}", text
        return self._steps[id(frame)][0]
