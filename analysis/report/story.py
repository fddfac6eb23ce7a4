"""The story of a finding: what happened around it, in order, by the fact `moments`.

A long story is folded around its decisive moment: from then on, what the finding reports is a fact.
"""

import enum
import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from analysis.report.run_facts import RunFacts
from analysis.statements.plan import abs_java_hash
from analysis.statements.registry import CHECKS, CheckHeader
from analysis.statements.trace import Row
from contract.terms import Check
from contract.verdicts import Finding

_FAMILIES = ("D", "E")


class Kind(enum.StrEnum):
    """What a moment is, those of one time in this order."""

    PHASE = "phase"
    NOTE = "note"
    """The scenario noted something for its report."""
    FAULT = "fault"
    HEAL = "heal"
    """A fault is proved or healed."""
    BROKER = "broker"
    RESPONSE = "response"
    """A broker responds to a single request."""
    STEP = "step"
    """A step of a transactional producer."""
    EPOCH = "epoch"
    """A leader epoch begins."""
    ISR = "isr"
    """The in-sync replicas change within an epoch."""
    TRUNCATION = "truncation"
    DELETION = "deletion"
    """A replica's log start advances."""
    MEMBER = "member"
    """A member changes, without a position on the partition."""
    POSITION = "position"
    """A member has a position on the partition, or fails."""
    RESET = "reset"
    COMMIT = "commit"
    STORED = "stored"
    """A commit is stored in `__consumer_offsets`."""
    SEND = "send"
    ACKNOWLEDGEMENT = "acknowledgement"
    DELIVERY = "delivery"


@dataclass(frozen=True)
class Moment:
    """Something that happened: when (microseconds since 1970), who did it, and what.

    Attributes:
        at_micros: by the clock of its source.
        who: in words.
        what: in words.
        kind: of moment.
        worker: whose history has it; empty without a place there.
        seq: its place in that history.
        epoch: the leader epoch that begins, of the finding's partition.
        offset: the position on that partition that a member has from then on.
    """

    at_micros: int
    who: str
    what: str
    kind: Kind
    worker: str = ""
    seq: int = -1
    epoch: int | None = None
    offset: int | None = None

    @classmethod
    def of(cls, row: Row) -> "Moment":
        """By a row of `moments` or `moments_of_run`."""
        return cls(
            row["at_micros"],
            row["who"],
            row["what"],
            Kind(row["kind"]),
            worker=row.get("worker") or "",
            seq=-1 if row.get("seq") is None else row["seq"],
            epoch=row.get("epoch"),
            offset=row.get("offset"),
        )


def span_of(finding: Finding) -> tuple[int, int] | None:
    """The first and the last offset of a finding; None if it names none."""
    if finding.offset_first is None:
        return None
    last = finding.offset_first if finding.offset_last is None else finding.offset_last
    return finding.offset_first, last


def is_about_commits(finding: Finding) -> bool:
    """Whether a finding is about what a group committed."""
    header = _header(finding)
    if finding.group is None or header is None:
        return False
    return header.is_about_commits or header.id.startswith(_FAMILIES)


def _header(finding: Finding) -> CheckHeader | None:
    """Of a finding's check; None if it has no statement, or this release does not have it."""
    check = CHECKS.get(Check(finding.check)) if finding.check in set(Check) else None
    return None if check is None else check.header


