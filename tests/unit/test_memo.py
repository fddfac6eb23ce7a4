"""What several threads ask for is built once, and tells what it was made of."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from analysis.statements.trace import Memo


def test_who_asks_second_waits_for_the_first() -> None:
    once, is_building, may_end = Memo(), Event(), Event()
    builds = []

    def build() -> int:
        builds.append(1)
        is_building.set()
        may_end.wait()
        return 7

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(once.get, "a", build)
        is_building.wait()
        second = threads.submit(once.get, "a", build)
        may_end.set()
        assert (first.result(), second.result(), len(builds)) == (7, 7, 1)


def test_what_cannot_be_built_tells_everybody_why() -> None:
    once = Memo()
    builds = []

    def broken() -> int:
        builds.append(1)
        raise ValueError("no such column")

    for _ in range(2):
        with pytest.raises(ValueError, match="no such column"):
            once.get("a", broken)
    assert len(builds) == 1


def _made_of(once: Memo, source: str) -> Callable[[], int]:
    def build() -> int:
        once.source(source)
        return 1

    return build


def test_sources_are_reported_by_way_of_what_is_built() -> None:
    once = Memo()
    once.get("inner", _made_of(once, "polls"))
    with once.sources() as asked:
        once.get("outer", lambda: once.get("inner", _made_of(once, "never built again")))
        with once.sources() as within:
            once.source("sends")
    assert (asked, within) == ({"polls", "sends"}, {"sends"})
    with once.sources() as later:
        once.get("outer", int)
    assert later == {"polls"}


def test_sources_are_of_the_thread_that_asks() -> None:
    once = Memo()
    with ThreadPoolExecutor(1) as other, once.sources() as asked:
        other.submit(once.source, "sends").result()
        once.get("a", _made_of(once, "polls"))
    assert asked == {"polls"}
