"""Suites, nights that survive being killed, and folders of sessions."""

import itertools
import time
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from ducktape.tests.session import generate_session_id
from hypothesis import given
from hypothesis import strategies as st

from contract.errors import RunFolderError, UsageError
from contract.nights import NIGHT_FILE, PlannedRun, RunStatus, read_night
from contract.software import Choice
from harness.nightly.run import Ended, remaining_seconds, run_remaining
from harness.nightly.state import HeldNight, Wanted, earlier_runs, hold_night
from harness.nightly.suite import Suite, begun_with_both, find_suite, plan_runs, suite_names
from harness.session.catalog import scenarios
from harness.session.ducktape_session import reserve_session
from harness.session.node_root import node_root

# Suites, and the runs that are planned from them.

KAFKA = "4.4.0"


def write_suite(folder: Path, text: str) -> Path:
    path = folder / "mine.yml"
    path.write_text(f"description: d\n{text}")
    return path


def plan_of_suite(suite: Suite, *, seed: int = 1) -> list[PlannedRun]:
    return plan_runs(suite, seed=seed, cluster="embedded", default_kafka=KAFKA)


ONLY_NEW = ("rolling_upgrade", "refused_member")
"""The one begins on the older version, the other is about KIP-848."""


def test_every_scenario_on_disk_is_in_the_nightly_suite_on_both_versions() -> None:
    runs = {(run.scenario, run.kafka) for run in plan_of_suite(find_suite("nightly"))}
    for scenario in scenarios():
        versions = {"4.4.0"} if scenario.name in ONLY_NEW else {"4.4.0", "3.9.0"}
        assert {(scenario.name, version) for version in versions} <= runs


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_reads_and_expects_its_canary_to_fail(name: str) -> None:
    runs = plan_of_suite(find_suite(name))
    assert {run.expect for run in runs if run.scenario == "canary"} <= {"fail"}
    assert {run.expect for run in runs if run.scenario != "canary"} == {"pass"}


def test_a_suite_is_found_by_its_path_and_named_by_its_stem(tmp_path: Path) -> None:
    suite = find_suite(str(write_suite(tmp_path, "runs: [{scenario: baseline}]")))
    assert (suite.name, suite.description, len(suite.entries)) == ("mine", "d", 1)


BASELINE = "runs: [{scenario: baseline, %s}]"


@pytest.mark.parametrize(
    ("runs", "hints"),
    [
        ("runs: [{scenario: nonsense}]", ["runs[0].scenario", "baseline"]),
        ("runs: [{scenario: baseline}, {kafka: [x]}]", ["`scenario`", "runs[1]"]),
        (BASELINE % "kafka: [4.4]", ["runs[0].kafka", "in quotes"]),
        (BASELINE % "kafka: ['1.2.3']", ["runs[0].kafka", "versions lock 1.2.3"]),
        (BASELINE % "client_version: 4.4", ["client_version", "in quotes"]),
        (BASELINE % "client_version: '1.2.3'", ["runs[0].client_version", "versions lock 1.2.3"]),
        (
            BASELINE % "clients: [kafka-python@1.2.3]",
            ["runs[0].clients", "versions lock kafka-python@1.2.3"],
        ),
        (BASELINE % "kafka: ['4.4.0'], kafka_dir: x", ["runs[0]", "not both"]),
        (BASELINE % "expect: faill", ["faill", "runs[0].expect"]),
        (BASELINE % "seed: 1", ["`seed`", "runs[0]"]),
        (BASELINE % "seeds: [99999999999]", ["runs[0].seeds", "2147483647"]),
        (BASELINE % "repeat: 0", ["runs[0].repeat"]),
        (BASELINE % "repeat: 2, seeds: [1]", ["runs[0]", "not both"]),
        ("runs: []", ["`runs`"]),
        ("", ["`runs`"]),
        ("runs: [", ["not YAML"]),
    ],
)
def test_a_wrong_suite_names_file_and_field(tmp_path: Path, runs: str, hints: list[str]) -> None:
    path = write_suite(tmp_path, runs)
    with pytest.raises(UsageError) as reported:
        find_suite(str(path))
    for hint in [str(path), *hints]:
        assert hint in str(reported.value)


