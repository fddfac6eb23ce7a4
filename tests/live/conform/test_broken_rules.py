"""`fencepost guest check` finds each rule that a guest breaks: broken_rules_test.py."""

import json
import sys
from pathlib import Path

import msgspec
import pytest
from broken_rules_test import BARE_END, FOUND, KEEPS, TRIED
from command import POOL, ROOT, ran

from contract.run_folder import find_runs
from contract.software import Choice, Guest, released
from extras.conform.guest import Rule
from harness.session.catalog import read_scenario

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(600)]

SCENARIO = Path(__file__).with_name("broken_rules_test.py")
PROGRAM = "tests/live/conform/breaking_guest.py"
Found = dict[str, dict[str, dict[str, str]]]
"""What is broken and lacking, by guest."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    guest = Guest(name="breaking", command=[sys.executable, PROGRAM], folder=str(ROOT))
    build = msgspec.structs.replace(released("4.4.0"), choice=Choice(kafka="4.4.0", guests=[guest]))
    folder = ran(read_scenario(SCENARIO), tmp_path_factory.mktemp("guest"), POOL, build=build)
    (run,) = find_runs(folder)
    assert run.run().error is None
    content: Found = json.loads((run.path / FOUND).read_text())
    return content


@pytest.mark.parametrize("rule", TRIED)
def test_a_rule_that_a_guest_breaks_is_found(found: Found, rule: str) -> None:
    assert rule in found[rule]["broken"], found[rule]


@pytest.mark.parametrize("rule", [Rule.LINE, Rule.FIELDS])
def test_a_response_without_its_form_breaks_one_rule(found: Found, rule: Rule) -> None:
    assert list(found[rule]["broken"]) == [rule]


def test_a_guest_that_breaks_no_rule_is_not_accused(found: Found) -> None:
    assert found[KEEPS]["broken"] == {}
    assert "positions at the log end" not in found[KEEPS]["lacks"]


def test_a_guest_without_positions_at_the_log_end_lacks_them_and_breaks_no_rule(
    found: Found,
) -> None:
    assert found[BARE_END]["broken"] == {}
    assert "positions at the log end" in found[BARE_END]["lacks"]
