"""Studies of nights: a query about a night's runs, and a part of a page of its rows."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from pages_of import judged_run, verdict_of

from contract.errors import UsageError
from contract.nights import SUMMARY_FILE, NightRow, NightSummary
from contract.protocol import RULES, Rule
from contract.verdicts import RuleRow, RunVerdict
from lab.study import Study, newest_night, part, study_of
from tests.made import make_struct

DAY_MICROS = 1_795_500_000_000_000
FETCH, END = "FETCH", "OFFSET_FOR_LEADER_EPOCH"
Judged = tuple[str, tuple[RuleRow, ...]]


def rule(name: Rule, verdict: str, *, responses: int = 0, api: str = FETCH) -> RuleRow:
    return RuleRow(rule=str(name), api=api, versions="9-18", responses=responses, verdict=verdict)


def night_of(folder: Path, *runs: Judged, rows: tuple[NightRow, ...] = ()) -> Path:
    for number, (kafka, rules) in enumerate(runs):
        described: dict[str, Any] = {"scenario": "epoch_protocol", "seed": 7, "kafka": kafka}
        judged_run(
            folder / "runs" / str(number),
            verdict_of({}, run_id=str(number), rules=list(rules), **described),
            run_id=str(number),
            git_head="0123456789abcdef+changes",
            started_micros=DAY_MICROS,
            **described,
        )
    (folder / "report").mkdir(parents=True, exist_ok=True)
    summary = make_struct(NightSummary, runs=list(rows))
    (folder / "report" / SUMMARY_FILE).write_bytes(msgspec.json.encode(summary))
    return folder


def cell(folder: Path, name: Rule, *runs: tuple[RuleRow, ...]) -> str:
    """What the part says of a rule after some runs on one version."""
    study = study_of("protocol", night_of(folder, *(("4.4.0", rules) for rules in runs)))
    (row,) = [
        line for line in part("protocol", study).splitlines() if line.startswith(f"| {name} |")
    ]
    return row.split(" | ")[1].removesuffix(" |")


def test_responses_of_all_apis_and_scenarios_count(tmp_path: Path) -> None:
    name = Rule.OLDER_EPOCH
    first = rule(name, "holds", responses=30)
    other = rule(name, "holds", responses=10, api=END)
    assert cell(tmp_path / "a", name, (first, other)) == "holds (40)"
    assert cell(tmp_path / "b", name, (first,), (other,)) == "holds (40)"


@pytest.mark.parametrize("verdict", ["violated", "undecided"])
def test_the_worst_verdict_of_a_rule_counts(tmp_path: Path, verdict: str) -> None:
    name = Rule.OLDER_EPOCH
    rows = rule(name, "holds", responses=30), rule(name, verdict, responses=1, api=END)
    assert cell(tmp_path, name, rows) == f"{verdict} (31)"


def test_a_rule_is_open_only_if_no_api_has_a_response(tmp_path: Path) -> None:
    name = Rule.OLDER_EPOCH
    silent, holds = rule(name, "not asked", api=END), rule(name, "holds", responses=3)
    assert cell(tmp_path / "a", name, (silent, holds)) == "holds (3)"
    assert cell(tmp_path / "b", name, (silent,)) == "not asked"
    assert cell(tmp_path / "c", name, (rule(Rule.SCHEMA, "holds", responses=1),)) == "not asked"


def test_a_version_that_a_release_lacks_is_named(tmp_path: Path) -> None:
    name, old = Rule.THROTTLE_TIME, Rule.VERSION_WITHOUT_EPOCH
    assert cell(tmp_path / "a", name, (rule(name, "not applicable", api=END),)) == (
        "not applicable before OffsetForLeaderEpoch 2"
    )
    assert cell(tmp_path / "b", old, (rule(old, "not applicable"),)) == (
        "not applicable after Fetch 8 and after ListOffsets 3 and after OffsetForLeaderEpoch 1"
    )


def test_a_run_without_the_api_leaves_open_what_another_run_settles(tmp_path: Path) -> None:
    """A controller does not support the APIs of brokers."""
    name = Rule.THROTTLE_TIME
    rows = rule(name, "not applicable", api=END), rule(name, "not asked", api=END)
    for place, runs in (("a", rows), ("b", rows[::-1])):
        assert cell(tmp_path / place, name, *((row,) for row in runs)) == (
            "not applicable before OffsetForLeaderEpoch 2"
        )


def test_the_page_names_day_commit_runs_and_each_rule(tmp_path: Path) -> None:
    rules = (rule(Rule.SCHEMA, "holds", responses=1),)
    night = night_of(tmp_path, *((kafka, rules) for kafka in ("4.10.0", "3.9.2", "4.4.0")))
    text = part("protocol", study_of("protocol", night))
    assert text.startswith(
        "2026-11-24, commit 0123456789+changes; epoch_protocol on Kafka 3.9.2 (seed 7, "
    )
    head, line, *rows = text.splitlines()[2:]
    assert head == "| rule | Kafka 3.9.2 | Kafka 4.4.0 | Kafka 4.10.0 |"
    assert line == "|---|---|---|---|"
    assert [row.split(" | ")[0] for row in rows] == [f"| {rule}" for rule in RULES]


def test_only_judged_runs_are_read(tmp_path: Path) -> None:
    night = night_of(tmp_path, ("4.4.0", ()))
    next(night.rglob("verdict.json")).unlink()
    with pytest.raises(UsageError, match="has no verdict"):
        study_of("protocol", night)


def test_without_a_night_it_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fencepost nightly --suite protocol"):
        newest_night(tmp_path, "protocol")


def row(verdict: RunVerdict, *, recipe: str = "pause", seconds: float = 30.0) -> NightRow:
    return make_struct(
        NightRow,
        id="1",
        scenario="zombie_leader",
        parameters={"recipe": recipe},
        kafka="4.4.0",
        seed=1,
        verdict=verdict,
        seconds=seconds,
    )


def test_each_recipe_has_its_line_and_each_scenario(tmp_path: Path) -> None:
    rows = (
        row(RunVerdict.PASS, seconds=20),
        row(RunVerdict.PASS, seconds=30),
        row(RunVerdict.UNDECIDED, seconds=40),
        row(RunVerdict.FAIL, recipe="deaf"),
    )
    study = study_of("reproduction", night_of(tmp_path, ("4.4.0", ()), rows=rows))
    assert part("reproduction", study).splitlines()[-3:] == [
        "| zombie_leader(recipe=deaf) | 4.4.0 | 1 | 0 of 1 | 1 | 0 | 30 |",
        "| zombie_leader(recipe=pause) | 4.4.0 | 3 | 2 of 3 | 0 | 1 | 30 |",
        "| zombie_leader, all | 4.4.0 | 4 | 2 of 4 | 1 | 1 | 30 |",
    ]


def test_what_is_kept_is_what_a_night_gives(tmp_path: Path) -> None:
    study = study_of("protocol", night_of(tmp_path, ("4.4.0", ())))
    assert msgspec.json.decode(msgspec.json.encode(study), type=Study) == study