class Moments:
    """What happened around some findings, all of which are asked about at once."""

    def __init__(self, facts: RunFacts, findings: Sequence[Finding]) -> None:
        """Nothing is asked before it is needed.

        Args:
            facts: of the run.
            findings: in the order by which `of` and `ends` number them.
        """
        self._facts = facts
        self._findings = findings

    def of(self, number: int) -> list[Moment]:
        """All moments around a finding, in order; those of the run are around each."""
        return _in_order([*self._of_run, *map(Moment.of, self._of_findings.get(number, []))])

    def ends(self, number: int) -> list[str]:
        """What each replica has at the end of the run, a line each."""
        return [row["what"] for row in self._ends.get(number, [])]

    @cached_property
    def _of_run(self) -> list[Moment]:
        rows = self._facts.rows("select * from moments_of_run order by at_micros, place")
        return [Moment.of(row) for row in rows]

    @cached_property
    def _of_findings(self) -> dict[int, list[Row]]:
        self._ask()
        return _by_number(
            self._facts.rows("select * from moments order by at_micros, place, who, what")
        )

    @cached_property
    def _ends(self) -> dict[int, list[Row]]:
        self._ask()
        return _by_number(self._facts.rows(_ENDS_OF_LOGS) + self._facts.rows(_ENDS_OF_COMMITS))

    def _ask(self) -> None:
        self._facts.trace.asked[:] = [
            _question_row(number, finding) for number, finding in enumerate(self._findings)
        ]


_ENDS_OF_LOGS = """
select number, what from ends_of_logs join asked_findings using (topic, partition) order by broker
"""
_ENDS_OF_COMMITS = "select number, what from ends_of_commits order by broker"


def _question_row(number: int, finding: Finding) -> Row:
    span, has_log = span_of(finding), None not in (finding.topic, finding.partition)
    producer, transaction = (finding.evidence.get(name) for name in ("producer", "transaction"))
    is_named = isinstance(producer, str) and isinstance(transaction, int)
    return {
        "number": number,
        "topic": finding.topic if has_log else None,
        "partition": finding.partition if has_log else None,
        "of_group": finding.group,
        "first_asked": None if span is None else span[0],
        "last_asked": None if span is None else span[1],
        "asked_micros": finding.at,
        "of_producer": producer if is_named else None,
        "of_transaction": transaction if is_named else None,
        "is_about_commits": is_about_commits(finding),
        "hash": None if finding.group is None else abs_java_hash(finding.group),
    }


def _by_number(rows: Iterable[Row]) -> dict[int, list[Row]]:
    found = defaultdict(list)
    for row in rows:
        found[row["number"]].append(row)
    return found


_RANKS = {kind: place for place, kind in enumerate(Kind)} | {Kind.ISR: list(Kind).index(Kind.EPOCH)}


def _in_order(found: Iterable[Moment]) -> list[Moment]:
    """Moments in order: those of one history by their place in it, all others by their times.

    So a history whose clock was set back stays in its order.
    """
    histories: dict[str, list[Moment]] = {}
    others = []
    for moment in sorted(found, key=lambda moment: _RANKS[moment.kind]):
        if moment.worker:
            histories.setdefault(moment.worker, []).append(moment)
        else:
            others.append(moment)
    by_place = [
        sorted(some, key=lambda moment: moment.seq) for _, some in sorted(histories.items())
    ]
    others.sort(key=lambda moment: moment.at_micros)
    return list(heapq.merge(others, *by_place, key=lambda moment: moment.at_micros))


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
    Kind.NOTE: 3,
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
_OPENED, _OF_MEMBER = "opened", 4
"""What the moment weighs more in which the member that a finding is about was opened."""
_REPEATED = 4
"""What a moment weighs less that says what an earlier one has said."""
_ALIKE = 1
"""What a moment weighs less for each one of its kind that is shown."""
_FAR = 4
"""What the moment that is farthest from the decisive one weighs less."""


_AROUND = (Kind.PHASE, Kind.FAULT, Kind.HEAL, Kind.BROKER, Kind.ISR, Kind.SEND)
"""Kinds of moments that decide nothing about a partition."""

_Place = int | None


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

    def fold(self) -> list[Passage]:
        """The story in about SHOWN_MAX lines: moments in a row that matter less are one line."""
        shown = self._places_to_show()
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

    def _places_to_show(self) -> set[int]:
        """The places of the moments that are not folded."""
        number = len(self.moments)
        if number <= SHOWN_MAX + 1:
            return set(range(number))
        middle = next(
            (place for place, moment in enumerate(self.moments) if moment is self.decisive),
            number - 1,
        )
        said: set[tuple[str, ...]] = set()
        weights: dict[int, float] = {}
        for place, moment in enumerate(self.moments):
            is_of_group = moment.kind in _OF_GROUPS
            weight = _WEIGHTS[moment.kind] - _FAR * abs(place - middle) / number
            weight -= _OF_NO_GROUP * (self.finding.group is None and is_of_group)
            is_of_member = moment.who == self.finding.evidence.get("member")
            weight += _OF_MEMBER * (is_of_member and moment.what == _OPENED)
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


