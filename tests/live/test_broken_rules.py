"""`fencepost guest check` finds each rule that a guest breaks: broken_rules_test.py."""

import json
import sys
from pathlib import Path

import msgspec
import pytest
from broken_rules_test import FOUND, KEEPS, TRIED
from command import POOL, ROOT, ran

from contract.builds import Choice, Guest, released
from contract.run_folder import find_runs
from harness.session.catalog import read_scenario

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

SCENARIO = Path(__file__).with_name("broken_rules_test.py")
PROGRAM = "tests/live/breaking_guest.py"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    guest = Guest(name="breaking", command=[sys.executable, PROGRAM], folder=str(ROOT))
    build = msgspec.structs.replace(released("4.4.0"), choice=Choice(kafka="4.4.0", guests=[guest]))
    folder = ran(read_scenario(SCENARIO), tmp_path_factory.mktemp("guest"), POOL, build=build)
    (run,) = find_runs(folder)
    assert run.run().error is None
    content: dict[str, dict[str, str]] = json.loads((run.path / FOUND).read_text())
    return content


@pytest.mark.parametrize("rule", TRIED)
def test_a_rule_that_a_guest_breaks_is_found(found: dict[str, dict[str, str]], rule: str) -> None:
    assert rule in found[rule], found[rule]


def test_a_guest_that_breaks_no_rule_is_not_accused(found: dict[str, dict[str, str]]) -> None:
    assert found[KEEPS] == {}
