"""Each fault does what its name says, on one cluster, one after the other: faults_test.py."""

import json
from pathlib import Path

import pytest
from command import POOL, ran
from faults_test import REPORTED_FILE, SKIPPED, SLOW, STORIES, Reported

from harness.session.catalog import read_scenario

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

ODD = "it's $(a) \\ %41 ü;"
"""A name that shells, addresses and properties files read otherwise, unless it is quoted."""

SCENARIO = Path(__file__).with_name("faults_test.py")


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reported]:
    return reported_by("test_faults", tmp_path_factory)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reported]:
    return reported_by("test_slow_faults", tmp_path_factory)


def reported_by(test: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reported]:
    results = tmp_path_factory.mktemp(test) / ODD
    results.mkdir()
    ran(read_scenario(SCENARIO, test), results, POOL)
    found: dict[str, Reported] = json.loads((results / REPORTED_FILE).read_text())
    return found


@pytest.mark.parametrize("story", [one for one in STORIES if one not in SLOW])
def test_a_fault_does_what_its_name_says_and_heals(
    reported: dict[str, Reported], story: str
) -> None:
    require_told(reported, story)


@pytest.mark.long
@pytest.mark.parametrize("story", SLOW)
def test_a_slow_fault_does_what_its_name_says_and_heals(
    slow: dict[str, Reported], story: str
) -> None:
    require_told(slow, story)


def require_told(reported: dict[str, Reported], story: str) -> None:
    assert story in reported, f"the stories broke off after {list(reported)}"
    problem = reported[story]["problem"]
    if problem == SKIPPED:
        pytest.skip(SKIPPED)
    assert problem is None, problem
