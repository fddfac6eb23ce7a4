"""The timeline on its page: what is shown at first, its limits, its texts, and the browser."""

from pathlib import Path

import msgspec
import pytest
from browser import look, needs_chromium
from pages_of import PERMITTED, finding, run_folder, sent, with_tables
from timeline_rows import (
    HERE,
    SECOND,
    TABLES,
    Row,
    data,
    fault,
    lanes,
    lead,
    made,
    poll,
    sample,
    stored,
    verdict,
)

from analysis.report.log_tree import log_trees
from analysis.report.plotly_script import script_tag, shared_script
from analysis.report.run_facts import RunFacts
from analysis.report.timeline import timeline
from analysis.report.timeline.fragment import POINTS_MAX, SUBJECTS_MAX, select
from analysis.report.timeline.source import Source
from contract.run_folder import RunFolder, TopicPlan
from contract.tables import TABLES as CONTRACT
from contract.verdicts import Finding


def test_partitions_and_groups_of_findings_are_shown_and_others_by_a_click(tmp_path: Path) -> None:
    other = [lead(1, 0, 1, [1, 2]) | {"topic": "other"}]
    both = [*TABLES["polls"], poll(0, 9, 3, group="librdkafka.g")]
    folder = made(tmp_path, leaderships=[*TABLES["leaderships"], *other], polls=both)
    found = finding(topic="other", partition=0, group="librdkafka.g")
    chosen = select(Source(RunFacts(folder), verdict(found))).choices
    assert chosen == {
        "partitions": [("other-0", "partition other-0", True), ("t-0", "partition t-0", False)],
        "groups": [
            ("librdkafka.g", "group librdkafka.g", True),
            ("java.g", "group java.g", False),
        ],
    }


