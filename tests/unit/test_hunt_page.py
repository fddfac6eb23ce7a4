"""The sum over stories of the hunt: an answer with two bounds, a witness, or what is not known."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from studies.hunt.page import part, together
from studies.hunt.stories import NEAR_MISSES, GroupSum, Story, Witness
from tests.made import made

NEAR = dict.fromkeys(NEAR_MISSES, 0) | {"at the log start": 7}
REPORTED = GroupSum(
    group="reported",
    differs="as reported",
    resumptions=600,
    near=NEAR,
    resets={"out_of_range": 2},
    unjustified=0,
    undecided=0,
    delivered=1000,
    again=50,
)
STATIC = replace(REPORTED, group="static", differs="group.instance.id", resumptions=400, resets={})
STORY = made(
    Story,
    seed=1,
    kafka="4.4.0",
    scale="scaled",
    retention="short",
    partitions=20,
    members=6,
    is_known=True,
    seconds=1800.0,
    faults={"kill": 3, "elect preferred": 9},
    rounds=12,
    records=123456,
    groups=[REPORTED, STATIC],
    verdict="pass",
)
OLD = replace(STORY, seed=2, kafka="3.9.2")
HIT = replace(
    OLD,
    groups=[replace(REPORTED, unjustified=1), STATIC],
    witnesses=[
        Witness(group="reported", topic="orders", partition=3, verdict="violation", cause="reset")
    ],
    verdict="fail",
    unexpected=["unjustified_reset"],
)


def said(*stories: Story) -> str:
    """The answer, in one line."""
    return " ".join(part(stories).partition("## Each group")[0].split())


def row(stories: Sequence[Story], begins: str) -> list[str]:
    (line,) = [line for line in part(stories).splitlines() if line.startswith(begins)]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_nothing_found_is_a_bound_of_resumptions_and_one_of_stories() -> None:
    text = said(STORY, OLD)
    assert "**0 of 2,000 resumptions from a committed offset**" in text
    assert "(at most 0.15 %, with 95% confidence" in text
    assert "in 1.0 hours of hunting: 2 stories (1 on Kafka 3.9.2, 1 on Kafka 4.4.0)." in text
    assert "By stories it is 0 of 2 (at most 78 %" in text


def test_a_witness_is_named() -> None:
    text = said(STORY, HIT)
    assert "**1 of 2,000 resumptions" in text
    assert "By stories it is 1 of 2" in text
    assert "- Kafka 3.9.2, seed 2: reported, orders-3: violation: reset" in text


def test_what_could_not_be_judged_counts_for_nothing() -> None:
    unknown = replace(OLD, is_known=False)
    text = said(STORY, unknown)
    assert "**0 of 1,000 resumptions" in text
    assert "1 run could not be judged" in text
    assert row([STORY, unknown], "| 3.9.2")[9] == "unknown"
    assert row([STORY, unknown], "| short | `reported` | as")[3] == "1"


def test_no_story_has_no_bound() -> None:
    assert "**0 of 0 resumptions from a committed offset** reset" in said()
    assert "at most 100 %" in said()


def test_an_open_reset_is_said() -> None:
    open_case = replace(STORY, groups=[replace(REPORTED, undecided=2)])
    assert "In 2 resets the sources leave open" in said(open_case)


def test_groups_are_summed_up_by_retention() -> None:
    long = replace(STORY, seed=3, retention="long")
    stories = [STORY, OLD, long]
    assert row(stories, "| short | `reported` | as")[3:] == [
        "2",
        "1,200",
        "1,200",
        "out_of_range 4",
        "0",
        "5.0 %",
    ]
    assert row(stories, "| long | `static` | group")[3:7] == ["1", "400", "800", "0"]


@pytest.mark.parametrize("group", ["reported", "static"])
def test_near_misses_are_summed_up(group: str) -> None:
    cells = row([STORY, OLD], f"| short | `{group}` | {'1,200' if group == 'reported' else '800'}")
    assert cells[3 + list(NEAR_MISSES).index("at the log start")] == "14"


def test_a_story_that_is_kept_stays_until_it_is_run_again() -> None:
    again = replace(STORY, records=7)
    assert together([OLD, STORY], [again]) == [OLD, again]
    assert together([], [STORY, OLD]) == [OLD, STORY]
