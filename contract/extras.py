"""What extras add to the core, by the entry points of this project; the core imports none of them.

A group is what is added: `commands`, `scenarios`, `clients`, `cells`. An extra whose folder was
taken away adds nothing. Values name modules as the repository does, also in a wheel, where these
are below `fencepost`.
"""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from contract.python import IS_INSTALLED

_TOP = "fencepost." if IS_INSTALLED else ""


@cache
def extras(group: str) -> dict[str, str]:
    """Return what is added to a group, by name: `MODULE`, or `MODULE:ATTRIBUTE`."""
    found = entry_points(group=f"fencepost.{group}")
    return {one.name: _TOP + one.value for one in found if _is_there(_TOP + one.module)}


def load(value: str) -> Any:
    """Return what a value names."""
    module, _, attribute = value.partition(":")
    return getattr(import_module(module), attribute)


def folders(group: str) -> list[Path]:
    """Return the folders of the packages that are added to a group."""
    specs = (find_spec(value) for value in extras(group).values())
    return [Path(spec.origin).parent for spec in specs if spec is not None and spec.origin]


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
