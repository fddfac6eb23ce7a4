"""The parts of pages that are made: each is a template, and what it shows."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from contract.markdown import table
from website import declared

_TEMPLATES = Path(__file__).with_name("templates")
_SHOWN: dict[str, Callable[[], Mapping[str, Any]]] = {
    "facts": declared.of_facts,
    "tables": declared.of_tables,
    "checks": declared.of_checks,
    "protocol": declared.of_protocol,
    "scenarios": declared.of_scenarios,
}
"""What the template of each part shows, by its name."""


def parts() -> dict[str, Callable[[], str]]:
    """What makes each part, by the name that pages have."""
    templates = Environment(  # noqa: S701 - it makes Markdown
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals["table"] = table
    return {name: partial(_made, templates, name) for name in _SHOWN}


def _made(templates: Environment, name: str) -> str:
    return templates.get_template(f"{name}.md.j2").render(_SHOWN[name]()).strip()
