"""Topics of a plan, as they are created."""

import pytest

from contract.errors import UsageError
from contract.run_folder import TopicPlan
from harness.story.topics import new_topic

PLAN = TopicPlan(topic="t", partitions=1, replication=2, min_insync=1, unclean_election=False)


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_a_compacted_topic_is_refused(policy: str) -> None:
    with pytest.raises(UsageError, match=r"topic t: cleanup.policy=.*cleanup\.policy=delete"):
        new_topic(PLAN, [1, 2], is_spread=False, settings={"cleanup.policy": policy})


def test_other_settings_are_passed_on() -> None:
    made = new_topic(PLAN, [1, 2], is_spread=False, settings={"cleanup.policy": "delete"})
    assert made.config["cleanup.policy"] == "delete"
