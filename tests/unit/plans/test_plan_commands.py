"""The commands on plans: what they write, count and refuse, without a cluster."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from contract.errors import InterruptError, NodeError, UsageError
from contract.software import INSTALLED, Client, released
from contract.verdicts import RunVerdict
from extras.plans import commands
from extras.plans.commands import counts, finding_of, lines_of
from extras.plans.draw import draw
from extras.plans.plan import RandomPlan, plan_as_json, read_plan
from extras.plans.series import Carried, Found, Series
from extras.plans.trials import name_of_plan
from harness.invocation import session_of
from harness.session import series
from harness.session.ducktape_session import DucktapeSession
from tests.conftest import Fencepost

CLIENTS = list(INSTALLED)
PLAN = draw(7, CLIENTS)
SEEN = Found(check="lost_record", kind="gap", group="java-0", client="java")


def make_carried(*found: Found, verdict: RunVerdict | None = None, problem: str = "") -> Carried:
    own = RunVerdict.FAIL if found else RunVerdict.PASS
    return Carried(
        folder="run", verdict=verdict or own, found=[*found], seconds=61.0, problem=problem
    )


class Runs:
    """Stands for the cluster: returns runs one after the other, and keeps the plans."""

    def __init__(self, home: Path, *runs: Carried) -> None:
        self.home, self.left, self.plans = home, list(runs), list[RandomPlan]()

    def carry_out(self, plan: RandomPlan, name: str) -> Carried:
        (self.home / name).mkdir(parents=True, exist_ok=True)
        self.plans.append(plan)
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runs:
    runs = Runs(tmp_path)

    @contextmanager
    def open_runs(*_: object) -> Iterator[tuple[Runs, object]]:
        yield runs, released("4.4.0")

    monkeypatch.setattr(commands, "_series", open_runs)
    monkeypatch.setattr(commands, "fetch_build", lambda *_: released("4.4.0"))
    return runs


@pytest.fixture
def mine(tmp_path: Path) -> str:
    """The file of a plan."""
    (tmp_path / "mine.json").write_bytes(plan_as_json(PLAN))
    return str(tmp_path / "mine.json")


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({"topic": {"partitions": 10**9}}, "partitions: 1000000000 are more than the 100"),
        ({"topic": {"min_insync": 9}}, "min_insync: 9 are more than the 3"),
        ({"producer": {"acks": "banana"}}, "there is no acks banana"),
        ({"producer": {"client": "banana"}}, "there is no client banana"),
        ({"groups": {"client": "banana"}}, "there is no client banana"),
        ({"groups": {"members": 2**31 - 1}}, "members: .* are more than the 50"),
        ({"producer": {"records_per_second": 10**9}}, "records_per_second: 1000000000 are more"),
    ],
)
@pytest.mark.parametrize("command", [("replay",), ("shrink", "--finding", "lost_record")])
def test_a_plan_that_can_not_be_carried_out_starts_nothing(
    changed: dict[str, dict[str, Any]],
    reported: str,
    command: tuple[str, ...],
    fencepost: Fencepost,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commands, "require_runs", lambda results, _: results)
    monkeypatch.setattr(commands, "fetch_build", lambda *_: released("4.4.0"))
    plan = json.loads(plan_as_json(PLAN))
    for part, values in changed.items():
        (plan[part][0] if part == "groups" else plan[part]).update(values)
    file, results = tmp_path / "mine.json", tmp_path / "results"
    file.write_text(json.dumps(plan))
    ended = fencepost(*command, str(file), "--results", str(results))
    assert ended.returncode == 64, ended.stderr
    assert re.search(reported, ended.stderr)
    assert not results.exists()


def test_a_version_of_a_client_that_the_plan_lacks_starts_nothing(
    fencepost: Fencepost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "require_runs", lambda results, _: results)
    monkeypatch.setattr(commands, "fetch_build", lambda *_: released("4.4.0"))
    file, results = tmp_path / "mine.json", tmp_path / "results"
    file.write_bytes(plan_as_json(draw(7, [Client.JAVA])))
    given = ("--clients", "kafka-python@3.0.8", "--results", str(results))
    ended = fencepost("replay", str(file), *given)
    assert ended.returncode == 64, ended.stderr
    assert "--clients kafka-python@3.0.8: no group or producer of the plan" in ended.stderr
    assert "its clients are java" in ended.stderr
    assert not results.exists()


def test_no_more_plans_are_drawn_than_a_series_may_have(fencepost: Fencepost) -> None:
    assert fencepost("random", "--plans", str(10**20), "--dry-run").returncode == 64


def test_a_seed_gives_the_same_files(fencepost: Fencepost, tmp_path: Path, cluster: Runs) -> None:
    assert not cluster.plans
    listed = []
    for place in ("a", "b"):
        ended = fencepost(
            *("random", "--seed", "7", "--plans", "3", "--dry-run", "--json"),
            *("--results", str(tmp_path / place)),
        )
        assert ended.returncode == 0, ended.stderr
        listed.append([Path(path) for path in json.loads(ended.stdout)["plans"]])
    first, second = listed
    assert [path.name for path in first] == [path.name for path in second]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    for file in first:
        plan = read_plan(file)
        assert file.name.endswith(f"-{plan.seed}.json")
        assert plan == draw(plan.seed, CLIENTS)


def test_a_series_goes_on_and_names_the_commands(fencepost: Fencepost, cluster: Runs) -> None:
    undecided = make_carried(verdict=RunVerdict.UNDECIDED, problem="no node")
    cluster.left = [make_carried(), undecided, make_carried(SEEN)]
    ended = fencepost("random", "--seed", "7", "--plans", "3")
    assert ended.returncode == 1
    lines = ended.stdout.splitlines()
    assert lines[0] == "3 plans of seed 7: 1 pass, 1 fail, 1 undecided"
    third = cluster.plans[2].seed
    assert lines[1] == f"lost_record:java-0 (kind: gap) of seed {third}"
    assert f"again: fencepost replay {cluster.home}/003-{third}/random.json --times 5" in lines[2]
    assert "2 seed" in ended.stderr
    assert "undecided in 0:01:01, no node" in ended.stderr
    kept = json.loads((cluster.home / "series.json").read_text())
    assert [plan["run"]["verdict"] for plan in kept["plans"]] == ["pass", "undecided", "fail"]
    assert [plan["seed"] for plan in kept["plans"]] == [plan.seed for plan in cluster.plans]


@pytest.mark.parametrize(
    ("runs", "code"),
    [([make_carried()], 0), ([make_carried(verdict=RunVerdict.UNDECIDED), make_carried()], 2)],
)
def test_the_exit_code_of_a_series(
    runs: list[Carried], code: int, fencepost: Fencepost, cluster: Runs
) -> None:
    cluster.left = runs
    assert fencepost("random", "--seed", "7", "--plans", "2").returncode == code


def test_after_its_minutes_no_plan_is_begun(fencepost: Fencepost, cluster: Runs) -> None:
    cluster.left = [make_carried()]
    ended = fencepost("random", "--seed", "7", "--minutes", "0")
    assert ended.returncode == 2
    assert cluster.plans == []


def test_replay_counts_each_finding(fencepost: Fencepost, cluster: Runs, mine: str) -> None:
    other = Found(check="lost_commit", kind="x", group="g", client="librdkafka")
    undecided = make_carried(verdict=RunVerdict.UNDECIDED)
    cluster.left = [make_carried(SEEN), make_carried(SEEN, other), make_carried(), undecided]
    ended = fencepost("replay", mine, "--times", "4")
    assert ended.returncode == 1
    assert cluster.plans == [PLAN] * 4
    assert ended.stdout.splitlines() == [
        "lost_commit:g (kind: x), librdkafka: 1 of 3 runs (95 %: 6% to 79%)",
        "lost_record:java-0 (kind: gap), java: 2 of 3 runs (95 %: 21% to 94%)",
        "1 of 4 runs were not decided",
    ]


def test_a_replay_without_a_finding_says_how_rare_it_may_be() -> None:
    runs = [make_carried()] * 5
    assert counts(runs) == {}
    assert list(lines_of({}, runs)) == ["no finding in 5 runs (95 %: 0% to 43%)"]
    undecided = [make_carried(verdict=RunVerdict.UNDECIDED)]
    assert list(lines_of({}, undecided)) == ["1 of 1 runs were not decided"]


def test_a_search_begins_with_the_plan(fencepost: Fencepost, cluster: Runs, mine: str) -> None:
    cluster.left = [make_carried()]
    ended = fencepost("shrink", mine, "--finding", "lost_record", "--out", str(cluster.home / "s"))
    assert ended.returncode == 2
    assert "lost_record did not come back: 0 of 3 runs show it" in ended.stderr
    assert cluster.plans == [PLAN] * 3
    kept = json.loads((cluster.home / "s" / "trials.json").read_text())
    assert [(trial["plan"], len(trial["runs"])) for trial in kept["trials"]] == [
        (name_of_plan(PLAN), 3)
    ]


def test_a_search_ends_with_the_smallest_plan_and_its_commands(
    fencepost: Fencepost, cluster: Runs, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "run_child", lambda *_, **__: 0)
    cluster.left = [make_carried(SEEN)]
    home = cluster.home / "s"
    ended = fencepost("shrink", mine, "--finding", "lost_record", "--out", str(home))
    assert ended.returncode == 0, ended.stderr
    smallest = read_plan(home / "smallest.json")
    assert len(smallest.steps) == 0
    assert len(smallest.groups) == 1
    assert f"again: fencepost replay {home}/smallest.json --times 5" in ended.stdout
    assert "its events: fencepost explain" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("random", "--plans", "1", "--minutes", "1"), "--plans and --minutes both end the series"),
        (("random", "--dry-run", "--minutes", "1"), "--dry-run takes no time"),
        (("random", "--plans", "0"), "'--plans'"),
        (("random", "--seed", "99999999999"), "31 bits"),
        (("random", "--kafka", "latest"), "a version such as 4.4.0"),
        (("replay", "README.md"), "is no plan"),
        (("replay", "mine.json", "--times", "0"), "'--times'"),
        (("replay", "bad.json"), "no target of elect"),
        (("shrink", "mine.json"), "Missing option '--finding'"),
        (("shrink", "mine.json", "--finding", "lost_recrd"), "the nearest is lost_record"),
        (("shrink", "mine.json", "--finding", "lost_record:x"), "there is no group x"),
        (("shrink", "mine.json", "--finding", "reset", "--shown", "4"), "--shown 4 of --runs 3"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_starts(
    arguments: tuple[str, ...],
    hint: str,
    fencepost: Fencepost,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    content = plan_as_json(PLAN)
    (tmp_path / "mine.json").write_bytes(content)
    fault = next(step.fault for step in PLAN.steps if step.fault)
    (tmp_path / "bad.json").write_bytes(content.replace(fault.encode(), b"elect partition:x"))
    (tmp_path / "README.md").write_text("")
    before = sorted(tmp_path.iterdir())
    ended = fencepost(*arguments)
    assert ended.returncode == 64, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert hint in line
    assert sorted(tmp_path.iterdir()) == before


def test_a_finding_is_a_check_and_a_group_of_the_plan() -> None:
    group = PLAN.groups[0].group
    assert finding_of(f"lost_record:{group}", PLAN).group == group
    assert finding_of("lost_record", PLAN).group == ""
    with pytest.raises(UsageError, match="no group other"):
        finding_of("lost_record:other", PLAN)


class Judged:
    """Stands for the analysis."""

    def __init__(self) -> None:
        self.without_run: dict[str, str] = {}

    def judge(self, run: Path, *, problem: str = "") -> str:
        if problem:
            self.without_run[run.name] = problem
        return problem or f"{run} is damaged"


@pytest.fixture
def analysis() -> Judged:
    return Judged()


@pytest.fixture
def carry_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, analysis: Judged
) -> Callable[..., Carried]:
    """A run of a plan, where something stands for ducktape."""

    def carry(run_ducktape: Callable[..., Any]) -> Carried:
        monkeypatch.setattr(series, "run_ducktape", run_ducktape)
        session = session_of(seed=1, kafka="4.4.0", cluster="loopback")
        on: Series = Series(tmp_path, tmp_path, session, analysis)  # type: ignore[arg-type]
        return on.carry_out(PLAN, "001")

    return carry


def test_a_failed_run_is_not_raised(
    carry_out: Callable[..., Carried], tmp_path: Path, analysis: Judged
) -> None:
    run = carry_out(Mock(side_effect=NodeError("ducktape ran no scenario\nand more")))
    assert (run.verdict, run.problem) == (RunVerdict.UNDECIDED, "ducktape ran no scenario")
    assert analysis.without_run == {"001": "ducktape ran no scenario"}
    assert read_plan(tmp_path / "001" / "random.json") == PLAN


def test_an_interrupt_ends_a_series(carry_out: Callable[..., Carried]) -> None:
    with pytest.raises(KeyboardInterrupt):
        carry_out(Mock(side_effect=InterruptError("the collected files are kept")))


@pytest.mark.parametrize("other", [None, 7, 8])
def test_only_a_run_of_the_plan_counts(
    other: int | None, carry_out: Callable[..., Carried]
) -> None:
    """ducktape may run a scenario without the parameters that it was given."""

    def ran(*_: object, results: Path, **__: object) -> DucktapeSession:
        run = results / "session" / "run"
        run.mkdir(parents=True)
        (run / "plan.json").write_text("{}")
        if other is not None:
            (run / "random.json").write_bytes(plan_as_json(draw(other, CLIENTS)))
        return DucktapeSession(results / "session", 0)

    run = carry_out(ran)
    assert run.verdict is RunVerdict.UNDECIDED
    assert ("is damaged" if other == 7 else "is no run of the plan") in run.problem
