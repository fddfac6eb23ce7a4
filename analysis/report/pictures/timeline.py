"""The timeline as a piece of a page: lanes of marks on one axis of time.

The marks are the facts `marks_of_*`. Times are seconds from the timeline's zero. All lanes of the
run are drawn, and those of as many partitions and groups as fit.
"""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from itertools import groupby
from typing import Any, Generic, TypeVar

from analysis.report.pictures import as_data
from analysis.report.pictures.source import SUBJECTS_MAX, Numbered, Partition, Source
from analysis.report.run_facts import RunFacts
from analysis.report.templating import environment
from analysis.statements.trace import Row
from contract.table_columns import PARTITION, int64, nullable, string
from contract.verdicts import FindingVerdict, Verdict

_T = TypeVar("_T")
POINTS_MAX = 20_000
"""Of all lanes together, shown or not."""
_POINTS_OF_SUBJECTS = 8_000
_MARKS_MAX = 300
"""Of a lane, but for the points of its lines."""
_MARKS_OF_SUBJECT_MAX = 400
_ROWS_MAX = 14
_FINDINGS_MAX = 1_000
_POSITIONS_MAX = 2
_SHOWN_MAX = 4
_SHOWN_WITHOUT_FINDINGS = 2
_MARGIN = 0.01
_FOUND = {
    FindingVerdict.VIOLATION: ("red", "violation"),
    FindingVerdict.UNDECIDED: ("orange", "undecided"),
    FindingVerdict.PERMITTED: ("blue", "permitted"),
}
_OF_RUN = ("select * from marks_of_run", "select * from marks_of_producers")
_OF_PARTITIONS = "select * from marks_of_partitions"
_OF_GROUPS = ("select * from marks_of_groups", "select * from marks_of_members")
_PROVED = "select * from faults where proved_micros is not null order by proved_micros"


@dataclass
class Lane:
    """A strip of the timeline, as the page's script reads it.

    Attributes:
        title: above the lane.
        rows: names of its rows, from the top; empty where it has an axis of values.
        subject: the partition or group that it belongs to; empty: it is always shown.
        marks: what is drawn, in order.
        keys: what the colors mean, as (text, color).
    """

    title: str
    rows: Sequence[str]
    subject: str
    marks: list[dict[str, Any]] = field(default_factory=list)
    keys: list[tuple[str, str]] = field(default_factory=list)

    @property
    def drawn(self) -> int:
        """The number of points that it draws."""
        return sum(len(mark["x"]) for mark in self.marks)


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
            notes=chosen.notes,
            choices=chosen.choices,
            reported=_for_screen_readers(chosen),
            data=as_data(_data(source, chosen)),
        )
    )