@pytest.mark.parametrize("name", ["frobnicate", "missing/mine.yml"])
def test_a_missing_suite_tells_which_there_are(name: str) -> None:
    with pytest.raises(UsageError, match=r"nightly, protocol, .*reproduction, smoke"):
        find_suite(name)


def test_planning_multiplies_versions_and_repeats(tmp_path: Path) -> None:
    what = "scenario: zombie_leader, parameters: {recipe: deaf}"
    entry = f"{{{what}, kafka: ['4.4.0', '3.9.0'], repeat: 2}}"
    runs = plan_of_suite(
        find_suite(str(write_suite(tmp_path, f"runs: [{entry}, {{scenario: canary}}]")))
    )
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
    own = "client_version: '3.9.2', client_jars: [patch.jar], clients: [kafka-python@3.0.8]"
    both = "kafka: ['4.4.0', '3.9.0']"
    text = f"runs: [{{scenario: baseline, {own}}}, {{scenario: canary, {both}}}]"
    suite = find_suite(str(write_suite(tmp_path, text)))
    first, second, third = plan_of_suite(suite)
    assert first.choice is not None
    assert first.choice.client_jars == [str(tmp_path / "patch.jar")]
    assert "Java clients 3.9.2 with patch.jar first" in first.build
    assert f"--client-version 3.9.2 --client-jars {tmp_path}/patch.jar " in first.rerun
    assert "--clients kafka-python@3.0.8" in first.rerun
    assert first.build.endswith("; kafka-python@3.0.8")
    assert (second.choice, third.choice, second.build) == (None, None, "")
    given = Choice(client_version="4.3.1")
    runs = plan_runs(suite, seed=1, cluster="embedded", default_kafka=KAFKA, given=given)
    assert [run.choice and run.choice.client_version for run in runs] == ["3.9.2", "4.3.1", "4.3.1"]


def test_parameters_that_a_scenario_does_not_declare_are_refused(tmp_path: Path) -> None:
    runs = "runs: [{scenario: zombie_leader, parameters: {recipe: bogus}}]"
    with pytest.raises(UsageError, match=r"runs\[0\].parameters: zombie_leader does not declare"):
        find_suite(str(write_suite(tmp_path, runs)))


def test_seeds_come_from_the_nights_seed_or_from_the_suite(tmp_path: Path) -> None:
    drawn = find_suite("smoke")
    assert plan_of_suite(drawn, seed=5) == plan_of_suite(drawn, seed=5)
    assert plan_of_suite(drawn, seed=5) != plan_of_suite(drawn, seed=6)
    given = find_suite(str(write_suite(tmp_path, "runs: [{scenario: baseline, seeds: [7, 8]}]")))
    assert [run.seed for run in plan_of_suite(given)] == [7, 8]


# A night survives being killed: what is done stays, what was broken off begins anew.

SMOKE = find_suite("smoke")


class Killed(BaseException):
    """The process ends here."""


def make_wanted(
    *, suite: Suite | None = None, seed: int | None = None, cluster: str = "e"
) -> Wanted:
    return Wanted(
        suite=suite or SMOKE, cluster=cluster, seed=seed, default_kafka=KAFKA, command="c"
    )


def nothing(_run: PlannedRun) -> None:
    pass


def path_of(nights: Path, one: Wanted | None = None, *, is_fresh: bool = False) -> Path:
    """The folder of the night that a command with these options would continue or begin."""
    with hold_night(nights, one or make_wanted(), is_fresh=is_fresh) as night:
        return night.path


def run_all(night: HeldNight) -> None:
    run_remaining(night, lambda _, folder: Ended(folder, 0), on_start=nothing, on_end=nothing)


