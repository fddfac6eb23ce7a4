"""Each fault does what its name says, on one cluster, one after the other: faults_test.py."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from command import POOL, ran
from faults_test import REPORTED_FILE, SKIPPED, SLOW, STORIES, Reported

from harness.session.catalog import read_scenario

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

ODD = "it's $(a) \\ %41 ü;"
"""A name that shells, addresses and properties files read otherwise, unless it is quoted."""

SCENARIO = Path(__file__).with_name("faults_test.py")


OfTest = Callable[[str], dict[str, Reported]]


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> OfTest:
    """What came of the stories of a test, which is run once."""

    @cache
    def by_test(name: str) -> dict[str, Reported]:
        results = tmp_path_factory.mktemp(name) / ODD
        results.mkdir()
        ran(read_scenario(SCENARIO, name), results, POOL)
        found: dict[str, Reported] = json.loads((results / REPORTED_FILE).read_text())
        return found

    return by_test


@pytest.mark.parametrize("story", [one for one in STORIES if one not in SLOW])
def test_a_fault_does_what_its_name_says_and_heals(reported: OfTest, story: str) -> None:
    require_told(reported("test_faults"), story)


@pytest.mark.long
@pytest.mark.parametrize("story", SLOW)
def test_a_slow_fault_does_what_its_name_says_and_heals(reported: OfTest, story: str) -> None:
    require_told(reported("test_slow_faults"), story)


def require_told(reported: dict[str, Reported], story: str) -> None:
    assert story in reported, f"the stories broke off after {list(reported)}"
    problem = reported[story]["problem"]
    if problem == SKIPPED:
        pytest.skip(SKIPPED)
    assert problem is None, problem