def story_of(moments: Moments, number: int, finding: Finding) -> Story:
    """What happened around a finding, by its number among those that are asked about."""
    in_order = moments.of(number)
    place = decisive(finding, in_order)
    return Story(
        finding, in_order, None if place is None else in_order[place], moments.ends(number)
    )


def story(facts: RunFacts, finding: Finding) -> Story:
    """What happened around a finding, if no other one is asked about."""
    return story_of(Moments(facts, [finding]), 0, finding)


def decisive(finding: Finding, moments: Sequence[Moment]) -> int | None:
    """The place of the decisive moment; None if none is known to be.

    Where a finding has several causes, it is the last of them.
    """
    check = finding.check
    header = _header(finding)
    if header and header.passed_epoch:
        return _beyond(finding, moments, header.passed_epoch)
    if check == Check.DUPLICATE_DELIVERY:
        places = [place for place, moment in enumerate(moments) if moment.kind is Kind.DELIVERY]
        return places[1] if len(places) > 1 else None
    if check == Check.LOSS_ESTIMATE:
        left = _evidence(finding, "epoch", -1)
        return _first(moments, lambda moment: moment.epoch is not None and moment.epoch > left)
    nearest = _nearest(finding, moments)
    if header and header.later_epoch:
        removed = _place_of_removal(finding, moments, header.later_epoch)
        exact = (
            nearest if nearest is not None and moments[nearest].at_micros == finding.at else None
        )
        return max((place for place in (removed, exact) if place is not None), default=nearest)
    return nearest


def _place_of_removal(finding: Finding, moments: Sequence[Moment], key: str) -> _Place:
    """Where a later epoch began; the truncation or the deletion if no such epoch is known."""
    epoch = _evidence(finding, key)
    begun = _first(moments, lambda moment: epoch is not None and moment.epoch == epoch)
    if begun is not None:
        return begun
    deletion = _evidence(finding, "deletion", {})
    removals = {
        Kind.TRUNCATION: _evidence(finding, "truncated_micros"),
        Kind.DELETION: deletion.get("at_micros") if isinstance(deletion, dict) else None,
    }
    return _first(
        moments,
        lambda moment: moment.kind in removals and moment.at_micros == removals[moment.kind],
    )


def _beyond(finding: Finding, moments: Sequence[Moment], key: str) -> _Place:
    """Where the group first had a position beyond the finding's records, in their epoch."""
    span, epoch = span_of(finding), _evidence(finding, key)
    begun = _first(moments, lambda moment: epoch is not None and moment.epoch == epoch)
    since = -1 if begun is None else begun
    if span is None:
        return None
    last = span[1]
    return _first(
        moments,
        lambda moment: (
            moment.offset is not None
            and moment.kind in (Kind.POSITION, Kind.RESET)
            and moment.offset > last
        ),
        since=since,
    )


def _nearest(finding: Finding, moments: Sequence[Moment]) -> _Place:
    """The moment at the finding's time, or next to it."""
    at = finding.at
    is_anywhere = finding.partition is None
    near = [
        (abs(moment.at_micros - at), place)
        for place, moment in enumerate(moments)
        if at is not None and (is_anywhere or moment.kind not in _AROUND)
    ]
    return min(near)[1] if near else None


def _evidence(finding: Finding, key: str, otherwise: Any = None) -> Any:
    value = finding.evidence.get(key)
    return otherwise if value is None else value


def _first(
    moments: Sequence[Moment], is_one: Callable[[Moment], bool], *, since: int = -1
) -> _Place:
    places: Iterable[int] = range(since + 1, len(moments))
    return next((place for place in places if is_one(moments[place])), None)
