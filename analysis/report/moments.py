"""What happened around findings: moments, by the fact of that name."""

import enum
import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from analysis.report.run_facts import RunFacts
from analysis.statements.plan import abs_java_hash
from analysis.statements.registry import CHECKS
from analysis.statements.trace import Row
from contract.checks import Check
from contract.verdicts import Finding

_FAMILIES = ("D", "E")
_OTHERS = (
    Check.OFFSETS_WITHOUT_OUTPUT,
    Check.OUTPUT_WITHOUT_OFFSETS,
    Check.COMMIT_UNAVAILABLE,
    Check.WRONG_COMMIT_ERROR,
    Check.WRONG_STORED_COMMIT,
    Check.WRONG_FETCHED_COMMIT,
)


class Kind(enum.StrEnum):
    """What a moment is, those of one time in this order."""

    PHASE = "phase"
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
    if finding.group is None or finding.check not in set(Check):
        return False
    check = Check(finding.check)
    return check in _OTHERS or (check in CHECKS and CHECKS[check].id.startswith(_FAMILIES))


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
        return _ordered([*self._of_run, *map(Moment.of, self._of_findings.get(number, []))])

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
        return _by_number(self._facts.rows("select * from moments order by at_micros, place, what"))

    @cached_property
    def _ends(self) -> dict[int, list[Row]]:
        self._ask()
        return _by_number(self._facts.rows(_ENDS_OF_LOGS) + self._facts.rows(_ENDS_OF_COMMITS))

    def _ask(self) -> None:
        self._facts.trace.asked[:] = [
            _asked(number, one) for number, one in enumerate(self._findings)
        ]


_ENDS_OF_LOGS = """
select number, what from ends_of_logs join asked_findings using (topic, partition) order by broker
"""
_ENDS_OF_COMMITS = "select number, what from ends_of_commits order by broker"


def _asked(number: int, finding: Finding) -> Row:
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


def _ordered(found: Iterable[Moment]) -> list[Moment]:
    """Moments in order: those of one history by their place in it, all others by their times.

    So a history whose clock was set back stays in its order.
    """
    histories: dict[str, list[Moment]] = {}
    others = []
    for moment in sorted(found, key=lambda one: _RANKS[one.kind]):
        if moment.worker:
            histories.setdefault(moment.worker, []).append(moment)
        else:
            others.append(moment)
    by_place = [sorted(some, key=lambda one: one.seq) for _, some in sorted(histories.items())]
    others.sort(key=lambda one: one.at_micros)
    return list(heapq.merge(others, *by_place, key=lambda one: one.at_micros))
