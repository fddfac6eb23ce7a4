"""When a wait for the commits of groups ends."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from harness.story.workload import Workload

GROUPS = {"g": ["g#1", "g#2"], "h": ["h#1"]}


class Members:
    """Members whose counts of commits advance with each request."""

    def __init__(self, *counts: dict[str, int]) -> None:
        self.counts = list(counts)

    def call(self, _members: list[str], _share: object) -> list[dict[str, int]]:
        return [self.counts.pop(0)]


def await_that(reached: Callable[[], bool], **_options: Any) -> None:
    while not reached():
        pass


@pytest.mark.parametrize(("are_new", "left"), [(False, 3), (True, 0)])
def test_commits_before_the_wait_count_unless_they_have_to_be_new(
    *, are_new: bool, left: int
) -> None:
    members = Members(
        {"g#1": 1, "g#2": 0, "h#1": 2},
        {"g#1": 1, "g#2": 0, "h#1": 3},
        {"g#1": 1, "g#2": 0, "h#1": 9},
        {"g#1": 1, "g#2": 1, "h#1": 9},
    )
    consumers: Any = members
    observer: Any = SimpleNamespace(await_that=await_that)
    Workload(consumers, observer).await_commits(GROUPS, are_new=are_new)
    assert len(members.counts) == left
