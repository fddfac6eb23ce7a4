"""What several statements use is computed once, and what one uses becomes a part of it.

A frame that checks share is only noted when they ask for it. When rows are asked for, all
statements are known: then each shared frame is computed into a table, unless a single place of a
single statement uses it.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from analysis.engine.frames import Frame, Select, Shared, Text, Union, View

Compute = Callable[[Frame], Frame]
_NEEDS_BOTH = ("inner", "left_semi", "cross")


def shared(frame: Frame) -> Frame:
    """The rows of a frame, to be computed at most once."""
    if isinstance(frame.body, Shared | View):
        return frame
    return replace(frame, body=Shared(frame))


def used_once(frames: Iterable[Frame]) -> frozenset[int]:
    """The identities of what is shared, but used in one place of one of these statements."""
    uses: Counter[int] = Counter()
    known: set[int] = set()
    roots = list(frames)
    while roots:
        for one in _shared_in(roots.pop()):
            uses[id(one)] += 1
            if id(one) not in known and one.computed is None:
                known.add(id(one))
                roots.append(one.frame)
    return frozenset(name for name, number in uses.items() if number == 1)


def resolved(frame: Frame, compute: Compute, inlined: frozenset[int]) -> Frame | None:
    """A frame made of tables and queries only; None if it has no rows, as its tables show.

    A table that is known to have no rows leaves out what only it could make: the other side of a
    join, a part of a union, and all that is made of these. None of it is computed or planned.

    Args:
        frame: to be run.
        compute: makes a table of the rows of a frame that is resolved.
        inlined: identities of what becomes a part of this frame; all else that is shared is
            computed.
    """
    resolving = _Resolving(compute, inlined)
    return None if resolving.is_empty(frame) else resolving.of(frame)


class _Resolving:
    def __init__(self, compute: Compute, inlined: frozenset[int]) -> None:
        self._compute, self._inlined = compute, inlined
        # With the frames themselves, so that none is freed and leaves its identity to another one.
        self._known: dict[int, tuple[Frame, Frame]] = {}
        self._empty: dict[int, tuple[Frame, bool]] = {}

    def of(self, frame: Frame) -> Frame:
        if id(frame) not in self._known:
            self._known[id(frame)] = frame, self._resolve(frame)
        return self._known[id(frame)][1]

    def is_empty(self, frame: Frame) -> bool:
        """Whether it has no rows for certain. Computes what is shared, if that may show it."""
        if id(frame) not in self._empty:
            self._empty[id(frame)] = frame, self._has_no_rows(frame)
        return self._empty[id(frame)][1]

    def _has_no_rows(self, frame: Frame) -> bool:
        body = frame.body
        if frame.is_empty:
            return True
        if isinstance(body, Shared):
            if self._is_inlined(body):
                return self.is_empty(body.frame)
            return self._computed(body).is_empty
        if isinstance(body, Union):
            return all(map(self.is_empty, body.parts))
        if not isinstance(body, Select) or (body.is_aggregated and not body.tail):
            return False
        needed = [one.frame for one in body.joined if one.how in _NEEDS_BOTH]
        if all(one.how != "full_outer" for one in body.joined):
            needed.append(body.source)
        # What is known already first, so that nothing is computed in vain.
        return any(one.is_empty for one in needed) or any(map(self.is_empty, needed))

    def _resolve(self, frame: Frame) -> Frame:
        body = frame.body
        if isinstance(body, Shared):
            return self.of(body.frame if self._is_inlined(body) else self._computed(body))
        if isinstance(body, Union):
            return self._of_union(frame, body)
        if isinstance(body, Select):
            return self._of_select(frame, body)
        if isinstance(body, Text):
            named = tuple((name, self.of(one)) for name, one in body.named)
            return replace(frame, body=replace(body, named=named))
        return frame

    def _of_union(self, frame: Frame, union: Union) -> Frame:
        """Without parts that are empty; the first one has the names of the columns."""
        first, *rest = [one for one in union.parts if not self.is_empty(one)] or union.parts[:1]
        if first.columns != frame.columns:
            first = first.toDF(*frame.columns)
        parts = tuple(map(self.of, (first, *rest)))
        if len(parts) == 1:
            return parts[0]
        return replace(frame, body=Union(parts))

    def _of_select(self, frame: Frame, select: Select) -> Frame:
        source = self.of(select.source)
        joined = tuple(
            replace(one, frame=self.of(one.frame))
            for one in select.joined
            if not (one.how == "left_anti" and self.is_empty(one.frame))
        )
        return replace(frame, body=replace(select, source=source, joined=joined))

    def _is_inlined(self, rows: Shared) -> bool:
        return rows.computed is None and id(rows) in self._inlined

    def _computed(self, rows: Shared) -> Frame:
        with rows.is_changing:
            if rows.error is not None:
                raise rows.error
            if rows.computed is None:
                try:
                    rows.computed = (
                        replace(rows.frame, is_empty=True)
                        if self.is_empty(rows.frame)
                        else self._compute(self.of(rows.frame))
                    )
                except Exception as error:
                    rows.error = error
                    raise
            return rows.computed


def _shared_in(frame: Frame) -> list[Shared]:
    """Each place of a statement that uses what is shared."""
    found: list[Shared] = []
    known: set[int] = set()
    todo = [frame]
    while todo:
        one = todo.pop()
        for part in one.inputs:
            if isinstance(part.body, Shared):
                found.append(part.body)
            elif id(part) not in known:
                known.add(id(part))
                todo.append(part)
    return found
