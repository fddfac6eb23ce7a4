"""The table of docs/protocol.md with the verdict on each rule, by Kafka version."""

from pathlib import Path

import msgspec
import pytest

from contract.described import SCHEMA
from contract.errors import UsageError
from contract.protocol import RULES, Rule
from contract.run_folder import RunFolder
from contract.verdicts import RuleRow, RunVerdict, Verdict
from studies.protocol import PAGE, JudgedRun, cells, made, read, status, table
from tests.descriptions import description_of, plan_of

DAY_MICROS = 1_795_500_000_000_000
FETCH, END = "FETCH", "OFFSET_FOR_LEADER_EPOCH"


def rule(name: Rule, verdict: str, *, responses: int = 0, api: str = FETCH) -> RuleRow:
    return RuleRow(rule=str(name), api=api, versions="9-18", responses=responses, verdict=verdict)


def judged(kafka: str, *rules: RuleRow) -> JudgedRun:
    run = description_of(
        run_id=kafka,
        scenario="epoch_protocol",
        seed=7,
        kafka=kafka,
        git_head="0123456789abcdef+changes",
        started_micros=DAY_MICROS,
        jars={},
    )
    verdict = Verdict(
        schema=SCHEMA,
        run_id=kafka,
        scenario="epoch_protocol",
        parameters={},
        seed=7,
        kafka=kafka,
        clients={},
        cluster="embedded",
        verdict=RunVerdict.PASS,
        checks={},
        faults=[],
        resumption=[],
        rules=list(rules),
        rerun="",
    )
    return JudgedRun(run, verdict)


def cell(name: Rule, *rules: RuleRow) -> str:
    return str(cells([judged("4.4.0", *rules)])["4.4.0"][name])


def test_responses_of_all_apis_and_scenarios_count() -> None:
    name = Rule.OLDER_EPOCH
    first = rule(name, "holds", responses=30)
    other = rule(name, "holds", responses=10, api=END)
    assert cell(name, first, other) == "holds (40)"
    both = cells([judged("4.4.0", first), judged("4.4.0", other)])
    assert str(both["4.4.0"][name]) == "holds (40)"


@pytest.mark.parametrize("verdict", ["violated", "undecided"])
def test_the_worst_verdict_of_a_rule_counts(verdict: str) -> None:
    name = Rule.OLDER_EPOCH
    rows = rule(name, "holds", responses=30), rule(name, verdict, responses=1, api=END)
    assert cell(name, *rows) == f"{verdict} (31)"


def test_an_api_without_a_response_leaves_a_rule_open_only_if_no_other_has_one() -> None:
    name = Rule.OLDER_EPOCH
    silent = rule(name, "not asked", api=END)
    assert cell(name, silent, rule(name, "holds", responses=3)) == "holds (3)"
    assert cell(name, silent) == "not asked"
    assert cell(name) == "not asked"


def test_a_version_that_a_release_lacks_is_named() -> None:
    name = Rule.THROTTLE_TIME
    assert cell(name, rule(name, "not applicable", api=END)) == (
        "not applicable before OffsetForLeaderEpoch 2"
    )
    old = Rule.VERSION_WITHOUT_EPOCH
    assert cell(old, rule(old, "not applicable")) == (
        "not applicable after Fetch 8 and after ListOffsets 3 and after OffsetForLeaderEpoch 1"
    )


def test_a_run_without_the_api_leaves_open_what_another_run_settles() -> None:
    """A controller does not support the APIs of brokers."""
    name = Rule.THROTTLE_TIME
    lacking, silent = rule(name, "not applicable", api=END), rule(name, "not asked", api=END)
    for rows in ((lacking, silent), (silent, lacking)):
        assert cell(name, *rows) == "not applicable before OffsetForLeaderEpoch 2"


def test_versions_are_in_the_order_of_their_numbers() -> None:
    found = cells([judged("4.4.0"), judged("3.9.2"), judged("4.10.0")])
    assert table(found).splitlines()[0] == "| rule | Kafka 3.9.2 | Kafka 4.4.0 | Kafka 4.10.0 |"
    assert len(table(found).splitlines()) == 2 + len(RULES)


def test_the_exit_code_is_of_the_worst_verdict() -> None:
    whole = [rule(name, "holds", responses=1) for name in RULES]
    assert status(cells([judged("4.4.0", *whole)])) == 0
    assert status(cells([judged("4.4.0", *whole[1:])])) == 2
    broken = rule(Rule.SCHEMA, "violated", responses=1)
    assert status(cells([judged("4.4.0", *whole, broken)])) == 1


def test_the_page_names_the_day_the_commit_and_the_runs() -> None:
    text = made([judged("4.4.0"), judged("3.9.2")])
    assert text.startswith(
        "2026-11-24, commit 0123456789+changes; epoch_protocol on Kafka 3.9.2 (seed 7, pass),"
        " epoch_protocol on Kafka 4.4.0 (seed 7, pass)."
    )


def test_only_judged_runs_are_read(tmp_path: Path) -> None:
    one = judged("4.4.0")
    folder = RunFolder(tmp_path / "run")
    folder.write_run(one.run)
    folder.write_plan(plan_of(scenario="epoch_protocol", question=""))
    with pytest.raises(UsageError, match="has no verdict"):
        read(tmp_path)
    folder.report.mkdir()
    (folder.report / "verdict.json").write_bytes(msgspec.json.encode(one.verdict))
    assert read(tmp_path) == [one]


def test_the_page_has_a_place_for_the_table() -> None:
    assert PAGE.filled(PAGE.path.read_text(), "a table") != PAGE.path.read_text()
