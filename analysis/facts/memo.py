"""What several threads ask for by a name, built by the first of them, and what it was made of."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

_T = TypeVar("_T")


class _Built(NamedTuple):
    value: Any
    sources: frozenset[str]


class _Asked(threading.local):
    """The sources that one thread asked for."""

    def __init__(self) -> None:
        self.sources: set[str] = set()


class Memo:
    """A thread-safe memo: each named value is built once, with the sources that it was made of.

    Who asks for what another thread is building waits for it. What can't be built raises the same
    error for everybody. Things may ask for others while they are built, though never in a circle.
    """

    def __init__(self) -> None:
        """Nothing is built yet."""
        self._built: dict[str, Future[_Built]] = {}
        self._is_changing = threading.Lock()
        self._asked = _Asked()

    def source(self, name: str) -> None:
        """Record that this thread asks for a source."""
        self._asked.sources.add(name)

    @contextmanager
    def sources(self) -> Iterator[set[str]]:
        """The sources that this thread asks for meanwhile, also by way of what is built already."""
        outer, inner = self._asked.sources, set[str]()
        self._asked.sources = inner
        try:
            yield inner
        finally:
            self._asked.sources = outer
            outer.update(inner)

    def get(self, name: str, build: Callable[[], _T]) -> _T:
        """The thing of that name."""
        with self._is_changing:
            is_first = name not in self._built
            known = self._built.setdefault(name, Future())
        if is_first:
            self._build(known, build)
        built = known.result()
        self._asked.sources.update(built.sources)
        value: _T = built.value
        return value

    def _build(self, known: Future[_Built], build: Callable[[], Any]) -> None:
        try:
            with self.sources() as sources:
                value = build()
        except BaseException as error:  # noqa: BLE001 - raised to all callers
            known.set_exception(error)
        else:
            known.set_result(_Built(value, frozenset(sources)))