@given(st.lists(st.integers(min_value=0, max_value=3), max_size=6))
def test_a_night_ends_whenever_it_is_killed(kills: list[int]) -> None:
    """Each number: how many runs an invocation gets done before it is killed in the next."""
    completed: Counter[str] = Counter()
    seeds: set[tuple[int, ...]] = set()
    with TemporaryDirectory() as folder:
        nights = Path(folder)
        for done_max in [*kills, 3]:
            left = itertools.count(done_max, -1)

            def execute(run: PlannedRun, folder: Path, left: itertools.count = left) -> Ended:
                assert list(folder.iterdir()) == []
                (folder / "half").touch()
                if next(left) == 0:
                    raise Killed
                completed[run.id] += 1
                return Ended(folder, 0)

            with suppress(Killed), hold_night(nights, make_wanted(), is_fresh=False) as night:
                seeds.add(tuple(run.seed for run in night.state.runs))
                run_remaining(night, execute, on_start=nothing, on_end=nothing)
        (path,) = (file.parent for file in nights.glob(f"*/{NIGHT_FILE}"))
        state = read_night(path)
        assert state is not None
        assert all(run.status is RunStatus.DONE for run in state.runs)
        assert set(completed.values()) == {1}
        assert len(seeds) == 1


def test_a_run_that_was_broken_off_is_on_record(tmp_path: Path) -> None:
    def execute(_run: PlannedRun, _folder: Path) -> Ended:
        raise Killed

    with pytest.raises(Killed), hold_night(tmp_path, make_wanted(), is_fresh=False) as night:
        run_remaining(night, execute, on_start=nothing, on_end=nothing)
    state = read_night(night.path)
    assert state is not None
    assert [run.status for run in state.runs] == ["running", "planned", "planned"]


def test_a_run_without_a_folder_is_done_with_its_error(tmp_path: Path) -> None:
    with hold_night(tmp_path, make_wanted(), is_fresh=False) as night:
        ended = Ended(None, error="no scenario ran")
        run_remaining(night, lambda *_: ended, on_start=nothing, on_end=nothing)
        assert night.remaining == []
        assert {run.error for run in night.state.runs} == {"no scenario ran"}


def test_a_finished_night_is_not_continued(tmp_path: Path) -> None:
    with hold_night(tmp_path, make_wanted(), is_fresh=False) as first:
        run_all(first)
    with hold_night(tmp_path, make_wanted(), is_fresh=False) as judging:
        assert judging.path == first.path
        judging.finish()
    assert path_of(tmp_path) != first.path


@pytest.mark.parametrize(
    "different",
    [
        make_wanted(seed=6),
        make_wanted(seed=5, cluster="docker"),
        make_wanted(seed=5, suite=find_suite("nightly")),
        replace(make_wanted(seed=5), hours=2),
    ],
    ids=["seed", "pool", "suite", "hours"],
)
def test_another_night_is_not_continued(tmp_path: Path, different: Wanted) -> None:
    first = path_of(tmp_path, make_wanted(seed=5))
    assert path_of(tmp_path, different) != first
    assert path_of(tmp_path, make_wanted(seed=5)) == first


def test_a_suite_that_changed_begins_anew(tmp_path: Path) -> None:
    first, second = (
        path_of(tmp_path, make_wanted(suite=find_suite(str(write_suite(tmp_path, text)))))
        for text in ("runs: [{scenario: baseline}]", "runs: [{scenario: canary, expect: fail}]")
    )
    assert first != second


def test_the_newest_unfinished_night_is_continued_unless_fresh(tmp_path: Path) -> None:
    first, second = path_of(tmp_path), path_of(tmp_path, is_fresh=True)
    assert second != first
    assert path_of(tmp_path) == second


def test_two_do_not_share_a_night(tmp_path: Path) -> None:
    with (
        hold_night(tmp_path, make_wanted(), is_fresh=False) as night,
        pytest.raises(UsageError, match=rf"{night.path.name} is running already, in process \d+"),
        hold_night(tmp_path, make_wanted(), is_fresh=False),
    ):
        pass
    assert path_of(tmp_path) == night.path


