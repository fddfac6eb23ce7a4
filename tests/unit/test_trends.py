"""Findings over nights: their identities, the rules of a change, states, and known.yml."""

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.trends import rules
from analysis.trends.history import Row, history_of
from analysis.trends.identity import identity, shape, subject_of
from analysis.trends.morning import morning
from contract.errors import UsageError
from contract.nights import (
    FindingState,
    Known,
    KnownFinding,
    Morning,
    ScenarioHistory,
    TrackedFinding,
    known_beside,
    read_known,
)
from tests.nights import (
    CLUSTER,
    KINDS,
    MARKS,
    SUITE,
    Asked,
    Lane,
    Nights,
    Planted,
    day_of,
    name_of,
    planted_history,
    rows_of,
    steady_history,
    write_rows,
)

# Identities. The causes are those of real runs.


@pytest.mark.parametrize(
    "alike",
    [
        (
            "the member began at 80, but the group had committed 100; asked 16.2 s before",
            "the member began at 1,080, but the group had committed 1,100; asked 0.4 s before",
        ),
        (
            "java-consumer-3#1 received no record at offset 1555, 7.7 s later",
            "java-consumer-1#2.1 received no record at offset 5, 12 s later",
        ),
        (
            "broker 2 was elected in epoch 2, but was not in the ISR [] (configured)",
            "broker 11 was elected in epoch 3, but was not in the ISR [1, 3] (configured)",
        ),
        ("value writer:4740 was appended 2 times", "value writer:12 was appended 3 times"),
        ("metadata logs of servers [1, 2, 3], epoch 4", "metadata logs of servers [4, 5], epoch 7"),
        ("1 record was lost", "20 records was lost"),
        ("topic Ab3dEf6hIj9kLm2nOp5qRs was lost", "topic Zb3dEf6hIj9kLm2nOp5qRt was lost"),
        ("offset 200 with epoch -1 is stored", "offset 20 with epoch 3 is stored"),
        ("lost from orders-0, offsets 2 and 3", "lost from orders-2, offsets 9 and 12"),
    ],
)
def test_the_same_cause_at_other_offsets_is_the_same(alike: tuple[str, str]) -> None:
    first, second = (shape(cause) for cause in alike)
    assert first == second


@pytest.mark.parametrize(
    "different",
    [
        ("7 records acknowledged (acks=all)", "7 records acknowledged (acks=1)"),
        ("7 records acknowledged (acks=1)", "7 records acknowledged (acks=0)"),
        ("OFFSET_FETCH version 9 got error 16", "OFFSET_FETCH version 9 got error 14"),
        ("the member stopped at 500", "the member was assigned no partition"),
        ("offset 1 was lost", "offset 1 was lost twice"),
    ],
)
def test_another_cause_is_another_finding(different: tuple[str, str]) -> None:
    first, second = (shape(cause) for cause in different)
    assert first != second


def test_an_identity_has_check_kind_cause_client_scenario_parameters_and_plan() -> None:
    same = {"client": "java", "scenario": "s", "parameters": "{}"}
    names = [
        identity("reset", "k", "c", **same),
        identity("lost_record", "k", "c", **same),
        identity("reset", "other", "c", **same),
        identity("reset", "k", "other", **same),
        identity("reset", "k", "c", **same | {"client": "librdkafka"}),
        identity("reset", "k", "c", client=None, scenario="s", parameters="{}"),
        identity("reset", "k", "c", **same | {"scenario": "t"}),
        identity("reset", "k", "c", **same | {"parameters": '{"recipe": "pause"}'}),
        identity("reset", "k", "c", **same, plan="1234"),
    ]
    assert len(set(names)) == len(names)
    assert identity("reset", "k", "c", **same) == names[0]


# The rules, against all orders of few runs.


def _orders(seen: Sequence[bool]) -> list[tuple[bool, ...]]:
    chosen = itertools.combinations(range(len(seen)), sum(seen))
    return [tuple(at in places for at in range(len(seen))) for places in chosen]


