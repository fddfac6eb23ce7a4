"""Which brokers have the replicas of a topic."""

import pytest

from contract.errors import UsageError
from harness.story.topics import brokers_of


def test_brokers_are_given_for_all_topics_or_by_topic() -> None:
    assert brokers_of([1, 2], ["a", "b"]) == {"a": [1, 2], "b": [1, 2]}
    assert brokers_of({"a": [1], "b": [2]}, ["a", "b"]) == {"a": [1], "b": [2]}


@pytest.mark.parametrize(
    ("given", "named"), [({"a": [1]}, "a"), ({"a": [1], "b": [1], "c": [1]}, "a, b, c"), ({}, "no")]
)
def test_brokers_by_topic_are_of_the_planned_ones(given: dict[str, list[int]], named: str) -> None:
    with pytest.raises(UsageError, match=f"for {named}.* the planned topics are a, b"):
        brokers_of(given, ["a", "b"])
