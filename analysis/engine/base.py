"""What both engines do alike: they compute what statements share, and leave out what is empty."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import pyarrow as pa

from analysis.engine.frames import Frame
from analysis.engine.sharing import resolved, shared, used_once

_T = TypeVar("_T")
_R = TypeVar("_R")


class PlanningEngine(ABC):
    """An engine (`analysis.engine.frames.Engine`), by what differs: how it runs one statement."""

    def run(self, frame: Frame) -> pa.Table:
        """The rows of a frame."""
        return self.rows_of(frame, frozenset())

    def run_all(self, frames: Sequence[Frame]) -> list[pa.Table | Exception]:
        """The rows of several frames, or why they can't be had."""
        inlined = used_once(frames)

        def rows(frame: Frame) -> pa.Table | Exception:
            try:
                return self.rows_of(frame, inlined)
            except Exception as error:  # noqa: BLE001 - the other frames have theirs
                return error

        return self.each(rows, frames)

    def rows_of(self, frame: Frame, inlined: frozenset[int]) -> pa.Table:
        """The rows of a frame. If it is known to have none, nothing is run.

        Args:
            frame: to be run.
            inlined: of what is shared, what becomes a part of it (`analysis.engine.sharing`).
        """
        found = resolved(frame, self.computed, inlined)
        if found is None:
            return pa.table({name: pa.array([], pa.null()) for name in frame.columns})
        return self.fetched(found)

    def materialized(self, frame: Frame) -> Frame:
        """The rows of a frame, computed at most once."""
        return shared(frame)

    @abstractmethod
    def fetched(self, frame: Frame) -> pa.Table:
        """The rows of a frame that is made of tables and queries only, in Python."""

    @abstractmethod
    def computed(self, frame: Frame) -> Frame:
        """The rows of such a frame as a table."""

    @abstractmethod
    def each(self, ask: Callable[[_T], _R], of: Iterable[_T]) -> list[_R]:
        """What is asked of each, in their order."""
