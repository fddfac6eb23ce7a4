"""The topics of a plan, as they are created."""

from collections.abc import Mapping, Sequence

from contract.errors import UsageError
from contract.run_folder import TopicPlan
from harness.clients.admin import NewTopic
from harness.story.settings import topic_problems


def durable_topic(name: str, *, partitions: int) -> TopicPlan:
    """Return a topic with 3 replicas, 2 of them in sync, and without unclean elections."""
    return TopicPlan(
        topic=name, partitions=partitions, replication=3, min_insync=2, unclean_election=False
    )


def brokers_of(
    assignment: Sequence[int] | Mapping[str, Sequence[int]], topics: Sequence[str]
) -> Mapping[str, Sequence[int]]:
    """Return the brokers of each topic, given for all or by topic.

    Raises:
        UsageError: they are given by topic, and not of exactly these.
    """
    if not isinstance(assignment, Mapping):
        return dict.fromkeys(topics, assignment)
    if assignment.keys() != {*topics}:
        raise UsageError(
            f"brokers are given for {', '.join(sorted(assignment)) or 'no topic'}, but the planned "
            f"topics are {', '.join(sorted(topics))}"
        )
    return assignment


def new_topic(
    plan: TopicPlan,
    brokers: list[int],
    *,
    is_spread: bool,
    settings: Mapping[str, str],
    is_own: bool = False,
) -> NewTopic:
    """Return a planned topic with replicas on these brokers, of which the first leads.

    With `is_spread` each partition's replicas begin one broker further, so that all brokers lead.
    Of more brokers than replicas, the first ones have them.

    `is_own`: whether servers are an own build, which may have settings of its own.

    Raises:
        UsageError: a setting is unknown, or can't be used.
    """
    for problem in topic_problems({**settings, **plan.settings}, is_own=is_own).values():
        raise UsageError(f"topic {plan.topic}: {problem}")
    config = {
        "min.insync.replicas": str(plan.min_insync),
        "unclean.leader.election.enable": str(plan.unclean_election).lower(),
    }
    if plan.retention_ms is not None:
        config["retention.ms"] = str(plan.retention_ms)
    return NewTopic(
        topic=plan.topic,
        assignment=[
            _rotate(brokers, partition if is_spread else 0)[: plan.replication]
            for partition in range(plan.partitions)
        ],
        config={**config, **settings, **plan.settings},
    )


def _rotate(brokers: list[int], by: int) -> list[int]:
    start = by % len(brokers)
    return brokers[start:] + brokers[:start]
