"""The lanes of a timeline: of the run, of its producers, of a partition and of a group."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby

from analysis.report.timeline.lanes import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    SERIES,
    SKY,
    TEAL,
    VIOLET,
    Bar,
    Lane,
    Point,
)
from analysis.report.timeline.source import READ, Numbered, Partition, Source
from analysis.statements.trace import Row
from contract.faults import target_of
from contract.outcomes import Outcome
from contract.stages import Stage
from contract.table_columns import PARTITION, int64, nullable, string
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
        _notes(source),
        _faults(source),
        _controllers(source),
        _brokers(source),
    ):
        if lane.marks:
            yield lane


def _phases(source: Source) -> Lane:
    lane = Lane("phases", rows=[""])
    bars = []
    for row in source.rows("select * from phases order by began_micros")[:_BARS_MAX]:
        until = source.end(row["ended_micros"])
        stage = str(row["stage"])
        color = _STAGE.get(Stage(stage), GREY) if stage in set(Stage) else GREY
        hover = f"{stage}: {row['doing']}"
        bars.append(Bar(0, source.seconds(row["began_micros"]), until, color, hover, stage))
        lane.key(stage, color)
    lane.bars(bars)
    return lane


def _notes(source: Source) -> Lane:
    lane = Lane("notes", rows=[""])
    rows = source.rows("select * from notes order by at_micros")[:_BARS_MAX]
    points = [
        Point(source.seconds(row["at_micros"]), 0, _wrapped(row["text"]) or "an empty note")
        for row in rows
    ]
    lane.points(points, name="note", color=BLUE, symbol="diamond")
    return lane


def _faults(source: Source) -> Lane:
    faults = source.rows("select * from faults order by injected_micros")
    names = [f"{row['fault']} {target_of(row)}".strip() for row in faults[:ROWS_MAX]]
    left = len(faults) - len(names)
    lane = Lane(f"faults{_more(left)}", rows=names)
    whole, proved, proofs = [], [], []
    for place, (name, row) in enumerate(zip(names, faults, strict=False)):
        until = source.end(row["healed_micros"])
        begin = source.seconds(row["injected_micros"])
        is_healed = row["healed_micros"] is not None
        healed = f"healed at {until:+.3f} s" if is_healed else "not healed within the run"
        whole.append(Bar(place, begin, until, "#e6a3a3", f"{name}\n{healed}"))
        if row["proved_micros"] is not None:
            at = source.seconds(row["proved_micros"])
            began = row["heal_began_micros"]
            held = until if began is None else source.seconds(began)
            proved.append(Bar(place, at, max(at, held), RED, f"{name}\nits effect holds"))
            proofs.append(Point(at, place, f"{name}\nits effect was observed"))
    lane.bars(whole)
    lane.bars(proved, thickness=0.4)
    lane.points(proofs, name="effect observed", color=RED, symbol="diamond")
    if lane.marks:
        lane.keys = [("injected to healed", "#e6a3a3"), *lane.keys]
    return lane


def _controllers(source: Source) -> Lane:
    """Who led the quorum, if that changed."""
    changes = source.rows(_CONTROLLERS)[:_BARS_MAX]
    if len(changes) <= 1:
        return Lane("")
    leaders = sorted({row["leader"] for row in changes})
    lane = Lane("active controller", rows=[f"controller {leader}" for leader in leaders])
    ends = [row["at_micros"] for row in changes[1:]] + [None]
    lane.bars(
        [
            Bar(
                leaders.index(row["leader"]),
                source.seconds(row["at_micros"]),
                source.end(end),
                VIOLET,
                f"controller {row['leader']} leads the quorum in epoch {row['metadata_epoch']}",
                f"epoch {row['metadata_epoch']}",
            )
            for row, end in zip(changes, ends, strict=True)
        ]
    )
    return lane


_CONTROLLERS = "select * from quorum_leaders where at_micros is not null order by at_micros"
_OUTAGES = "select * from outages_of_brokers order by broker, from_micros"


def _brokers(source: Source) -> Lane:
    """Fenced brokers and controlled shutdowns, after they were in service."""
    outages = source.rows(_OUTAGES)
    brokers = sorted({row["broker"] for row in outages})[:ROWS_MAX]
    lane = Lane("brokers out of service", rows=[f"broker {broker}" for broker in brokers])
    bars = []
    for row in outages[:_BARS_MAX]:
        begin, end = source.seconds(row["from_micros"]), source.end(row["until_micros"])
        if row["broker"] in brokers and end > begin:
            what = "is fenced" if row["is_fenced"] else "is in controlled shutdown"
            color = GREY if row["is_fenced"] else ORANGE
            hover = f"broker {row['broker']} {what} for {end - begin:.3f} s"
            bars.append(Bar(brokers.index(row["broker"]), begin, end, color, hover))
            lane.key("fenced" if row["is_fenced"] else "controlled shutdown", color)
    lane.bars(bars)
    return lane


def _findings(source: Source) -> Lane:
    """A row for each check with a violation or an undecided case, and one for what is permitted."""
    grave = sorted(source.findings, key=lambda one: -source.weight(one.finding))[:_FINDINGS_MAX]
    delivered = _delivered(source, grave)
    timed = [
        (_within(source, at), one)
        for place, one in enumerate(grave)
        if (at := delivered.get(place) if one.finding.at is None else one.finding.at) is not None
    ]
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


def _within(source: Source, micros: int) -> float:
    """A time, within the time that is drawn."""
    begin, end = source.span
    return min(max(source.seconds(micros), begin), end)


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


def _delivered(source: Source, found: list[Numbered]) -> dict[int, int | None]:
    """The times of findings that have no time of their own, by their places in the list.

    A time is that of the delivery to the finding's group that ended it: the last one of its offsets
    if they were delivered twice, else the first one beyond them.
    """
    untimed = [
        {
            "place": place,
            "of_group": one.group,
            "topic": one.topic,
            "partition": one.partition,
            "asked_first": one.offset_first,
            "asked_last": one.offset_first if one.offset_last is None else one.offset_last,
        }
        for place, one in enumerate(numbered.finding for numbered in found)
        if one.at is None and one.group is not None and one.offset_first is not None
    ]
    if not untimed:
        return {}
    rows = source.rows(_DELIVERED.format(untimed=source.facts.named(_UNTIMED, untimed)))
    return {row["place"]: row["at_micros"] for row in rows}


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


# Producers: throughput, errors, and latency by acks.

_BINS = 120
_PRODUCERS_MAX = 6
_ACKS_MAX = 3
_ERRORS_MAX = 8
_OTHERS = "other producers"
_SENDS = """
select bin, producer, outcome, coalesce(error, 'no error') as error, sum(records) as records
from sends_over_time group by all order by bin, producer, outcome, error"""


def lanes_of_producers(source: Source) -> Iterator[Lane]:
    """Those that have something to show."""
    for lane in (_throughput(source), _latency(source)):
        if lane.marks:
            yield lane


def _edges(source: Source) -> list[float]:
    begin, end = source.span
    return [begin + (end - begin) * at / _BINS for at in range(_BINS + 1)]


def _throughput(source: Source) -> Lane:
    lane = Lane("producers: acknowledged records per second")
    sizes: dict[str, list[int]] = defaultdict(lambda: [0] * _BINS)
    for row in source.of(_SENDS, outcome=Outcome.OK):
        sizes[row["producer"]][row["bin"]] += int(row["records"])
    first = sorted(sizes, key=lambda name: (-sum(sizes[name]), name))[:_PRODUCERS_MAX]
    for name in sizes.keys() - set(first):
        sizes[_OTHERS] = [sum(pair) for pair in zip(sizes[_OTHERS], sizes.pop(name), strict=True)]
    edges = _edges(source)
    seconds = edges[1] - edges[0] or 1.0
    for place, name in enumerate([*first, _OTHERS]):
        if name in sizes:
            rates = [records / seconds for records in sizes[name]]
            lane.line(edges[:-1], rates, name=name, color=SERIES[place])
    lane.points(list(_errors(source, edges)), name="not acknowledged", color=RED, symbol="x")
    return lane


def _errors(source: Source, edges: list[float]) -> Iterator[Point]:
    """One point for each bin in which sends failed or have an unknown outcome."""
    lost = (row for row in source.rows(_SENDS) if row["outcome"] != Outcome.OK)
    for place, some in groupby(lost, lambda row: int(row["bin"])):
        reported = [
            f"{row['producer']}: {row['records']} {row['outcome']}, {row['error']}" for row in some
        ]
        shown = reported[:_ERRORS_MAX] + (["..."] if len(reported) > _ERRORS_MAX else [])
        yield Point(edges[place], 0, "\n".join(shown))


def _latency(source: Source) -> Lane:
    """Half of the records of a bin were answered within the median, 99 % within p99."""
    lane = Lane("producers: latency by acks, in ms")
    rows = source.rows("select * from latencies order by acks, bin")
    edges = _edges(source)
    for place, acks in enumerate(sorted({row["acks"] for row in rows})[:_ACKS_MAX]):
        own = [row for row in rows if row["acks"] == acks]
        for name, color in zip(("median", "p99"), SERIES[2 * place :], strict=False):
            at, values = [edges[row["bin"]] for row in own], [row[name] for row in own]
            lane.line(at, values, name=f"acks={acks}, {name}", color=color)
    return lane


# A partition: its replicas with their leader epochs, and the offsets of its log.

_REPLICAS_MAX = 8
_LINES_MAX = 4
_LINE_MIN = 8
"""Points of a line, however small the budget."""
_ROLE = {
    "leader": BLUE,
    "in the ISR": SKY,
    "eligible (ELR)": ORANGE,
    "out of the ISR": "#b9c0c7",
}


def lanes_of_partition(source: Source, where: Partition, points_max: int) -> Iterator[Lane]:
    """Those that have something to show, with at most about `points_max` points."""
    for lane in (
        _replicas(source, where, points_max // 2),
        _offsets(source, where, points_max // 2),
    ):
        if lane.marks:
            lane.subject = f"partition {where}"
            yield lane


_STATES = "select * from leadership_states order by metadata_offset"
_TRUNCATIONS = "select * from truncations order by at_micros"


def _replicas(source: Source, where: Partition, bars_max: int) -> Lane:
    """A row for each replica: leader with its epoch, in the ISR, eligible, or out of it."""
    changes = source.of_partition(_STATES, where)
    brokers = sorted({broker for row in changes for broker in row["replicas"]})[:_REPLICAS_MAX]
    shown = changes[: max(1, bars_max // max(1, len(brokers)))]
    left = len(changes) - len(shown)
    more = f", the first {len(shown)} of {len(changes)} changes" if left else ""
    lane = Lane(f"{where}: leader and replicas{more}", rows=[f"broker {one}" for one in brokers])
    bars: list[Bar] = []
    for row in shown:
        span = source.seconds(row["at_micros"]), source.end(row["until_micros"])
        for place, broker in enumerate(brokers):
            if broker in row["replicas"]:
                bars.append(_bar(row, place, broker, span))
    for role, color in _ROLE.items():
        if any(bar.color == color for bar in bars):
            lane.key(role, color)
    lane.bars(bars)
    lane.points(_truncated(source, where, brokers), name="truncates", color=RED, symbol="x")
    return lane


def _bar(row: Row, place: int, broker: int, span: tuple[float, float]) -> Bar:
    role = "out of the ISR"
    if broker == row["leader"]:
        role = "leader"
    elif broker in row["isr"]:
        role = "in the ISR"
    elif broker in row["elr"]:
        role = "eligible (ELR)"
    leader = "no leader" if row["leader"] < 0 else f"leader {row['leader']}"
    hover = (
        f"broker {broker}: {role}\nepoch {row['leader_epoch']}, {leader}, "
        f"ISR {row['isr']}, ELR {row['elr']}"
    )
    label = f"epoch {row['leader_epoch']}" if role == "leader" else ""
    return Bar(place, *span, _ROLE[role], hover, label)


def _truncated(source: Source, where: Partition, brokers: list[int]) -> list[Point]:
    rows = source.of_partition(_TRUNCATIONS, where)
    return [
        Point(
            source.seconds(row["at_micros"]),
            brokers.index(row["broker"]),
            f"broker {row['broker']} truncates its log to offset {row['to_offset']}",
        )
        for row in rows[: _REPLICAS_MAX * 8]
        if row["broker"] in brokers
    ]


def _offsets(source: Source, where: Partition, points_max: int) -> Lane:
    """Where acknowledged records end, by acks, the high watermark of each leader, the log start.

    Where two leaders write, the acknowledged end goes to and fro.
    """
    lane = Lane(f"{where}: offsets")
    of_line = _lines(source, where)
    acknowledged = sorted(name for name in of_line if name.startswith("acknowledged"))
    marks = sorted(
        (name for name in of_line if name.startswith("high watermark")),
        key=lambda name: int(name.rpartition(" ")[2]),
    )[:_LINES_MAX]
    colors = {name: (VIOLET, SERIES[5], GREY)[at % 3] for at, name in enumerate(acknowledged)}
    colors |= dict(zip(marks, (BLUE, ORANGE, *SERIES[2:]), strict=False)) | {"log start": GREY}
    drawn = [name for name in colors if name in of_line]
    for name in drawn:
        _draw(source, lane, of_line[name], name, colors[name], points_max // len(drawn))
    if lane.marks:
        points = [
            Point(
                source.seconds(row["at_micros"]),
                row["to_offset"],
                f"broker {row['broker']} truncates its log to offset {row['to_offset']}",
            )
            for row in source.of_partition(_TRUNCATIONS, where)[: _REPLICAS_MAX * 8]
        ]
        lane.points(points, name="truncated to", color=RED, symbol="x")
    return lane


def _lines(source: Source, where: Partition, group: str | None = None) -> dict[str, list[Row]]:
    """The points of lines of a partition, or of a group there, by the names of the lines."""
    found: dict[str, list[Row]] = {}
    for row in source.of(source.lines, topic=where.topic, partition=where.number, group=group):
        found.setdefault(row["line"], []).append(row)
    return found


def _draw(
    source: Source, lane: Lane, points: list[Row], name: str, color: str, points_max: int
) -> None:
    shown = _thinned(points, max(_LINE_MIN, points_max))
    at = [source.seconds(row["at_micros"]) for row in shown]
    lane.line(at, [row["offset"] for row in shown], name=name, color=color)


def _thinned(points: list[Row], points_max: int) -> list[Row]:
    """At most `points_max` points: of each bin the first, last, lowest and highest one."""
    if len(points) <= points_max:
        return points
    bins = points_max // 4
    begin = points[0]["at_micros"]
    width = max(1, points[-1]["at_micros"] - begin)
    kept: set[int] = set()
    for _, some in groupby(
        range(len(points)),
        lambda place: min(bins - 1, bins * (points[place]["at_micros"] - begin) // width),
    ):
        places = list(some)
        heights = [points[place]["offset"] for place in places]
        low, high = heights.index(min(heights)), heights.index(max(heights))
        kept |= {places[0], places[-1], places[low], places[high]}
    return [points[place] for place in sorted(kept)]


# A group: positions against the log end, lag, commits, members and what they owned.

_POSITIONS_MAX = 2
_MEMBERS_MAX = 8
_SYMBOLS_MAX = 24
_NAMES_MAX = 12
_COMMITS = "select * from drawn_commits order by at_micros, offset"
_RESETS = "select * from logged_resets order by at_micros"
_FAILURES = "select * from failures_of_members order by at_micros"
_MEMBERS = (
    "select distinct group, member, first_micros from memberships order by first_micros, member"
)
_OPEN = "select * from memberships order by from_micros"
_HELD = "select * from holdings order by from_micros"


def lanes_of_group(source: Source, group: str, points_max: int) -> Iterator[Lane]:
    """Those that have something to show; their lines have at most about `points_max` points."""
    partitions = _partitions(source, group)
    shown = partitions[:_POSITIONS_MAX]
    lanes = [_positions(source, group, where, points_max // 4) for where in shown]
    if len(partitions) > _POSITIONS_MAX:
        lanes.append(_lag(source, group, len(partitions)))
    for lane in (*lanes, _members(source, group)):
        if lane.marks:
            lane.subject = f"group {group}"
            yield lane


def _partitions(source: Source, group: str) -> list[Partition]:
    """The partitions that the group read or committed; those of findings first."""
    found = {Partition.of(one.finding) for one in source.findings if one.finding.group == group}
    used = [Partition(row["topic"], row["partition"]) for row in source.of(READ, group=group)]
    return sorted(used, key=lambda where: (where not in found, where))


def _positions(source: Source, group: str, where: Partition, points_max: int) -> Lane:
    lane = Lane(f"{group} on {where}: position")
    here = {"group": group, "topic": where.topic, "partition": where.number}
    end = _lines(source, where).get("log end as last seen", [])
    _draw(source, lane, end, "log end as last seen", GREY, points_max)
    position = _lines(source, where, group).get("position", [])
    _draw(source, lane, position, "position", BLUE, points_max)
    commits = [
        Point(source.seconds(row["at_micros"]), row["offset"], _commit(row))
        for row in source.of(_COMMITS, **here)
    ]
    lane.points(commits, name="commit (offset, epoch)", color=VIOLET, symbol="diamond")
    resets = [
        Point(source.seconds(row["at_micros"]), height, _reset(row))
        for row in source.of(_RESETS, **here)[-_SYMBOLS_MAX:]
        if (height := row["from_offset"] if row["to_offset"] is None else row["to_offset"])
        is not None
    ]
    lane.points(resets, name="reset", color=ORANGE, symbol="triangle-left")
    failures = [
        Point(
            source.seconds(row["at_micros"]),
            row["position"],
            f"{row['member']}: {row['exception']}\n{str(row['message'])[:200]}",
        )
        for row in source.of(_FAILURES, **here)[:_SYMBOLS_MAX]
    ]
    lane.points(failures, name="exception", color=RED, symbol="x")
    has_more = any(mark.get("name") != "log end as last seen" for mark in lane.marks)
    return lane if has_more else Lane("")


def _commit(row: Row) -> str:
    every = f"\none of {row['commits']} commits" if row["shown"] < row["commits"] else ""
    position = f"offset {row['offset']} with epoch {row['committed_epoch']}"
    return f"{row['group']} commits {position}{every}"


def _reset(row: Row) -> str:
    to = "an exception" if row["to_offset"] is None else f"offset {row['to_offset']}"
    start = "no commit" if row["from_offset"] is None else f"offset {row['from_offset']}"
    return f"{row['member']} resets ({row['cause']}, {row['policy']})\nfrom {start} to {to}"


def _lag(source: Source, group: str, partitions: int) -> Lane:
    """The sum over all partitions of log end minus position, where both are known."""
    lane = Lane(f"{group}: lag in records over {partitions} partitions")
    rows = source.of("select * from lags order by at_micros", group=group)
    at = [source.seconds(row["at_micros"]) for row in rows]
    lane.line(at, [row["lag"] for row in rows], name="lag", color=ORANGE)
    return lane


def _members(source: Source, group: str) -> Lane:
    """A row for each incarnation: open, and while partitions were assigned to it."""
    members = [row["member"] for row in source.of(_MEMBERS, group=group)]
    shown = members[:_MEMBERS_MAX]
    left = len(members) - len(shown)
    more = f", the first {len(shown)} of {len(members)}" if left else ""
    lane = Lane(f"{group}: members{more}", rows=[f"#{one.rpartition('#')[2]}" for one in shown])
    opened: list[Bar] = []
    owned: list[Bar] = []
    for place, member in enumerate(shown):
        for row in source.of(_OPEN, group=group, member=member):
            then = "" if row["ended_by"] is None else f", then {row['ended_by']}"
            opened.append(_held(source, row, place, SKY, f"{member} is open{then}"))
        for row in source.of(_HELD, group=group, member=member)[: _SYMBOLS_MAX * 2]:
            names = row["partitions"]
            hidden = len(names) - _NAMES_MAX
            listed = ", ".join(names[:_NAMES_MAX]) + (f" and {hidden} more" if hidden > 0 else "")
            generation = "unknown" if row["generation"] < 0 else row["generation"]
            reported = f"{member} owns {listed}\ngeneration {generation}"
            owned.append(_held(source, row, place, BLUE, reported, str(len(names))))
    lane.bars(opened)
    lane.bars(owned, thickness=0.4)
    if opened:
        lane.key("open", SKY)
    if owned:
        lane.key("owns partitions", BLUE)
    return lane


def _held(source: Source, row: Row, place: int, color: str, hover: str, label: str = "") -> Bar:
    begin, end = source.seconds(row["from_micros"]), source.end(row["until_micros"])
    return Bar(place, begin, end, color, hover, label)
