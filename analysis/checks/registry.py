"""Every check by its name, as the files of checks define them."""

from importlib import import_module
from pkgutil import iter_modules

from analysis import checks
from analysis.checks.base import CheckDefinition
from analysis.checks.described import in_order
from analysis.checks.stated import stated_checks
from contract.checks import Check

_DEFINED = (
    one
    for module in iter_modules(checks.__path__, f"{checks.__name__}.")
    if module.name != __name__
    for one in getattr(import_module(module.name), "CHECKS", ())
)
CHECKS: dict[Check, CheckDefinition] = {
    one.name: one for one in sorted([*_DEFINED, *stated_checks()], key=lambda one: in_order(one.id))
}
"""In the order of their ids."""
