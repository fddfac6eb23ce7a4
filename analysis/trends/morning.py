"""The states of findings, the verdicts of scenarios and the trends, from the rows of a history."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from statistics import median
from typing import Any

from analysis.report.words import with_noun
from analysis.trends import rules
from analysis.trends.history import History, Row
from analysis.trends.identity import identity
from analysis.trends.rules import Moved, Test, bound
from contract.nights import (
    CELLS,
    FindingState,
    Known,
    KnownFinding,
    Morning,
    ScenarioHistory,
    Sighting,
    Stability,
    TrackedFinding,
    Trend,
    TrendChange,
)
from contract.verdicts import RunVerdict

_FINDING = ("check_name", "kind", "cause_shape", "scenario", "subject", "plan", "client")
_SCENARIO = ("scenario", "subject", "kafka")
_SERIES = ("measure", *_SCENARIO, "client")
RUNS_MIN = 4
"""A scenario that never failed is steady from this number of runs on."""


def morning(history: History, known: Known, *, today: date) -> Morning:
    """What the nights say about the last of them.

    Args:
        history: of the nights.
        known: the entries of known.yml.
        today: the day of the night, on which an entry counts or has expired.
    """
    chances = _by(history.chances, _FINDING)
    valid = [entry for entry in known.entries if entry.expires >= today]
    findings = _findings(chances, history.nights, valid)
    return Morning(
        nights=history.nights,
        findings=findings,
        scenarios=_scenarios(history, findings_of_runs(chances), findings),
        trends=_trends(history.series),
        known_file="" if known.path is None else str(known.path),
        notes=list(_notes(known, findings, today)),
    )


def _by(rows: Iterable[Row], columns: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by some columns; each group in the order of the rows."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in columns), []).append(row)
    return found


# Findings.


@dataclass(frozen=True)
class _Tracked:
    """A finding up to a night, with the tests of it.

    Attributes:
        since: the runs from its first sighting on.
        here: those of the night.
        ended, rose: tests; None where the question does not arise.
    """

    since: list[Row]
    here: list[Row]
    ended: Test | None
    rose: Test | None

    @property
    def seen(self) -> list[bool]:
        """Whether each run since the first sighting has it."""
        return [_has(row) for row in self.since]


def _has(row: Row) -> bool:
    return row["findings"] is not None


def _track(rows: Sequence[Row], nights: Sequence[str]) -> _Tracked | None:
    """A finding up to the last of some nights; None if it was not seen until then."""
    known = [row for row in rows if row["night"] in set(nights)]
    first = next((at for at, row in enumerate(known) if _has(row)), None)
    if first is None:
        return None
    since = known[first:]
    here = [row for row in known if row["night"] == nights[-1]]
    seen = [_has(row) for row in since]
    is_here = any(map(_has, here))
    return _Tracked(
        since,
        here,
        ended=rules.ended(seen) if here and not is_here else None,
        rose=rules.rose(seen[1:]) if is_here else None,
    )


def _findings(
    chances: Mapping[tuple[Any, ...], list[Row]],
    nights: list[str],
    known: Sequence[KnownFinding],
) -> list[TrackedFinding]:
    now = {
        key: tracked
        for key, rows in chances.items()
        if (tracked := _track(rows, nights)) is not None
    }
    then = {
        key: tracked
        for key, rows in chances.items()
        if nights[:-1] and (tracked := _track(rows, nights[:-1])) is not None
    }
    ended_before = bound([finding.ended for finding in then.values() if finding.ended is not None])
    ended_now = bound([finding.ended for finding in now.values() if finding.ended is not None])
    rose_now = bound([finding.rose for finding in now.values() if finding.rose is not None])
    found = []
    for key, tracked in now.items():
        entry = next((each for each in known if _is_about(each, key)), None)
        before = then.get(key)
        found.append(
            _finding(
                key,
                tracked,
                _state(tracked, nights[-1], entry, ended_now),
                None if before is None else _state(before, nights[-2], entry, ended_before),
                entry,
                ended_at=ended_now,
                rose_at=rose_now,
            )
        )
    order = list(FindingState)
    return sorted(
        found, key=lambda finding: (order.index(finding.state), -finding.seen, finding.id)
    )


def _state(
    tracked: _Tracked, night: str, entry: KnownFinding | None, at_most: float
) -> FindingState:
    if not tracked.here:
        return FindingState.GONE
    if tracked.ended is not None and tracked.ended.p <= at_most:
        return FindingState.FIXED
    if entry is not None:
        return FindingState.KNOWN
    if tracked.since[0]["night"] == night:
        return FindingState.NEW
    return FindingState.OPEN if all(tracked.seen) else FindingState.FLAKY


def _finding(
    key: tuple[Any, ...],
    tracked: _Tracked,
    state: FindingState,
    before: FindingState | None,
    entry: KnownFinding | None,
    *,
    ended_at: float,
    rose_at: float,
) -> TrackedFinding:
    check, kind, cause, scenario, subject, plan, client = key
    having = [row for row in tracked.since if _has(row)]
    return TrackedFinding(
        id=_id(key),
        state=state,
        before=before,
        check=check,
        kind=kind,
        cause=cause,
        client=client,
        scenario=scenario,
        parameters=subject,
        plan=plan,
        kafka=sorted({row["kafka"] for row in having}),
        first_night=having[0]["night"],
        last_night=having[-1]["night"],
        seen=len(having),
        runs=len(tracked.since),
        is_worse=tracked.rose is not None and tracked.rose.p <= rose_at,
        sightings=[
            Sighting(
                run=row["run"], number=row["number"], findings=row["findings"], cause=row["cause"]
            )
            for row in tracked.here
            if _has(row)
        ],
        why=_why(tracked, state, ended_at),
        reason="" if entry is None else entry.reason,
        link="" if entry is None else entry.link,
        expires="" if entry is None else entry.expires.isoformat(),
    )


def _id(key: tuple[Any, ...]) -> str:
    check, kind, cause, scenario, subject, plan, client = key
    return identity(
        check, kind, cause, client=client, scenario=scenario, parameters=subject, plan=plan
    )


def _why(tracked: _Tracked, state: FindingState, ended_at: float) -> str:
    seen = tracked.seen
    counted = f"{sum(seen)} of {with_noun(len(seen), 'run')} since {tracked.since[0]['night']}"
    if state is FindingState.NEW:
        return (
            f"{sum(map(_has, tracked.here))} of {with_noun(len(tracked.here), 'run')} of this night"
        )
    if state is FindingState.GONE:
        versions = ", ".join(sorted({row["kafka"] for row in tracked.since}))
        return f"{counted}; no run of this night on {versions} could have shown it"
    if state is FindingState.FIXED:
        missed = seen[::-1].index(True)
        return f"{counted}; not in the last {with_noun(missed, 'run')}"
    if tracked.ended is None:
        return counted
    more = rules.runs_to_end(seen, at_most=ended_at)
    decides = "" if more is None else f"; {more} more without it would show that it has ended"
    return f"{counted}; not in this night, which may be chance{decides}"


def _is_about(entry: KnownFinding, key: tuple[Any, ...]) -> bool:
    check, kind, _, scenario, _, _, client = key
    return (
        entry.check == check
        and entry.kind in ("", kind)
        and entry.client in ("", client)
        and entry.scenario in ("", scenario)
        and entry.finding in ("", _id(key))
    )


def _notes(known: Known, findings: Sequence[TrackedFinding], today: date) -> Iterable[str]:
    """Entries that have no effect, or need none."""
    for entry in known.entries:
        about = [finding for finding in findings if _is_about(entry, _key_of(finding))]
        if entry.expires < today:
            yield f"{entry.named}: expired on {entry.expires}: its findings count again"
        elif not about:
            yield f"{entry.named}: no night has such a finding"
        elif all(finding.state is FindingState.FIXED for finding in about):
            yield f"{entry.named}: fixed: the entry can be removed"


def _key_of(finding: TrackedFinding) -> tuple[Any, ...]:
    return (
        finding.check,
        finding.kind,
        finding.cause,
        finding.scenario,
        finding.parameters,
        finding.plan,
        finding.client,
    )


# Scenarios.


def findings_of_runs(
    chances: Mapping[tuple[Any, ...], list[Row]],
) -> dict[tuple[str, str], list[tuple[str, bool]]]:
    """By night and run: the findings in it, each with whether no earlier night has it."""
    found: dict[tuple[str, str], list[tuple[str, bool]]] = {}
    for key, rows in chances.items():
        having = [row for row in rows if _has(row)]
        for row in having:
            is_first = row["night"] == having[0]["night"]
            found.setdefault((row["night"], row["run"]), []).append((_id(key), is_first))
    return found


def _scenarios(
    history: History,
    found: Mapping[tuple[str, str], list[tuple[str, bool]]],
    findings: Sequence[TrackedFinding],
) -> list[ScenarioHistory]:
    known = {finding.id for finding in findings if finding.reason}
    lanes = _by(history.runs, _SCENARIO)
    failed = {
        key: [_has_failed(row) for row in rows if row["is_decided"]] for key, rows in lanes.items()
    }
    rose = {key: rules.rose(seen) for key, seen in failed.items()}
    ended = {key: rules.ended(seen) for key, seen in failed.items()}
    rose_at, ended_at = bound(list(rose.values())), bound(list(ended.values()))
    return [
        ScenarioHistory(
            scenario=key[0],
            parameters=key[1],
            kafka=key[2],
            cells={
                night: _cell([_word(row, found, known) for row in of_night])
                for night, of_night in _by_night(rows)
            },
            undecided=len(rows) - len(failed[key]),
            **_stability(
                failed[key],
                has_risen=rose[key].p <= rose_at,
                has_ended=ended[key].p <= ended_at,
                at_most=rose_at,
            ),
        )
        for key, rows in sorted(lanes.items())
    ]


def _by_night(rows: Sequence[Row]) -> Iterable[tuple[str, list[Row]]]:
    for night, of_night in groupby(rows, key=lambda row: str(row["night"])):
        yield night, list(of_night)


def _has_failed(row: Row) -> bool:
    return bool(row["run_verdict"] != row["expect"])


def _stability(
    failed: Sequence[bool], *, has_risen: bool, has_ended: bool, at_most: float
) -> dict[str, Any]:
    recent = list(failed[-rules.RUNS_MAX :])
    since = recent[recent.index(True) :] if any(recent) else []
    more = rules.more_runs(recent, at_most=at_most) if since and since != recent else None
    why = f"{sum(recent)} of {with_noun(len(recent), 'run')} failed"
    if since and has_ended:
        verdict, more = Stability.STEADY, None
        why += f"; none of the last {with_noun(recent[::-1].index(True), 'run')}"
    elif since and has_risen:
        verdict, more, why = Stability.REGRESSED, None, f"{why}, more often of late"
    elif not all(since):
        verdict = Stability.FLAKY
    elif since not in ([], recent) or len(recent) < RUNS_MIN:
        verdict, why = Stability.UNDECIDED, f"{why}: too few to decide"
    else:
        verdict = Stability.STEADY
    if more is not None:
        why += f"; {more} more that {'fails' if more == 1 else 'fail'} would show a regression"
    return {
        "verdict": verdict,
        "failed": sum(recent),
        "runs": len(recent),
        "why": why,
        "more_runs": more,
    }


def _word(
    row: Row, found: Mapping[tuple[str, str], list[tuple[str, bool]]], known: set[str]
) -> str:
    """What a run came to; `known` by the entries of today."""
    if not row["is_decided"]:
        return "undecided"
    if not _has_failed(row):
        return "expected"
    here = found.get((row["night"], row["run"]), [])
    if here and all(name in known for name, _ in here):
        return "known"
    is_new = any(is_first and name not in known for name, is_first in here)
    return "new" if is_new and row["expect"] == RunVerdict.PASS else "failed"


def _cell(words: Sequence[str]) -> str:
    return next(word for word in CELLS if word in words)


# Trends.


def _trends(series: Iterable[Row]) -> list[Trend]:
    rows = _by(series, _SERIES)
    numbers = {key: [row["number"] for row in of][-rules.RUNS_MAX :] for key, of in rows.items()}
    told = {key: values for key, values in numbers.items() if any(values)}
    moved = {key: rules.moved(values) for key, values in told.items()}
    at_most = bound([trend.test for trend in moved.values()])
    return [_trend(key, values, moved[key], at_most) for key, values in told.items()]


def _trend(key: tuple[Any, ...], values: list[float], moved: Moved, at_most: float) -> Trend:
    measure, scenario, subject, kafka, client = key
    earlier, last, test = values[: -moved.last], values[-moved.last :], moved.test
    before = median(earlier or values)
    change = TrendChange.NONE
    if test.p <= at_most:
        change = TrendChange.LARGER if _is_larger(earlier, last) else TrendChange.SMALLER
    elif test.smallest > at_most and len(set(values)) > 1:
        change = TrendChange.UNDECIDED
    return Trend(
        measure=measure,
        scenario=scenario,
        parameters=subject,
        kafka=kafka,
        client=client,
        change=change,
        values=[round(value, 3) for value in values],
        before=round(before, 3),
        last=round(median(last), 3),
        p=test.p,
    )


def _is_larger(earlier: Sequence[float], last: Sequence[float]) -> bool:
    """Whether more pairs of a last and an earlier value rise than fall, as the test has it."""
    return sum((new > old) - (new < old) for new in last for old in earlier) > 0
