"""What the page of a night shows of its morning: findings with their links and commands, trends."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from analysis.report.commands import command_to_paste
from analysis.report.matrix import row_name
from analysis.report.stories import anchor
from contract.files import as_word
from contract.nights import (
    FindingState,
    Morning,
    Night,
    NightRow,
    RunStatus,
    ScenarioHistory,
    Stability,
    TrackedFinding,
    Trend,
    TrendChange,
)

NIGHTS_MAX = 14
"""Of the matrix."""
TRENDS_MAX = 200
"""Of the table of trends; `summary.json` has all."""
_PLAN = "random.json"
_OF_RANDOM = ["fencepost", "run", "random"]
_WIDTH, _HEIGHT, _EDGE = 120, 24, 2


@dataclass(frozen=True)
class Place:
    """A run of the night that has a finding.

    Attributes:
        name: of the run.
        story: the link to the finding on its page.
        plan: the link to its random plan; empty without one.
        again: the command that repeats the run.
        explain: the command that shows the events behind the finding.
    """

    name: str
    story: str
    plan: str
    again: str
    explain: str


@dataclass(frozen=True)
class Shown:
    """A finding, with the runs of the night that have it; `entry` is one of known.yml for it."""

    finding: TrackedFinding
    scenario: str
    cause: str
    places: list[Place]
    entry: str


@dataclass(frozen=True)
class Line:
    """A trend: its numbers as the points of a line, from the oldest to the newest run."""

    trend: Trend
    scenario: str
    points: str
    end: tuple[float, float]


@dataclass(frozen=True)
class Strip:
    """A scenario, and the word of each of the last nights; None: it did not run."""

    history: ScenarioHistory
    name: str
    cells: list[tuple[str, str | None]]


@dataclass(frozen=True)
class MorningView:
    """What the page shows.

    Attributes:
        new: findings that no earlier night has.
        worse: findings that became more frequent.
        again: other findings of the night without a reason.
        known: those with one.
        fixed, gone: findings that the night does not have.
        unsettled: flaky ones that the night does not have.
        regressed: scenarios.
        grown: trends that are marked as larger.
        omitted: runs of the night that never began.
    """

    morning: Morning
    new: list[Shown]
    worse: list[Shown]
    again: list[Shown]
    known: list[Shown]
    fixed: list[Shown]
    gone: list[Shown]
    unsettled: list[Shown]
    regressed: list[Strip]
    grown: list[Line]
    omitted: list[NightRow]
    nights: list[str]
    strips: list[Strip]
    lines: list[Line]

    @property
    def counts(self) -> list[tuple[str, int, str]]:
        """What there is, how many, and the id of its part."""
        worse = len(self.worse) + len(self.regressed) + len(self.grown)
        counted = [
            ("new", len(self.new), "new"),
            ("worse", worse, "worse"),
            ("seen before", len(self.again), "again"),
            ("known", len(self.known), "known"),
            ("never ran", len(self.omitted), "omitted"),
            ("fixed", len(self.fixed), "quiet"),
            ("gone", len(self.gone), "quiet"),
        ]
        return [count for count in counted if count[1] or count[0] in ("new", "worse")]


def view_of(path: Path, night: Night, rows: Sequence[NightRow], morning: Morning) -> MorningView:
    """What the page of a night shows."""
    by_run = {str(Path(row.report).parent.parent): row for row in rows if row.report is not None}
    shown = [_view_of_finding(finding, path, by_run) for finding in morning.findings]
    here = [entry for entry in shown if entry.finding.sightings]
    is_new = [entry for entry in here if entry.finding.state is FindingState.NEW]
    worse = [entry for entry in here if entry.finding.is_worse]
    known = [
        entry for entry in here if entry.finding.state is FindingState.KNOWN and entry not in worse
    ]
    away = [entry for entry in shown if not entry.finding.sightings]
    nights = morning.nights[-NIGHTS_MAX:]
    strips = [_strip(history, nights) for history in morning.scenarios]
    lines = sorted(map(_line, morning.trends), key=_by_change)
    not_begun = {run.id for run in night.runs if run.status is not RunStatus.DONE}
    return MorningView(
        morning=morning,
        new=is_new,
        worse=worse,
        again=[entry for entry in here if entry not in (*is_new, *worse, *known)],
        known=known,
        fixed=[entry for entry in away if entry.finding.state is FindingState.FIXED],
        gone=[entry for entry in away if entry.finding.state is FindingState.GONE],
        unsettled=[
            entry
            for entry in away
            if entry.finding.state in (FindingState.FLAKY, FindingState.KNOWN)
        ],
        regressed=[strip for strip in strips if strip.history.verdict is Stability.REGRESSED],
        grown=[line for line in lines if line.trend.change is TrendChange.LARGER],
        omitted=[row for row in rows if row.id in not_begun],
        nights=nights,
        strips=sorted(strips, key=_by_verdict),
        lines=lines,
    )


def _view_of_finding(finding: TrackedFinding, path: Path, by_run: dict[str, NightRow]) -> Shown:
    return Shown(
        finding=finding,
        scenario=_name(finding.scenario, finding.parameters),
        cause=finding.sightings[0].cause if finding.sightings else finding.cause,
        places=[
            _place(path, sighting.run, f"{finding.check}:{sighting.number}", row)
            for sighting in finding.sightings
            if (row := by_run.get(sighting.run)) is not None
        ],
        entry=_entry(finding),
    )


def _place(path: Path, run: str, name: str, row: NightRow) -> Place:
    check, _, number = name.partition(":")
    folder = as_word(path / run)
    plan = path.absolute() / run / _PLAN
    has_plan = plan.is_file()
    return Place(
        name=f"{row_name(row.scenario, row.parameters)}, Kafka {row.on}, seed {row.seed}",
        story=f"../{quote(row.report or '')}#{anchor(check, int(number))}",
        plan=f"../{quote(run)}/{_PLAN}" if has_plan else "",
        again=command_to_paste(_replay_command(row.rerun, plan) if has_plan else row.rerun),
        explain=command_to_paste(f"fencepost explain {folder} {name}"),
    )


def _replay_command(rerun: str, plan: Path) -> str:
    """The command that carries out a plan on what a run had: its seed may draw another one later.

    `fencepost replay` changes no settings, so that a run with `--set` is run again.
    """
    words = shlex.split(rerun)
    given = words[len(_OF_RANDOM) : words.index("--seed")] if "--seed" in words else []
    if words[: len(_OF_RANDOM)] != _OF_RANDOM or "--set" in given:
        return rerun
    return shlex.join(["fencepost", "replay", *given, str(plan)])


def _entry(finding: TrackedFinding) -> str:
    """An entry of known.yml, in which the reason, the link and the date are to be written."""
    given = [("check", finding.check), ("kind", finding.kind), ("scenario", finding.scenario)]
    given += [("client", finding.client)] if finding.client else []
    given += [("finding", finding.id)]
    lines = [f"  {name}: {json.dumps(value)}" for name, value in given]
    lines += ["  reason: ", "  link: ", "  expires: "]
    return "\n".join(["-" + lines[0][1:], *lines[1:]])


def _name(scenario: str, parameters: str) -> str:
    return row_name(scenario, json.loads(parameters))


def _strip(history: ScenarioHistory, nights: Iterable[str]) -> Strip:
    name = f"{_name(history.scenario, history.parameters)}, Kafka {history.kafka}"
    return Strip(history, name, [(night, history.cells.get(night)) for night in nights])


def _by_verdict(strip: Strip) -> tuple[int, str]:
    return list(Stability).index(strip.history.verdict), strip.name


def _line(trend: Trend) -> Line:
    low, high = min(trend.values), max(trend.values)
    across = _WIDTH - 2 * _EDGE
    down = _HEIGHT - 2 * _EDGE
    points = [
        (
            round(_EDGE + across * at / max(1, len(trend.values) - 1), 1),
            round(_EDGE + down * (high - value) / (high - low), 1) if high > low else _HEIGHT / 2,
        )
        for at, value in enumerate(trend.values)
    ]
    return Line(
        trend=trend,
        scenario=_name(trend.scenario, trend.parameters),
        points=" ".join(f"{x},{y}" for x, y in points),
        end=points[-1],
    )


def _by_change(line: Line) -> tuple[int, float, str]:
    return list(TrendChange).index(line.trend.change), line.trend.p, line.trend.measure
