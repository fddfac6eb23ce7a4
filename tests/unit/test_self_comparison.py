"""Which stories of one build are compared with which."""

from collections import Counter

from contract.comparisons import Side
from studies.self_comparison import comparisons_of

NAMES = [f"{number:04}" for number in range(20)]


def test_each_story_is_in_one_comparison_and_a_rest_in_none() -> None:
    found = comparisons_of(NAMES)
    assert [name for sides in found for name in sides] == NAMES[:16]


def test_a_comparison_has_four_stories_of_each_side_and_both_of_each_pair() -> None:
    for sides in comparisons_of(NAMES):
        assert Counter(sides.values()) == {Side.A: 4, Side.B: 4}
        listed = list(sides.values())
        assert all(set(listed[first : first + 2]) == set(Side) for first in range(0, 8, 2))
        assert listed[0] != listed[2], "what changes on the machine meanwhile affects both"
