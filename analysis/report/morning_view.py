"""What the page of a night shows of its morning: findings with their links and commands, trends."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from analysis.report.commands import pasted
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
        return [one for one in counted if one[1] or one[0] in ("new", "worse")]


def view_of(path: Path, night: Night, rows: Sequence[NightRow], morning: Morning) -> MorningView:
    """What the page of a night shows."""
    by_run = {str(Path(row.report).parent.parent): row for row in rows if row.report is not None}
    shown = [_shown(one, path, by_run) for one in morning.findings]
    here = [one for one in shown if one.finding.sightings]
    is_new = [one for one in here if one.finding.state is FindingState.NEW]
    worse = [one for one in here if one.finding.is_worse]
    known = [one for one in here if one.finding.state is FindingState.KNOWN and one not in worse]
    away = [one for one in shown if not one.finding.sightings]
    nights = morning.nights[-NIGHTS_MAX:]
    strips = [_strip(one, nights) for one in morning.scenarios]
    lines = sorted(map(_line, morning.trends), key=_by_change)
    not_begun = {run.id for run in night.runs if run.status is not RunStatus.DONE}
    return MorningView(
        morning=morning,
        new=is_new,
        worse=worse,
        again=[one for one in here if one not in (*is_new, *worse, *known)],
        known=known,
        fixed=[one for one in away if one.finding.state is FindingState.FIXED],
        gone=[one for one in away if one.finding.state is FindingState.GONE],
        unsettled=[
            one for one in away if one.finding.state in (FindingState.FLAKY, FindingState.KNOWN)
        ],
        regressed=[one for one in strips if one.history.verdict is Stability.REGRESSED],
        grown=[one for one in lines if one.trend.change is TrendChange.LARGER],
        omitted=[row for row in rows if row.id in not_begun],
        nights=nights,
        strips=sorted(strips, key=_by_verdict),
        lines=lines,
    )


def _shown(one: TrackedFinding, path: Path, by_run: dict[str, NightRow]) -> Shown:
    return Shown(
        finding=one,
        scenario=_name(one.scenario, one.parameters),
        cause=one.sightings[0].cause if one.sightings else one.cause,
        places=[
            _place(path, sighting.run, f"{one.check}:{sighting.number}", row)
            for sighting in one.sightings
            if (row := by_run.get(sighting.run)) is not None
        ],
        entry=_entry(one),
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
        again=pasted(_replayed(row.rerun, plan) if has_plan else row.rerun),
        explain=pasted(f"fencepost explain {folder} {name}"),
    )


def _replayed(rerun: str, plan: Path) -> str:
    """The command that carries out a plan on what a run had: its seed may draw another one later.

    `fencepost replay` changes no settings, so that a run with `--set` is run again.
    """
    words = shlex.split(rerun)
    given = words[len(_OF_RANDOM) : words.index("--seed")] if "--seed" in words else []
    if words[: len(_OF_RANDOM)] != _OF_RANDOM or "--set" in given:
        return rerun
    return shlex.join(["fencepost", "replay", *given, str(plan)])


def _entry(one: TrackedFinding) -> str:
    """An entry of known.yml, in which the reason, the link and the date are to be written."""
    given = [("check", one.check), ("kind", one.kind), ("scenario", one.scenario)]
    given += [("client", one.client)] if one.client else []
    given += [("finding", one.id)]
    lines = [f"  {name}: {json.dumps(value)}" for name, value in given]
    lines += ["  reason: ", "  link: ", "  expires: "]
    return "\n".join(["-" + lines[0][1:], *lines[1:]])


def _name(scenario: str, parameters: str) -> str:
    return row_name(scenario, json.loads(parameters))


def _strip(one: ScenarioHistory, nights: Iterable[str]) -> Strip:
    name = f"{_name(one.scenario, one.parameters)}, Kafka {one.kafka}"
    return Strip(one, name, [(night, one.cells.get(night)) for night in nights])


def _by_verdict(one: Strip) -> tuple[int, str]:
    return list(Stability).index(one.history.verdict), one.name


def _line(one: Trend) -> Line:
    low, high = min(one.values), max(one.values)
    across = _WIDTH - 2 * _EDGE
    down = _HEIGHT - 2 * _EDGE
    points = [
        (
            round(_EDGE + across * at / max(1, len(one.values) - 1), 1),
            round(_EDGE + down * (high - value) / (high - low), 1) if high > low else _HEIGHT / 2,
        )
        for at, value in enumerate(one.values)
    ]
    return Line(
        trend=one,
        scenario=_name(one.scenario, one.parameters),
        points=" ".join(f"{x},{y}" for x, y in points),
        end=points[-1],
    )


def _by_change(one: Line) -> tuple[int, float, str]:
    return list(TrendChange).index(one.trend.change), one.trend.p, one.trend.measure
