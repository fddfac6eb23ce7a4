"""Where a run's wall time went, and how much of it Kafka took (docs/decisions/0009)."""

from collections.abc import Iterable, Sequence

from analysis.facts.trace import Row, Trace
from contract.stages import Stage
from contract.tables import MICROS_PER_SECOND
from contract.verdicts import PhaseTime, Timing

_BEFORE = (Stage.STARTING, Stage.WARM_UP)
"""The story begins after the last of these."""


def timing(trace: Trace) -> Timing | None:
    """Of a run that came to its end; None where the phases are not known."""
    phases = trace.ask("select * from phases order by began_micros") if trace.rows["phases"] else []
    before = [index for index, row in enumerate(phases) if row["stage"] in _BEFORE]
    reported = [
        row for row in phases[max(before, default=-1) + 1 :] if row["stage"] != Stage.COLLECTING
    ]
    if not reported or trace.run.ended_micros is None:
        return None
    began, ended = reported[0]["began_micros"], reported[-1]["ended_micros"]
    faults = trace.ask("select forced_ms, forced_by from faults", optional=("faults",))
    settings = {name for row in faults for name in (row["forced_by"] or "").split(", ") if name}
    return Timing(
        starting=_seconds(began - trace.run.started_micros),
        story=_seconds(ended - began),
        collecting=_seconds(trace.run.ended_micros - ended),
        awaited=_seconds(covered_micros(_waits(trace), began, ended)),
        forced=sum(row["forced_ms"] or 0 for row in faults) / 1000,
        forced_by=sorted(settings),
        phases=list(_phases(phases)),
    )


def covered_micros(spans: Sequence[tuple[int, int]], began: int, ended: int) -> int:
    """How much of the time from `began` to `ended` lies in any of the spans."""
    covered, until = 0, began
    for first, last in sorted(spans):
        new_first, new_last = max(first, until), min(last, ended)
        if new_last > new_first:
            covered += new_last - new_first
            until = new_last
    return covered


def _waits(trace: Trace) -> list[tuple[int, int]]:
    if not trace.rows["waits"]:
        return []
    rows = trace.ask("select began_micros, ended_micros from waits")
    return [(row["began_micros"], row["ended_micros"]) for row in rows]


def _phases(rows: Iterable[Row]) -> Iterable[PhaseTime]:
    for row in rows:
        seconds = _seconds(row["ended_micros"] - row["began_micros"])
        yield PhaseTime(stage=row["stage"], doing=row["doing"], seconds=seconds)


def _seconds(micros: int) -> float:
    return round(micros / MICROS_PER_SECOND, 1)
