"""Pages open offline from a file: links open stories, tables sort, the keyboard reaches all."""

from pathlib import Path

import pytest
from browser import in_turn, look, needs_chromium
from pages_of import (
    ALL,
    change_verdict,
    everything,
    finding,
    make_send,
    result,
    run_folder,
    verdict_of,
    with_tables,
)

from analysis.report.night_rows import Judged
from analysis.report.page import Pictures, page
from analysis.report.run_facts import RunFacts
from analysis.report.session_page import write_session
from contract.verdicts import RunVerdict

pytestmark = [needs_chromium, pytest.mark.extended]

OPEN_STORIES = """
  const closed = [];
  for (const link of document.querySelectorAll('a[href^="#"]:not(.skip)')) {
    for (const one of document.querySelectorAll("details")) one.open = false;
    link.click();
    await pause();
    const found = document.getElementById(link.hash.slice(1));
    if (!found || !visible(found) || (found.tagName === "DETAILS" && !found.open))
      closed.push(link.hash);
  }
  return { closed, links: document.querySelectorAll('a[href^="#finding-"]').length };
"""
SORT_TABLES = """
  const wrong = [], value = (cell) => cell.dataset.value ?? cell.textContent.trim();
  const is_sorted = (texts) => texts.every((text, at) => {
    if (!at) return true;
    const [x, y] = [Number(texts[at - 1]), Number(text)];
    return isNaN(x) || isNaN(y) ? texts[at - 1].localeCompare(text) <= 0 : x <= y;
  });
  let tables = 0;
  for (const table of document.querySelectorAll("table.sortable")) {
    tables += 1;
    for (const button of table.querySelectorAll("th button")) {
      const column = button.closest("th").cellIndex;
      for (const order of ["ascending", "descending"]) {
        button.click();
        const texts = [...table.tBodies[0].rows].map((row) => value(row.cells[column]));
        if (order === "descending") texts.reverse();
        if (!is_sorted(texts) || button.closest("th").getAttribute("aria-sort") !== order)
          wrong.push(table.id + " " + button.textContent + " " + order);
      }
    }
  }
  return { wrong, tables };
"""
FILTER = """
  const input = document.querySelector("input[data-table]");
  const rows = [...document.getElementById(input.dataset.table).tBodies[0].rows];
  const shown = () => rows.filter((row) => !row.hidden).length;
  const all = shown();
  input.value = "poll SKIP";
  input.dispatchEvent(new Event("input"));
  return [all, shown()];
"""
KEYBOARD = """
  for (const one of document.querySelectorAll("details")) one.open = true;
  const out = [];
  for (const one of document.querySelectorAll("a[href], button, summary, input, pre[tabindex]")) {
    one.focus();
    if (document.activeElement !== one || one.tabIndex < 0) out.push(one.outerHTML.slice(0, 80));
  }
  return out;
"""
ACCESSIBILITY = """
  for (const one of document.querySelectorAll("details")) one.open = true;
  const problems = [], ids = new Set();
  for (const one of document.querySelectorAll("[id]")) {
    if (ids.has(one.id)) problems.push("twice: " + one.id);
    ids.add(one.id);
  }
  for (const one of document.querySelectorAll("a[href], button, summary"))
    if (!one.textContent.trim() && !one.getAttribute("aria-label"))
      problems.push("no name: " + one.outerHTML.slice(0, 80));
  for (const one of document.querySelectorAll("input"))
    if (!one.labels.length) problems.push("no label: " + one.outerHTML);
  if (!document.documentElement.lang) problems.push("no language");
  if (!document.title) problems.push("no title");
  if (document.querySelectorAll("h1").length !== 1) problems.push("not one h1");
  let level = 1;
  for (const one of document.querySelectorAll("h1, h2, h3, h4")) {
    const next = Number(one.tagName[1]);
    if (next > level + 1) problems.push("skips a level: " + one.textContent);
    level = next;
  }
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = rgb(colour).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      const parts = rgb(colour);
      if (parts.length === 3 || parts[3] > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  for (const one of document.querySelectorAll("body *")) {
    const has_text = [...one.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!has_text || !visible(one) || one.closest("svg, script, .skip")) continue;
    const [a, b] = [light(getComputedStyle(one).color), light(back(one))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const where = one.outerHTML.slice(0, 80);
    if (ratio < 4.5) problems.push("contrast " + ratio.toFixed(1) + ": " + where);
  }
  return [...new Set(problems)];
"""
WIDTH = "return [document.documentElement.scrollWidth, innerWidth];"
BEYOND_THE_EDGE = """
  document.documentElement.style.width = "390px";
  for (const one of document.querySelectorAll("p, h1")) one.append(" " + "name_".repeat(20));
  for (const one of document.querySelectorAll("details")) one.open = true;
  await pause();
  const cells = [...document.querySelectorAll("td, caption, h1, p, li")].filter(visible);
  const out = cells.filter((one) => one.getBoundingClientRect().right > 391);
  const labelled = cells.filter((one) => one.dataset.head).map((one) => one.dataset.head);
  return { out: out.map((one) => one.outerHTML.slice(0, 80)), labelled: [...new Set(labelled)] };
"""
PRINT = """
  const open = () => [...document.querySelectorAll("details")].filter((one) => one.open).length;
  const counts = [open()];
  for (const name of ["beforeprint", "afterprint"]) {
    dispatchEvent(new Event(name));
    counts.push(open());
  }
  return [...counts, document.querySelectorAll("details").length];
"""
WORDS = """
  const links = [...document.querySelectorAll("a.word")];
  const terms = [...document.querySelectorAll("#words dt")].map((one) => one.id);
  return {
    lost: links.filter((one) => !terms.includes(one.hash.slice(1)) || !one.title).length,
    twice: links.length - new Set(links.map((one) => one.hash)).size,
    unused: terms.length - links.length,
    words: links.map((one) => one.textContent.toLowerCase()),
  };
"""
NODES = """
  return document.querySelectorAll("*").length;
"""


