"""The page of a night beside the nights before it, in simulated nights."""

from pathlib import Path

import pytest
from browser import in_turn, look, needs_chromium
from pages_of import finding, make_unexpected, result, run_folder, verdict_of
from test_pages_in_browser import ACCESSIBILITY, KEYBOARD

from analysis.report.night_page import write_night
from analysis.report.night_rows import Judged
from analysis.report.outputs import write_night_outputs
from analysis.trends.morning import morning
from contract.nights import Known, KnownFinding, Night, NightSummary, PlannedRun, RunStatus
from contract.verdicts import RunVerdict
from tests import golden
from tests.made import make_struct
from tests.nights import (
    CLUSTER,
    SUITE,
    Asked,
    Lane,
    Nights,
    Planted,
    day_of,
    name_of,
    rows_of,
)

LAST = 29
LANES = [
    Lane("baseline"),
    Lane("baseline", "3.9.2"),
    Lane("commit_epoch", waits=lambda night: 9.0 if night >= 22 else 2.0),
    Lane("zombie_leader"),
    Lane("truncation_detection"),
    Lane("coordinator_hunt"),
    Lane("rolling_bounce"),
    Lane("group_rebalance", "3.9.2"),
    Lane("stale_metadata", runs=lambda night: night < 26),
    Lane("random", repeat=2),
]
PLANTED = [
    Planted("zombie_leader", lambda night: float(night == LAST), check="lost_record", client=None),
    Planted("random", lambda night: float(night == LAST), check="skipped_record"),
    Planted("coordinator_hunt", lambda night: 0.1 + 0.8 * (night > 22)),
    Planted("rolling_bounce", lambda night: float(night in (12, 19, LAST)), client="java"),
    Planted("truncation_detection", lambda night: 0.9 * (3 <= night < 18)),
    Planted("stale_metadata", lambda _: 0.8),
    Planted("group_rebalance", lambda night: float(night in (4, 9, 17, 23, LAST)), "3.9.2"),
]
KNOWN = Known(
    Path("known.yml"),
    (
        KnownFinding(
            check="stuck_consumer",
            scenario="group_rebalance",
            reason="a member without a partition is reported",
            link="KAFKA-1",
            expires=day_of(99),
        ),
        KnownFinding(check="reset", reason="old", link="KAFKA-2", expires=day_of(9)),
    ),
)


def night_of(tmp_path: Path) -> tuple[Path, NightSummary]:
    """The last of 30 simulated nights, with its runs' folders, its page and its outputs."""
    rows = list(rows_of(Nights(LANES, PLANTED), 11))
    told = morning(Asked(rows).until(name_of(LAST)), KNOWN, today=day_of(LAST))
    path = tmp_path / "results" / "nightly" / name_of(LAST)
    runs, judged = [], []
    here = [row for row in rows if row["night"] == name_of(LAST)]
    of_runs = [row for row in here if "clients" in row]
    for number, row in enumerate(of_runs):
        described = {name: row[name] for name in ("scenario", "seed", "kafka")}
        times = {name: row[name] for name in ("started_micros", "ended_micros")}
        folder = run_folder(path / row["run"], **described, **times)
        if row["scenario"] == "random":
            (folder.path / "random.json").write_text("{}")
        found = [
            make_unexpected(finding(other["check"], cause=other["cause"]), number=other["number"])
            for other in here
            if other["run"] == row["run"] and other.get("is_unexpected")
        ]
        checks = {entry.check: result(entry.first) for entry in found}
        verdict = RunVerdict(row["run_verdict"])
        judged.append(
            Judged(folder, verdict_of(checks, verdict=verdict, unexpected=found, **described))
        )
        runs.append(make_planned(number, row["scenario"], row["kafka"], row["seed"], row["run"]))
    runs.append(make_planned(len(of_runs), "random", "4.4.0", 5, None))
    night = make_struct(
        Night,
        suite=SUITE,
        description="Every scenario, then random plans.",
        cluster=CLUSTER,
        started_micros=here[0]["started_micros"],
        runs=runs,
    )
    summary = write_night(path, night, judged, told)
    write_night_outputs(path, summary, judged)
    return path, summary


def make_planned(number: int, scenario: str, kafka: str, seed: int, run: str | None) -> PlannedRun:
    return make_struct(
        PlannedRun,
        id=f"{number:03}",
        scenario=scenario,
        kafka=kafka,
        seed=seed,
        rerun=f"fencepost run {scenario} --cluster {CLUSTER} --kafka {kafka} --seed {seed}",
        status=RunStatus.PLANNED if run is None else RunStatus.DONE,
        folder=None if run is None else run.removesuffix("/S/test/0"),
        exit_code=None if run is None else 0,
    )


@pytest.fixture(scope="module")
def written_night(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, NightSummary]:
    return night_of(tmp_path_factory.mktemp("nights"))


def page_of(written: tuple[Path, NightSummary]) -> Path:
    return written[0] / "report" / "index.html"


def test_golden_night(written_night: tuple[Path, NightSummary]) -> None:
    path, _ = written_night
    summary = (path / "report" / "summary.md").read_text()
    text = golden.plain(summary + golden.outline(page_of(written_night).read_text(), path), path)
    steady = [line for line in text.splitlines() if "no change shown" in line]
    for line in steady[3:]:
        text = text.replace(f"{line}\n", "")
    assert golden.is_golden("night.txt", text)


def test_known_findings_do_not_fail_the_night(written_night: tuple[Path, NightSummary]) -> None:
    path, summary = written_night
    (row,) = [run for run in summary.runs if run.outcome == "known"]
    assert (row.scenario, row.kafka) == ("group_rebalance", "3.9.2")
    junit = (path / "report" / "junit.xml").read_text()
    assert "known: stuck_consumer: a member without a partition is reported (KAFKA-1)" in junit
    failures = junit.count("<failure")
    unexpected_runs = [run for run in summary.runs if run.outcome == "unexpected"]
    assert failures == len(unexpected_runs)


COPY = """
  const copied = [];
  Object.defineProperty(navigator, "clipboard", {
    value: { writeText: async (text) => { copied.push(text); } },
  });
  const button = document.querySelector("#new button[data-copy]");
  button.focus();
  const is_reached = document.activeElement === button;
  button.click();
  await pause();
  return [is_reached, copied, button.textContent];
"""
BEYOND = """
  const edge = document.documentElement.getBoundingClientRect().right;
  return [...document.querySelectorAll("body *")].filter((one) =>
    visible(one) && !one.closest(".scroll, .figure, .story, pre, .unseen, .skip") &&
    one.getBoundingClientRect().right > edge + 1).map((one) => one.outerHTML.slice(0, 90));
"""


@needs_chromium
@pytest.mark.extended
def test_the_command_is_copied_by_one_click(written_night: tuple[Path, NightSummary]) -> None:
    is_reached, copied, shown = look(page_of(written_night), COPY).result
    assert is_reached
    assert shown == "copied"
    assert "fencepost replay --cluster embedded --kafka 4.4.0 /" in copied[0]


@needs_chromium
@pytest.mark.extended
@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_is_beyond_the_edge(written_night: tuple[Path, NightSummary], width: int) -> None:
    narrow = f"document.documentElement.style.width = '{width}px';"
    seen = look(page_of(written_night), narrow + BEYOND, width=max(width, 500))
    assert seen.result == []
    assert seen.console == []


@needs_chromium
@pytest.mark.extended
def test_the_page_is_accessible(written_night: tuple[Path, NightSummary]) -> None:
    assert look(page_of(written_night), in_turn(ACCESSIBILITY, KEYBOARD)).result == [[], []]
