"""The pages of studies: their tables, summed up over runs."""

from pathlib import Path

import msgspec
import pytest

from analysis.report.words import share, upper_bound
from contract.errors import UsageError
from contract.nights import NightRow
from contract.protocol import RULES, Rule
from contract.run_folder import RunFolder
from contract.verdicts import Resumption, RuleRow, RunVerdict, StyleRow, Verdict
from studies import protocol
from studies.commit_epochs import brief, conditions, matrix, read, summed, written
from studies.protocol import JudgedRun, cells, figures_of, part, status
from studies.reproduction import Reached, newest, reached
from tests.descriptions import description_of, plan_of
from tests.made import made

# The tables of README.md and docs/commit-epoch.md, summed up over runs.


def style(name: str, epoch: int, *, groups: int, of: int, resets: str) -> StyleRow:
    """Groups that skip 100 records if they committed epoch 3; that raise if they may not reset."""
    is_skipping, is_raising = epoch == 3, resets == "none" and epoch != 3
    return StyleRow(
        style=name,
        labels={"log_end": "above"},
        committed_offset=200,
        committed_epoch=epoch,
        resets=resets.split(),
        groups=groups,
        of=of,
        resumed_at=None if is_raising else 200 if is_skipping else 100,
        redelivered=0,
        never_delivered=None if is_raising else 100 if is_skipping else 0,
        exception="LogTruncationException" if is_raising else None,
    )


def run(seed: int, *styles: StyleRow, metadata_epoch: int = 1) -> Verdict:
    reported = made(
        Resumption,
        group="g",
        client="java",
        commit_epoch="record",
        reset="none",
        committed_offset=200,
        committed_epoch=1,
        resumed_at=100,
        metadata_epoch=metadata_epoch,
    )
    return made(
        Verdict,
        run_id=str(seed),
        scenario="commit_epoch",
        seed=seed,
        kafka="4.4.0",
        cluster="embedded",
        resumption=[reported],
        styles=list(styles),
    )


RUNS = [
    run(
        8,
        style("record", 1, groups=2, of=3, resets="earliest latest"),
        style("record", 1, groups=1, of=3, resets="none"),
        style("metadata", 1, groups=2, of=2, resets="earliest latest"),
    ),
    run(
        7,
        style("record", 1, groups=2, of=3, resets="earliest latest"),
        style("record", 1, groups=1, of=3, resets="none"),
        style("metadata", 1, groups=1, of=2, resets="earliest"),
        style("metadata", 3, groups=1, of=2, resets="latest"),
        metadata_epoch=3,
    ),
]


def test_rows_that_are_alike_are_summed_up_over_runs() -> None:
    assert matrix(summed(RUNS)).splitlines()[2:] == [
        "| above | record | 1 | 4 of 6 | earliest, latest | 100 | 0 | 0 |",
        "| above | record | 1 | 2 of 6 | none | raises LogTruncationException | 0 | - |",
        "| above | metadata | 1 | 3 of 4 | earliest, latest | 100 | 0 | 0 |",
        "| above | metadata | 3 | 1 of 4 | latest | 200 | 0 | 100 |",
    ]


def test_the_brief_table_counts_each_cell() -> None:
    lines = brief(summed(RUNS), log_end="above").splitlines()[2:]
    assert [line.split(" | ", 2)[2] for line in lines] == [
        "1 in 6 of 6 | 100 in 4 of 6, raises in 2 of 6 | 0 in 4 of 6, - in 2 of 6 |",
        "1 in 3 of 4 | 100 in 3 of 3 | 0 in 3 of 3 |",
        "3 in 1 of 4 | 200 in 1 of 1 | 100 in 1 of 1 |",
    ]
    assert len(brief(summed(RUNS), log_end="below").splitlines()) == 2


def test_the_runs_are_named_and_their_clients_epochs_counted() -> None:
    reported = conditions(RUNS)
    assert reported.startswith("2 runs (seeds 7, 8), Kafka 4.4.0; verdicts: pass 2.")
    assert "| the client's metadata | 1 in 1 of 2, 3 in 1 of 2 |" in reported


def test_only_what_stands_between_the_marks_is_replaced() -> None:
    page = "a\n<!-- studies.commit_epochs: m -->\n\nold\n\n<!-- end -->\nb\n<!-- end -->\n"
    wanted = page.replace("old", "new")
    assert written(page, "m", "new") == wanted
    with pytest.raises(UsageError, match="no mark"):
        written(page, "other", "new")


