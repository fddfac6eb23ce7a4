"""Each fault does what its name says, on one cluster, one after the other: faults_test.py."""

import json
from pathlib import Path

import pytest
from command import POOL, ran, telling
from faults_test import REPORTED_FILE, SKIPPED, SLOW, STORIES, Reported

from harness.session.catalog import read_scenario

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

ODD = "it's $(a) \\ %41 ü;"
"""A name that shells, addresses and properties files read otherwise, unless it is quoted."""

SCENARIO = Path(__file__).with_name("faults_test.py")


@pytest.fixture(scope="module")
def reported_faults(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Reported]:
    results = tmp_path_factory.mktemp("faults") / ODD
    results.mkdir()
    with telling(request):
        ran(read_scenario(SCENARIO), results, POOL)
    found: dict[str, Reported] = json.loads((results / REPORTED_FILE).read_text())
    return found


@pytest.mark.parametrize(
    "story", [pytest.param(story, marks=[pytest.mark.long] * (story in SLOW)) for story in STORIES]
)
def test_a_fault_does_what_its_name_says_and_heals(
    reported_faults: dict[str, Reported], story: str
) -> None:
    """`-k "[kill]"` tells one story only."""
    assert story in reported_faults, f"the stories broke off after {list(reported_faults)}"
    problem = reported_faults[story]["problem"]
    if problem == SKIPPED:
        pytest.skip(SKIPPED)
    assert problem is None, problem
