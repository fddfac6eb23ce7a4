"""The lanes of a timeline are computed from tables: a changed table changes them."""

from math import sin
from pathlib import Path
from typing import Any

import pytest
from pages_of import PERMITTED, finding, run_folder, sent, with_tables
from timeline_rows import (
    HERE,
    SECOND,
    TABLES,
    Row,
    data,
    event,
    fault,
    key_of,
    lanes,
    made,
    mark,
    poll,
    sample,
    spans,
    stored,
    verdict,
)

from analysis.report.run_facts import RunFacts
from analysis.report.timeline import timeline

# A member resets its position, and fails.
LEFT_BEHIND: dict[str, list[Row]] = {
    "resets": [
        {
            **HERE,
            "group": "java.g",
            "member": "java.g#1",
            "cause": "truncation",
            "policy": "none",
            "from_offset": 20,
            "to_offset": 7,
            "at_micros": 16 * SECOND,
        }
    ],
    "group_events": [
        *TABLES["group_events"],
        event("failed", 17, **HERE, exception="LogTruncationException", message="at 7"),
    ],
}


def test_each_lane_that_has_something_is_there(tmp_path: Path) -> None:
    assert list(lanes(made(tmp_path))) == [
        "phases",
        "faults",
        "producers: acknowledged records per second",
        "producers: latency by acks, in ms",
        "t-0: leader and replicas",
        "t-0: offsets",
        "java.g on t-0: position",
        "java.g: members",
    ]


def test_a_note_is_a_point_at_its_time(tmp_path: Path) -> None:
    note = {"text": "the cache is cold", "at_micros": 12 * SECOND}
    points = mark(lanes(made(tmp_path, notes=[note]))["notes"], kind="points")
    assert (points["x"], points["hover"]) == ([2.0], ["the cache is cold"])


def test_lanes_without_rows_are_left_out(tmp_path: Path) -> None:
    folder = with_tables(run_folder(tmp_path), phases=TABLES["phases"])
    assert list(lanes(folder)) == ["phases"]


def test_a_run_without_tables_has_no_timeline(tmp_path: Path) -> None:
    assert timeline(RunFacts(run_folder(tmp_path)), verdict()) == ""


def test_a_table_of_an_earlier_release_counts_as_missing(tmp_path: Path) -> None:
    folder = made(tmp_path)
    (folder.tables / "sends.parquet").write_bytes(b"no Parquet")
    assert "producers: latency by acks, in ms" not in lanes(folder)


@pytest.mark.parametrize(
    ("missing", "gone"),
    [
        (
            "sends",
            {
                ("producers: acknowledged records per second", "p"),
                ("producers: latency by acks, in ms", "acks=all, median"),
                ("producers: latency by acks, in ms", "acks=all, p99"),
                ("t-0: offsets", "acknowledged, acks=all"),
            },
        ),
        ("polls", {("java.g on t-0: position", "position")}),
    ],
)
def test_a_missing_table_takes_from_lanes_only_what_it_has(
    tmp_path: Path, missing: str, gone: set[tuple[str, str]]
) -> None:
    folder = made(tmp_path, **LEFT_BEHIND)

    def shown() -> set[tuple[str, str]]:
        of_lane = {name: lane["marks"] for name, lane in lanes(folder).items()}
        return {
            (name, one.get("name") or f"{len(one['x'])} {one['kind']}")
            for name, marks in of_lane.items()
            for one in marks
        }

    whole = shown()
    (folder.tables / f"{missing}.parquet").unlink()
    assert whole - shown() == gone


@pytest.mark.parametrize(
    ("times", "whole", "proved"),
    [
        ((1, 3, 5, 6), [(0, 5)], [(2, 4)]),
        ((1, None, 5, 6), [(0, 5)], []),
        ((1, 3, None, None), [(0, 29)], [(2, 29)]),
        ((1, None, None, 6), [(0, 5)], []),
    ],
)
def test_a_fault_is_shown_from_its_injection_and_its_effect_from_the_proof(
    tmp_path: Path, times: tuple[int | None, ...], whole: list[Any], proved: list[Any]
) -> None:
    lane = lanes(made(tmp_path, faults=[fault(*times)]))["faults"]
    assert lane["rows"] == ["kill leader:orders-0 (broker 1)"]
    assert spans(mark(lane, thickness=0.72)) == whole
    assert [spans(one) for one in lane["marks"] if one.get("thickness") == 0.4] == [proved] * bool(
        proved
    )
    assert [one["x"] for one in lane["marks"] if one["kind"] == "points"] == [
        [begin] for begin, _ in proved
    ]


