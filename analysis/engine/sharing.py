"""What several statements use is computed once, and what one uses becomes a part of it.

A frame that checks share is only noted when they ask for it. When rows are asked for, all
statements are known: then each shared frame is computed into a table, unless a single place of a
single statement uses it.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from analysis.engine.frames import Frame, Select, Shared, Union, View

Compute = Callable[[Frame], Frame]


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


def resolved(frame: Frame, compute: Compute, inlined: frozenset[int]) -> Frame:
    """A frame made of tables and queries only.

    Args:
        frame: to be run.
        compute: makes a table of the rows of a frame that is resolved.
        inlined: identities of what becomes a part of this frame; all else that is shared is
            computed.
    """
    return _Resolving(compute, inlined).of(frame)


class _Resolving:
    def __init__(self, compute: Compute, inlined: frozenset[int]) -> None:
        self._compute, self._inlined = compute, inlined
        self._known: dict[int, Frame] = {}

    def of(self, frame: Frame) -> Frame:
        if id(frame) not in self._known:
            self._known[id(frame)] = self._resolve(frame)
        return self._known[id(frame)]

    def _resolve(self, frame: Frame) -> Frame:
        body = frame.body
        if isinstance(body, Shared):
            return self._of_shared(body)
        if isinstance(body, Union):
            parts = tuple(map(self.of, body.parts))
            is_large = any(one.is_large for one in parts)
            return replace(frame, body=Union(parts), is_large=is_large)
        if isinstance(body, Select):
            source = self.of(body.source)
            joined = tuple(replace(one, frame=self.of(one.frame)) for one in body.joined)
            is_large = source.is_large or any(one.frame.is_large for one in joined)
            return replace(
                frame, body=replace(body, source=source, joined=joined), is_large=is_large
            )
        return frame

    def _of_shared(self, rows: Shared) -> Frame:
        if rows.computed is None and id(rows) in self._inlined:
            return self.of(rows.frame)
        with rows.is_changing:
            if rows.error is not None:
                raise rows.error
            if rows.computed is None:
                try:
                    rows.computed = self._compute(self.of(rows.frame))
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
