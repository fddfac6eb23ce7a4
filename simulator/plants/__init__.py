"""One plant a class: a function that turns a clean universe into one with a known anomaly."""

from simulator.plants import (
    commits,
    delivery,
    epochs,
    harness,
    order,
    protocol,
    quorum,
    replicas,
    transactions,
    truncations,
)
from simulator.plants.tools import Plant

_FAMILIES = (
    delivery,
    order,
    transactions,
    commits,
    epochs,
    truncations,
    replicas,
    harness,
    protocol,
    quorum,
)
PLANTS: dict[str, Plant] = {
    name: plant for family in _FAMILIES for name, plant in family.PLANTS.items()
}
"""Plants by class; a class has the name of its check."""