def test_only_verdicts_of_the_scenario_are_read(tmp_path: Path) -> None:
    for name, verdict in (
        ("a", RUNS[0]),
        ("b", msgspec.structs.replace(RUNS[1], scenario="baseline")),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "verdict.json").write_bytes(msgspec.json.encode(verdict))
    assert [verdict.seed for verdict in read([tmp_path])] == [8]
    with pytest.raises(UsageError, match="make commit-epochs"):
        read([tmp_path / "b"])


# The table of how often a hazard was reached.


def row(verdict: RunVerdict, *, recipe: str = "pause", seconds: float = 30.0) -> NightRow:
    return made(
        NightRow,
        id="1",
        scenario="zombie_leader",
        parameters={"recipe": recipe},
        kafka="4.4.0",
        seed=1,
        verdict=verdict,
        seconds=seconds,
    )


def test_each_recipe_has_its_line_and_each_scenario() -> None:
    rows = [
        row(RunVerdict.PASS, seconds=20),
        row(RunVerdict.PASS, seconds=30),
        row(RunVerdict.UNDECIDED, seconds=40),
        row(RunVerdict.FAIL, recipe="deaf"),
    ]
    assert reached(rows) == [
        Reached("zombie_leader(recipe=deaf)", "4.4.0", 1, 0, failed=1, undecided=0, seconds=30),
        Reached("zombie_leader(recipe=pause)", "4.4.0", 3, 2, failed=0, undecided=1, seconds=30),
        Reached("zombie_leader, all", "4.4.0", 4, 2, failed=1, undecided=1, seconds=30),
    ]


def test_without_a_night_it_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="make reproduction"):
        newest(tmp_path)


# The table of docs/protocol.md with the verdict on each rule, by Kafka version.


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
    verdict = made(
        Verdict,
        run_id=kafka,
        scenario="epoch_protocol",
        seed=7,
        kafka=kafka,
        cluster="embedded",
        rules=list(rules),
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
    text = part(figures_of([judged("4.4.0"), judged("3.9.2"), judged("4.10.0")]))
    head, line, *rows = text.splitlines()[2:]
    assert head == "| rule | Kafka 3.9.2 | Kafka 4.4.0 | Kafka 4.10.0 |"
    assert line == "|---|---|---|---|"
    assert [row.split(" | ")[0] for row in rows] == [f"| {rule}" for rule in RULES]


def test_the_exit_code_is_of_the_worst_verdict() -> None:
    whole = [rule(name, "holds", responses=1) for name in RULES]
    assert status(cells([judged("4.4.0", *whole)])) == 0
    assert status(cells([judged("4.4.0", *whole[1:])])) == 2
    broken = rule(Rule.SCHEMA, "violated", responses=1)
    assert status(cells([judged("4.4.0", *whole, broken)])) == 1


def test_the_page_names_the_day_the_commit_and_the_runs() -> None:
    text = part(figures_of([judged("4.4.0"), judged("3.9.2")]))
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
        protocol.read(tmp_path)
    folder.report.mkdir()
    (folder.report / "verdict.json").write_bytes(msgspec.json.encode(one.verdict))
    assert protocol.read(tmp_path) == [one]


# The exact upper bound of a share.


@pytest.mark.parametrize("of", [1, 10, 1000, 1_000_000])
def test_without_an_event_it_is_known_in_closed_form(of: int) -> None:
    assert upper_bound(0, of) == pytest.approx(1 - 0.05 ** (1 / of))


@pytest.mark.parametrize(
    ("count", "of", "bound"), [(1, 10, 0.3942), (2, 20, 0.2826), (5, 10, 0.7776), (9, 10, 0.9949)]
)
def test_with_events_it_is_that_of_clopper_and_pearson(count: int, of: int, bound: float) -> None:
    assert upper_bound(count, of) == pytest.approx(bound, abs=1e-4)


def test_it_grows_with_the_events_and_shrinks_with_the_cases() -> None:
    assert upper_bound(0, 100) < upper_bound(1, 100) < upper_bound(2, 100)
    assert upper_bound(1, 1000) < upper_bound(1, 100)
    assert upper_bound(1, 100_000) > 1 / 100_000


def test_what_was_always_seen_or_never_asked_has_no_bound() -> None:
    assert upper_bound(7, 7) == upper_bound(0, 0) == 1.0


def test_it_is_said_with_its_condition() -> None:
    assert share(0, 1000) == "at most 0.3 %, with 95% confidence if they were independent"
    assert share(3, 12) == "at most 53 %, with 95% confidence if they were independent"
    assert share(6, 6) == "at most 100 %, with 95% confidence if they were independent"
