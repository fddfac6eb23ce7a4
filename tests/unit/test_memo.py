"""What is asked for several times is built once, and tells what it was made of."""

from collections.abc import Callable

import pytest

from analysis.statements.trace import Memo


def test_a_value_is_built_once() -> None:
    once = Memo()
    assert [once.get("a", lambda value=value: value) for value in (7, 8)] == [7, 7]


def test_what_cannot_be_built_tells_everybody_why() -> None:
    once = Memo()
    builds = []

    def fail() -> int:
        builds.append(1)
        raise ValueError("no such column")

    for _ in range(2):
        with pytest.raises(ValueError, match="no such column"):
            once.get("a", fail)
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
