"""Every verb that faults have is used by a scenario, and has its live stories."""

import ast
from collections.abc import Iterator

import data_stories
import ineffective_data_test
import ineffective_servers_test
import pytest
import server_stories

from harness.faults.cut import Links
from harness.faults.language import ON_CLIENTS, ON_NAMES, ON_PARTITIONS, ON_SERVERS, parse_fault
from harness.session.catalog import scenarios

TARGETS = {
    **dict.fromkeys(ON_SERVERS, "broker:1"),
    **dict.fromkeys(ON_PARTITIONS, "partition:orders-0"),
    **{verb: f"{kind}:x" for verb, (kind, _) in ON_NAMES.items()},
}
FAULTS = {
    **{verb: parse_fault(verb, target) for verb, target in TARGETS.items()},
    **{f"{verb} client": parse_fault(verb, "client:x") for verb in ON_CLIENTS},
}

EFFECTS = {*server_stories.STORIES, *data_stories.STORIES}
INEFFECTIVE = {*ineffective_servers_test.STORIES, *ineffective_data_test.STORIES}
OF_A_SCENARIO = {"elect-unclean": "unclean_election measures what it does"}


def made() -> Iterator[str]:
    """The faults that scenarios make, by class; `Cut` with its links, `Elect` with its kind."""
    for scenario in scenarios():
        for node in ast.walk(ast.parse(scenario.path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            links = [f"Cut {one.attr.lower()}" for one in node.args if is_links(one)]
            kinds = [
                f"Elect {one.value.value}"
                for one in node.keywords
                if one.arg == "unclean" and isinstance(one.value, ast.Constant)
            ]
            yield from (*links, *kinds, node.func.id)


def is_links(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "Links"


@pytest.mark.parametrize("verb", FAULTS)
def test_a_verb_is_used_by_a_scenario(verb: str) -> None:
    fault = FAULTS[verb]
    match type(fault).__name__:
        case "Cut":
            name = f"Cut {Links(fault.verb.removeprefix('cut '))}"
        case "Elect":
            name = f"Elect {verb == 'elect-unclean'}"
        case name:
            pass
    assert name in set(made())


@pytest.mark.parametrize("verb", FAULTS)
def test_a_verb_has_live_stories_of_its_effect_and_of_none(verb: str) -> None:
    names = {verb.replace("-", " ")} | ({FAULTS[verb].verb} if " " not in verb else set())

    def is_in(stories: set[str]) -> bool:
        return any(f"{story} ".startswith(f"{name} ") for story in stories for name in names)

    assert is_in(EFFECTS) or verb in OF_A_SCENARIO, "tests/live/*_stories.py"
    assert is_in(INEFFECTIVE), "tests/live/ineffective_*_test.py"
