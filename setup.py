"""Builds the wheel: the packages of the repository are below `fencepost` in it.

`contract`, `analysis` and the others are names that a user's own packages may have, too. So an
installation has `fencepost.contract`, and so on; imports and the strings that name a module are
changed accordingly (docs/decisions/0049). An editable installation has the packages as they are.
"""

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

TOP = "fencepost"
PACKAGES = ("contract", "simulator", "harness", "cluster", "analysis", "scenarios", "extras")
ROOT = Path(__file__).parent
PAGES, BUILT_IN, GUESTS = (
    tuple(str(file.relative_to(ROOT)) for file in sorted(ROOT.glob(files)))
    for files in ("docs/*.md", "extras/conform/released/built_in/*.yml", "extras/**/features.yml")
)
FILES = ("docker-compose.yml", "requirements.lock", *PAGES, *BUILT_IN, *GUESTS)
"""Of the repository's folder, which commands and pages read."""
_OURS = "|".join(PACKAGES)
_IMPORTED = re.compile(rf"(?:{_OURS})(?:\.\w+)*")
_NAMED = re.compile(rf"(?:{_OURS})(?:\.\w+)+(?:\.|:\w+)?")
"""A string that names a module, or a part of one; one that ends with a dot begins such a name."""


class BuildBelow(build_py):
    """Builds the packages, then moves them below `fencepost`."""

    def run(self) -> None:
        """Build them."""
        if self.editable_mode:
            super().run()
            return
        built = Path(self.build_lib)
        shutil.rmtree(built, ignore_errors=True)  # An earlier build may have had more files.
        super().run()
        for package in PACKAGES:
            shutil.move(built / package, built / TOP / package)
        for name in FILES:
            (built / TOP / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, built / TOP / name)
        for file in (built / TOP).rglob("*.py"):
            file.write_text(below(file.read_text()))


def below(source: str) -> str:
    """Change the names of our modules in a module's source, line by line."""
    lines = source.splitlines(keepends=True)
    for line, name in _names(ast.parse(source)):
        lines[line] = re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", f"{TOP}.{name}", lines[line])
    return "".join(lines)


def _names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each line that names a module of ours by an import or a string, with the name."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(name), level=0) if _IMPORTED.fullmatch(name):
                found.add((node.lineno - 1, name))
            case ast.Constant(value=str(name)) if _NAMED.fullmatch(name):
                found.add((node.lineno - 1, name))
    return iter(found)


if __name__ == "__main__":
    setup(cmdclass={"build_py": BuildBelow})
