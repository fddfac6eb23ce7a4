"""Lanes of the whole run: phases, faults, controllers, brokers and findings."""

from collections.abc import Iterator

import pandas as pd

from analysis.report.timeline.lanes import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    TEAL,
    VIOLET,
    Bar,
    Lane,
    Point,
)
from analysis.report.timeline.rows import rows_of
from analysis.report.timeline.source import Numbered, Source
from contract.faults import target_of
from contract.stages import Stage
from contract.verdicts import FindingVerdict

ROWS_MAX = 14
"""Of a lane."""
_BARS_MAX = 300
_FINDINGS_MAX = 1_000
_STAGE = {
    Stage.STARTING: GREY,
    Stage.WARM_UP: TEAL,
    Stage.STEADY: GREEN,
    Stage.HELD: RED,
    Stage.HEALED: ORANGE,
    Stage.SETTLING: VIOLET,
    Stage.FINAL_READ: BLUE,
    Stage.COLLECTING: GREY,
}
_FOUND = {
    FindingVerdict.VIOLATION: (RED, "violation"),
    FindingVerdict.UNDECIDED: (ORANGE, "undecided"),
    FindingVerdict.PERMITTED: (BLUE, "permitted"),
}


def lanes_of_run(source: Source) -> Iterator[Lane]:
    """Those that have something to show."""
    for lane in (
        _findings(source),
        _phases(source),
        _faults(source),
        _controllers(source),
        _brokers(source),
    ):
        if lane.marks:
            yield lane


def _phases(source: Source) -> Lane:
    lane = Lane("phases", rows=[""])
    end = source.span[1]
    bars = []
    for row in rows_of(source.frame("phases"))[:_BARS_MAX]:
        until = end if row["ended_micros"] is None else source.seconds(row["ended_micros"])
        stage = str(row["stage"])
        color = _STAGE.get(Stage(stage), GREY) if stage in set(Stage) else GREY
        hover = f"{stage}: {row['doing']}"
        bars.append(Bar(0, source.seconds(row["began_micros"]), until, color, hover, stage))
        lane.key(stage, color)
    lane.bars(bars)
    return lane


def _faults(source: Source) -> Lane:
    faults = rows_of(source.frame("faults"))
    faults.sort(key=lambda row: row["injected_micros"])
    names = [f"{row['fault']} {target_of(row)}".strip() for row in faults[:ROWS_MAX]]
    left = len(faults) - len(names)
    lane = Lane(f"faults{_more(left)}", rows=names)
    whole, proved, proofs = [], [], []
    for place, (name, row) in enumerate(zip(names, faults, strict=False)):
        ends = (row["healed_micros"], row["heal_began_micros"])
        until = source.span[1] if ends[0] is None else source.seconds(ends[0])
        begin = source.seconds(row["injected_micros"])
        healed = "not healed within the run" if ends[0] is None else f"healed at {until:+.3f} s"
        whole.append(Bar(place, begin, until, "#e6a3a3", f"{name}\n{healed}"))
        if row["proved_micros"] is not None:
            at = source.seconds(row["proved_micros"])
            held = until if ends[1] is None else source.seconds(ends[1])
            proved.append(Bar(place, at, max(at, held), RED, f"{name}\nits effect holds"))
            proofs.append(Point(at, place, f"{name}\nits effect was observed"))
    lane.bars(whole)
    lane.bars(proved, thickness=0.4)
    lane.points(proofs, name="effect observed", color=RED, symbol="diamond")
    if lane.marks:
        lane.keys = [("injected to healed", "#e6a3a3"), *lane.keys]
    return lane


def _controllers(source: Source) -> Lane:
    """Who led the quorum, if that changed: by the epochs that elected controllers wrote."""
    columns = ("leader", "metadata_epoch", "at_micros")
    elected = source.frame("metadata_batches", *columns)
    elected = elected.sort_values("at_micros").drop_duplicates("metadata_epoch")
    changes = rows_of(elected)[:_BARS_MAX]
    if len(changes) <= 1:
        return Lane("")
    leaders = sorted({row["leader"] for row in changes})
    lane = Lane("active controller", rows=[f"controller {leader}" for leader in leaders])
    ends = [source.seconds(row["at_micros"]) for row in changes[1:]] + [source.span[1]]
    lane.bars(
        [
            Bar(
                leaders.index(row["leader"]),
                source.seconds(row["at_micros"]),
                until,
                VIOLET,
                f"controller {row['leader']} leads the quorum in epoch {row['metadata_epoch']}",
                f"epoch {row['metadata_epoch']}",
            )
            for row, until in zip(changes, ends, strict=True)
        ]
    )
    return lane


