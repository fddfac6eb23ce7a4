"""A run over time: who led under which epoch, which faults held, where groups committed."""

from datetime import UTC, datetime
from typing import Any

import plotly.graph_objects as go

from analysis.facts.load import Trace

_LEADERS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#72b7b2", "#eeca3b")
_NOBODY = "#bbbbbb"
_FAULT = "rgba(214, 39, 40, 0.12)"
_PROVED = "rgba(214, 39, 40, 0.08)"
_FAULT_TIMES = ("injected_micros", "proved_micros", "heal_began_micros", "healed_micros")
_ROW_HEIGHT_PX = 70
_ANNOTATED = ("top left", "bottom left")


def timeline(trace: Trace) -> str:
    """The figure as a piece of HTML, without plotly's own script; empty where nothing was led."""
    topics = {topic.topic for topic in trace.plan.topics}
    rows = [
        dict(row)
        for row in trace.present("leaderships").orderBy("metadata_offset").collect()
        if row["topic"] in topics
    ]
    if not rows:
        return ""
    commits = [
        dict(row) for row in trace.present("committed_offsets").where("not is_tombstone").collect()
    ]
    faults = [dict(row) for row in trace.present("faults").collect()]
    end = max(
        [row["at_micros"] for row in rows]
        + [row["committed_micros"] for row in commits]
        + [fault[time] for fault in faults for time in _FAULT_TIMES if fault[time] is not None]
    )
    figure = go.Figure()
    _add_leaderships(figure, rows, end)
    _add_commits(figure, commits)
    for index, fault in enumerate(faults):
        _add_fault(figure, fault, end, position=_ANNOTATED[index % len(_ANNOTATED)])
    lanes = len({_lane(row) for row in rows})
    figure.update_layout(
        height=160 + _ROW_HEIGHT_PX * lanes,
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
        barmode="overlay",
        legend={"orientation": "h"},
        paper_bgcolor="rgba(0,0,0,0)",
        xaxis={"type": "date", "title": "time (UTC)"},
    )
    html: str = figure.to_html(full_html=False, include_plotlyjs=False)
    return html


def _add_leaderships(figure: go.Figure, rows: list[dict[str, Any]], end: int) -> None:
    """One bar from each change of leadership to the next."""
    by_lane: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_lane.setdefault(_lane(row), []).append(row)
    shown: set[int] = set()
    for lane, changes in by_lane.items():
        ends = [change["at_micros"] for change in changes[1:]] + [end]
        for change, until in zip(changes, ends, strict=True):
            leader = change["leader"]
            figure.add_bar(
                y=[lane],
                x=[(until - change["at_micros"]) / 1000],
                base=[_time(change["at_micros"])],
                orientation="h",
                width=0.5,
                marker_color=_NOBODY if leader < 0 else _LEADERS[leader % len(_LEADERS)],
                name="no leader" if leader < 0 else f"broker {leader} leads",
                legendgroup=str(leader),
                showlegend=leader not in shown,
                text=f"epoch {change['leader_epoch']}",
                textposition="inside",
                hovertext=(
                    f"epoch {change['leader_epoch']}, leader {leader}, ISR {list(change['isr'])}, "
                    f"ELR {list(change['elr'])}"
                ),
            )
            shown.add(leader)


def _add_fault(figure: go.Figure, fault: dict[str, Any], end: int, *, position: str) -> None:
    """From its injection until it is healed; darker from its proof until the heal begins."""
    injected, proved, heal_began, healed = (fault[time] for time in _FAULT_TIMES)
    figure.add_vrect(
        x0=_time(injected),
        x1=_time(end if healed is None else healed),
        fillcolor=_FAULT,
        line_width=0,
        annotation_text=f"{fault['fault']} {fault['target']}",
        annotation_position=position,
        annotation_font_size=10,
    )
    if proved is not None:
        until = healed if heal_began is None else heal_began
        figure.add_vrect(
            x0=_time(proved),
            x1=_time(end if until is None else until),
            fillcolor=_PROVED,
            line_width=0,
        )


def _add_commits(figure: go.Figure, commits: list[dict[str, Any]]) -> None:
    if commits:
        figure.add_scatter(
            x=[_time(commit["committed_micros"]) for commit in commits],
            y=[_lane(commit) for commit in commits],
            mode="markers",
            marker={"symbol": "diamond", "size": 9, "color": "#111111"},
            name="commits",
            hovertext=[
                f"{commit['group']}: offset {commit['offset']}, epoch {commit['committed_epoch']}"
                for commit in commits
            ],
        )


def _lane(row: dict[str, Any]) -> str:
    return f"{row['topic']}-{row['partition']}"


def _time(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1_000_000, tz=UTC)