def test_times_count_from_the_first_fault_and_else_from_the_start(tmp_path: Path) -> None:
    with_fault = data(made(tmp_path / "a", faults=[fault(14, 15, 16, 17), fault(10, 12, 18, 20)]))
    without = data(made(tmp_path / "b", faults=[]))
    assert (with_fault["zero_ms"], without["zero_ms"]) == (10_000, 0)
    assert with_fault["axis"] == "seconds since the injection of the first fault"
    assert without["axis"] == "seconds since the start of the run"
    assert with_fault["bands"] == [[2, 8]]
    assert without["bands"] == []


def test_replicas_show_who_led_and_who_was_in_sync(tmp_path: Path) -> None:
    lane = lanes(made(tmp_path))["t-0: leader and replicas"]
    bars = mark(lane, kind="bars")
    colors = dict(lane["keys"])
    assert list(zip(bars["y"], bars["color"], bars["x"], strict=True)) == [
        (0, colors["leader"], -9),
        (1, colors["in the ISR"], -9),
        (0, colors["eligible (ELR)"], 1),
        (1, colors["leader"], 1),
    ]
    assert bars["label"] == ["epoch 0", "", "", "epoch 1"]
    assert "ISR [2], ELR [1]" in bars["hover"][2]


def test_a_truncation_is_a_mark_of_its_replica_and_of_the_log(tmp_path: Path) -> None:
    cut = {**HERE, "broker": 2, "to_offset": 7, "at_micros": 15 * SECOND}
    shown = lanes(made(tmp_path, truncations=[cut]))
    assert mark(shown["t-0: leader and replicas"], kind="points")["y"] == [1]
    in_log = mark(shown["t-0: offsets"], kind="points")
    assert (in_log["x"], in_log["y"]) == ([5], [7])
    assert in_log["hover"] == ["broker 2 truncates its log to offset 7"]


def test_offsets_have_a_line_for_each_leader_and_for_acks(tmp_path: Path) -> None:
    folder = made(tmp_path, samples=[sample(10, 5), sample(20, 14, broker=2, start=4)])
    lane = lanes(folder)["t-0: offsets"]
    values = {one["name"]: one["y"] for one in lane["marks"] if one["kind"] == "line"}
    assert values == {
        "acknowledged, acks=all": [10, 20],
        "high watermark of broker 1": [10],
        "high watermark of broker 2": [20],
        "log start": [0, 4],
    }


def test_controllers_are_shown_once_the_quorum_has_had_two_leaders(tmp_path: Path) -> None:
    def elected(leader: int, epoch: int, at: int) -> Row:
        at_micros = at * SECOND
        return {"server": 1, "leader": leader, "metadata_epoch": epoch, "at_micros": at_micros}

    first, second = elected(1, 1, 1), elected(3, 2, 12)
    assert "active controller" not in lanes(made(tmp_path / "a", metadata_batches=[first, first]))
    lane = lanes(made(tmp_path / "b", metadata_batches=[first, second]))["active controller"]
    assert lane["rows"] == ["controller 1", "controller 3"]
    assert spans(mark(lane, kind="bars")) == [(-9, 2), (2, 20)]


def test_brokers_are_shown_while_they_are_fenced_after_they_came_up(tmp_path: Path) -> None:
    def state(at: int, *, fenced: bool) -> Row:
        place = {"metadata_offset": at, "at_micros": at * SECOND}
        return {"broker": 1, "is_fenced": fenced, "in_controlled_shutdown": False, **place}

    up = [state(1, fenced=True), state(2, fenced=False)]
    assert "brokers out of service" not in lanes(made(tmp_path / "a", broker_states=up))
    down = [*up, state(13, fenced=True), state(16, fenced=False)]
    lane = lanes(made(tmp_path / "b", broker_states=down))["brokers out of service"]
    assert spans(mark(lane, kind="bars")) == [(3, 6)]


