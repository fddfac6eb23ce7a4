"""Checks of a kind of their own."""

from collections.abc import Callable
from typing import Any

from analysis.verdict import resumption, vacuity
from contract.checks import Check

OTHERS: dict[Check, tuple[str, Callable[..., Any]]] = {
    Check.RESUMPTION: ("D10", resumption.resumptions),
    Check.VACUOUS_CHECK: ("M2", vacuity.vacuous_check),
}
"""Their ids and functions; one counts the rows of a table, one judges the other checks."""
