"""The parts of pages that are made: from declarations, or from figures that commands keep."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bench import analysis_speed, mutants_page
from bench.cluster import page as cluster
from bench.figures import rendered
from lab import study
from studies.conformance import page as conformance
from tests.exam.tamperings import page as tamperings
from website import declared

_TEMPLATES = Path(__file__).with_name("templates")
_DECLARED: dict[str, Callable[[], Mapping[str, Any]]] = {
    "facts": declared.of_facts,
    "tables": declared.of_tables,
    "checks": declared.of_checks,
    "protocol": declared.of_protocol,
    "scenarios": declared.of_scenarios,
    "faults": declared.of_faults,
}
_MEASURED: dict[str, Callable[[], str]] = {
    "benchmarks": analysis_speed.part,
    "cluster_speed": cluster.part,
    "conformance": conformance.part,
    "mutants": mutants_page.part,
    "tamperings": tamperings.part,
    "verdicts": partial(study.part, "protocol"),
}


def parts() -> dict[str, Callable[[], str]]:
    """What makes each part, by the name that pages have."""
    of_code = {name: partial(_made, name, shown) for name, shown in _DECLARED.items()}
    return {**of_code, **_MEASURED}


def _made(name: str, shown: Callable[[], Mapping[str, Any]]) -> str:
    return rendered(_TEMPLATES / f"{name}.md.j2", **shown())
