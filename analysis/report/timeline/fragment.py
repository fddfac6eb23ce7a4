"""The timeline as a piece of a page: its data, the choice of lanes, and the script that draws.

All lanes of the run are drawn, and those of as many partitions and groups as fit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import msgspec
from markupsafe import Markup

from analysis.report.run_facts import RunFacts
from analysis.report.templating import environment
from analysis.report.timeline.lanes import Lane
from analysis.report.timeline.source import SUBJECTS_MAX, Source
from analysis.report.timeline.subjects import (
    lanes_of_group,
    lanes_of_partition,
    lanes_of_producers,
    lanes_of_run,
)
from contract.program import shown
from contract.verdicts import Verdict

_T = TypeVar("_T")
_PROVED = "select * from faults where proved_micros is not null order by proved_micros"
POINTS_MAX = 20_000
"""Of all lanes together, shown or not."""
_POINTS_OF_SUBJECTS = 8_000
_POINTS_OF_SUBJECT_MAX = 800
_SHOWN_PARTITIONS, _SHOWN_GROUPS = 4, 4
_SHOWN_WITHOUT_FINDINGS = 2
_MARGIN = 0.01
_MISSING = (
    "The timeline needs the script of plotly beside this page. `fencepost open --standalone` makes "
    "a page that contains it."
)
_ZOOM = "Drag to zoom in, double-click to zoom out. A click on a finding opens its story."


@dataclass
class Selection:
    """The lanes of a timeline.

    Attributes:
        lanes: in their order.
        choices: for each kind of subject (name, subject, whether it is shown at first).
        notes: sentences about what is left out.
    """

    lanes: list[Lane] = field(default_factory=list)
    choices: dict[str, list[tuple[str, str, bool]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def drawn(self) -> int:
        """The number of points of all lanes."""
        return sum(lane.drawn for lane in self.lanes)


def timeline(facts: RunFacts, verdict: Verdict) -> str:
    """The timeline as HTML, without plotly's own script; empty where there is nothing to draw.

    Every text of the run is escaped.
    """
    source = Source(facts, verdict)
    chosen = select(source)
    if not chosen.lanes:
        return ""
    return (
        environment()
        .get_template("timeline.html.j2")
        .render(
            origin=facts.origin,
            zero=_time_of_day(facts.zero_micros),
            zoom=_ZOOM,
            notes=chosen.notes,
            choices=chosen.choices,
            reported=_reported(chosen),
            # A script's content is no HTML: only what would end it is escaped.
            data=Markup(_data(source, chosen)),  # noqa: S704
        )
    )


def _time_of_day(micros: int) -> str:
    try:
        return datetime.fromtimestamp(micros / 1_000_000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{micros} microseconds since 1970"


def _data(source: Source, chosen: Selection) -> str:
    begin, end = source.span
    margin = _MARGIN * (end - begin)
    content = {
        "zero_ms": source.facts.zero_micros / 1000,
        "axis": f"seconds since {source.facts.origin}",
        "range": [round(begin - margin, 3), round(end + margin, 3)],
        "tick": round((end - begin) / 800, 4),
        "bands": list(_bands(source)),
        "missing": _MISSING,
        "lanes": [lane.as_json() for lane in chosen.lanes],
    }
    text = msgspec.json.encode(_shown(content)).decode()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _shown(content: Any) -> Any:
    """Data with all texts as a page may show them."""
    match content:
        case str():
            return shown(content)
        case dict():
            return {key: _shown(value) for key, value in content.items()}
        case list() | tuple():
            return [_shown(value) for value in content]
    return content


def _bands(source: Source) -> Iterator[tuple[float, float]]:
    """The spans in which the effect of any fault holds, joined where they overlap."""
    last: tuple[float, float] | None = None
    for row in source.rows(_PROVED):
        begin, end = source.seconds(row["proved_micros"]), source.end(row["heal_began_micros"])
        if last is not None and begin <= last[1]:
            last = (last[0], max(last[1], end))
            continue
        if last is not None:
            yield last
        last = (begin, end)
    if last is not None:
        yield last


def _reported(chosen: Selection) -> str:
    """What a screen reader says."""
    shown = {
        subject for names in chosen.choices.values() for _, subject, is_shown in names if is_shown
    }
    titles = [one.title for one in chosen.lanes if not one.subject or one.subject in shown]
    return f"Timeline with {len(titles)} lanes: {'; '.join(titles)}"


def select(source: Source) -> Selection:
    """The lanes of a run; those of partitions and groups with findings are shown at first."""
    chosen = Selection([*lanes_of_run(source), *lanes_of_producers(source)])
    _add(
        chosen,
        _Kind("partition", source.partitions, source.partitions_found, _SHOWN_PARTITIONS),
        lambda where, points: lanes_of_partition(source, where, points),
        POINTS_MAX - _POINTS_OF_SUBJECTS,
    )
    _add(
        chosen,
        _Kind("group", source.groups, source.groups_found, _SHOWN_GROUPS),
        lambda group, points: lanes_of_group(source, group, points),
        POINTS_MAX,
    )
    return chosen


@dataclass(frozen=True)
class _Kind(Generic[_T]):
    """Partitions or groups: all of them, how many of the first have findings, how many to show."""

    name: str
    subjects: Sequence[_T]
    found: int
    shown_max: int


def _add(
    chosen: Selection,
    kind: _Kind[_T],
    lanes_of: Callable[[_T, int], Iterator[Lane]],
    points_max: int,
) -> None:
    """Add the lanes of a kind, those of findings first, up to a number of points of all lanes."""
    subjects = kind.subjects[:SUBJECTS_MAX]
    each = min(_POINTS_OF_SUBJECT_MAX, _POINTS_OF_SUBJECTS // max(1, len(subjects)))
    wanted = min(kind.found or _SHOWN_WITHOUT_FINDINGS, kind.shown_max)
    choices: list[tuple[str, str, bool]] = []
    left_out = len(kind.subjects) - len(subjects)
    for subject in subjects:
        lanes = list(lanes_of(subject, each))
        if not lanes:
            continue
        if chosen.drawn + sum(lane.drawn for lane in lanes) > points_max:
            left_out += 1
            continue
        chosen.lanes += lanes
        choices.append((str(subject), lanes[0].subject, len(choices) < wanted))
    if choices:
        chosen.choices[f"{kind.name}s"] = choices
    _note(chosen, kind, len(choices), left_out)


def _note(chosen: Selection, kind: _Kind[_T], with_lanes: int, left_out: int) -> None:
    shown = min(kind.found, kind.shown_max)
    if kind.found > shown:
        chosen.notes.append(
            f"Findings name {kind.found} {kind.name}s; {shown} of them are shown at first."
        )
    if left_out:
        chosen.notes.append(
            f"The timeline has {with_lanes} of {len(kind.subjects):,} {kind.name}s, "
            "those of findings first."
        )
