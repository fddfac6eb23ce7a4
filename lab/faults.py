"""Writes `harness/faults/__init__.py`, where a type checker finds what scenarios import."""

import enum
import inspect
import sys
from pathlib import Path

from harness import faults
from harness.faults.fault import Fault, HeldFault
from harness.faults.language import FAULTS
from harness.faults.targets import Target

FILE = Path(faults.__path__[0]) / "__init__.py"


def imports() -> str:
    """Return the file: the classes of all modules of faults, by name."""
    lines, every = list[str](), list[str]()
    for module in sorted({cls.__module__ for cls in (*FAULTS, Fault, Target)}):
        names = [
            name
            for name, cls in sorted(vars(sys.modules[module]).items())
            if inspect.isclass(cls) and cls.__module__ == module and name[0] != "_"
            if issubclass(cls, (Fault, HeldFault, Target, enum.Enum))
        ]
        lines.append(f"from {module} import {', '.join(names)}")
        every += names
    head = [f'"""{faults.__doc__}"""', "# ruff: noqa: E501, I001", "# fmt: off", ""]
    return "\n".join([*head, *lines, "", f"__all__ = {sorted(every)}", ""]).replace("'", '"')


if __name__ == "__main__":
    FILE.write_text(imports())
