"""The timeline and the trees of logs, as a browser draws them."""

import re
from pathlib import Path

import pytest
from browser import look, needs_chromium
from pages_of import finding
from test_pictures import LOGS, SECOND, TABLES, poll, resume_here, starts, verdict, write_run

from analysis.report.page import write_report
from analysis.report.plotly_script import shared_script
from analysis.report.run_facts import RunFacts
from contract.run_folder import RunFolder
from contract.verdicts import Finding, Resumption

pytestmark = [needs_chromium, pytest.mark.extended]

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
  document.querySelector("[data-timeline-at]").click();
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
TREE = """
  const svg = document.querySelector(".fp-log svg");
  const named = svg.getAttribute("aria-labelledby").split(" ");
  const texts = [...svg.querySelectorAll("text")];
  const edge = ({ x, width }) => (x < 0 ? x : x + width);
  const beyond = texts.filter((one) => edge(one.getBBox()) < 0 || edge(one.getBBox()) > 961);
  return {
    named: named.map((id) => document.getElementById(id).textContent.slice(0, 40)),
    texts: texts.map((one) => one.textContent), beyond: beyond.map((one) => one.textContent),
    titles: [...svg.querySelectorAll("g title")].map((one) => one.textContent),
    boxes: [...svg.querySelectorAll(".fp-box rect")].map((one) => one.width.baseVal.value),
  };
"""


def write_page(
    folder: RunFolder, *findings: Finding, resumption: tuple[Resumption, ...] = ()
) -> Path:
    write_report(RunFacts(folder), verdict(*findings, resumption=resumption))
    return folder.report / "index.html"


def test_the_page_draws_the_lanes_and_a_click_adds_others(tmp_path: Path) -> None:
    both = [*TABLES["polls"], poll(0, 9, 3, group="librdkafka.g")]
    lost = finding("lost_record", group="librdkafka.g", at=13 * SECOND)
    seen = look(write_page(write_run(tmp_path, polls=both), lost), DRAWN, width=390)
    assert seen.console == []
    assert "error" not in seen.result
    added = [title for title in seen.result["after"] if title not in seen.result["before"]]
    assert [title.split(":")[0] for title in added] == ["java.g on t-0", "java.g"]
    assert seen.result["is_drawn"]
    assert seen.result["hash"] == "#finding-lost_record-1"
    focused = seen.result["focused"]
    assert sum(focused["range"]) / 2 == pytest.approx(3)
    assert focused["range"][1] - focused["range"][0] < 10


def test_the_timeline_is_read_by_keyboard(tmp_path: Path) -> None:
    seen = look(write_page(write_run(tmp_path), finding("lost_record", at=13 * SECOND)), KEYS)
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


def test_a_page_without_its_script_says_what_is_missing(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    page = write_page(folder)
    shared_script(folder).unlink()
    assert "fencepost open --standalone" in look(page, REPORTED).result


def test_the_tree_is_drawn_with_its_words(tmp_path: Path) -> None:
    epochs = {"e0": 0, "e1": 50, **{f"e{3 + number}": 100 + 10 * number for number in range(25)}}
    folder = write_run(tmp_path, LOGS, epoch_checkpoints=starts(2, **epochs))
    lost = resume_here(resumed_at=200, never_delivered=100)
    seen = look(write_page(folder, resumption=(lost, resume_here("b", committed_offset=340))), TREE)
    assert seen.console == []
    drawn = seen.result
    assert drawn["named"][0] == "The log of t-0 as a tree of epochs"
    assert drawn["beyond"] == []
    assert {"t-0", "0", "100", "200", "350", "epoch 1", "broker 1 led"} <= set(drawn["texts"])
    assert any(re.match(r"epochs \d+ to \d+", title) for title in drawn["titles"]), "joined"
    assert len(drawn["boxes"]) < 20
    assert min(drawn["boxes"]) > 10
