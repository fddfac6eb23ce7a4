"""Figures of the docs that take long runs: commands keep them in docs/data, the site shows them.

A part of a page is a Markdown template (Jinja) beside the module that makes its figures.
"""

import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from jinja2 import Environment, StrictUndefined

from contract.files import replace_file
from contract.program import table

DATA = Path(__file__).resolve().parents[1] / "docs" / "data"
_INNERMOST = re.compile(r"[\[{][^\[\]{}]*[\]}]")
_TEMPLATES = Environment(  # noqa: S701 - they make Markdown
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_TEMPLATES.globals["table"] = table
T = TypeVar("T")


def keep(name: str, figures: object, *, folder: Path = DATA) -> Path:
    """Write figures, with a line for each innermost list or object; returns the file."""
    text = msgspec.json.format(msgspec.json.encode(figures), indent=1).decode()
    lines = _INNERMOST.sub(lambda found: re.sub(r"\n *", " ", found[0]), text)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    replace_file(file, f"{lines}\n".encode())
    return file


def read_figures(name: str, kind: type[T], *, folder: Path = DATA) -> T:
    """Read figures that were kept."""
    return msgspec.json.decode((folder / f"{name}.json").read_bytes(), type=kind)


def is_kept(name: str, *, folder: Path = DATA) -> bool:
    """Whether there are figures of this name."""
    return (folder / f"{name}.json").exists()


def render(template: Path, **shown: Any) -> str:
    """Return what a template makes."""
    return _TEMPLATES.from_string(template.read_text()).render(shown).strip()