def test_a_state_that_does_not_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "smoke-1").mkdir()
    (tmp_path / "smoke-1" / NIGHT_FILE).write_text("{}")
    with pytest.raises(RunFolderError, match=r"smoke-1/night\.json"):
        path_of(tmp_path)


def test_the_estimate_goes_from_like_to_unlike(tmp_path: Path) -> None:
    with hold_night(tmp_path, make_wanted(), is_fresh=False) as night:
        baseline, canary, commit_epoch = night.state.runs
    assert remaining_seconds([baseline], [canary]) is None
    took_ten = msgspec.structs.replace(baseline, seconds=10.0)
    took_forty = msgspec.structs.replace(baseline, seconds=40.0, kafka="3.9.0")
    known = [took_ten, took_forty]
    assert remaining_seconds([baseline], known) == 10.0
    assert remaining_seconds([msgspec.structs.replace(baseline, kafka="4.3.1")], known) == 25.0
    assert remaining_seconds([canary, commit_epoch], known) == 50.0
    assert remaining_seconds([], []) == 0.0


def test_earlier_nights_of_the_suite_and_pool_lend_their_durations(tmp_path: Path) -> None:
    with hold_night(tmp_path, make_wanted(), is_fresh=False) as first:
        run_all(first)
        first.finish()
    with hold_night(tmp_path, make_wanted(cluster="docker"), is_fresh=False) as other:
        assert earlier_runs(tmp_path, other.state) == []
    with hold_night(tmp_path, make_wanted(), is_fresh=False) as second:
        assert earlier_runs(tmp_path, second.state) == first.state.runs


# A night of some hours.

HOURS = 0.17
"""Ten minutes, and some seconds for the test itself."""


def hourly() -> Wanted:
    return replace(make_wanted(seed=7), hours=HOURS)


def test_a_night_of_some_hours_begins_with_the_canary_and_the_baseline(tmp_path: Path) -> None:
    def begin(text: str) -> list[tuple[str, str]]:
        runs = plan_of_suite(begun_with_both(find_suite(str(write_suite(tmp_path, text)))))
        return [(run.scenario, str(run.expect)) for run in runs]

    both = [("canary", "fail"), ("baseline", "pass")]
    assert begin("runs: [{scenario: zombie_leader}]") == [*both, ("zombie_leader", "pass")]
    twice = "{scenario: baseline, kafka: ['4.4.0', '3.9.2']}"
    assert begin(f"runs: [{twice}, {{scenario: canary, expect: fail}}]") == [*both, both[1]]


# Folders of sessions: two that begin at once, a copied results folder, damaged state.

DAY = "2026-02-28"


@pytest.fixture
def on_one_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours and ducktape's names begin with the date."""
    monkeypatch.setattr(time, "strftime", lambda _: DAY)


@pytest.mark.usefixtures("on_one_day")
def test_ducktape_chooses_the_reserved_folder(tmp_path: Path) -> None:
    (tmp_path / f"{DAY}--007").mkdir()
    (tmp_path / f"{DAY}--x").mkdir()
    with node_root(tmp_path) as root:
        folder, notes = reserve_session(tmp_path, root)
        assert folder == tmp_path / f"{DAY}--008"
        chosen = generate_session_id(str(notes / "session_id"))
    assert chosen == folder.name


@pytest.mark.usefixtures("on_one_day")
def test_sessions_that_begin_at_once_have_folders_of_their_own(tmp_path: Path) -> None:
    roots = [node_root(tmp_path) for _ in range(5)]
    places = [root.__enter__() for root in roots]
    with ThreadPoolExecutor() as pool:
        chosen = list(pool.map(lambda place: reserve_session(tmp_path, place)[0], places))
    assert len(set(chosen)) == len(roots)
    for root in roots:
        root.__exit__(None, None, None)
    with node_root(tmp_path) as root:
        assert reserve_session(tmp_path, root)[0].name == f"{DAY}--001"
