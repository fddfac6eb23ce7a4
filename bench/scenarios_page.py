"""The page of the scenarios: `python -m bench.scenarios_page` writes docs/scenarios.md.

Questions and parameters come from the scenarios' files, Kafka versions from the suite `nightly`.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

from contract.markdown import table_row
from harness.commands.requirements import DEFAULT_KAFKA
from harness.nightly.suite import Entry, find_suite
from harness.session.catalog import ScenarioFile, scenarios

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scenarios.md"
SUITE = "nightly"
_INTRODUCTION = """\
# Scenarios

Made by `make scenarios-page`: questions and parameters are read from `scenarios/*_test.py`, Kafka
versions from `scenarios/suites/{suite}.yml`. The docstring of each file has the cluster, the load,
the fault, what is expected, and the source of the expectation.

`make scenario NAME=...` runs one scenario on Kafka {default}, once for each set of its parameters.
`fencepost run zombie_leader --parameters '{{"recipe": "pause"}}'` runs one set. The versions of the
table are those of `make nightly SUITE={suite}`.{failing}

| scenario | question | parameters | Kafka versions |
|---|---|---|---|
"""


def page(found: Iterable[ScenarioFile], entries: Sequence[Entry]) -> str:
    """The text of docs/scenarios.md.

    Args:
        found: the scenarios, in the order of their rows.
        entries: the runs of the suite whose Kafka versions are shown.
    """
    failing = sorted({one.scenario for one in entries if one.expect == "fail"})
    named = ", ".join(f"`{name}`" for name in failing)
    introduction = _INTRODUCTION.format(
        suite=SUITE,
        default=DEFAULT_KAFKA,
        failing=f" A run of {named} must fail: its loss is planted." if failing else "",
    )
    return introduction + "".join(f"{_row(one, entries)}\n" for one in found)


def parameters_in_words(declared: Sequence[Mapping[str, Any]] | None) -> str:
    """The sets of parameters that a scenario declares: by name if all combinations are there.

    Args:
        declared: as of `ScenarioFile.parameters`.
    """
    if declared is None:
        return "see its file"
    if not any(declared):
        return ""
    values = {name: list(dict.fromkeys(one[name] for one in declared)) for name in declared[0]}
    if prod(len(some) for some in values.values()) == len(declared):
        return "; ".join(f"{name}: {', '.join(map(str, some))}" for name, some in values.items())
    sets = (", ".join(f"{name}: {value}" for name, value in one.items()) for one in declared)
    return ", ".join(f"({one})" for one in sets)


def _row(scenario: ScenarioFile, entries: Iterable[Entry]) -> str:
    versions = dict.fromkeys(
        version
        for entry in entries
        if entry.scenario == scenario.name
        for version in entry.kafka or [DEFAULT_KAFKA]
    )
    cells = (
        f"[{scenario.name}](../scenarios/{scenario.path.name})",
        scenario.question,
        parameters_in_words(scenario.parameters),
        ", ".join(versions),
    )
    return table_row(*cells)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(scenarios(), find_suite(SUITE).entries))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
