"""Nights that are simulated, with planted regressions, flakes, fixes and disappearances.

The rows are those that the store of real nights has; the statements are asked on DuckDB.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from analysis.store import STORED
from analysis.trends.history import VIEWS, History, in_order, statement
from analysis.trends.identity import shape, subject_of
from analysis.trends.morning import morning
from contract.nights import (
    FindingState,
    Known,
    KnownFinding,
    Morning,
    Stability,
    TrackedFinding,
    TrendChange,
)

Row = dict[str, Any]
SUITE, CLUSTER = "simulated", "embedded"
_HOUR = 3_600_000_000
_DAY = 24 * _HOUR
FIRST = date(2026, 1, 1)
CLIENTS = ("java", "kafka-python", "librdkafka")
CHECKS = ("lost_record", "skipped_record", "stuck_consumer", "reset", "duplicate_delivery")


@dataclass(frozen=True)
class Planted:
    """A finding of a scenario on one version.

    Attributes:
        rate: the share of runs that have it, by night, from 0.
    """

    scenario: str
    rate: Callable[[int], float]
    kafka: str = "4.4.0"
    check: str = "stuck_consumer"
    client: str | None = "librdkafka"

    def cause(self, offset: int) -> str:
        """Its cause, with a number that differs in each run."""
        return f"the member stopped at {offset}; the log ends at {offset + 100}"


@dataclass(frozen=True)
class Lane:
    """A scenario on a version.

    Attributes:
        runs: whether it runs, by night.
        is_judged: whether a check comes to a verdict there.
        waits: seconds of the longest wait of a fetch, on average.
        repeat: runs a night.
    """

    scenario: str
    kafka: str = "4.4.0"
    runs: Callable[[int], bool] = lambda _: True
    is_judged: Callable[[int], bool] = lambda _: True
    waits: Callable[[int], float] = lambda _: 0.0
    repeat: int = 1


@dataclass(frozen=True)
class Nights:
    """Nights to be drawn."""

    lanes: Sequence[Lane]
    planted: Sequence[Planted] = ()
    count: int = 30
    undecided: float = 0.02


def name_of(night: int) -> str:
    """The name of a night, from 0."""
    return f"{SUITE}-{day_of(night):%Y%m%d}-020000"


def day_of(night: int) -> date:
    """The day of a night."""
    return FIRST + timedelta(days=night)


def rows_of(nights: Nights, seed: int) -> Iterator[Row]:
    """The rows of the store after all nights."""
    random = Random(seed)
    for night in range(nights.count):
        at = night * _DAY
        for lane in nights.lanes:
            if not lane.runs(night):
                continue
            for repeat in range(lane.repeat):
                at += _HOUR // 20
                seconds = random.gauss(60, 3)
                here = [
                    planted
                    for planted in nights.planted
                    if (planted.scenario, planted.kafka) == (lane.scenario, lane.kafka)
                    and random.random() < planted.rate(night)
                ]
                is_undecided = random.random() < nights.undecided and not here
                run = {
                    "night": name_of(night),
                    "scenario": lane.scenario,
                    "run": f"runs/{lane.scenario}-{lane.kafka}-{repeat}/S/test/0",
                    "seed": random.getrandbits(31),
                    "kafka": lane.kafka,
                    "cluster": CLUSTER,
                    "suite": SUITE,
                    "expect": "pass",
                    "parameters": "{}",
                    "plan": "",
                    "started_micros": at,
                    "ended_micros": at + int(seconds * 1_000_000),
                    "run_verdict": "fail" if here else "undecided" if is_undecided else "pass",
                }
                resumed = [
                    {"client": client, "redelivered": random.randrange(100)} for client in CLIENTS
                ]
                judged = [*CHECKS, "fetch_unavailable"] if lane.is_judged(night) else []
                yield run | {"clients": list(CLIENTS), "judged": judged, "resumed": resumed}
                wait = max(0.0, random.gauss(lane.waits(night), 0.5))
                yield run | _found("fetch_unavailable", "unavailable", "java", wait)
                for number, planted in enumerate(here, start=1):
                    offset = random.randrange(10_000)
                    yield run | {
                        "check": planted.check,
                        "number": number,
                        "kind": "no fault",
                        "verdict": "violation",
                        "client": planted.client,
                        "cause": planted.cause(offset),
                        "evidence": "{}",
                        "is_unexpected": True,
                    }


def _found(check: str, kind: str, client: str, seconds: float) -> Row:
    return {
        "check": check,
        "number": 1,
        "kind": kind,
        "verdict": "permitted",
        "client": client,
        "cause": f"operations that waited: 3; for {seconds:.1f} s in total",
        "evidence": json.dumps({"seconds": seconds}),
        "is_unexpected": False,
    }


@dataclass
class Asked:
    """The statements of the rules, asked about rows on DuckDB."""

    rows: Iterable[Row]
    _connection: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)

    def __post_init__(self) -> None:
        """Load the rows."""
        asked = self._connection
        asked.create_function("shape", shape)
        asked.create_function("subject_of", subject_of, ["VARCHAR"], "VARCHAR")
        asked.execute("create macro get_json_object(text, path) as json_extract_string(text, path)")
        table = pa.Table.from_pylist(list(self.rows), STORED)
        named = ["check_name" if name == "check" else name for name in table.column_names]
        asked.register("everything", table.rename_columns(named))

    def until(self, night: str) -> History:
        """The history of a night."""
        began = self._ask("select night, min(started_micros) as began from everything group by all")
        nights = in_order(began, night)
        self._connection.register("until", pa.table({"night": nights}))
        self._view("stored", "from everything semi join until using (night)")
        for view, text in VIEWS.items():
            self._view(view, text.replace("explode", "unnest"))
        self._view("sightings", statement("sightings"))
        return History(
            nights,
            self._ask("select * from stored_runs order by started_micros, night, run"),
            self._ask(statement("opportunities")),
            self._ask(statement("series")),
        )

    def _view(self, name: str, text: str) -> None:
        self._connection.execute(f"create or replace temp view {name} as {text}")

    def _ask(self, text: str) -> list[Row]:
        found: list[Row] = self._connection.sql(text).to_arrow_table().to_pylist()
        return found


def write_rows(rows: Sequence[Row], store: Path) -> None:
    """Write rows as the store has them."""
    keys = pa.schema([(name, pa.string()) for name in ("night", "scenario", "run")])
    ds.write_dataset(
        pa.Table.from_pylist(list(rows), STORED),
        store,
        format="parquet",
        partitioning=ds.partitioning(keys, flavor="hive"),
        max_partitions=len(rows),
    )


# What is planted, and what is right after the last night.

LAST = 29
_SCENARIOS = 16
_VERSIONS = ("4.4.0", "3.9.2")
Judge = Callable[[Morning, Planted], bool]


def _find_tracked(told: Morning, planted: Planted) -> TrackedFinding | None:
    named = (planted.scenario, planted.kafka)
    return next((each for each in told.findings if (each.scenario, each.kafka[0]) == named), None)


def _is(*states: FindingState) -> Judge:
    return lambda told, planted: (
        (found := _find_tracked(told, planted)) is not None and found.state in states
    )


def _has(verdict: Stability) -> Judge:
    return lambda told, planted: any(
        (each.scenario, each.kafka, each.verdict) == (planted.scenario, planted.kafka, verdict)
        for each in told.scenarios
    )


def _is_worse(told: Morning, planted: Planted) -> bool:
    found = _find_tracked(told, planted)
    return found is not None and found.is_worse


def _is_worse_where_seen(told: Morning, planted: Planted) -> bool:
    found = _find_tracked(told, planted)
    return found is not None and found.is_worse == bool(found.sightings)


@dataclass(frozen=True)
class Kind:
    """What is planted, with what is right after the last night.

    Attributes:
        runs: in which nights its scenario runs.
    """

    rate: Callable[[int], float]
    right: dict[str, Judge]
    runs: Callable[[int], bool] = lambda _: True
    is_known: bool = False


def _between(first: int, end: int, share: float, *, else_: float = 0.0) -> Callable[[int], float]:
    return lambda night: share if first <= night < end else else_


_LAST_DAYS = range(26, 30)
KINDS = {
    "in every run since night 25": Kind(
        _between(25, 30, 1.0),
        {"open": _is(FindingState.OPEN), "regressed": _has(Stability.REGRESSED)},
    ),
    "in the last night only": Kind(
        lambda night: float(night == LAST),
        {"new": _is(FindingState.NEW), "undecided": _has(Stability.UNDECIDED)},
    ),
    "in 30 % of runs": Kind(
        lambda _: 0.3, {"flaky": _is(FindingState.FLAKY), "flaky scenario": _has(Stability.FLAKY)}
    ),
    "in 90 % of runs, from night 3 to 19": Kind(
        _between(3, 20, 0.9), {"fixed": _is(FindingState.FIXED)}
    ),
    "in 50 % of runs, from night 3 to 19": Kind(
        _between(3, 20, 0.5), {"fixed": _is(FindingState.FIXED)}
    ),
    "in 80 % of runs, not run from night 26 on": Kind(
        lambda _: 0.8, {"gone": _is(FindingState.GONE)}, runs=lambda night: night not in _LAST_DAYS
    ),
    "known, in 30 % of runs": Kind(
        lambda _: 0.3,
        {
            "known": _is(FindingState.KNOWN),
            "not worse": lambda told, planted: not _is_worse(told, planted),
        },
        is_known=True,
    ),
    "known, in 20 %, from night 20 on 90 % of runs": Kind(
        _between(20, 30, 0.9, else_=0.2),
        {"known": _is(FindingState.KNOWN), "worse where it is seen": _is_worse_where_seen},
        is_known=True,
    ),
}


def planted_history(seed: int) -> dict[str, dict[str, bool]]:
    """Whether each state and verdict after 30 nights is right, by what was planted."""
    lanes, planted = every_lane(), []
    for at, (_, kind) in enumerate(KINDS.items()):
        scenario = f"s{at}"
        planted.append(Planted(scenario, kind.rate))
        lanes = [
            replace(lane, runs=kind.runs) if lane.scenario == scenario else lane for lane in lanes
        ]
    rows = rows_of(Nights(lanes, planted), seed)
    entries = [
        KnownFinding(
            check=finding.check, scenario=finding.scenario, reason="r", link="l", expires=date.max
        )
        for finding, kind in zip(planted, KINDS.values(), strict=True)
        if kind.is_known
    ]
    found = morning(
        Asked(rows).until(name_of(LAST)), Known(None, tuple(entries)), today=day_of(LAST)
    )
    return {
        name: {what: is_right(found, finding) for what, is_right in kind.right.items()}
        for finding, (name, kind) in zip(planted, KINDS.items(), strict=True)
    }


def every_lane() -> list[Lane]:
    return [Lane(f"s{at}", kafka) for at in range(_SCENARIOS) for kafka in _VERSIONS]


MARKS: dict[str, Callable[[Morning], bool]] = {
    "a scenario regressed": lambda found: any(
        scenario.verdict is Stability.REGRESSED for scenario in found.scenarios
    ),
    "a finding is fixed": lambda found: any(
        finding.state is FindingState.FIXED for finding in found.findings
    ),
    "a finding is worse": lambda found: any(finding.is_worse for finding in found.findings),
    "a trend is larger or smaller": lambda found: any(
        trend.change in (TrendChange.LARGER, TrendChange.SMALLER) for trend in found.trends
    ),
}
"""What a night may mark, each with its own rate."""


def steady_history(seed: int) -> dict[str, bool]:
    """Which marks the last of 30 nights has in which nothing changed.

    Half of the scenarios have a finding in a share of their runs, which is drawn; 0.02 to 0.9.
    """
    random = Random(seed)
    shares = [random.uniform(0.02, 0.9) for _ in range(_SCENARIOS)]
    planted = [
        Planted(f"s{at}", partial(_constant, share)) for at, share in enumerate(shares) if at % 2
    ]
    asked = Asked(rows_of(Nights(every_lane(), planted), seed))
    found = morning(asked.until(name_of(LAST)), Known(None), today=day_of(LAST))
    return {name: is_marked(found) for name, is_marked in MARKS.items()}


def _constant(share: float, _night: int) -> float:
    return share
