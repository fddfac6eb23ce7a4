"""How this project's packages are found: by the Python that it starts, and those of extras.

The current folder is not searched.
Without `-P`, `python -m` imports from the current folder first: a `random.py` there would be run in
place of Python's own. PYTHONSAFEPATH says the same to the programs that such a program starts,
among them Spark's workers.
"""

import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_MODULE = "contract.packages"
"""Its name; in an installation it is below `fencepost` (setup.py)."""
IS_INSTALLED = _MODULE.startswith("fencepost.")
"""Whether this is no checkout, which has a Makefile and is on no path."""
PACKAGES = Path(__file__).resolve().parents[_MODULE.count(".")]
"""The folder in which Python finds this project's packages."""
_PATH, _IS_SAFE = "PYTHONPATH", "PYTHONSAFEPATH"


def python(
    module: str, *arguments: str, program: str | None = None, packages: Path | None = None
) -> list[str]:
    """The command that runs a module, by this Python or by another one.

    It finds what is in the folder `packages` before all that is installed.
    """
    first = [] if packages is None else [_MODULE, str(packages)]
    return [program or sys.executable, "-P", "-m", *first, module, *arguments]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of such a command: this one's, with `extra`.

    Of a PYTHONPATH only absolute paths are kept, since others are relative to the current
    folder; an empty one is that folder. An installation needs none.
    """
    given = {**os.environ, **(extra or {})}
    own = [] if IS_INSTALLED else [str(PACKAGES)]
    paths = [*own, *filter(os.path.isabs, given.pop(_PATH, "").split(os.pathsep))]
    found = {_PATH: os.pathsep.join(dict.fromkeys(paths))} if paths else {}
    return {**given, **found, _IS_SAFE: "1"}


def without_own(argv: Sequence[str]) -> list[str]:
    """The command that runs a program of a user's, without what `environment` adds."""
    given = os.environ.get(_PATH, "").split(os.pathsep)
    paths = [path for path in given if path and path != str(PACKAGES)]
    path = [f"{_PATH}={os.pathsep.join(paths)}"] if paths else ["-u", _PATH]
    return ["env", "-u", _IS_SAFE, *path, *argv]


# What extras add to the core, by the entry points of this project; the core imports none of them.
# A group is what is added: `commands`, `scenarios`, `clients`, `cells`. Values name modules as the
# repository does, also in a wheel, where these are below `fencepost`.


_TOP = "fencepost." if IS_INSTALLED else ""


@cache
def extras(group: str) -> dict[str, str]:
    """Return what is added to a group, by name: `MODULE`, or `MODULE:ATTRIBUTE`.

    An extra whose folder was taken away adds nothing.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to load, and nodes need none

    found = entry_points(group=f"fencepost.{group}")
    return {entry.name: _TOP + entry.value for entry in found if _is_there(_TOP + entry.module)}


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


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    del sys.argv[:2]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
