"""What the stories of faults share: the topic, its load, the groups that read it, who is told."""

import json
import os
from collections.abc import Mapping
from typing import TypeVar

from contract.run_folder import TopicPlan
from contract.software import Client
from harness.clients.admin import NewTopic
from harness.faults import LeaderOf
from harness.story.workload import reader

T = TypeVar("T")
TOLD = "TOLD_STORIES"
"""In the environment of a scenario of stories: the names of those that it tells, as JSON."""
OF_BOTH_PROTOCOLS = (Client.JAVA, Client.JAVA_CONSUMER)
BROKERS = [1, 2, 3, 4]
PLAIN = 4
ORDERS = TopicPlan(
    topic="orders",
    partitions=4,
    replication=4,
    min_insync=2,
    unclean_election=False,
    deletes=True,
)
SCRAP = NewTopic(topic="scrap", assignment=[[2, 4, 1, 3]], config={"min.insync.replicas": "2"})
GROUPS = tuple(reader(client, "orders", client=client) for client in OF_BOTH_PROTOCOLS)
GROUP = GROUPS[0]
SHARED = reader("shared", "orders", members=2, settings={"session.timeout.ms": "6000"})
"""A group with a member on each of two workers."""
FIRST = LeaderOf("orders", 0)
LOAD = "load"
SECONDS = 30
SIGTERM_STATUS = 143


def stories_to_run(stories: Mapping[str, T]) -> dict[str, T]:
    """The stories that the environment names: those whose tests are run."""
    return {name: stories[name] for name in json.loads(os.environ[TOLD]) if name in stories}
