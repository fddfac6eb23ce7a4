"""Every check by its name."""

from analysis.checks.base import CheckDefinition
from analysis.checks.described import in_order
from analysis.checks.stated import stated_checks
from contract.checks import Check

CHECKS: dict[Check, CheckDefinition] = {
    one.name: one for one in sorted(stated_checks(), key=lambda one: in_order(one.id))
}
"""In the order of their ids."""