def _tails(seen: Sequence[bool]) -> Fraction:
    """The smallest hypergeometric tail of any number of last runs, by counting."""
    of, events = len(seen), sum(seen)
    found = []
    for last in range(1, of + 1):
        among = sum(seen[-last:])
        ways = sum(
            math.comb(last, count) * math.comb(of - last, events - count)
            for count in range(among, min(last, events) + 1)
        )
        found.append(Fraction(ways, math.comb(of, events)))
    return min(found)


RUNS = st.lists(st.booleans(), min_size=1, max_size=9)


@given(RUNS)
def test_a_rise_is_the_share_of_orders_that_look_as_risen(seen: list[bool]) -> None:
    orders, here = _orders(seen), _tails(seen)
    expected = sum(_tails(order) <= here for order in orders) / len(orders)
    found = rules.rose(seen)
    assert found.p == pytest.approx(expected)
    assert found.smallest == pytest.approx(min(rules.rose(order).p for order in orders))


@given(RUNS)
def test_an_end_is_the_share_of_orders_with_as_long_an_absence(after: list[bool]) -> None:
    def absence(order: Sequence[bool]) -> int:
        return next((at for at, is_seen in enumerate(reversed(order)) if is_seen), len(order))

    orders, here = _orders(after), absence(after)
    expected = sum(absence(order) >= here for order in orders) / len(orders)
    assert rules.ended([False, True, *after]).p == pytest.approx(expected)


def test_what_was_seen_once_has_not_ended_however_long_ago() -> None:
    assert rules.ended([True, *(False,) * 50]).p == 1


@given(st.lists(st.integers(0, 3), min_size=6, max_size=8))
def test_a_trend_is_the_share_of_choices_with_as_high_or_low_ranks(values: list[int]) -> None:
    def rank_sum(chosen: Sequence[int]) -> float:
        ranks = {
            value: sum(other < value for other in values) + values.count(value) / 2
            for value in values
        }
        return sum(ranks[values[at]] for at in chosen)

    last = rules.LASTS[0]
    sums = [rank_sum(chosen) for chosen in itertools.combinations(range(len(values)), last)]
    here = rank_sum(range(len(values) - last, len(values)))
    lower = sum(total <= here for total in sums) / len(sums)
    upper = sum(total >= here for total in sums) / len(sums)
    assert rules.moved(values).test.p == pytest.approx(min(1, 2 * min(lower, upper)))


def test_tests_that_can_find_nothing_cost_the_others_nothing() -> None:
    steady = [rules.rose([False] * 20)] * 99
    assert rules.bound([*steady, rules.rose([False] * 18 + [True] * 2)]) == rules.ALPHA
    assert rules.bound([]) == rules.ALPHA
    able = [rules.rose([False] * 18 + [True] * 2)] * 10
    assert rules.bound(able) == rules.ALPHA / 10


def test_further_runs_that_decide_are_counted() -> None:
    seen = [False] * 14 + [True]
    more = rules.more_runs(seen, at_most=0.01)
    assert more is not None
    assert rules.rose([*seen, *(True,) * more]).p <= 0.01
    assert rules.rose([*seen, *(True,) * (more - 1)]).p > 0.01


# States over nights.

NIGHTS = 12


NOTHING = Known(None)
ALWAYS = Lane("s")


def morning_of(
    *planted: Planted, nights: int = NIGHTS, known: Known = NOTHING, lane: Lane = ALWAYS
) -> Morning:
    """What the morning after some nights says; the other scenario never fails."""
    drawn = Nights([lane, Lane("quiet")], planted, count=nights, undecided=0)
    history = Asked(rows_of(drawn, 7)).until(name_of(nights - 1))
    return morning(history, known, today=day_of(nights - 1))


def state_of(*planted: Planted, **given: object) -> TrackedFinding:
    (found,) = morning_of(*planted, **given).findings  # type: ignore[arg-type]
    return found


