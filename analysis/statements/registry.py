"""The checks, by their names: statements of `analysis/checks/*.sql`.

The rows of a statement are what its cases are asked of; a row for which no case holds is no
finding.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import msgspec

from analysis.statements.cases import Case, Cases
from analysis.statements.files import Fact, Source, expand, parts_of, sources
from analysis.statements.trace import Query, Trace, returned_by
from contract.errors import StatementError
from contract.terms import Check
from contract.verdicts import FindingVerdict

FAMILIES = {
    "A": "Delivery",
    "B": "Order",
    "C": "Transactions",
    "D": "Groups and commits",
    "E": "Committed leader epochs",
    "F": "Truncations and resets",
    "G": "Replicas and metadata",
    "H": "Liveness",
    "P": "Protocol",
    "M": "The run and its evidence",
}
"""Titles by the letter that the ids of a family begin with."""


_ROWS = "check_rows"
"""What a check's own rows are called where its cases are asked of them."""


class CaseHeader(msgspec.Struct, forbid_unknown_fields=True):
    """A case: its kind after its verdict, and the rest as in `analysis.statements.cases.Case`."""

    cause: str
    violation: str | None = None
    permitted: str | None = None
    undecided: str | None = None
    when: str = ""
    permitted_if: str = ""
    undecided_if: str = ""
    evidence: str = ""


