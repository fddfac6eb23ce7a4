"""Which checks a run is planned with."""

import pytest

from contract.checks import Check
from contract.run_folder import GroupPlan, TopicPlan
from harness.story.scenario import planned


def topic(replication: int = 3) -> TopicPlan:
    return TopicPlan(
        topic="t", partitions=1, replication=replication, min_insync=1, unclean_election=False
    )


def groups(count: int) -> list[GroupPlan]:
    return [
        GroupPlan(group=f"g{number}", client="java", topic="t", commit_epoch="record", reset="none")
        for number in range(count)
    ]


@pytest.mark.parametrize(("count", "is_planned"), [(0, False), (1, False), (2, True)])
def test_readers_diverge_only_if_a_topic_has_several(count: int, *, is_planned: bool) -> None:
    checks = planned([Check.DIVERGENT_READERS], [topic()], groups(count))
    assert (Check.DIVERGENT_READERS in checks) == is_planned


def test_every_run_is_planned_with_what_it_gives_a_case_of() -> None:
    several = planned([], [topic()], groups(1))
    assert {Check.STUCK_CONSUMER, Check.LOG_DIVERGENCE} <= set(several)
    assert Check.STUCK_CONSUMER not in planned([], [topic()], [])
    assert Check.LOG_DIVERGENCE not in planned([], [topic(replication=1)], groups(1))