def scenario_of(found: Morning, name: str = "s") -> ScenarioHistory:
    (scenario,) = [each for each in found.scenarios if each.scenario == name]
    return scenario


def in_nights(*nights: int) -> Planted:
    """A finding in all runs of these nights."""
    return Planted("s", lambda night: float(night in nights))


def of_earlier_releases(rows: Iterable[Row], *, until: str) -> Iterator[Row]:
    """Rows whose runs name a file of their own night, before a night."""
    for row in rows:
        given = {"coverage": f"/nightly/{row['night']}/coverage.json"}
        yield row | ({"parameters": json.dumps(given)} if row["night"] < until else {})


def test_a_run_that_names_a_file_of_its_night_is_the_same_one_in_each_night() -> None:
    drawn = Nights([ALWAYS, Lane("quiet")], [in_nights(3, 6, 11)], count=NIGHTS, undecided=0)
    rows = list(of_earlier_releases(rows_of(drawn, 7), until=name_of(8)))
    assert len({row["parameters"] for row in rows}) == 9
    history = Asked(rows).until(name_of(NIGHTS - 1))
    assert morning(history, NOTHING, today=day_of(NIGHTS - 1)) == morning_of(in_nights(3, 6, 11))


def test_the_subject_of_a_row_is_what_was_done() -> None:
    assert subject_of('{"coverage": "/a", "cut": "in"}') == '{"cut": "in"}'
    assert subject_of('{"cut":"in"}') == '{"cut":"in"}'
    assert subject_of(None) is None


def test_what_the_last_night_has_first_is_new() -> None:
    found = state_of(in_nights(11))
    assert (found.state, found.before) == (FindingState.NEW, None)
    assert found.why == "1 of 1 run of this night"
    assert [sighting.run for sighting in found.sightings] == ["runs/s-4.4.0-0/S/test/0"]
    assert found.cause == "the member stopped at #; the log ends at #"


def test_what_each_run_since_has_is_open() -> None:
    found = state_of(in_nights(9, 10, 11))
    assert (found.state, found.before) == (FindingState.OPEN, FindingState.OPEN)
    assert (found.seen, found.runs, found.first_night) == (3, 3, name_of(9))


def test_what_some_runs_have_is_flaky_also_in_a_night_without_it() -> None:
    assert state_of(in_nights(3, 6, 11)).state is FindingState.FLAKY
    absent = state_of(in_nights(3, 6, 9))
    assert absent.state is FindingState.FLAKY
    assert "not in this night, which may be chance; " in absent.why


def test_what_is_absent_for_longer_than_chance_is_fixed() -> None:
    found = state_of(in_nights(2, 3, 4, 5, 6))
    assert found.state is FindingState.FIXED
    assert found.why.endswith("not in the last 5 runs")


def test_what_could_not_have_been_seen_is_gone_and_never_fixed() -> None:
    before = in_nights(2, 3, 4, 5, 6)
    for lane in (
        Lane("s", runs=lambda night: night < 7),
        Lane("s", is_judged=lambda night: night < 7),
    ):
        found = state_of(before, lane=lane)
        assert found.state is FindingState.GONE
        assert "no run of this night on 4.4.0 could have shown it" in found.why


def test_a_version_on_which_it_was_never_seen_shows_nothing() -> None:
    drawn = Nights(
        [Lane("s", "3.9.2"), Lane("s", runs=lambda night: night < 7)],
        [in_nights(2, 3, 4, 5, 6)],
        count=NIGHTS,
    )
    history = Asked(rows_of(drawn, 7)).until(name_of(NIGHTS - 1))
    (found,) = morning(history, NOTHING, today=day_of(NIGHTS)).findings
    assert (found.state, found.kafka) == (FindingState.GONE, ["4.4.0"])