def test_throughput_counts_the_records_of_ranges(tmp_path: Path) -> None:
    few = made(tmp_path / "a", sends=[sent(0, 9), sent(10, 19, answered_micros=13 * SECOND)])
    many = made(tmp_path / "b", sends=[sent(0, 9), sent(10, 99, answered_micros=13 * SECOND)])
    title = "producers: acknowledged records per second"
    peak = [max(mark(lanes(one)[title], name="p")["y"]) for one in (few, many)]
    assert peak[1] / peak[0] == pytest.approx(9, rel=0.01)


def test_what_was_not_acknowledged_is_marked_with_its_error(tmp_path: Path) -> None:
    lost = sent(20, 24, outcome="failed", error="NotLeader", answered_micros=15 * SECOND)
    silent = sent(25, 25, outcome="unknown", intended_micros=15 * SECOND, answered_micros=None)
    folder = made(tmp_path, sends=[*TABLES["sends"], lost, silent])
    lane = lanes(folder)["producers: acknowledged records per second"]
    assert mark(lane, kind="points")["hover"] == [
        "p: 5 failed, NotLeader<br>p: 1 unknown, no error"
    ]


def test_latency_is_weighted_by_records_and_reported_by_acks(tmp_path: Path) -> None:
    quick = sent(0, 98, intended_micros=5 * SECOND - 10_000, answered_micros=5 * SECOND)
    slow = sent(99, 99, intended_micros=4 * SECOND, answered_micros=5 * SECOND)
    one = sent(100, 100, acks="1", intended_micros=5 * SECOND - 70_000, answered_micros=5 * SECOND)
    lane = lanes(made(tmp_path, sends=[quick, slow, one]))["producers: latency by acks, in ms"]
    values = {line["name"]: line["y"] for line in lane["marks"]}
    assert values["acks=all, median"] == [10]
    assert values["acks=all, p99"] == [10]
    assert values["acks=1, median"] == [70]


def test_a_group_has_its_position_commits_resets_and_exceptions(tmp_path: Path) -> None:
    folder = made(tmp_path, **LEFT_BEHIND)
    lane = lanes(folder)["java.g on t-0: position"]
    assert mark(lane, name="position")["y"] == [10, 20]
    assert mark(lane, name="log end as last seen")["y"] == [10, 20, 20]
    commits = mark(lane, symbol="diamond")
    assert commits["y"] == [10, 20]
    assert commits["hover"][1] == "java.g commits offset 20 with epoch 1"
    assert mark(lane, symbol="triangle-left")["y"] == [7]
    assert mark(lane, symbol="x")["hover"] == ["java.g#1: LogTruncationException<br>at 7"]


