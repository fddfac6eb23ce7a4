"""What a playground's cluster looks like: its servers and topics."""

import os
import re
from collections.abc import Mapping, Sequence

import msgspec

from cluster.kafka.topology import Topology
from contract.errors import UsageError
from contract.run_folder import TopicPlan
from harness.story.settings import server_problems, topic_shape_problems, topology_problems

SHAPE = "FENCEPOST_PLAYGROUND"
"""In the environment of the playground's scenario: its shape, as JSON."""
_REPLICAS, _PARTITIONS = 3, 3
_TOPIC = re.compile(
    r"(?P<name>[A-Za-z0-9._-]{1,249})"
    r"(:(?P<partitions>[0-9]{1,4})(:(?P<replication>[0-9]{1,4}))?)?"
)
"""Names are as `org.apache.kafka.common.internals.Topic` has them."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of servers, and the topics.

    is_spread: whether all brokers lead partitions; otherwise broker 1 leads all.
    settings: further ones of the servers.
    """

    brokers: int
    controllers: int
    topics: list[TopicPlan]
    is_spread: bool
    settings: dict[str, str] = {}

    def words(self) -> list[str]:
        """Return the options of `fencepost play start` that ask for it."""
        topics = [
            f"--topic={topic.topic}:{topic.partitions}:{topic.replication}"
            for topic in self.topics
            if self.is_spread
        ]
        return [f"--brokers={self.brokers}", f"--controllers={self.controllers}", *topics]

    @property
    def topology(self) -> Topology:
        """The cluster of this shape."""
        return Topology(
            brokers=self.brokers, controllers=self.controllers, settings=dict(self.settings)
        )


def shape_of(
    *,
    brokers: int = 3,
    controllers: int = 0,
    topics: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
) -> Shape:
    """Return a shape; `topics` are each `NAME`, `NAME:PARTITIONS` or `NAME:PARTITIONS:REPLICATION`.

    Without topics it has `orders`, led by broker 1 as long as it is not asked for more brokers.

    Raises:
        UsageError: a number or a name can't be used.
    """
    plans = [planned_topic(text, brokers) for text in topics or ["orders"]]
    shape = Shape(
        brokers=brokers,
        controllers=controllers,
        topics=plans,
        is_spread=bool(topics) or brokers > _REPLICAS,
        settings=dict(settings or {}),
    )
    names = [plan.topic for plan in plans]
    twice = [f"topic {name} is named twice" for name in names if names.count(name) > 1]
    problems = [*topology_problems(shape.topology).values(), *twice]
    problems += server_problems(shape.topology).values()
    for problem in (*problems, *topic_shape_problems(plans, shape.topology)):
        raise UsageError(problem)
    return shape


def shape_asked() -> Shape:
    """Return the shape that this process was started with, or the default one."""
    given = os.environ.get(SHAPE)
    return msgspec.json.decode(given, type=Shape) if given else shape_of()


def planned_topic(text: str, brokers: int) -> TopicPlan:
    """Return a topic that is written as in `shape_of`.

    Raises:
        UsageError: it is not.
    """
    found = _TOPIC.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is no topic: write NAME:PARTITIONS:REPLICATION, as orders:6:3")
    replication = int(found["replication"] or min(_REPLICAS, brokers))
    return TopicPlan(
        topic=found["name"],
        partitions=int(found["partitions"] or _PARTITIONS),
        replication=replication,
        min_insync=max(1, replication - 1),
        unclean_election=False,
    )
