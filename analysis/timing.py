"""Where a run's wall time went, and how much of it Kafka's own timeouts force."""

from collections.abc import Iterable

from pyspark.sql import Row

from analysis.load import Trace
from harness.contract.stages import Stage
from harness.contract.tables import MICROS_PER_SECOND
from harness.contract.verdicts import PhaseTime, Timing


def timing(trace: Trace) -> Timing | None:
    """Of a run that came to its end; None where the phases are not known."""
    phases = trace["phases"].orderBy("began_micros").collect() if trace.rows["phases"] else []
    story = [row for row in phases if row["stage"] not in (Stage.STARTING, Stage.COLLECTING)]
    if not story or trace.run.ended_micros is None:
        return None
    faults = trace["faults"].select("forced_ms", "forced_by").collect()
    settings = {name for row in faults for name in (row["forced_by"] or "").split(", ") if name}
    return Timing(
        starting=_seconds(story[0]["began_micros"] - trace.run.started_micros),
        story=_seconds(story[-1]["ended_micros"] - story[0]["began_micros"]),
        collecting=_seconds(trace.run.ended_micros - story[-1]["ended_micros"]),
        forced=sum(row["forced_ms"] or 0 for row in faults) / 1000,
        forced_by=sorted(settings),
        phases=list(_phases(phases)),
    )


def _phases(rows: Iterable[Row]) -> Iterable[PhaseTime]:
    for row in rows:
        seconds = _seconds(row["ended_micros"] - row["began_micros"])
        yield PhaseTime(stage=row["stage"], doing=row["doing"], seconds=seconds)


def _seconds(micros: int) -> float:
    return round(micros / MICROS_PER_SECOND, 1)