def _time_of_day(micros: int) -> str:
    try:
        return datetime.fromtimestamp(micros / 1_000_000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{micros} microseconds since 1970"


def _data(source: Source, chosen: Selection) -> dict[str, Any]:
    begin, end = source.span
    margin = _MARGIN * (end - begin)
    return {
        "zero_ms": source.facts.zero_micros / 1000,
        "axis": f"seconds since {source.facts.origin}",
        "range": [round(begin - margin, 3), round(end + margin, 3)],
        "tick": round((end - begin) / 800, 4),
        "bands": list(_bands(source)),
        "lanes": [vars(lane) for lane in chosen.lanes],
    }


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


def _for_screen_readers(chosen: Selection) -> str:
    """What a screen reader says."""
    shown = {
        subject for names in chosen.choices.values() for _, subject, is_shown in names if is_shown
    }
    titles = [lane.title for lane in chosen.lanes if not lane.subject or lane.subject in shown]
    return f"Timeline with {len(titles)} lanes: {'; '.join(titles)}"


# The choice of lanes.


def select(source: Source) -> Selection:
    """The lanes of a run; those of partitions and groups with findings are shown at first."""
    of_run = [row for text in _OF_RUN for row in source.rows(source.marks(text))]
    chosen = Selection([*_found(source), *_lanes(source, of_run)])
    _add(
        chosen,
        _Kind("partition", source.partitions, source.partitions_found),
        lambda where, marks: _of_partition(source, where, marks),
        POINTS_MAX - _POINTS_OF_SUBJECTS,
    )
    _add(
        chosen,
        _Kind("group", source.groups, source.groups_found),
        lambda group, marks: _of_group(source, group, marks),
        POINTS_MAX,
    )
    return chosen


@dataclass(frozen=True)
class _Kind(Generic[_T]):
    """Partitions or groups: all of them, and how many of the first have findings."""

    name: str
    subjects: Sequence[_T]
    found: int


def _add(
    chosen: Selection,
    kind: _Kind[_T],
    lanes_of: Callable[[_T, int], Iterator[Lane]],
    points_max: int,
) -> None:
    """Add the lanes of a kind, those of findings first, up to a number of points of all lanes."""
    subjects = kind.subjects[:SUBJECTS_MAX]
    marks = min(_MARKS_OF_SUBJECT_MAX, _POINTS_OF_SUBJECTS // max(1, 2 * len(subjects)))
    wanted = min(kind.found or _SHOWN_WITHOUT_FINDINGS, _SHOWN_MAX)
    choices: list[tuple[str, str, bool]] = []
    left_out = len(kind.subjects) - len(subjects)
    for subject in subjects:
        lanes = list(lanes_of(subject, marks))
        if not lanes:
            continue
        if chosen.drawn + sum(lane.drawn for lane in lanes) > points_max:
            left_out += 1
            continue
        chosen.lanes += lanes
        choices.append((str(subject), lanes[0].subject, len(choices) < wanted))
    if choices:
        chosen.choices[f"{kind.name}s"] = choices
    shown = min(kind.found, _SHOWN_MAX)
    if kind.found > shown:
        chosen.notes.append(
            f"Findings name {kind.found} {kind.name}s; {shown} of them are shown at first."
        )
    if left_out:
        chosen.notes.append(
            f"The timeline has {len(choices)} of {len(kind.subjects):,} {kind.name}s, "
            "those of findings first."
        )


def _of_partition(source: Source, where: Partition, marks: int) -> Iterator[Lane]:
    rows = source.of_partition(source.marks(_OF_PARTITIONS), where)
    titled = [row | {"lane": f"{where}: {row['lane']}"} for row in rows if row["lane"]]
    yield from _lanes(source, titled, f"partition {where}", marks_max=marks)


def _of_group(source: Source, group: str, marks: int) -> Iterator[Lane]:
    """Its positions are those on the partitions of its findings, or on the first ones."""
    found = {
        Partition.of(numbered.finding)
        for numbered in source.findings
        if numbered.finding.group == group
    }
    partitions = sorted(source.read_by(group), key=lambda where: (where not in found, where))
    rows = [row for text in _OF_GROUPS for row in source.of(source.marks(text), group=group)]
    ends = source.marks(_OF_PARTITIONS)
    titled = []
    for where in partitions[:_POSITIONS_MAX]:
        own = [row for row in rows if (row["topic"], row["partition"]) == where]
        before = [row for row in source.of_partition(ends, where) if not row["lane"]] if own else []
        titled += [row | {"lane": f"{group} on {where}: position"} for row in before + own]
    lag = f"lag in records over {len(partitions)} partitions"
    titled += [
        row | {"lane": f"{group}: {lag if row['lane'] == 'lag' else row['lane']}"}
        for row in rows
        if row["topic"] is None
    ]
    yield from _lanes(source, titled, f"group {group}", marks_max=marks)


def _lanes(
    source: Source,
    rows: Iterable[Row],
    subject: str = "",
    *,
    marks_max: int = _MARKS_MAX,
    left: int = 0,
) -> Iterator[Lane]:
    """The lanes of some marks, which are ordered by lane, and the marks in each.

    Args:
        source: of the run.
        rows: the marks.
        subject: of the lanes.
        marks_max: of a lane, but for the points of its lines.
        left: the number of marks that are left out already.
    """
    for title, some in groupby(rows, lambda row: str(row["lane"])):
        marks = list(some)
        of_rows = {row["row"]: row["nth"] for row in reversed(marks) if row["row"] is not None}
        names = sorted(of_rows, key=of_rows.__getitem__)[:_ROWS_MAX]
        places = {None: 0, **{name: place for place, name in enumerate(names)}}
        others = [row for row in marks if row["kind"] != "line" and row["row"] in places]
        others.sort(key=lambda row: _at(source, row))
        kept = {id(row) for row in others[:marks_max]}
        drawn = [row for row in marks if row["kind"] == "line" or id(row) in kept]
        missing = left + len(marks) - len(drawn)
        more = f" ({missing} more are not shown)" if missing else ""
        lane = Lane(_text(title + more), [_text(name) for name in names], subject)
        alike: dict[tuple[str, str, str], list[Row]] = {}
        for row in drawn:
            alike.setdefault((row["kind"], row["name"], row["color"]), []).append(row)
        for (_, name, color), of_one in alike.items():
            lane.marks.append(_mark(source, of_one, places))
            if name:
                lane.keys.append((_text(name), color))
        if lane.marks:
            yield lane


def _mark(source: Source, rows: list[Row], places: dict[str | None, int]) -> dict[str, Any]:
    first = rows[0]
    mark: dict[str, Any] = {
        "kind": first["kind"],
        "name": _text(first["name"]),
        "color": first["color"],
        "x": [_short(_at(source, row)) for row in rows],
        "y": [_short(row["value"]) if row["row"] is None else places[row["row"]] for row in rows],
    }
    if mark["kind"] != "line":
        mark["hover"] = [_hover(row["text"]) for row in rows]
    if mark["kind"] in ("bar", "thin"):
        mark["end"] = [_short(source.end(row["until_micros"])) for row in rows]
        mark["label"] = [_text(row["label"]) for row in rows]
    if "link" in first:
        mark["link"] = [row["link"] for row in rows]
    return mark


def _at(source: Source, row: Row) -> float:
    return row["seconds"] if "seconds" in row else source.seconds(row["at_micros"])


def _text(text: str) -> str:
    """A text of the run, since plotly reads tags."""
    return escape(text, quote=False)


def _hover(text: str) -> str:
    """The same in lines, since plotly does not break them."""
    lines = [part for line in text.split("\n") for part in textwrap.wrap(line[:400], 90)]
    return "<br>".join(map(_text, lines))


def _short(number: float | None) -> float | int:
    """To the millisecond, and without a fraction where there is none."""
    rounded = round(float(number or 0), 3)
    return int(rounded) if rounded.is_integer() else rounded


# Findings.


def _found(source: Source) -> Iterator[Lane]:
    """A row for each check with a violation or an undecided case, and one for what is permitted."""
    grave = sorted(source.findings, key=lambda numbered: -source.weight(numbered.finding))[
        :_FINDINGS_MAX
    ]
    delivered = _delivery_times(source, grave)
    timed = [
        (at, numbered)
        for place, numbered in enumerate(grave)
        if (at := delivered.get(place) if numbered.finding.at is None else numbered.finding.at)
        is not None
    ]
    weights: dict[str, int] = {}
    for _, numbered in timed:
        row = _row(numbered)
        weights[row] = max(weights.get(row, 0), source.weight(numbered.finding))
    begin, end = source.span
    verdicts = list(_FOUND)
    rows = [
        {
            "lane": "findings",
            "kind": "triangle-down",
            "name": _FOUND[numbered.finding.verdict][1],
            "color": _FOUND[numbered.finding.verdict][0],
            "row": _row(numbered),
            "nth": (-weights[_row(numbered)], _row(numbered)),
            "seconds": min(max(source.seconds(at), begin), end),
            "text": _in_words(numbered),
            "link": numbered.anchor,
        }
        for at, numbered in sorted(timed, key=lambda pair: verdicts.index(pair[1].finding.verdict))
    ]
    left = len(source.findings) - len(rows)
    yield from _lanes(source, rows, marks_max=_FINDINGS_MAX, left=left)


def _row(numbered: Numbered) -> str:
    found = numbered.finding
    return found.check if found.verdict != FindingVerdict.PERMITTED else str(found.verdict)


def _in_words(numbered: Numbered) -> str:
    found = numbered.finding
    where = "" if found.topic is None else f" {found.topic}-{found.partition}"
    group = "" if found.group is None else f", group {found.group}"
    return f"{found.check}{where}{group}\n{found.cause}"


_UNTIMED = (
    int64("place"),
    string("of_group"),
    *nullable(*PARTITION),
    int64("asked_first"),
    int64("asked_last"),
)
_DELIVERED = """
with compared as (
  select place, at_micros, first_offset > asked_last as is_beyond,
    first_offset <= asked_last and last_offset >= asked_first as is_of_it
  from {untimed} as u join deliveries as d
    on group = of_group and d.topic = u.topic and d.partition = u.partition
),
times as (
  select place, min(at_micros) filter (where is_of_it) as first_micros,
    max(at_micros) filter (where is_of_it) as last_micros,
    min(at_micros) filter (where is_beyond) as beyond_micros
  from compared group by place
)
select place, if(first_micros < last_micros, last_micros, beyond_micros) as at_micros from times"""


def _delivery_times(source: Source, found: list[Numbered]) -> dict[int, int | None]:
    """The times of findings that have no time of their own, by their places in the list.

    A time is that of the delivery to the finding's group that ended it: the last one of its offsets
    if they were delivered twice, else the first one beyond them.
    """
    untimed = [
        {
            "place": place,
            "of_group": finding.group,
            "topic": finding.topic,
            "partition": finding.partition,
            "asked_first": finding.offset_first,
            "asked_last": finding.offset_first
            if finding.offset_last is None
            else finding.offset_last,
        }
        for place, finding in enumerate(numbered.finding for numbered in found)
        if finding.at is None and finding.group is not None and finding.offset_first is not None
    ]
    if not untimed:
        return {}
    rows = source.rows(_DELIVERED.format(untimed=source.facts.named(_UNTIMED, untimed)))
    return {row["place"]: row["at_micros"] for row in rows}
