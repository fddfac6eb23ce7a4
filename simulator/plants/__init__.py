"""One plant a class: a function that turns a clean universe into one with a known anomaly."""

from simulator.plants import (
    commits,
    delivery,
    epochs,
    harness,
    order,
    replicas,
    transactions,
    truncations,
)
from simulator.plants.tools import Plant

PLANTS: dict[str, Plant] = {
    **delivery.PLANTS,
    **order.PLANTS,
    **transactions.PLANTS,
    **commits.PLANTS,
    **epochs.PLANTS,
    **truncations.PLANTS,
    **replicas.PLANTS,
    **harness.PLANTS,
}
"""Plants by class; a class has the name of its check."""
