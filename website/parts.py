"""The parts of pages that are made: from declarations, or from figures that commands keep."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from website import declared
from website.figures import render
from website.rooms import is_taken_away

_TEMPLATES = Path(__file__).with_name("templates")
_DECLARED: dict[str, Callable[[], Mapping[str, Any]]] = {
    "facts": declared.of_facts,
    "tables": declared.of_tables,
    "checks": declared.of_checks,
    "clients": declared.of_clients,
    "protocol": declared.of_protocol,
    "scenarios": declared.of_scenarios,
    "faults": declared.of_faults,
}
_MEASURED = {
    "benchmarks": "lab/analysis_speed.py",
    "cluster_speed": "lab/cluster/page.py",
    "conformance": "extras/conform/released/page.py",
    "mutants": "lab/mutants_page.py",
    "tamperings": "lab/tamperings_page.py",
    "verdicts": "lab/study.py",
}
"""The module whose `part` makes a part. A room that is taken away makes none."""


def parts() -> dict[str, Callable[[], str]]:
    """What makes each part, by the name that pages have."""
    of_code = {name: partial(_make, name, shown) for name, shown in _DECLARED.items()}
    return {**of_code, **{name: partial(_measure, file) for name, file in _MEASURED.items()}}


def _make(name: str, shown: Callable[[], Mapping[str, Any]]) -> str:
    return render(_TEMPLATES / f"{name}.md.j2", **shown())


def _measure(file: str) -> str:
    if is_taken_away(Path(file)):
        return ""
    made: str = import_module(file.removesuffix(".py").replace("/", ".")).part()
    return made