@pytest.fixture
def run_page(tmp_path: Path) -> Path:
    fault = {"fault": "kill", **ALL, "landed": True, "evidence": "{}"}
    folder = with_tables(
        run_folder(tmp_path / "run"),
        sends=[make_send(0, 9)],
        faults=[fault | {"injected_micros": 500_000, "proved_micros": 700_000}],
    )
    file = folder.report / "index.html"
    file.write_text(page(RunFacts(folder), everything(), Pictures()))
    return file


@pytest.fixture
def session_page(tmp_path: Path) -> Path:
    folder = run_folder(tmp_path / "run")
    passed = change_verdict(
        everything(), verdict=RunVerdict.PASS, unexpected=[], scenario="poll skip"
    )
    runs = [
        Judged(folder, everything()),
        Judged(folder, passed),
        Judged(run_folder(tmp_path / "b"), None, "x"),
    ]
    (tmp_path / "report.html").write_text("<html><body></body></html>")
    write_session(tmp_path, runs)
    return tmp_path / "report" / "index.html"


def test_a_run_opens_offline_and_each_link_opens_its_story(run_page: Path) -> None:
    seen = look(run_page, OPEN_STORIES)
    assert seen.console == []
    assert seen.result["closed"] == []
    assert seen.result["links"] >= 1


def test_tables_sort_and_filter(run_page: Path, session_page: Path) -> None:
    seen = look(run_page, SORT_TABLES)
    assert (seen.console, seen.result) == ([], {"wrong": [], "tables": 3})
    seen = look(session_page, in_turn(SORT_TABLES, FILTER))
    assert (seen.console, seen.result) == ([], [{"wrong": [], "tables": 1}, [3, 1]])


@pytest.mark.parametrize(("width", "is_dark"), [(1280, False), (500, False), (1280, True)])
def test_pages_are_accessible_and_fit(
    run_page: Path, session_page: Path, width: int, *, is_dark: bool
) -> None:
    for file in (run_page, session_page):
        seen = look(file, in_turn(WIDTH, KEYBOARD, ACCESSIBILITY), width=width, is_dark=is_dark)
        (scroll, inner), unreached, problems = seen.result
        assert (unreached, problems) == ([], [])
        assert scroll <= inner


def test_nothing_stands_beyond_the_edge_of_a_phone(run_page: Path, session_page: Path) -> None:
    for file, heads in ((run_page, {"found", "never delivered"}), (session_page, {"answer"})):
        seen = look(file, BEYOND_THE_EDGE, width=500).result
        assert seen["out"] == []
        assert heads <= set(seen["labelled"])


def test_what_is_folded_is_printed(run_page: Path) -> None:
    before, printed, after, folds = look(run_page, PRINT).result
    assert before == after < printed == folds


def test_words_of_the_glossary_are_linked_once(run_page: Path, session_page: Path) -> None:
    for file, word in ((run_page, "permitted"), (session_page, "session")):
        seen = look(file, WORDS).result
        assert (seen["lost"], seen["twice"], seen["unused"]) == (0, 0, 0)
        assert {"scenario", word} <= {*seen["words"]}


def test_an_address_with_a_finding_opens_it(run_page: Path) -> None:
    script = 'return document.getElementById("finding-lost_record-1").open;'
    assert look(
        run_page, f'location.hash = "#finding-lost_record-1"; await pause(); {script}'
    ).result


def test_a_hundred_findings_are_below_the_limit_of_nodes(run_page: Path, tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run")
    checks = {f"c{at}": result(*[finding(f"c{at}")] * 10, findings=99) for at in range(60)}
    run_page.write_text(page(RunFacts(folder), verdict_of(checks), Pictures()))
    assert look(run_page, NODES).result < 5_000
