"""Every verb that faults have is used by a scenario, and has its live stories."""

import ast
from collections.abc import Iterator

import data_stories
import pytest
import server_stories

from harness.faults.language import FORMS, Form
from harness.session.catalog import scenarios

EFFECTS = {*server_stories.STORIES, *data_stories.STORIES}
INEFFECTIVE = {*server_stories.IN_VAIN, *data_stories.IN_VAIN}
OF_A_SCENARIO = {"elect-unclean": "unclean_election measures what it does"}
EVERY = [form for forms in FORMS.values() for form in forms]


def faults_made() -> Iterator[tuple[str, list[object]]]:
    """The faults that scenarios make: their class, and the values that they are given."""
    for scenario in scenarios():
        for node in ast.walk(ast.parse(scenario.path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                given = [*node.args, *(keyword.value for keyword in node.keywords)]
                constants = [value.value for value in given if isinstance(value, ast.Constant)]
                enums = [value.attr.lower() for value in given if isinstance(value, ast.Attribute)]
                yield node.func.id, [*constants, *enums]


@pytest.mark.parametrize("form", EVERY, ids=lambda form: form.by_hand.verb)
def test_a_verb_is_used_by_a_scenario(form: Form) -> None:
    wanted = list(form.by_hand.arguments.values())
    assert any(
        name == form.fault.__name__ and all(verb in given for verb in wanted)
        for name, given in faults_made()
    )


@pytest.mark.parametrize("form", EVERY, ids=lambda form: form.by_hand.verb)
def test_a_verb_has_live_stories_of_its_effect_and_of_none(form: Form) -> None:
    verb = form.by_hand.verb
    name = f"{verb.replace('-', ' ')}{' client' if form.fault.on == 'client' else ''}"

    def is_in(stories: set[str]) -> bool:
        return any(f"{story} ".startswith(f"{name} ") for story in stories)

    assert is_in(EFFECTS) or verb in OF_A_SCENARIO, "tests/live/*_stories.py"
    assert is_in(INEFFECTIVE), "IN_VAIN of tests/live/*_stories.py"
