"""How large a cluster and a topic may be: what is wrong with them is an error before a start."""

from collections.abc import Iterator, Sequence
from typing import Any

from cluster.kafka.topology import FIRST_CONTROLLER_ID, Topology
from cluster.nodes.node import NODES_MAX
from contract.run_folder import TopicPlan

_BROKERS_MAX = FIRST_CONTROLLER_ID - 1
_UNLIMITED_MS = -1


def topology_problems(topology: Topology) -> dict[str, str]:
    """Return what is wrong with the numbers of a topology, by its attribute."""
    found = {
        name: problem
        for name, given, least, most in (
            ("brokers", topology.brokers, 1, _brokers_max(topology)),
            ("controllers", topology.controllers, 0, NODES_MAX - 1),
        )
        if (problem := _outside(name, given, least, most))
    }
    if found:
        return found
    if topology.node_count > NODES_MAX:
        return {"controllers": f"{topology.node_count} servers are more than {NODES_MAX}"}
    brokers, combined = topology.broker_ids, topology.combined
    if set(combined) - set(brokers) or len(set(combined)) < len(combined):
        known = f"there are 1 to {brokers[-1]}"
        found["combined"] = f"combined={combined} has to name brokers, each once; {known}"
    elif combined and topology.controllers:
        found["combined"] = "combined is for a cluster without controllers of its own"
    if problem := _outside("spares", topology.spares, 0, len(topology.controller_ids) - 1):
        found["spares"] = f"{problem}: a controller has to vote"
    return found


def topic_shape_problems(topics: Sequence[TopicPlan], topology: Topology) -> Iterator[str]:
    """Yield what is wrong with the numbers of planned topics."""
    for topic in topics:
        for name, given, least, most in (
            ("partitions", topic.partitions, 1, None),
            ("replication", topic.replication, 1, topology.brokers),
            ("min_insync", topic.min_insync, 1, None),
            ("retention_ms", topic.retention_ms, _UNLIMITED_MS, None),
        ):
            if given is not None and (problem := _outside(name, given, least, most)):
                yield f"topic {topic.topic}: {problem}"


def _brokers_max(topology: Topology) -> int:
    """Controllers have ids above those of brokers."""
    return _BROKERS_MAX if topology.controllers else NODES_MAX


def _outside(name: str, given: Any, least: int, most: int | None) -> str:
    """Say that a number is not within its bounds; nothing if it is."""
    is_number = isinstance(given, int) and not isinstance(given, bool)
    if is_number and given >= least and (most is None or given <= most):
        return ""
    bounds = f"at least {least}" if most is None else f"{least} to {most}"
    return f"{name}={given!r} has to be a number, {bounds}"