def test_texts_of_a_run_are_escaped_twice(tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    group = [poll(0, 9, 3, group=evil)]
    folder = made(
        tmp_path,
        polls=group,
        faults=[fault(10, 12, 18, 20, name=evil)],
        sends=[sent(0, 9, producer=evil)],
        committed_offsets=[stored(10, 0, 4, group=evil)],
    )
    html = timeline(RunFacts(folder), verdict(finding(group=evil, cause=evil)))
    assert "<img" not in html
    assert html.count("</script>") == 2
    names = [lane["title"] for lane in data(folder, finding(group=evil))["lanes"]]
    assert any("&lt;/script&gt;" in name for name in names)


def test_a_long_run_has_no_more_points_than_can_be_drawn(tmp_path: Path) -> None:
    folder = _with_partitions(tmp_path, 80)
    rows = [
        (number, step, {"topic": "t", "partition": number})
        for number in range(80)
        for step in range(100)
    ]
    with_tables(
        folder,
        leaderships=[lead(1 + step % 2, step, step, [1, 2]) | at for _, step, at in rows],
        sends=[sent(step, step, answered_micros=step * SECOND) | at for _, step, at in rows],
        polls=[poll(step, step, step) | at for _, step, at in rows],
        committed_offsets=[stored(step, step, step) | at for _, step, at in rows],
    )
    last = finding(partition=79)
    chosen = select(Source(RunFacts(folder), verdict(last)))
    assert chosen.drawn <= POINTS_MAX
    assert len(chosen.choices["partitions"]) == SUBJECTS_MAX
    assert chosen.choices["partitions"][0] == ("t-79", "partition t-79", True)
    assert chosen.notes == ["The timeline has 60 of 80 partitions, those of findings first."]
    assert len(timeline(RunFacts(folder), verdict(last))) < 1_000_000


def test_lines_of_many_busy_partitions_leave_points_for_all_of_them_and_for_groups(
    tmp_path: Path,
) -> None:
    chosen = select(Source(RunFacts(_busy(tmp_path)), verdict(finding(group="java.g"))))
    offsets = [lane for lane in chosen.lanes if lane.title.endswith(": offsets")]
    assert {len(lane.marks) for lane in offsets} == {5}
    assert max(len(one["x"]) for lane in offsets for one in lane.marks) <= 13
    assert len(chosen.choices["partitions"]) == SUBJECTS_MAX
    assert chosen.choices["groups"] == [("java.g", "group java.g", True)]
    assert chosen.notes == []


def test_what_has_no_points_left_is_counted_and_leaves_those_of_groups(tmp_path: Path) -> None:
    folder = _busy(
        tmp_path,
        truncations=[
            {"topic": "t", "partition": number, "broker": 1, "to_offset": 7, "at_micros": SECOND}
            for number in range(SUBJECTS_MAX)
            for _ in range(64)
        ],
        leaderships=[
            lead(1 + step % 2, step, step, [1, 2]) | {"partition": number}
            for number in range(SUBJECTS_MAX)
            for step in range(100)
        ],
    )
    found = [finding(partition=number) for number in range(20)]
    chosen = select(Source(RunFacts(folder), verdict(*found, finding(group="java.g"))))
    drawn = len(chosen.choices["partitions"])
    assert 4 < drawn < SUBJECTS_MAX
    assert f"The timeline has {drawn} of 60 partitions, those of findings first." in chosen.notes
    assert chosen.choices["groups"] == [("java.g", "group java.g", True)]
    assert chosen.drawn <= POINTS_MAX


def _with_partitions(path: Path, partitions: int) -> RunFolder:
    topic = TopicPlan(
        topic="t", partitions=partitions, replication=2, min_insync=1, unclean_election=False
    )
    folder = run_folder(path)
    folder.write_plan(msgspec.structs.replace(folder.plan(), topics=[topic]))
    return folder


def _busy(path: Path, **more: list[Row]) -> RunFolder:
    """As many partitions as have lanes, each with five lines of 64 points."""
    rows = [
        (2 * step, {"topic": "t", "partition": number})
        for number in range(SUBJECTS_MAX)
        for step in range(70)
    ]
    sends = [
        sent(step + second, step + second, acks=acks, answered_micros=step * SECOND) | at
        for step, at in rows
        for second, acks in enumerate(("all", "1"))
    ]
    samples = [
        sample(step + 1, step, broker=broker, start=step) | at
        for step, at in rows
        for broker in (1, 2)
    ]
    polls = [poll(step, step, step) | at for step, at in rows]
    folder = _with_partitions(path, SUBJECTS_MAX)
    others: dict[str, list[Row]] = {name: [] for name in CONTRACT}
    return with_tables(
        folder, **others | {"sends": sends, "samples": samples, "polls": polls} | more
    )


@pytest.mark.parametrize("value", [None, -(2**60), 2**60])
def test_no_damaged_value_ends_the_analysis(tmp_path: Path, value: int | None) -> None:
    cut = {**HERE, "broker": 1, "to_offset": 7, "at_micros": 15 * SECOND}
    batch = {**HERE, "broker": 1, "base_offset": 7, "last_offset": 9, "leader_epoch": 0}
    start = {**HERE, "broker": 1, "leader_epoch": 0, "start_offset": 0}
    reset = {**HERE, "group": "java.g", "member": "java.g#1", "at_micros": SECOND}
    elected = {"server": 1, "leader": 1, "metadata_epoch": 1, "at_micros": SECOND}
    state = {"broker": 1, "is_fenced": False, "in_controlled_shutdown": False}
    more: dict[str, list[Row]] = {
        "truncations": [cut],
        "cut_batches": [batch],
        "epoch_checkpoints": [start],
        "log_starts": [{**HERE, "broker": 1, "log_start_offset": 0, "log_end_offset": 7}],
        "log_start_changes": [{**HERE, "log_start_offset": 1, "at_micros": SECOND}],
        "resets": [reset],
        "metadata_batches": [elected],
        "broker_states": [state | {"metadata_offset": 1, "at_micros": SECOND}],
    }
    tables = TABLES | more
    damaged = {name: [*rows, *_damaged(name, rows[0], value)] for name, rows in tables.items()}
    folder = made(tmp_path, **damaged)
    found = finding(group="java.g", at=None)
    facts = RunFacts(folder)
    assert facts.trace.unreadable
    assert "<svg" not in timeline(facts, verdict(found))
    assert log_trees(facts, verdict(found)) == []


def test_a_run_with_many_findings_draws_the_grave_ones(tmp_path: Path) -> None:
    many = [finding(f"check_{number}", verdict=PERMITTED, at=SECOND) for number in range(1_100)]
    lane = next(iter(lanes(made(tmp_path), *many, finding("lost_record", at=SECOND)).values()))
    assert lane["title"] == "findings (101 more are not shown)"
    assert lane["rows"] == ["lost_record", "permitted"]


def _damaged(table: str, row: Row, value: int | None) -> list[Row]:
    """The row once for each column, with that value in it if it can have it."""
    fields = [
        one for one in CONTRACT[table] if value is None or str(one.type) in ("int64", "int32")
    ]
    values = {
        one.name: max(min(value, 2**31 - 1), -(2**31))
        if value is not None and str(one.type) == "int32"
        else value
        for one in fields
    }
    return [row | {name: one} for name, one in values.items()]


PAGE = "<!doctype html><html><head>{script}</head><body>{figure}{story}</body></html>"
LINK = '<a href="#timeline" data-timeline-at="4" data-timeline-show="x&#10;group java.g">see</a>'
STORY = '<details id="finding-lost_record-1"><summary>its story</summary></details>'
DRAWN = """
  const plot = document.querySelector(".fp-plot");
  while (!plot.calcdata) await pause();
  const titles = () => plot.layout.annotations.map((one) => one.text.match(/<b>(.*?)<\\/b>/)[1]);
  const before = titles();
  const box = document.querySelector('input[value="group java.g"]');
  box.click();
  await pause();
  const link = document.querySelector(".fp-plot .scatterlayer .point");
  const at = link.getBoundingClientRect();
  const found = plot.data.findIndex((one) => one.customdata && one.customdata[0]);
  plot.emit("plotly_click", { points: [{ customdata: plot.data[found].customdata[0] }] });
  const hash = location.hash, after = titles();
  box.click();
  document.querySelector("a").click();
  await pause();
  const focused = { titles: titles(), range: plot.layout.xaxis.range };
  return { before, after, is_drawn: at.width > 0, hash, focused };
"""


KEYS = """
  const plot = document.querySelector(".fp-plot"), at = document.querySelector(".fp-at");
  while (!plot.calcdata) await pause();
  plot.focus();
  const press = async (key) => {
    plot.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    await pause();
    return at.textContent;
  };
  const is_focused = document.activeElement === plot;
  const range = () => plot.layout.xaxis.range[1] - plot.layout.xaxis.range[0];
  const first = await press("ArrowRight"), again = await press("Home");
  await press("Enter");
  const hash = location.hash, whole = range();
  const below = await press("ArrowDown"), last = await press("End"), up = await press("ArrowUp");
  const hovered = document.querySelectorAll(".hoverlayer text").length;
  await press("+");
  const zoomed = range();
  await press("Escape");
  const shares = [zoomed / whole, range() / whole];
  return { is_focused, first, again, hash, below, last, up, hovered, shares };
"""
REPORTED = """
  const plot = document.querySelector(".fp-plot");
  while (!plot.textContent) await pause();
  return plot.textContent;
"""


def written(folder: RunFolder, *findings: Finding) -> Path:
    page = folder.report / "index.html"
    script = script_tag(page, shared_script(folder))
    figure = timeline(RunFacts(folder), verdict(*findings))
    page.write_text(PAGE.format(script=script, figure=figure, story=STORY + LINK))
    return page


@needs_chromium
@pytest.mark.extended
def test_the_page_draws_the_lanes_and_a_click_adds_others(tmp_path: Path) -> None:
    both = [*TABLES["polls"], poll(0, 9, 3, group="librdkafka.g")]
    folder = made(tmp_path, polls=both)
    lost = finding("lost_record", group="librdkafka.g", at=13 * SECOND)
    seen = look(written(folder, lost), DRAWN, width=390)
    assert seen.console == []
    assert "error" not in seen.result
    added = [one for one in seen.result["after"] if one not in seen.result["before"]]
    assert [one.split(":")[0] for one in added] == ["java.g on t-0", "java.g"]
    assert seen.result["is_drawn"]
    assert seen.result["hash"] == "#finding-lost_record-1"
    focused = seen.result["focused"]
    assert focused["titles"] == seen.result["after"]
    assert sum(focused["range"]) / 2 == pytest.approx(4)
    assert focused["range"][1] - focused["range"][0] < 10


@needs_chromium
@pytest.mark.extended
def test_the_timeline_is_read_by_keyboard(tmp_path: Path) -> None:
    lost = finding("lost_record", at=13 * SECOND)
    seen = look(written(made(tmp_path), lost), KEYS)
    assert seen.console == []
    keys = seen.result
    assert "error" not in keys, keys
    assert keys["is_focused"]
    assert keys["first"] == keys["again"]
    assert "Enter opens the events behind it" in keys["first"]
    assert keys["hash"] == "#finding-lost_record-1"
    assert len({keys["first"], keys["below"], keys["last"], keys["up"]}) == 4
    assert keys["hovered"]
    assert keys["shares"] == [pytest.approx(0.5), pytest.approx(1)]


@needs_chromium
@pytest.mark.extended
def test_a_page_without_its_script_says_what_is_missing(tmp_path: Path) -> None:
    folder = made(tmp_path)
    page = written(folder)
    shared_script(folder).unlink()
    seen = look(page, REPORTED)
    assert "fencepost open --standalone" in seen.result
