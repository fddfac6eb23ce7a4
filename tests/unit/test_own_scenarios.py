"""Scenarios and suites of a user, by the paths of their files."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contract.errors import UsageError
from harness.cli import program
from harness.nightly.suite import find_suite, plan_runs
from harness.session.catalog import find_scenarios, own_scenario, scenarios
from harness.session.loading import load

TWO = '''"""A question?"""
class Own:
    @matrix(size=[1, 2])
    def test_first(self, size): ...
    def test_second(self): ...
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two scenarios, below the current one."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "lost_test.py").write_text(TWO)
    (folder / "baseline_test.py").write_text(TWO)
    (folder / "helper.py").write_text("")
    return folder


def test_a_path_names_a_scenario_and_one_of_its_tests(own: Path) -> None:
    whole, ours = find_scenarios(["own/lost_test.py", "canary"])
    assert (whole.name, whole.named, ours.named) == ("lost", "own/lost_test.py", "canary")
    assert whole.symbol == str(own / "lost_test.py")
    assert whole.parameters == ({"size": 1}, {"size": 2}, {})
    (second,) = find_scenarios([f"{own}/lost_test.py::test_second"])
    assert second.named == "own/lost_test.py::test_second"
    assert second.symbol == f"{own}/lost_test.py::.test_second"
    assert second.parameters == ({},)
    (named,) = find_scenarios(["canary::test_canary"])
    assert named.named == "canary::test_canary"


def test_a_file_elsewhere_is_named_by_its_whole_path(own: Path, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "deep")
        assert own_scenario(Path("../own/lost_test.py")).named == str(own / "lost_test.py")


def test_a_folder_has_further_names(own: Path) -> None:
    assert [scenario.named for scenario in scenarios(own)][-2:] == [
        "own/baseline_test.py",
        "own/lost_test.py",
    ]
    (found,) = find_scenarios(["lost"], own)
    assert found.named == "own/lost_test.py"


@pytest.mark.parametrize(
    ("names", "reported"),
    [
        (["lsot"], "there is no scenario lsot; the nearest is lost"),
        (["basline"], "no scenario basline; the nearest is baseline .*own is named by its path"),
        (["own/lost_test.py::test_frist"], "there is no test test_frist; the nearest is test_firs"),
        (["own/helper.py"], "ends with _test.py: rename it"),
        (["baseline"], "baseline names .* and .*own/baseline_test.py: give the path"),
        (["own/baseline_test.py", "baseline"], "baseline names .*: give the path"),
        (["canary", "canary"], "named twice"),
    ],
)
def test_a_name_that_is_not_clear_is_refused(own: Path, names: list[str], reported: str) -> None:
    with pytest.raises(UsageError, match=reported):
        find_scenarios(names, own)


def test_two_files_of_one_name_are_not_run_together(own: Path) -> None:
    with pytest.raises(UsageError, match=f"{own}/baseline_test.py have one name: rename one"):
        find_scenarios(["baseline", "own/baseline_test.py"])


def test_a_folder_without_scenarios_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no file \*_test.py: .*fencepost new scenario NAME"):
        scenarios(tmp_path)


def test_a_suite_anywhere_names_scenarios_by_path_and_by_name(own: Path) -> None:
    suite = own / "mine.yml"
    suite.write_text(
        "description: mine\nruns:\n- scenario: lost_test.py::test_first\n"
        "  parameters: {size: 2}\n- scenario: lost\n- scenario: canary\n  expect: fail\n"
    )
    found = find_suite("own/mine.yml", own)
    assert [entry.scenario for entry in found.entries] == [
        "own/lost_test.py::test_first",
        "own/lost_test.py",
        "canary",
    ]
    runs = plan_runs(found, seed=1, cluster="embedded", default_kafka="4.4.0")
    assert runs[0].id == "001-own-lost_test.py-test_first-4.4.0"
    assert runs[0].rerun.startswith("fencepost run own/lost_test.py::test_first --cluster emb")
    with pytest.raises(UsageError, match=r"runs\[1\].scenario: there is no scenario lost; "):
        find_suite("own/mine.yml")


def test_a_list_has_the_paths_of_own_scenarios(own: Path) -> None:
    listed = CliRunner().invoke(program(), ["list", "--scenarios", str(own), "--json"]).stdout
    found = {scenario["named"]: scenario["name"] for scenario in json.loads(listed)["scenarios"]}
    assert found["own/lost_test.py"] == "lost"
    assert found["canary"] == "canary"


def test_a_file_is_imported_by_its_path_and_leaves_nothing_beside_it(own: Path) -> None:
    (own / "lost_test.py").write_text("X = 1\n")
    assert load(own / "lost_test.py", "lost_test").X == 1
    assert not (own / "__pycache__").exists()


def test_new_scenario_writes_a_file_and_replaces_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(program(), ["new", "scenario", "lost_orders"])
    assert made.stdout == ("wrote lost_orders_test.py; run it: fencepost run lost_orders_test.py\n")
    text = (tmp_path / "lost_orders_test.py").read_text()
    assert "class LostOrdersScenario(Scenario):" in text
    assert "def test_lost_orders(self)" in text
    assert not re.search("<%|<<|%>|>>", text)
    made = CliRunner().invoke(program(), ["new", "test", "lost_orders"])
    assert made.stdout == ("wrote test_lost_orders.py; run it: pytest test_lost_orders.py\n")
    with pytest.raises(UsageError, match=r"lost_orders_test.py exists: choose another name"):
        CliRunner().invoke(program(), ["new", "scenario", "lost_orders"], catch_exceptions=False)


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("Lost", "'Lost' is no name of a scenario: use small letters"),
        ("../lost", "is no name of a scenario"),
        ("lost_test", "is no name of a scenario"),
        ("baseline", "there is a scenario baseline already"),
    ],
)
def test_new_scenario_refuses_what_is_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reported: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=reported):
        CliRunner().invoke(program(), ["new", "scenario", name], catch_exceptions=False)
    assert not list(tmp_path.iterdir())