def test_later_nights_do_not_count() -> None:
    asked = Asked(rows_of(Nights([Lane("s")], [in_nights(4, 9)], count=NIGHTS), 7))
    found = morning(asked.until(name_of(4)), NOTHING, today=day_of(4))
    assert found.nights[-1] == name_of(4)
    assert [finding.state for finding in found.findings] == [FindingState.NEW]


def test_a_scenario_that_fails_at_the_end_regressed_once_that_is_no_chance() -> None:
    assert scenario_of(morning_of(in_nights(11), nights=12)).verdict == "undecided"
    assert scenario_of(morning_of(in_nights(10, 11), nights=12)).verdict == "regressed"
    assert scenario_of(morning_of(in_nights(2, 6, 10))).verdict == "flaky"
    assert scenario_of(morning_of(in_nights(*range(12)))).verdict == "steady"
    ended = scenario_of(morning_of(in_nights(2, 3, 4, 5, 6)))
    assert (ended.verdict, ended.why) == ("steady", "5 of 12 runs failed; none of the last 5 runs")
    assert scenario_of(morning_of(in_nights(11)), "quiet").verdict == "steady"
    assert scenario_of(morning_of(in_nights(), nights=2)).verdict == "undecided"


def test_an_undecided_scenario_says_how_many_runs_would_decide() -> None:
    found = scenario_of(morning_of(in_nights(11), nights=12))
    assert found.more_runs == 1
    assert found.why == (
        "1 of 12 runs failed: too few to decide; 1 more that fails would show a regression"
    )


def test_cells_say_what_each_night_came_to() -> None:
    cells = scenario_of(morning_of(in_nights(4, 5))).cells
    assert [cells[name_of(night)] for night in (3, 4, 5, 6)] == [
        "expected",
        "new",
        "failed",
        "expected",
    ]


def test_a_trend_that_is_larger_than_noise_is_marked() -> None:
    slower = Lane("s", waits=lambda night: 9.0 if night >= 20 else 2.0)
    drawn = Nights([slower, Lane("quiet")], count=25)
    history = Asked(rows_of(drawn, 7)).until(name_of(24))
    found = morning(history, NOTHING, today=day_of(24))
    marked = [trend for trend in found.trends if trend.change == "larger"]
    assert [(trend.measure, trend.scenario, trend.client) for trend in marked] == [
        ("longest wait of fetches, s", "s", "java")
    ]
    assert marked[0].before < 4 < marked[0].last
    few = morning(Asked(rows_of(drawn, 7)).until(name_of(4)), NOTHING, today=day_of(4))
    assert {trend.change for trend in few.trends} == {"undecided"}


@pytest.mark.spark
@pytest.mark.extended
@pytest.mark.usefixtures("spark")
def test_spark_reads_from_a_store_what_duckdb_does(tmp_path: Path) -> None:
    drawn = Nights([Lane("s"), Lane("t", "3.9.2")], [in_nights(2, 3)], count=5)
    rows = list(of_earlier_releases(rows_of(drawn, 7), until=name_of(3)))
    write_rows(rows, tmp_path)
    night = name_of(4)
    found = history_of(str(tmp_path), night=night, suite=SUITE, cluster=CLUSTER)
    assert found == Asked(rows).until(night)
    assert found.chances
    other = history_of(str(tmp_path), night=night, suite="other", cluster=CLUSTER)
    assert other.nights == []


def test_planted_changes_are_right_after_30_nights() -> None:
    found = planted_history(1)
    assert [name for name, right in found.items() if not all(right.values())] == []
    assert len(found) == len(KINDS)


def test_a_history_without_a_change_has_no_mark() -> None:
    assert set(steady_history(1)) == set(MARKS)
    assert not any(steady_history(1).values())


# known.yml.


def known_finding(**fields: object) -> KnownFinding:
    values: dict[str, object] = {
        "check": "stuck_consumer",
        "reason": "it is slow",
        "link": "KAFKA-1",
        "expires": date(2027, 1, 1),
    }
    return KnownFinding(**values | fields)  # type: ignore[arg-type]


