"""Every check by its name, as the files of checks define them."""

from collections.abc import Callable
from typing import Any

from analysis import resumption, vacuity
from analysis.checks import (
    bounds,
    commits,
    completeness,
    consistency,
    delivery,
    epoch_cache,
    epochs,
    evidence,
    expiry,
    groups,
    isolation,
    liveness,
    logs,
    losses,
    markers,
    metadata,
    mismatches,
    order,
    outcomes,
    over_truncation,
    presence,
    producers,
    quorum,
    readers,
    replicas,
    reprocessing,
    resets,
    stuck,
    transactions,
    truncations,
)
from analysis.checks.base import CheckDefinition
from analysis.checks.described import in_order
from contract.checks import Check

_FILES = (
    bounds,
    commits,
    completeness,
    consistency,
    delivery,
    epoch_cache,
    epochs,
    evidence,
    expiry,
    groups,
    isolation,
    liveness,
    logs,
    losses,
    markers,
    metadata,
    mismatches,
    order,
    outcomes,
    over_truncation,
    presence,
    producers,
    quorum,
    readers,
    replicas,
    reprocessing,
    resets,
    stuck,
    transactions,
    truncations,
)

CHECKS: dict[Check, CheckDefinition] = {
    one.name: one
    for one in sorted(
        (one for file in _FILES for one in file.CHECKS), key=lambda one: in_order(one.id)
    )
}
"""In the order of their ids."""

OTHERS: dict[Check, tuple[str, Callable[..., Any]]] = {
    Check.RESUMPTION: ("D10", resumption.resumptions),
    Check.VACUOUS_CHECK: ("M2", vacuity.vacuous_check),
}
"""Their ids and functions; one counts the rows of a table, one judges the other checks."""
