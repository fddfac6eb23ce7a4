"""What a scenario's file declares, read without importing it."""

import inspect
import os
import re
from pathlib import Path

import pytest

from contract.errors import UsageError
from harness import faults
from harness.session import catalog
from harness.session.catalog import CUTTING_FAULTS, find_scenarios, read_scenario, scenarios

SCENARIO = '''"""A question?"""
RECIPES: dict[str, int] = {"pause": 1, "stop": 2}
class T:
    @matrix(recipe=list(RECIPES), size=[1, 2])
    @parametrize(recipe="other", size=3)
    def test_x(self, recipe, size): ...
'''


def declared(folder: Path, text: str) -> list[dict[str, object]] | None:
    file = folder / "own_test.py"
    file.write_text(text)
    parameters = read_scenario(file).parameters
    return None if parameters is None else [dict(one) for one in parameters]


def test_parameters_are_read_from_marks_and_from_the_names_that_they_list(tmp_path: Path) -> None:
    found = declared(tmp_path, SCENARIO)
    assert found is not None
    assert len(found) == 5
    assert {"recipe": "stop", "size": 2} in found
    assert {"recipe": "other", "size": 3} in found


def test_a_set_that_is_not_declared_is_refused_with_those_that_are(tmp_path: Path) -> None:
    declared(tmp_path, SCENARIO)
    scenario = read_scenario(tmp_path / "own_test.py")
    scenario.require({})
    scenario.require({"recipe": "pause", "size": 1})
    for wrong in ({"recipe": "pause"}, {"recipe": "bogus", "size": 1}, {"nonsense": 1}):
        with pytest.raises(UsageError, match=r'own does not declare .*\{"recipe": "pause", "size"'):
            scenario.require(wrong)


def test_a_parameter_with_a_default_may_be_given_to_any_declared_set(tmp_path: Path) -> None:
    declared(tmp_path, SCENARIO.replace("recipe, size)", "recipe, size, ways=())"))
    scenario = read_scenario(tmp_path / "own_test.py")
    scenario.require({"recipe": "pause", "size": 1, "ways": [3]})
    for wrong in ({"ways": [3]}, {"recipe": "pause", "size": 1, "nonsense": 1}):
        with pytest.raises(UsageError, match="own does not declare"):
            scenario.require(wrong)


def test_without_marks_there_are_no_parameters(tmp_path: Path) -> None:
    assert declared(tmp_path, '"""Why?"""\n') == [{}]
    with pytest.raises(UsageError, match="it declares none"):
        read_scenario(tmp_path / "own_test.py").require({"recipe": "pause"})


def test_what_is_no_literal_is_not_checked(tmp_path: Path) -> None:
    text = SCENARIO.replace("list(RECIPES)", "all_of_them()")
    assert declared(tmp_path, text) is None
    read_scenario(tmp_path / "own_test.py").require({"recipe": "anything"})


def test_a_scenario_names_the_version_that_its_brokers_start_on(tmp_path: Path) -> None:
    declared(tmp_path, SCENARIO + 'STARTS_ON = {"9.9.9": "9.8.7"}\n')
    assert read_scenario(tmp_path / "own_test.py").starts_on == {"9.9.9": "9.8.7"}
    declared(tmp_path, SCENARIO)
    assert read_scenario(tmp_path / "own_test.py").starts_on == {}


CUTTING = '''"""A question?"""
from harness.faults.cut import Cut as Sever
from harness.faults.divide import Divide
RECIPES = {"pause": Pause(LEADER), "deaf": Sever(LEADER), "quorum": [Divide(VOTER)]}
class T:
    @matrix(recipe=list(RECIPES))
    def test_x(self, recipe): ...
'''


@pytest.mark.parametrize(
    ("story", "parameters", "told"),
    [
        (CUTTING, {"recipe": "pause"}, None),
        (CUTTING, {"recipe": "deaf"}, 'own cuts connections with {"recipe": "deaf"}, and nodes'),
        (CUTTING, {"recipe": "quorum"}, "docker$"),
        (CUTTING, {}, """or --parameters '{"recipe": "pause"}'$"""),
        (f"{CUTTING}    def cut(self): Sever(X)\n", {"recipe": "pause"}, "own cuts connections w"),
        (f"{CUTTING.replace('matrix', 'other')}X = Divide(Y)\n", {}, "own cuts connections, and"),
        (CUTTING.replace("Sever(", "Kill(").replace("Divide(", "Kill("), {}, None),
    ],
)
def test_a_scenario_that_cuts_connections_needs_a_network(
    tmp_path: Path, story: str, parameters: dict[str, str], told: str | None
) -> None:
    declared(tmp_path, story)
    scenario = read_scenario(tmp_path / "own_test.py")
    if told is None:
        scenario.require_uncut(parameters)
        return
    with pytest.raises(UsageError, match=told.replace("{", "[{]")):
        scenario.require_uncut(parameters)


def test_scenarios_with_and_without_cuts_are_told_apart() -> None:
    cuts = {one.name: one.cuts for one in scenarios()}
    assert cuts["baseline"] == frozenset()
    assert cuts["stale_metadata"] is None
    assert cuts["zombie_leader"] == {"controllers", "deaf", "mute"}


BROKEN = {
    "syntax": ('"""Why?"""\n\nclass Own(\n', "own_test.py:3: .* was never closed"),
    "indentation": ("def f():\nx = 1\n", "own_test.py:2: expected an indented block"),
    "no UTF-8": (b"x = '\xff'\n", "own_test.py:1: .*utf-8"),
    "a null": ("x = 1\0\n", "own_test.py.* null bytes"),
    "nested": ("x = " + "(" * 300 + "\n", "own_test.py:1: too many nested parentheses"),
    "starts on": ("\nSTARTS_ON = versions()\n", "own_test.py:2: STARTS_ON must be a literal"),
    "starts on a number": ("STARTS_ON = 4\n", "own_test.py:1: STARTS_ON must be a literal"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_told_with_its_line_and_breaks_no_other(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, told = BROKEN[kind]
    as_bytes = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "own_test.py").write_bytes(as_bytes)
    (tmp_path / "sound_test.py").write_text('"""Why?"""\n')
    monkeypatch.setattr(catalog, "_FOLDER", tmp_path)
    assert [one.name for one in scenarios()] == ["own", "sound"]
    (sound,) = find_scenarios(["sound"])
    sound.require({})
    with pytest.raises(UsageError, match=told):
        find_scenarios(["own"])[0].require({})


def test_what_is_no_readable_file_breaks_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder_test.py").mkdir()
    (tmp_path / "link_test.py").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe_test.py")
    monkeypatch.setattr(catalog, "_FOLDER", tmp_path)
    for one in scenarios():
        with pytest.raises(UsageError, match=f"{one.name}_test.py can't be read"):
            one.require({})


def test_a_name_that_is_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="baseline: named twice"):
        find_scenarios(["baseline", "canary", "baseline"])


def test_every_fault_that_needs_a_network_is_known() -> None:
    folder = Path(inspect.getfile(faults)).parent
    needing = {
        f"harness.faults.{path.stem}"
        for path in folder.glob("*.py")
        if re.search(r"require_network\(|\(Cut\):", path.read_text())
    }
    assert needing == set(CUTTING_FAULTS)
