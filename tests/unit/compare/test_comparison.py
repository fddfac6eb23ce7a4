"""Comparisons of two builds: the plan, the cells, the statistics, and what the result says."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pages_of import judged_run, make_resumption, result, verdict_of
from rich.console import Console

from analysis.report.words import wilson
from contract.errors import UsageError
from contract.nights import Night, PlannedRun, RunStatus
from contract.run_folder import GroupPlan, RunFolder
from contract.software import Choice, released
from contract.verdicts import Resumption, Verdict
from extras.compare.builds import PAIRS_MIN, WantedComparison, parse_build, suite_of
from extras.compare.cells import Value, Values, values_of
from extras.compare.compare import StoryValues, compare, compare_stories
from extras.compare.comparison import RESULT_FILE, Comparison, Outcome, Result, Side, Story
from extras.compare.pages import MARKDOWN, PAGE, markdown, page, show, write
from extras.compare.statistics import (
    ALPHA,
    Feature,
    detectable,
    holm_adjusted,
    judge_cells,
    smallest_p,
)
from harness.nightly.run import Ended, run_remaining
from harness.nightly.state import hold_night
from tests import golden
from tests.descriptions import plan_of
from tests.made import make_struct

# Comparisons of two builds: the plan, the cells, and what the result says.

EVIL = "<script>alert(1)</script>"
COMPARISON = Comparison(
    schema=1, scenario="s", parameters={"x": EVIL}, builds={"A": "Kafka 1", "B": EVIL}, sides={}
)


def story(side: str, number: int, values: Values) -> StoryValues:
    reported = Story(
        run=f"{number:03}-{side}",
        side=Side(side),
        seed=number,
        parameters={},
        verdict="pass",
        report=f"../{number}/index.html",
    )
    return StoryValues(reported, values, groups=2)


def result_of(a: Sequence[Sequence[Value]], b: Sequence[Sequence[Value]]) -> Result:
    """The result of two sides with one cell: for each story the values of its groups."""
    reported = [
        story(side, number, {("groups", "redelivered"): list(values)})
        for side, stories in (("A", a), ("B", b))
        for number, values in enumerate(stories)
    ]
    return compare_stories(reported, COMPARISON)


def test_a_clean_difference_is_found_in_five_stories() -> None:
    result = result_of([[50, 50]] * 5, [[0, 0]] * 5)
    (cell,) = result.cells
    assert (result.outcome, cell.differs, cell.event) == (Outcome.DIFFERS, True, "not 0")
    assert cell.p_adjusted == pytest.approx(2 / 252)
    assert (cell.a.values, cell.a.stories, cell.a.with_event, cell.a.mean) == ({"50": 10}, 5, 5, 50)
    assert (result.judged, result.groups) == ({"A": 5, "B": 5}, {"A": 10, "B": 10})


def test_groups_of_one_story_are_one_sample() -> None:
    result = result_of([[50] * 40], [[0] * 40])
    assert result.outcome is Outcome.UNDECIDED
    assert "at least 4 of each are needed" in result.reason


def test_where_too_much_varies_by_chance_nothing_is_decided() -> None:
    draw = random.Random(1)
    reported = [
        story(side, number, {("c", str(cell)): [draw.choice([0, 1])] for cell in range(60)})
        for side in Side
        for number in range(4)
    ]
    result = compare_stories(reported, COMPARISON)
    assert (result.outcome, result.detectable.from_none) == (Outcome.UNDECIDED, None)
    assert "More runs are needed" in result.reason
    assert "Undecided" in markdown(result)


def test_the_same_on_both_sides_says_what_would_have_been_found() -> None:
    result = result_of([[0]] * 6, [[0]] * 6)
    assert (result.outcome, result.cells, result.constant) == (Outcome.SAME, [], 1)
    assert result.detectable.from_none is not None
    said = markdown(result)
    assert "No difference found in 6 stories of A and 6 stories of B" in said
    assert "would have been found with probability 0.8" in said


def test_words_differ_by_the_word_that_differs_most() -> None:
    result = result_of([["none"]] * 5, [["LogTruncationException"]] * 4 + [["none"]])
    (cell,) = result.cells
    assert cell.event == "LogTruncationException"
    assert (cell.a.with_event, cell.b.with_event, cell.a.mean) == (0, 4, None)
    assert not cell.differs or cell.p_adjusted <= 0.05


def test_a_difference_of_size_is_found_where_every_story_has_some() -> None:
    result = result_of([[10], [11], [12], [13], [14]], [[50], [51], [52], [53], [54]])
    (cell,) = result.cells
    assert (result.outcome, cell.event) == (Outcome.DIFFERS, "its mean")


def group(name: str, **fields: Any) -> GroupPlan:
    values = {"client": "java", "topic": "t", "commit_epoch": "record", "reset": "latest"}
    return GroupPlan(group=name, **{**values, **fields})


def resumption(name: str, **fields: Any) -> Resumption:
    values: dict[str, Any] = {"reset": "latest", "committed_offset": 100, "resumed_at": 150}
    values |= {"redelivered": 0, "never_delivered": 50}
    return make_resumption(name, **values | fields)


def written_run(path: Path, rows: list[Resumption]) -> tuple[RunFolder, Verdict]:
    """A judged run on disk."""
    verdict = verdict_of({"lost_record": result()}, resumption=rows)
    folder = judged_run(path, verdict)
    folder.write_plan(
        plan_of(groups=[group("g1", labels={"log_end": "above"}), group("g2", reset="none")])
    )
    folder.tables.mkdir()
    table = pa.table({"group": ["g1", "g1"], "cause": ["truncation", "no_commit"]})
    pq.write_table(table, folder.tables / "resets.parquet")
    return folder, verdict


def test_the_cells_of_a_story_are_its_groups_checks_and_run(tmp_path: Path) -> None:
    raised = "LogTruncationException (divergent offset 7)"
    rows = [
        resumption("g1"),
        resumption("g2", exception=raised, resumed_at=None, never_delivered=None),
    ]
    run = written_run(tmp_path / "run", rows)
    above, none = "log_end above, java, record, reset latest", "java, record, reset none"
    assert dict(values_of([run])) == {
        ("the run", "verdict"): ["pass"],
        ("the run", "error"): ["none"],
        ("check lost_record", "verdict"): ["holds"],
        (above, "redelivered"): [0],
        (above, "never_delivered"): [50],
        (above, "resumed_at - committed_offset"): [50],
        (above, "exception"): ["none"],
        (above, "reset"): ["no_commit, truncation"],
        (none, "redelivered"): [0],
        (none, "exception"): ["LogTruncationException"],
        (none, "reset"): ["none"],
    }


def test_a_run_without_a_folder_is_a_result_unlike_one_that_was_not_judged(tmp_path: Path) -> None:
    folder, _ = written_run(tmp_path / "run", [])
    assert dict(values_of([])) == {("the run", "verdict"): ["no run folder"]}
    assert dict(values_of([(folder, None)])) == {}


def builds() -> Mapping[Side, Any]:
    return {Side.A: released("4.4.0"), Side.B: released("3.9.2")}


def wanted_comparison(*, pairs: int = 3, seed: int | None = 7) -> WantedComparison:
    return WantedComparison(
        suite=suite_of("s", {}, builds(), pairs),
        cluster="embedded",
        seed=seed,
        default_kafka="4.4.0",
        command="c",
        builds=builds(),
        scenario="s",
        parameters={},
        pairs=pairs,
    )


def test_runs_are_interleaved_and_a_pair_has_one_seed() -> None:
    runs = wanted_comparison().plan(7)
    assert [run.id for run in runs] == ["001-A", "001-B", "002-B", "002-A", "003-A", "003-B"]
    assert [run.kafka for run in runs] == ["4.4.0", "3.9.2", "3.9.2", "4.4.0", "4.4.0", "3.9.2"]
    seeds = [run.seed for run in runs]
    assert seeds[::2] == seeds[1::2]
    assert len(set(seeds)) == 3
    assert runs == wanted_comparison().plan(7)
    assert set(wanted_comparison().describe(runs).sides.values()) == set(Side)


class Killed(BaseException):
    """The process ends here."""


def test_a_killed_comparison_continues_and_another_one_does_not(tmp_path: Path) -> None:
    done: list[str] = []

    def execute(run: PlannedRun, folder: Path) -> Ended:
        if len(done) == 3:
            raise Killed
        done.append(run.id)
        return Ended(folder, 0)

    def again(comparison: WantedComparison) -> list[str]:
        with hold_night(tmp_path, comparison, is_fresh=False) as night:
            return [run.id for run in night.remaining]

    with pytest.raises(Killed), hold_night(tmp_path, wanted_comparison(), is_fresh=False) as night:
        run_remaining(night, execute, on_start=lambda _: None, on_end=lambda _: None)
    assert again(wanted_comparison(seed=None)) == ["002-A", "003-A", "003-B"]
    assert len(again(wanted_comparison(pairs=4))) == 8


def test_runs_on_disk_are_compared_by_their_verdicts(tmp_path: Path) -> None:
    runs, sides = [], {}
    for number in range(1, 9):
        side = Side.A if number % 2 else Side.B
        skipped = 50 if side is Side.A else 0
        rows = [resumption("g1", never_delivered=skipped)]
        written_run(tmp_path / "runs" / str(number) / "0", rows)
        planned = wanted_comparison().plan(1)[0]
        runs.append(
            msgspec.structs.replace(
                planned, id=f"{number}-{side}", folder=f"runs/{number}", status=RunStatus.DONE
            )
        )
        sides[f"{number}-{side}"] = side
    night = make_struct(Night, suite="s", cluster="embedded", seed=1, started_micros=1, runs=runs)
    result = compare(tmp_path, night, msgspec.structs.replace(COMPARISON, sides=sides))
    assert (result.outcome, result.judged) == (Outcome.DIFFERS, {"A": 4, "B": 4})
    assert {cell.measure for cell in result.cells} == {"never_delivered"}
    assert result.stories[0].report == "../runs/1/0/report/index.html"


def test_golden_comparison(tmp_path: Path) -> None:
    result = result_of([[5, 7]] * 5, [[0, 7]] * 5)
    write(tmp_path / "report", result)
    read = msgspec.json.decode((tmp_path / "report" / RESULT_FILE).read_bytes(), type=Result)
    assert read == result
    out = Console(width=300, record=True, file=(tmp_path / "terminal").open("w"))
    show(result, out, is_verbose=True)
    texts = [(tmp_path / "report" / file).read_text() for file in (MARKDOWN, PAGE)]
    said = [out.export_text(), texts[0], golden.outline(texts[1])]
    assert golden.is_golden("compare.txt", "".join(map(golden.plain, said)))


def test_names_in_a_page_are_text() -> None:
    result = result_of([[1]] * 4, [[0]] * 4)
    assert EVIL not in page(result)
    assert "<script>alert" not in markdown(result)


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("kafka=4.4.0", Choice(kafka="4.4.0")),
        ("client=3.9.2", Choice(kafka="4.3.1", client_version="3.9.2")),
        ("kafka-dir=/k", Choice(kafka_dir="/k")),
        (
            "kafka=4.4.0,client-jars=/a.jar,client-jars=/b",
            Choice(kafka="4.4.0", client_jars=["/a.jar", "/b"]),
        ),
    ],
)
def test_a_build_is_named_by_its_parts(text: str, choice: Choice) -> None:
    assert parse_build(text, default_kafka="4.3.1") == choice


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("4.4.0", "'4.4.0' has not the form"),
        ("kafka=", "A build is kafka=VERSION"),
        ("clients=3.9.2", "names no version of a client"),
        ("kafka=4.4.0,kafka=3.9.2", "kafka more than once"),
        ("kafka=4.4.0,kafka-dir=/k", "give one"),
        ("", "has not the form"),
    ],
)
def test_a_build_in_another_form_is_refused(text: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        parse_build(text, default_kafka="4.4.0")


# Exact tests on distributions written by hand, and how often they are wrong.

SIMULATED = 400
WRONG_MAX = math.ceil(SIMULATED * ALPHA + 3 * math.sqrt(SIMULATED * ALPHA * (1 - ALPHA)))
"""Of comparisons of a build with itself: the expected number, and three standard deviations."""


def p_of(feature: Feature, a: int, b: int) -> float:
    return judge_cells([[feature]], a, b).tested[0].p


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [
        ([1, 1, 1, 1, 1], [0, 0, 0, 0, 0], 2 / 252),
        ([1, 1, 1, 1, 0], [0, 0, 0, 0, 0], 12 / 252),
        ([1, 1, 1, 0, 0], [0, 0, 0, 0, 0], 42 / 252),
        ([1, 0], [0, 1], 1.0),
        ([1, 1, 1], [0, 0, 0, 0], 1 / 35),
        ([3, 5, 4], [9, 8, 7], 2 / 20),
    ],
)
def test_p_is_fishers_where_values_are_events(a: list[float], b: list[float], p: float) -> None:
    assert p_of([*a, *b], len(a), len(b)) == pytest.approx(p)


def test_stories_without_a_value_are_left_out() -> None:
    assert p_of([1, 1, 1, None, 0, 0, 0, None], 4, 4) == pytest.approx(4 / 70)
    assert p_of([1, 0, 1, 0, None, None, None, None], 4, 4) == 1


def test_a_value_that_is_everywhere_the_same_differs_nowhere() -> None:
    (tested,) = judge_cells([[[50.0] * 10]], 5, 5).tested
    assert (tested.p, tested.p_adjusted, tested.p_holm) == (1, 1, 1)


def test_permutations_are_all_or_a_sample_that_is_the_same_each_time() -> None:
    assert [judge_cells([], 5, 5).permutations, judge_cells([], 4, 5).permutations] == [252, 126]
    split: Feature = [1.0] * 12 + [0.0] * 12
    first, second = (judge_cells([[split]], 12, 12) for _ in range(2))
    assert not first.is_exact
    assert (first.maxima == second.maxima).all()
    assert first.tested[0].p > 0


def test_a_side_of_one_story_shows_nothing() -> None:
    assert p_of([1.0] + [0.0] * 30, 1, 30) == 1
    assert smallest_p(1, 30) > ALPHA


def test_cells_that_are_the_same_count_once_and_holm_counts_each() -> None:
    split: Feature = [1.0] * 5 + [0.0] * 5
    family = judge_cells([[split]] * 20, 5, 5)
    assert {tested.p_adjusted for tested in family.tested} == {2 / 252}
    assert all(tested.p_holm > ALPHA for tested in family.tested)


def test_noise_beside_a_clean_split_does_not_hide_it() -> None:
    noise = random.Random(3)
    cells: list[list[Feature]] = [[[1.0] * 5 + [0.0] * 5]]
    cells += [[[noise.random() for _ in range(10)]] for _ in range(30)]
    tested = judge_cells(cells, 5, 5).tested
    assert tested[0].p_adjusted <= ALPHA
    assert [cell.p_adjusted <= ALPHA for cell in tested].count(True) == 1


def test_holm_is_the_textbooks() -> None:
    assert holm_adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm_adjusted([0.5, 0.9]) == [1.0, 1.0]
    assert holm_adjusted([]) == []


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(0, 5, 0, 0.4345), (5, 5, 0.5655, 1), (5, 10, 0.2366, 0.7634), (0, 0, 0, 1)],
)
def test_wilsons_interval(count: int, of: int, low: float, high: float) -> None:
    assert wilson(count, of) == pytest.approx((low, high), abs=1e-4)


def test_fewer_than_four_stories_can_not_differ() -> None:
    assert smallest_p(PAIRS_MIN - 1, PAIRS_MIN - 1) > ALPHA
    assert smallest_p(PAIRS_MIN, PAIRS_MIN) <= ALPHA


KINDS: dict[str, Callable[[random.Random], float | None]] = {
    "constant": lambda _: 0.0,
    "rare": lambda draw: float(draw.random() < 0.2),
    "even": lambda draw: float(draw.random() < 0.5),
    "counts": lambda draw: float(draw.choice([0, 0, 0, 50, 100])),
    "times": lambda draw: draw.expovariate(1),
    "missing": lambda draw: None if draw.random() < 0.3 else draw.choice([0.0, 1.0, 7.0]),
}


@pytest.mark.parametrize("kinds", [["rare"], ["even"], ["counts"] * 5, ["times"] * 8, list(KINDS)])
@pytest.mark.extended
@pytest.mark.parametrize("stories", [4, 5])
def test_a_build_differs_from_itself_in_one_of_twenty_at_most(
    kinds: list[str], stories: int
) -> None:
    draw, wrong = random.Random(stories), 0
    for _ in range(SIMULATED):
        cells: list[list[Feature]] = [
            [[KINDS[kind](draw) for _ in range(2 * stories)]] for kind in kinds
        ]
        tested = judge_cells(cells, stories, stories).tested
        wrong += any(cell.p_adjusted <= ALPHA for cell in tested)
    assert wrong <= WRONG_MAX


@pytest.mark.extended
@pytest.mark.parametrize("stories", [5, 6])
def test_the_detectable_difference_is_found_as_often_as_is_said(stories: int) -> None:
    nothing = judge_cells([[[0.0] * 2 * stories]], stories, stories)
    difference = detectable(stories, stories, nothing, [0.0])
    assert difference is not None
    draw, found = random.Random(5), 0
    for _ in range(SIMULATED):
        events = [0.0] * stories + [float(draw.random() < difference) for _ in range(stories)]
        found += judge_cells([[events]], stories, stories).tested[0].p_adjusted <= ALPHA
    assert found >= SIMULATED * 0.8 - 3 * math.sqrt(SIMULATED * 0.16)


def test_more_stories_find_smaller_differences_and_three_find_none() -> None:
    def found(stories: int, bases: list[float]) -> float | None:
        family = judge_cells([[[0.0] * 2 * stories]], stories, stories)
        return detectable(stories, stories, family, bases)

    assert found(3, [0.0]) is None
    four, six, eight = (found(stories, [0.0]) or 0 for stories in (4, 6, 8))
    assert four >= six >= eight > 0
    assert (found(8, [0.0, 0.2, 0.4]) or 0) >= eight, "at any share it is harder than from none"
