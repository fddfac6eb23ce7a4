"""The story of one finding: what the tables know about its partition and group, in order.

A long story is folded around its decisive moment.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from analysis.report import moments
from analysis.report.decisive import decisive
from analysis.report.moments import Kind, Moment, Place, span_of
from analysis.report.offsets_log import (
    commits_of,
    ends_of_offsets,
    is_about_commits,
    offsets_log,
    responses,
)
from analysis.report.run_tables import RunTables
from contract.tables import MICROS_PER_SECOND, OFFSETS_TOPIC
from contract.verdicts import Finding

SHOWN_MAX = 8
"""Of the moments of a folded story."""
_WEIGHTS = {
    Kind.EPOCH: 6,
    Kind.TRUNCATION: 6,
    Kind.DELETION: 5,
    Kind.RESPONSE: 6,
    Kind.POSITION: 5,
    Kind.RESET: 5,
    Kind.STEP: 5,
    Kind.COMMIT: 5,
    Kind.STORED: 5,
    Kind.ACKNOWLEDGEMENT: 5,
    Kind.DELIVERY: 5,
    Kind.SEND: 2,
    Kind.FAULT: 3,
    Kind.ISR: 1,
    Kind.MEMBER: 1,
    Kind.BROKER: 1,
    Kind.HEAL: 0,
    Kind.PHASE: 0,
}
"""How much the moments of a kind are about a finding."""
_OF_GROUPS = (Kind.POSITION, Kind.RESET, Kind.COMMIT, Kind.DELIVERY)
_OF_NO_GROUP = 3
"""What a moment of a group weighs less where the finding is about none."""
_REPEATED = 4
"""What a moment weighs less that says what an earlier one has said."""
_ALIKE = 1
"""What a moment weighs less for each one of its kind that is shown."""
_FAR = 4
"""What the moment that is farthest from the decisive one weighs less."""


@dataclass(frozen=True)
class Origin:
    """The moment from which times are counted, and its name."""

    at_micros: int
    name: str

    def seconds(self, at_micros: int) -> float:
        """A time, counted from this moment."""
        return float((at_micros - self.at_micros) / MICROS_PER_SECOND)


@dataclass(frozen=True)
class Passage:
    """Moments of a story in a row.

    Attributes:
        moments: in order.
        summary: the line into which they are folded; empty if each is shown.
    """

    moments: Sequence[Moment]
    summary: str = ""


@dataclass(frozen=True)
class Story:
    """What happened around a finding.

    Attributes:
        finding: that it is about.
        moments: in order.
        decisive: the moment from which on the finding is a fact; None if it is not known.
        ends: what each replica has at the end of the run, a line each.
    """

    finding: Finding
    moments: Sequence[Moment]
    decisive: Moment | None
    ends: Sequence[str]

    def folded(self) -> list[Passage]:
        """The story in about SHOWN_MAX lines: moments in a row that matter less are one line."""
        shown = self._shown()
        passages = []
        for is_shown, some in groupby(range(len(self.moments)), key=shown.__contains__):
            places = list(some)
            is_folded = not is_shown and len(places) > 1
            passages.append(
                Passage(
                    [self.moments[place] for place in places],
                    self._summary(places) if is_folded else "",
                )
            )
        return passages

    def _summary(self, places: Sequence[int]) -> str:
        if places[0] == 0:
            return f"… {len(places)} events before"
        if places[-1] == len(self.moments) - 1:
            return f"… {len(places)} events after"
        return f"… {len(places)} more events between"

    def _shown(self) -> set[int]:
        """The places of the moments that are not folded."""
        number = len(self.moments)
        if number <= SHOWN_MAX + 1:
            return set(range(number))
        middle = next(
            (place for place, one in enumerate(self.moments) if one is self.decisive), number - 1
        )
        said: set[tuple[str, ...]] = set()
        weights: dict[int, float] = {}
        for place, moment in enumerate(self.moments):
            is_of_group = moment.kind in _OF_GROUPS
            weight = _WEIGHTS[moment.kind] - _FAR * abs(place - middle) / number
            weight -= _OF_NO_GROUP * (self.finding.group is None and is_of_group)
            saying = (moment.what,) if is_of_group else (moment.who, moment.what)
            weights[place] = weight - _REPEATED * (saying in said)
            said.add(saying)
        weights[middle] = max(_WEIGHTS.values()) + 1
        shown: list[int] = []
        kinds: Counter[Kind] = Counter()
        while len(shown) < SHOWN_MAX:
            best = max(weights, key=lambda at: weights[at] - _ALIKE * kinds[self.moments[at].kind])
            shown.append(best)
            kinds[self.moments[best].kind] += 1
            del weights[best]
        return set(shown)


def origin(tables: RunTables) -> Origin:
    """The injection of the first fault; the start of the run where there is none."""
    rows = tables.rows("faults")
    injected = [row["injected_micros"] for row in rows if row["injected_micros"] is not None]
    if injected:
        return Origin(min(injected), "the injection of the first fault")
    return Origin(tables.folder.run().started_micros, "the start of the run")


def story(tables: RunTables, finding: Finding) -> Story:
    """What happened around a finding.

    Records are those of the finding's offsets, leaderships those of its partition, commits and
    deliveries those of its group, or of every group where it names none. Faults are always listed.
    Where it is about commits, so is what happened to the group's partition of `__consumer_offsets`.
    """
    found = [
        *moments.of_run(tables),
        *responses(tables, finding),
        *moments.steps(tables, finding),
    ]
    ends: list[str] = []
    if finding.topic is not None and finding.partition is not None:
        where = Place(finding.topic, finding.partition, finding.group)
        found += _of_place(tables, finding, where)
        ends += _ends(tables, where)
    if finding.group is not None and is_about_commits(finding):
        if finding.topic != OFFSETS_TOPIC:
            found += offsets_log(tables, finding.group)
        ends += ends_of_offsets(tables, finding.group)
    in_order = ordered(found)
    place = decisive(finding, in_order)
    return Story(finding, in_order, None if place is None else in_order[place], ends)


def _of_place(tables: RunTables, finding: Finding, where: Place) -> Iterator[Moment]:
    yield from moments.leaderships(tables, where)
    yield from moments.truncations(tables, where)
    yield from moments.deletions(tables, where)
    yield from moments.members(tables, where)
    yield from moments.resets(tables, where)
    if is_about_commits(finding):
        yield from commits_of(tables, where, finding.at)
    else:
        yield from moments.commits(tables, where)
    if (span := span_of(finding)) is not None:
        yield from moments.sends(tables, where, span)
        yield from moments.deliveries(tables, where, span)


def ordered(found: Iterable[Moment]) -> list[Moment]:
    """Moments in order: those of one history by their place in it, all others by their times.

    So a history whose clock was set back stays in its order.
    """
    histories: dict[str, list[Moment]] = {}
    others = []
    for moment in found:
        if moment.worker:
            histories.setdefault(moment.worker, []).append(moment)
        else:
            others.append(moment)
    by_place = [sorted(some, key=lambda one: one.seq) for _, some in sorted(histories.items())]
    others.sort(key=lambda one: one.at_micros)
    return list(heapq.merge(others, *by_place, key=lambda one: one.at_micros))


def _ends(tables: RunTables, where: Place) -> Iterator[str]:
    """Each replica of a partition as it was at the end of the run."""
    checkpoints = tables.rows("epoch_checkpoints", **where.of_partition)
    bounds = tables.rows("log_starts", **where.of_partition)
    for row in sorted(bounds, key=lambda row: int(row["broker"])):
        own = [one for one in checkpoints if one["broker"] == row["broker"]]
        starts = ", ".join(
            f"{one['leader_epoch']} from {one['start_offset']}"
            for one in sorted(own, key=lambda one: int(one["leader_epoch"]))
        )
        yield (
            f"broker {row['broker']}: offsets {row['log_start_offset']} to "
            f"{row['log_end_offset']} (exclusive), epochs {starts or 'none'}"
        )