def test_commits_are_thinned_but_the_ends_of_each_epoch_stay(tmp_path: Path) -> None:
    commits = [stored(place, place // 700, place) for place in range(1_000)]
    lane = lanes(made(tmp_path, committed_offsets=commits))["java.g on t-0: position"]
    shown = mark(lane, symbol="diamond")
    assert len(shown["x"]) <= 100
    assert {0, 699, 700, 999} <= set(shown["y"])
    assert "one of 1000 commits" in shown["hover"][0]


def test_a_group_of_many_partitions_has_its_lag(tmp_path: Path) -> None:
    partitions = range(3)
    polls = [poll(0, 4, 15) | {"partition": number} for number in partitions]
    ends = [sample(20, 14) | {"partition": number} for number in partitions]
    folder = made(tmp_path, polls=polls, samples=ends, sends=[])
    lane = lanes(folder)["java.g: lag in records over 3 partitions"]
    assert mark(lane, name="lag")["y"][-1] == 3 * 15


def test_a_lag_is_that_of_what_was_delivered_though_more_was_committed(tmp_path: Path) -> None:
    def each(row: Row, partitions: int) -> list[Row]:
        return [row | {"partition": number} for number in range(partitions)]

    commits = [stored(5, 0, 16 + number) | {"partition": number} for number in range(3)]
    folder = made(
        tmp_path,
        polls=each(poll(0, 4, 15), 2),
        committed_offsets=commits,
        samples=each(sample(20, 14), 3),
        sends=[],
    )
    lane = lanes(folder)["java.g: lag in records over 3 partitions"]
    assert mark(lane, name="lag")["y"][-1] == 2 * 15


def test_members_are_shown_with_what_they_own(tmp_path: Path) -> None:
    lane = lanes(made(tmp_path))["java.g: members"]
    assert lane["rows"] == ["#1"]
    assert spans(mark(lane, thickness=0.72)) == [(-8, 7)]
    owned = mark(lane, thickness=0.4)
    assert spans(owned) == [(-7, 6)]
    assert owned["hover"] == ["java.g#1 owns t-0<br>generation 1"]


def test_a_member_owns_nothing_after_it_was_revoked_though_its_clock_steps_back(
    tmp_path: Path,
) -> None:
    events = [
        event("opened", 2),
        event("assigned", 3, **HERE, at_micros=18 * SECOND),
        event("revoked", 4, **HERE, at_micros=16 * SECOND),
        event("closed", 17),
    ]
    lane = lanes(made(tmp_path, group_events=events))["java.g: members"]
    assert [one for one in lane["marks"] if one.get("thickness") == 0.4] == []


def test_findings_are_marks_that_name_their_stories(tmp_path: Path) -> None:
    lost = finding("lost_record", at=13 * SECOND)
    allowed = finding("reset", verdict=PERMITTED, at=99 * SECOND, cause="x")
    lane = next(
        lane for title, lane in lanes(made(tmp_path), lost, allowed).items() if "findings" in title
    )
    assert lane["rows"] == ["lost_record", "permitted"]
    violation = mark(lane, color=key_of(lane, "violation"))
    assert (violation["x"], violation["link"]) == ([3], ["finding-lost_record-1"])
    permitted = mark(lane, color=key_of(lane, "permitted"))
    assert permitted["x"] == [20]  # the end of the axis


@pytest.mark.parametrize(
    ("polls", "at"),
    [
        ([poll(0, 1, 11), poll(4, 9, 13), poll(10, 12, 15)], 13),
        ([poll(0, 9, 11), poll(0, 9, 14), poll(10, 12, 15)], 14),
    ],
    ids=["skipped", "delivered twice"],
)
def test_a_finding_without_a_time_stands_at_a_delivery(
    tmp_path: Path, polls: list[Row], at: int
) -> None:
    folder = made(tmp_path, polls=polls)
    lane = next(iter(lanes(folder, finding("skipped_record", group="java.g", at=None)).values()))
    assert lane["marks"][0]["x"] == [at - 10]


def test_a_long_line_keeps_what_it_looks_like(tmp_path: Path) -> None:
    ends = [1_000 + round(500 * sin(at / 200)) for at in range(4_000)]
    ends[1_721], ends[2_800] = 9_000, 1
    rows = [{**sample(end, 0), "at_micros": at * 7_000} for at, end in enumerate(ends)]
    lane = lanes(made(tmp_path, samples=rows))["t-0: offsets"]
    line = mark(lane, name="high watermark of broker 1")
    assert len(line["x"]) <= 64
    assert (line["x"][0], line["x"][-1]) == (-10, 17.993)
    assert {9_000, 1} <= set(line["y"])
    assert line["x"] == sorted(line["x"])


def test_a_step_line_needs_only_its_changes_and_its_end(tmp_path: Path) -> None:
    rows = [sample(end, at) for at, end in enumerate((1, 1, 1, 5, 5, 5))]
    line = mark(
        lanes(made(tmp_path, samples=rows))["t-0: offsets"], name="high watermark of broker 1"
    )
    assert (line["x"], line["y"]) == ([-10, -7, -5], [1, 5, 5])
