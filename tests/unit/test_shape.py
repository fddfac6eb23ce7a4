"""The sizes of clusters and topics that can't be are refused before a start."""

from typing import Any

import pytest
from msgspec.structs import replace

from cluster.kafka.topology import Topology
from harness.story.shape import topic_shape_problems, topology_problems
from harness.story.topics import durable_topic

ORDERS = durable_topic("orders", partitions=1)


@pytest.mark.parametrize(
    "sound",
    [
        {"brokers": 1},
        {"brokers": 244},
        {"brokers": 100, "controllers": 3},
        {"brokers": 3, "controllers": 5, "spares": 4},
        {"brokers": 3, "combined": (1, 3), "spares": 1},
    ],
)
def test_a_sound_topology_is_taken(sound: dict[str, Any]) -> None:
    assert topology_problems(Topology(**sound)) == {}


@pytest.mark.parametrize(
    ("given", "name", "told"),
    [
        ({"brokers": 0}, "brokers", "brokers=0 has to be a number, 1 to 244"),
        ({"brokers": -3}, "brokers", "brokers=-3 has to be"),
        ({"brokers": 245}, "brokers", "1 to 244"),
        ({"brokers": "3"}, "brokers", "brokers='3' has to be a number"),
        ({"brokers": True}, "brokers", "brokers=True has to be a number"),
        ({"brokers": 101, "controllers": 3}, "brokers", "1 to 100"),
        ({"brokers": 3, "controllers": -1}, "controllers", "0 to 243"),
        ({"brokers": 100, "controllers": 200}, "controllers", "300 servers are more than 244"),
        ({"brokers": 3, "combined": (4,)}, "combined", "there are 1 to 3"),
        ({"brokers": 3, "combined": (1, 1)}, "combined", "each once"),
        ({"brokers": 3, "combined": (1,), "controllers": 1}, "combined", "without controllers"),
        ({"brokers": 3, "controllers": 3, "spares": 3}, "spares", "0 to 2: a controller has to"),
        ({"brokers": 3, "spares": -1}, "spares", "spares=-1"),
    ],
)
def test_a_topology_that_can_not_be_is_refused(given: dict[str, Any], name: str, told: str) -> None:
    assert told in topology_problems(Topology(**given))[name]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"partitions": 0}, "topic orders: partitions=0 has to be a number, at least 1"),
        ({"replication": 4}, "topic orders: replication=4 has to be a number, 1 to 3"),
        ({"min_insync": 0}, "topic orders: min_insync=0"),
        ({"retention_ms": -2}, "topic orders: retention_ms=-2"),
    ],
)
def test_a_topic_that_can_not_be_is_refused(changed: dict[str, int], told: str) -> None:
    (problem,) = topic_shape_problems([replace(ORDERS, **changed)], Topology(brokers=3))
    assert problem.startswith(told)


def test_a_sound_topic_is_taken() -> None:
    assert not list(topic_shape_problems([ORDERS], Topology(brokers=3)))
