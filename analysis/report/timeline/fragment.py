"""The timeline as a piece of a page: its data, the choice of lanes, and the script that draws."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from analysis.report.timeline.rows import rows_of
from analysis.report.timeline.selection import Selection, select
from analysis.report.timeline.source import Source
from contract.run_folder import RunFolder
from contract.terminal import shown
from contract.verdicts import Verdict

_MARGIN = 0.01
_MISSING = (
    "The timeline needs the script of plotly beside this page. `fencepost open --standalone` makes "
    "a page that contains it."
)
_ZOOM = "Drag to zoom in, double-click to zoom out. A click on a finding opens its story."


def timeline(folder: RunFolder, verdict: Verdict) -> str:
    """The timeline as HTML, without plotly's own script; empty where there is nothing to draw.

    Every text of the run is escaped.
    """
    source = Source(folder, verdict)
    chosen = select(source)
    if not chosen.lanes:
        return ""
    environment = Environment(
        loader=PackageLoader("analysis.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("timeline.html.j2").render(
        origin=source.origin,
        zero=_time_of_day(source.zero_micros),
        zoom=_ZOOM,
        notes=chosen.notes,
        choices=chosen.choices,
        told=_told(chosen),
        # A script's content is no HTML: only what would end it is escaped.
        data=Markup(_data(source, chosen)),  # noqa: S704
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
        "zero_ms": source.zero_micros / 1000,
        "axis": f"seconds since {source.origin}",
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
    faults = source.frame("faults").dropna(subset=["proved_micros"])
    last: tuple[float, float] | None = None
    for row in rows_of(faults.sort_values("proved_micros")):
        begin, heal = source.seconds(row["proved_micros"]), row["heal_began_micros"]
        end = source.span[1] if heal is None else source.seconds(heal)
        if last is not None and begin <= last[1]:
            last = (last[0], max(last[1], end))
            continue
        if last is not None:
            yield last
        last = (begin, end)
    if last is not None:
        yield last


def _told(chosen: Selection) -> str:
    """What a screen reader says."""
    shown = {
        subject for names in chosen.choices.values() for _, subject, is_shown in names if is_shown
    }
    titles = [one.title for one in chosen.lanes if not one.subject or one.subject in shown]
    return f"Timeline with {len(titles)} lanes: {'; '.join(titles)}"