class Description(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """A check in words.

    Attributes:
        id: such as `D1`, its family's letter first; several, separated by commas.
        definition: what it finds, in one sentence.
        evaluates: what is counted as evaluated.
        source: what the promise rests on: a KIP, a JIRA, a configuration, a class.
        explanation: further sentences.
        permitted: when a finding is permitted, where the causes of its cases do not say it.
        undecided: when a finding is undecided, likewise.
    """

    id: str
    definition: str
    evaluates: str
    source: str
    explanation: str = ""
    permitted: str = ""
    undecided: str = ""


class CheckHeader(Description, kw_only=True, frozen=True):
    """What the header of a check says.

    Attributes:
        needs: tables that must have rows; without any there is nothing to judge.
        evaluated: SQL of one row with that count, by the tables and steps of the statement.
        cases: what it finds, in order: of each row the first case that holds.
        is_by_rules: whether its rows are responses with a rule of the protocol, and the verdict on
            it. They are computed once, since a verdict counts them by rules too. What all such
            checks have in common is in `_by_rules`; `cases` are then further ones.
        exercised: the table or fact whose rows are the cases in which the check could have failed;
            empty if it could in all that it evaluates.
        has_tree: whether the leader epochs of the log explain its findings: pages draw them.
        is_about_commits: whether its findings are about what a group committed, as those of the
            families D and E are.
        later_epoch: the field of the evidence with the leader epoch whose begin is decisive.
        passed_epoch: the field with the epoch of the records that a group's position is beyond.
        evidence: the columns that go into the JSON evidence, separated by commas; a case may have
            others.
        summary: SQL of at most one row with one text named `summary`: all findings in one line. It
            reads `findings`: the rows for which a case holds, with their kind and verdict.
        place: where and when a finding was, in SQL: topic, partition, offset_first, offset_last,
            group and at, for as far as the rows have no columns of these names.
        optional: tables that may be missing, and facts that may lack a table; then they count as
            empty.
        regardless: tables in which, besides, a gap can't make the check wrong.
    """

    needs: tuple[str, ...]
    evaluated: str = ""
    cases: list[CaseHeader] = []
    is_by_rules: bool = msgspec.field(default=False, name="rules")
    exercised: str = ""
    has_tree: bool = msgspec.field(default=False, name="tree")
    is_about_commits: bool = msgspec.field(default=False, name="commits")
    later_epoch: str = ""
    passed_epoch: str = ""
    evidence: str = ""
    summary: str = ""
    place: dict[str, str] = {}
    optional: tuple[str, ...] = ()
    regardless: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a header without what only a check by rules need not have."""
        if not (self.evaluated or self.is_by_rules):
            raise ValueError("evaluated is missing")


@dataclass(frozen=True)
class CheckOutcome:
    """What a check finds in a trace, once the engine is asked for it.

    Attributes:
        findings: rows with FINDING_COLUMNS.
        evaluated: one row with the count `evaluated`.
        summary: at most one row with the text `summary`; None if the check has none.
    """

    findings: Query
    evaluated: Query
    summary: Query | None


@dataclass(frozen=True)
class CheckDefinition:
    """A check, as its file says.

    A check may read other tables than those that it needs, which may be empty, e.g. where nothing
    was reset.
    """

    source: Source
    header: CheckHeader

    @property
    def name(self) -> Check:
        """The check that it is."""
        return Check(self.source.name)

    @property
    def id(self) -> str:
        """See `Description`."""
        return self.header.id

    @property
    def needs(self) -> tuple[str, ...]:
        """See `CheckHeader`."""
        return self.header.needs

    @cached_property
    def cases(self) -> Cases:
        """What it finds."""
        cases = _cases(self.source, self.header)
        return Cases(*cases, evidence=self.header.evidence, **self.header.place)

    @cached_property
    def findings(self) -> str:
        """The statement of its findings."""
        return self._about_rows(self.cases.findings_of(_ROWS, self._columns))

    @cached_property
    def evaluated(self) -> str:
        """The statement of how much there was to judge."""
        counted = expand(self.header.evaluated, self.source.path)
        if self.header.is_by_rules:
            return f"with responses as (select * from {self.name}) {counted}"
        return parts_of(self.source)[0] + counted

    @cached_property
    def summary(self) -> str:
        """The statement of all findings in one line; empty if there is none."""
        if not self.header.summary:
            return ""
        decided = self.cases.decided_of(_ROWS, self._columns)
        text = expand(self.header.summary, self.source.path)
        return self._about_rows(f"select * from ({text})", f"findings as ({decided})")

    @cached_property
    def rows(self) -> Fact:
        """What its cases are asked of, of a check whose rows are kept."""
        return Fact(
            subject="",
            name=str(self.name),
            about="",
            text=self.source.text,
            place=self.source.path,
            optional=self.header.optional,
            regardless=self.header.regardless,
        )

    def lacks(self, trace: Trace) -> str:
        """Why a trace can't be judged, by its missing and empty tables; empty if it can."""
        return trace.lacks(self.needs)

    def judge(self, trace: Trace) -> CheckOutcome:
        """What it finds in a trace; its statements run when their rows are asked for.

        Raises:
            TableError: a table is missing or unreadable.
        """
        if self.header.is_by_rules:
            trace.with_rows(self.rows)
        summary = self._query_of(self.summary, trace) if self.summary else None
        return CheckOutcome(
            self._query_of(self.findings, trace), self._query_of(self.evaluated, trace), summary
        )

    @property
    def _columns(self) -> list[str]:
        names: list[str] = returned_by(self.source.text, self.source.path).names
        return names

    def _query_of(self, text: str, trace: Trace) -> Query:
        header, place = self.header, self.source.path
        return trace.query(
            text, place=place, optional=header.optional, regardless=header.regardless
        )

    def _about_rows(self, final: str, *more: str) -> str:
        """A statement about the rows of the check's own."""
        steps, own = parts_of(self.source)
        if self.header.is_by_rules:
            steps, own = "", f"select * from {self.name}"
        # A comment may be between the steps and the last SELECT.
        begun = f"{steps.rstrip()}\n," if steps else "with"
        return ", ".join([f"{begun} {_ROWS} as (\n{own}\n)", *more]) + f"\n{final}"


def in_order(ids: str) -> tuple[str, int, str]:
    """What ids are sorted by: family, number, and what follows the number."""
    first = ids.split(",", maxsplit=1)[0]
    digits = "".join(letter for letter in first if letter.isdigit())
    return first[0], int(digits), first[1:].removeprefix(digits)


def _header(source: Source) -> CheckHeader:
    header = source.header_as(CheckHeader)
    return _by_rules(header) if header.is_by_rules else header


def _by_rules(header: CheckHeader) -> CheckHeader:
    """The header of a check by rules, with what all of these have in common."""
    call = "{api} version {version} to broker {broker}"
    unknown = CaseHeader(
        f"{call}: what it has to return is not known exactly, got {{got}}",
        undecided="{rule}",
        when="verdict = 'undecided'",
    )
    wrong = CaseHeader(
        f"{call}: expected {{expected}}, got {{got}}",
        violation="{rule}",
        when="verdict = 'violation'",
    )
    return msgspec.structs.replace(
        header,
        evaluated="select count(*) as evaluated from responses",
        cases=[*([unknown] if header.undecided else []), wrong, *header.cases],
        evidence="worker, seq, broker, api, version, expected, got",
        place={"at": "at_micros"},
    )


def _cases(source: Source, header: CheckHeader) -> Iterator[Case]:
    for case in header.cases:
        kinds = {verdict: getattr(case, verdict) for verdict in FindingVerdict}
        given = {verdict: kind for verdict, kind in kinds.items() if kind is not None}
        if len(given) != 1:
            raise StatementError(f"{source.path}: a case has one verdict: {case.cause}")
        ((verdict, kind),) = given.items()
        when, permitted_if, undecided_if = (
            expand(sql, source.path) for sql in (case.when, case.permitted_if, case.undecided_if)
        )
        yield Case(
            kind, verdict, case.cause, when, permitted_if, undecided_if, evidence=case.evidence
        )


CHECKS: dict[Check, CheckDefinition] = {
    definition.name: definition
    for definition in sorted(
        (CheckDefinition(source, _header(source)) for source in sources("checks").values()),
        key=lambda definition: in_order(definition.id),
    )
}
"""Every check by its name, in the order of their ids."""

WITHOUT_STATEMENT: dict[Check, Description] = {
    Check.RESUMPTION: Description(
        id="D10",
        definition=(
            "How each group went on after it was stopped and opened again, or after its last pause."
        ),
        evaluates="every partition of a group that was opened at least twice.",
        source="docs/results.md, resumption.",
    ),
    Check.VACUOUS_CHECK: Description(
        id="M2",
        definition=(
            "A check that must be judged evaluated nothing, or another one without saying why."
        ),
        explanation="Its kind reports whether the check claims to hold all the same.",
        undecided="always.",
        evaluates="every other check.",
        source="a check without anything to evaluate proves nothing.",
    ),
}
"""Checks that are none of a run's tables: one counts, one judges the results of the others."""
DESCRIBED: dict[Check, Description] = dict(
    sorted(
        [
            *((check, definition.header) for check, definition in CHECKS.items()),
            *WITHOUT_STATEMENT.items(),
        ],
        key=lambda pair: in_order(pair[1].id),
    )
)
"""What every check is in words, in the order of their ids."""
