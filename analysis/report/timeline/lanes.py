"""What a timeline is made of: lanes with marks, all on one time axis.

Times are seconds from the timeline's zero. Texts of the run are escaped when a mark is made, since
plotly reads tags in texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

BLUE, SKY, ORANGE, GREEN = "#3b7dd8", "#8fbcf0", "#d9822b", "#2e9e5b"
RED, VIOLET, TEAL, GREY = "#d64545", "#9063cd", "#1f9e9e", "#8c959f"
SERIES = (BLUE, ORANGE, GREEN, VIOLET, TEAL, "#c2528b", "#a08a1f", GREY)
"""Colors of equal rank; all are legible on light and on dark ground."""


@dataclass(frozen=True)
class Bar:
    """A span of time in a row of its lane.

    Attributes:
        row: counted from the top.
        begin: in seconds.
        end: in seconds.
        color: of the bar.
        hover: what is shown on hover; lines are broken where it has line breaks.
        label: inside of the bar, where it fits.
    """

    row: int
    begin: float
    end: float
    color: str
    hover: str
    label: str = ""


@dataclass(frozen=True)
class Point:
    """A moment: in a row of its lane, or at a height.

    Attributes:
        x: in seconds.
        y: a row, counted from the top, or a value of the lane's axis.
        hover: what is shown on hover.
        link: the anchor on the page that a click opens; empty for none.
    """

    x: float
    y: float
    hover: str
    link: str = ""


@dataclass
class Lane:
    """A strip of the timeline.

    Attributes:
        title: above the lane.
        rows: names of its rows, from the top; empty where it has an axis of values.
        subject: the partition or group that it belongs to; empty: it is always shown.
        marks: what is drawn, in order.
        keys: what the colors mean, as (text, color).
    """

    title: str
    rows: Sequence[str] = ()
    subject: str = ""
    marks: list[dict[str, Any]] = field(default_factory=list)
    keys: list[tuple[str, str]] = field(default_factory=list)

    def bars(self, bars: Sequence[Bar], *, thickness: float = 0.72) -> None:
        """Draw bars in rows."""
        if bars:
            self.marks.append(
                {
                    "kind": "bars",
                    "y": [bar.row for bar in bars],
                    "x": [_short(bar.begin) for bar in bars],
                    "end": [_short(bar.end) for bar in bars],
                    "color": [bar.color for bar in bars],
                    "hover": [_text(bar.hover) for bar in bars],
                    "label": [_text(bar.label) for bar in bars],
                    "thickness": thickness,
                }
            )

    def line(self, xs: Sequence[float], ys: Sequence[float], *, name: str, color: str) -> None:
        """Draw a value that holds until the next one."""
        if xs:
            self.marks.append(
                {
                    "kind": "line",
                    "x": [_short(x) for x in xs],
                    "y": [_short(y) for y in ys],
                    "name": _text(name),
                    "color": color,
                }
            )
            self.key(name, color)

    def points(self, points: Sequence[Point], *, name: str, color: str, symbol: str) -> None:
        """Draw moments as symbols of plotly."""
        if points:
            self.marks.append(
                {
                    "kind": "points",
                    "x": [_short(point.x) for point in points],
                    "y": [_short(point.y) for point in points],
                    "hover": [_text(point.hover) for point in points],
                    "link": [point.link for point in points],
                    "color": color,
                    "symbol": symbol,
                }
            )
            self.key(name, color)

    def key(self, text: str, color: str) -> None:
        """Say what a color means."""
        if text and (text, color) not in self.keys:
            self.keys.append((text, color))

    @property
    def drawn(self) -> int:
        """The number of points that it draws."""
        return sum(len(mark["x"]) for mark in self.marks)

    def as_json(self) -> dict[str, Any]:
        """What the page's script reads."""
        return {
            "title": _text(self.title),
            "rows": [_text(row) for row in self.rows],
            "subject": self.subject,
            "marks": self.marks,
            "keys": [[_text(text), color] for text, color in self.keys],
        }


def _text(text: str) -> str:
    return escape(text, quote=False).replace("\n", "<br>")


def _short(number: float) -> float | int:
    """To the millisecond, and without a fraction where there is none."""
    rounded = round(float(number), 3)
    return int(rounded) if rounded.is_integer() else rounded