def entries(*given: KnownFinding) -> Known:
    return Known(Path("known.yml"), given)


def test_a_known_finding_has_its_reason_and_may_be_worse() -> None:
    steady = state_of(in_nights(2, 5, 8, 11), known=entries(known_finding()))
    assert (steady.state, steady.reason, steady.is_worse) == ("known", "it is slow", False)
    worse = state_of(in_nights(2, *range(8, 12)), known=entries(known_finding(client="librdkafka")))
    assert (worse.state, worse.is_worse) == ("known", True)


@pytest.mark.parametrize(
    "fields",
    [
        {"check": "reset"},
        {"client": "java"},
        {"kind": "other"},
        {"scenario": "other"},
        {"finding": "0000000000"},
    ],
)
def test_an_entry_about_something_else_has_no_effect_and_is_told(fields: dict[str, str]) -> None:
    found = morning_of(in_nights(11), known=entries(known_finding(**fields)))
    assert [finding.state for finding in found.findings] == [FindingState.NEW]
    (note,) = found.notes
    assert note.endswith("no night has such a finding")


def test_an_expired_entry_has_no_effect_and_is_told() -> None:
    found = morning_of(in_nights(11), known=entries(known_finding(expires=day_of(NIGHTS - 2))))
    assert [finding.state for finding in found.findings] == [FindingState.NEW]
    assert found.notes == ["stuck_consumer: expired on 2026-01-11: its findings count again"]
    last_day = morning_of(in_nights(11), known=entries(known_finding(expires=day_of(NIGHTS - 1))))
    assert [finding.state for finding in last_day.findings] == [FindingState.KNOWN]


def test_an_entry_of_what_is_fixed_can_be_removed() -> None:
    found = morning_of(in_nights(2, 3, 4, 5, 6), known=entries(known_finding()))
    assert [finding.state for finding in found.findings] == [FindingState.FIXED]
    assert found.notes == ["stuck_consumer: fixed: the entry can be removed"]


VALID = "{check: reset, reason: r, link: l, expires: 2027-01-31}"


def test_known_findings_are_read_from_beside_the_results(tmp_path: Path) -> None:
    assert known_beside(tmp_path / "results") == Known(None)
    (tmp_path / "known.yml").write_text(f"- {VALID}\n")
    (entry,) = known_beside(tmp_path / "results").entries
    assert entry.expires == date(2027, 1, 31)
    (tmp_path / "known.yml").write_text("# nothing is known\n")
    assert known_beside(tmp_path / "results").entries == ()


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("- {check: rest, reason: r, link: l, expires: 2027-01-31}", "the nearest is reset"),
        ("- {check: reset, link: l, expires: 2027-01-31}", "missing required field `reason`"),
        ("- {check: reset, reason: r, expires: 2027-01-31}", "missing required field `link`"),
        (
            "- {check: reset, reason: ' ', link: l, expires: 2027-01-31}",
            "; say why it is known",
        ),
        ("- {check: reset, reason: r, link: l, expires: 31.01.2027}", "such as 2027-01-31"),
        ("- {check: reset, reason: r, link: l, expires: 2027-13-01}", "such as 2027-01-31"),
        ("- {check: reset, reason: r, link: l}", "missing required field `expires`"),
        (
            f"- {VALID}\n- {VALID[:-1]}, clients: java}}",
            ":2: `[1]`: it contains unknown field",
        ),
        ("check: reset", "each entry begins with"),
        ("- [", "is not YAML"),
    ],
)
def test_a_mistake_in_known_yml_is_named(tmp_path: Path, text: str, hint: str) -> None:
    file = tmp_path / "known.yml"
    file.write_text(text)
    with pytest.raises(UsageError) as reported:
        read_known(file)
    assert str(file) in str(reported.value)
    assert hint in str(reported.value)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can't be read: No such file"):
        read_known(tmp_path / "none.yml")