def _brokers(source: Source) -> Lane:
    """Fenced brokers and controlled shutdowns; the time before a broker first came up is none."""
    states = source.frame("broker_states").sort_values("metadata_offset")
    spans = [
        (int(str(broker)), span)
        for broker, some in states.groupby("broker")
        for span in _fenced(source, some)
    ]
    brokers = sorted({broker for broker, _ in spans})[:ROWS_MAX]
    lane = Lane("brokers out of service", rows=[f"broker {broker}" for broker in brokers])
    bars = []
    for broker, (begin, end, is_fenced) in spans[:_BARS_MAX]:
        if broker in brokers:
            what = "is fenced" if is_fenced else "is in controlled shutdown"
            color = GREY if is_fenced else ORANGE
            hover = f"broker {broker} {what} for {end - begin:.3f} s"
            bars.append(Bar(brokers.index(broker), begin, end, color, hover))
            lane.key("fenced" if is_fenced else "controlled shutdown", color)
    lane.bars(bars)
    return lane


def _fenced(source: Source, states: pd.DataFrame) -> Iterator[tuple[float, float, bool]]:
    """The spans in which a broker was fenced (true) or in controlled shutdown (false)."""
    rows = rows_of(states)
    ends = [source.seconds(row["at_micros"]) for row in rows[1:]] + [source.span[1]]
    was_up = False
    for row, end in zip(rows, ends, strict=True):
        was_up = was_up or not row["is_fenced"]
        is_out = row["is_fenced"] or row["in_controlled_shutdown"]
        at = source.seconds(row["at_micros"])
        if is_out and was_up and end > at:
            yield at, end, bool(row["is_fenced"])


def _findings(source: Source) -> Lane:
    """A row for each check with a violation or an undecided case, and one for what is permitted."""
    grave = sorted(source.findings, key=lambda one: -source.weight(one.finding))[:_FINDINGS_MAX]
    timed = [(time, one) for one in grave if (time := _time(source, one)) is not None]
    weights: dict[str, int] = {}
    for _, one in timed:
        row = _row(one)
        weights[row] = max(weights.get(row, 0), source.weight(one.finding))
    rows = sorted(weights, key=lambda row: (-weights[row], row))[:ROWS_MAX]
    left = len(source.findings) - sum(_row(one) in rows for _, one in timed)
    lane = Lane(f"findings{_more(left)}", rows=rows)
    for verdict, (color, name) in _FOUND.items():
        points = [
            Point(time, rows.index(_row(one)), _hover(one), one.anchor)
            for time, one in timed
            if one.finding.verdict == verdict and _row(one) in rows
        ]
        lane.points(points, name=name, color=color, symbol="triangle-down")
    return lane


def _row(one: Numbered) -> str:
    found = one.finding
    return found.check if found.verdict != FindingVerdict.PERMITTED else str(found.verdict)


def _time(source: Source, one: Numbered) -> float | None:
    """When a finding happened, within the time that is drawn.

    Where it has no time of its own, that of the delivery to its group that ended it: the last one
    of its offsets if they were delivered twice, else the first one beyond them.
    """
    at = one.finding.at
    if at is None:
        at = _delivered(source, one)
    if at is None:
        return None
    begin, end = source.span
    return min(max(source.seconds(at), begin), end)


def _delivered(source: Source, one: Numbered) -> int | None:
    found = one.finding
    if found.group is None or found.offset_first is None:
        return None
    last = found.offset_first if found.offset_last is None else found.offset_last
    polls = source.of_group("polls", found.group)
    polls = polls[(polls["topic"] == found.topic) & (polls["partition"] == found.partition)]
    of_it = (polls["first_offset"] <= last) & (polls["last_offset"] >= found.offset_first)
    times = polls[of_it]["polled_micros"]
    if times.size and times.min() != times.max():
        return int(times.max())
    beyond = polls[polls["first_offset"] > last]["polled_micros"]
    return int(beyond.min()) if len(beyond) else None


def _hover(one: Numbered) -> str:
    found = one.finding
    where = "" if found.topic is None else f" {found.topic}-{found.partition}"
    group = "" if found.group is None else f", group {found.group}"
    return f"{found.check}{where}{group}\n{_wrapped(found.cause)}"


def _wrapped(text: str, width: int = 90) -> str:
    """Plotly does not break lines."""
    lines = [""]
    for word in text[:400].split():
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def _more(left: int) -> str:
    return f" ({left} more are not shown)" if left > 0 else ""
