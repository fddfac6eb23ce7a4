"""Suites, and the runs that are planned from them."""

import zipfile
from pathlib import Path

import pytest

from contract.builds import Choice
from contract.errors import UsageError
from contract.nights import PlannedRun
from harness.nightly.plan import plan_runs
from harness.nightly.suite import Suite, find_suite, suite_names
from harness.session.catalog import scenarios

KAFKA = "4.4.0"


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.yml"
    path.write_text(f"description: d\n{text}")
    return path


def planned(suite: Suite, *, seed: int = 1) -> list[PlannedRun]:
    return plan_runs(suite, seed=seed, cluster="embedded", default_kafka=KAFKA)


def test_every_scenario_on_disk_is_in_the_nightly_suite_on_both_versions() -> None:
    runs = {(run.scenario, run.kafka) for run in planned(find_suite("nightly"))}
    for scenario in scenarios():
        assert {(scenario.name, "4.4.0"), (scenario.name, "3.9.0")} <= runs


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_reads_and_expects_its_canary_to_fail(name: str) -> None:
    runs = planned(find_suite(name))
    assert {run.expect for run in runs if run.scenario == "canary"} <= {"fail"}
    assert {run.expect for run in runs if run.scenario != "canary"} == {"pass"}


def test_a_suite_is_found_by_its_path_and_named_by_its_stem(tmp_path: Path) -> None:
    suite = find_suite(str(written(tmp_path, "runs: [{scenario: baseline}]")))
    assert (suite.name, suite.description, len(suite.entries)) == ("mine", "d", 1)


@pytest.mark.parametrize(
    ("runs", "hints"),
    [
        ("runs: [{scenario: nonsense}]", ["runs[0].scenario", "baseline"]),
        ("runs: [{scenario: baseline}, {kafka: [x]}]", ["`scenario`", "runs[1]"]),
        ("runs: [{scenario: baseline, kafka: [4.4]}]", ["runs[0].kafka", "in quotes"]),
        ("runs: [{scenario: baseline, kafka: ['1.2.3']}]", ["runs[0].kafka", "kafka lock 1.2.3"]),
        ("runs: [{scenario: baseline, client_version: 4.4}]", ["client_version", "in quotes"]),
        (
            "runs: [{scenario: baseline, client_version: '1.2.3'}]",
            ["runs[0].client_version", "kafka lock 1.2.3"],
        ),
        ("runs: [{scenario: baseline, kafka: ['4.4.0'], kafka_dir: x}]", ["runs[0]", "not both"]),
        ("runs: [{scenario: baseline, expect: faill}]", ["faill", "runs[0].expect"]),
        ("runs: [{scenario: baseline, seed: 1}]", ["`seed`", "runs[0]"]),
        ("runs: [{scenario: baseline, seeds: [99999999999]}]", ["runs[0].seeds", "2147483647"]),
        ("runs: [{scenario: baseline, repeat: 0}]", ["runs[0].repeat"]),
        ("runs: [{scenario: baseline, repeat: 2, seeds: [1]}]", ["runs[0]", "not both"]),
        ("runs: []", ["`runs`"]),
        ("", ["`runs`"]),
        ("runs: [", ["not YAML"]),
    ],
)
def test_a_wrong_suite_names_file_and_field(tmp_path: Path, runs: str, hints: list[str]) -> None:
    path = written(tmp_path, runs)
    with pytest.raises(UsageError) as told:
        find_suite(str(path))
    for hint in [str(path), *hints]:
        assert hint in str(told.value)


@pytest.mark.parametrize("name", ["frobnicate", "missing/mine.yml"])
def test_a_missing_suite_tells_which_there_are(name: str) -> None:
    with pytest.raises(UsageError, match="nightly, protocol, reproduction, smoke"):
        find_suite(name)


def test_planning_multiplies_versions_and_repeats(tmp_path: Path) -> None:
    what = "scenario: zombie_leader, parameters: {recipe: deaf}"
    entry = f"{{{what}, kafka: ['4.4.0', '3.9.0'], repeat: 2}}"
    runs = planned(find_suite(str(written(tmp_path, f"runs: [{entry}, {{scenario: canary}}]"))))
    assert [(run.id, run.repeat) for run in runs] == [
        ("001-zombie_leader-4.4.0", 0),
        ("002-zombie_leader-4.4.0", 1),
        ("003-zombie_leader-3.9.0", 0),
        ("004-zombie_leader-3.9.0", 1),
        ("005-canary-4.4.0", 0),
    ]
    assert len({run.seed for run in runs}) == 5
    seed = runs[0].seed
    assert runs[0].rerun == (
        f"fencepost run zombie_leader --cluster embedded --kafka 4.4.0 --seed {seed} "
        '--parameters \'{"recipe": "deaf"}\''
    )


def test_entries_name_builds_and_the_command_line_those_of_the_others(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "patch.jar", "w") as jar:
        jar.writestr("org/apache/kafka/A.class", "")
    own = "client_version: '3.9.2', client_jars: [patch.jar]"
    both = "kafka: ['4.4.0', '3.9.0']"
    text = f"runs: [{{scenario: baseline, {own}}}, {{scenario: canary, {both}}}]"
    suite = find_suite(str(written(tmp_path, text)))
    first, second, third = planned(suite)
    assert first.choice is not None
    assert first.choice.client_jars == [str(tmp_path / "patch.jar")]
    assert "Java clients 3.9.2 with patch.jar first" in first.build
    assert f"--client-version 3.9.2 --client-jars {tmp_path}/patch.jar" in first.rerun
    assert (second.choice, third.choice, second.build) == (None, None, "")
    given = Choice(client_version="4.3.1")
    runs = plan_runs(suite, seed=1, cluster="embedded", default_kafka=KAFKA, given=given)
    assert [run.choice and run.choice.client_version for run in runs] == ["3.9.2", "4.3.1", "4.3.1"]


def test_parameters_that_a_scenario_does_not_declare_are_refused(tmp_path: Path) -> None:
    runs = "runs: [{scenario: zombie_leader, parameters: {recipe: bogus}}]"
    with pytest.raises(UsageError, match=r"runs\[0\].parameters: zombie_leader does not declare"):
        find_suite(str(written(tmp_path, runs)))


def test_seeds_come_from_the_nights_seed_or_from_the_suite(tmp_path: Path) -> None:
    drawn = find_suite("smoke")
    assert planned(drawn, seed=5) == planned(drawn, seed=5)
    assert planned(drawn, seed=5) != planned(drawn, seed=6)
    given = find_suite(str(written(tmp_path, "runs: [{scenario: baseline, seeds: [7, 8]}]")))
    assert [run.seed for run in planned(given)] == [7, 8]
