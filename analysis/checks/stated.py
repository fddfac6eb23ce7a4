"""Checks by their statements: `analysis/checks/<name>.sql`.

The rows of a statement are what its cases are asked of; a row for which no case holds is no
finding.
"""

from collections.abc import Iterator
from functools import cache

import msgspec

from analysis.checks.base import CheckDefinition, CheckOutcome
from analysis.checks.cases import Case, Cases, decided, findings
from analysis.checks.columns import output_columns
from analysis.checks.described import Description
from analysis.engine.frames import Frame, Text
from analysis.engine.statement_files import (
    Source,
    StatementError,
    expanded,
    sources,
    with_final,
)
from analysis.facts.stated import stated
from analysis.facts.trace import Trace
from contract.checks import Check
from contract.verdicts import FindingVerdict


class CaseHeader(msgspec.Struct, forbid_unknown_fields=True):
    """A case: its kind after its verdict, and the rest as in `analysis.checks.cases.Case`."""

    cause: str
    violation: str | None = None
    permitted: str | None = None
    undecided: str | None = None
    when: str = ""
    permitted_if: str = ""
    undecided_if: str = ""
    evidence: str = ""


class CheckHeader(msgspec.Struct, forbid_unknown_fields=True):
    """What the header of a check says.

    Attributes:
        id: such as `D1`, its family's letter first; several, separated by commas.
        definition: what it finds, in one sentence.
        evaluates: what is counted as evaluated.
        source: what the promise rests on: a KIP, a JIRA, a configuration, a class.
        needs: tables that must have rows; without any there is nothing to judge.
        evaluated: SQL of that count, by the tables and steps of the statement.
        kept: whether its rows are computed once, since a verdict counts them by rules too. Then
            `evaluated` reads nothing else, by the name `responses`.
        cases: what it finds, in order: of each row the first case that holds.
        explanation: further sentences.
        permitted: when a finding is permitted; empty if never.
        undecided: when a finding is undecided; empty if never.
        evidence: the columns that go into the JSON evidence, separated by commas; a case may have
            others.
        summary: SQL of at most one row with one text named `summary`: all findings in one line. It
            reads `findings`: the rows for which a case holds, with their kind and verdict.
        place: where and when a finding was, in SQL: topic, partition, offset_first, offset_last,
            group and at, for as far as the rows have no columns of these names.
        optional: tables that may be missing; then they count as empty.
        regardless: those in which, besides, a gap can't make the check wrong.
    """

    id: str
    definition: str
    evaluates: str
    source: str
    needs: tuple[str, ...]
    evaluated: str
    cases: list[CaseHeader]
    kept: bool = False
    explanation: str = ""
    permitted: str = ""
    undecided: str = ""
    evidence: str = ""
    summary: str = ""
    place: dict[str, str] = {}
    optional: tuple[str, ...] = ()
    regardless: tuple[str, ...] = ()

    @property
    def described(self) -> Description:
        """The check in words."""
        return Description(*(getattr(self, name) for name in Description.__dataclass_fields__))


def stated_checks() -> Iterator[CheckDefinition]:
    """Every check."""
    return map(_definition, sources("checks").values())


def _definition(source: Source) -> CheckDefinition:
    """A check as its file says.

    Raises:
        StatementError: the file is wrong.
    """
    header = _header(source)
    cases = Cases(*_cases(source, header), evidence=header.evidence, **header.place)

    def judge(trace: Trace) -> CheckOutcome:
        rows = judged_rows(Check(source.name), trace)
        if header.summary:
            rows = trace.engine.materialized(rows)
        return CheckOutcome(
            findings(rows, cases),
            _evaluated(source, header, rows, trace),
            summary=_summary(expanded(header.summary, source.path), decided(rows, cases)),
        )

    return CheckDefinition(
        header.id,
        judge,
        header.needs,
        cases,
        name=Check(source.name),
        description=header.described,
    )


def judged_rows(check: Check, trace: Trace) -> Frame:
    """The rows of a check's statement, of which its cases are asked.

    Raises:
        StatementError: its file is wrong.
        TableError: a table is missing or unreadable.
    """
    source = sources("checks")[check]
    header = _header(source)

    def rows() -> Frame:
        return _rows(source, header, source.text, list(output_columns(source)), trace)

    return trace.shared(f"rows of {check}", rows) if header.kept else rows()


@cache
def _header(source: Source) -> CheckHeader:
    return source.header_as(CheckHeader)


def _evaluated(source: Source, header: CheckHeader, rows: Frame, trace: Trace) -> Frame:
    if header.kept:
        counting = Text(expanded(header.evaluated, source.path), (("responses", rows),))
        return Frame(trace.engine, ("evaluated",), counting)
    counting_rows = with_final(source, header.evaluated)
    return _rows(source, header, counting_rows, ["evaluated"], trace)


def _rows(
    source: Source, header: CheckHeader, text: str, columns: list[str], trace: Trace
) -> Frame:
    how = {"optional": header.optional, "regardless": header.regardless}
    return stated(text, source.path, trace, columns, **how)


def _summary(sql: str, found: Frame) -> Frame | None:
    return Frame(found.engine, ("summary",), Text(sql, (("findings", found),))) if sql else None


def _cases(source: Source, header: CheckHeader) -> Iterator[Case]:
    for one in header.cases:
        kinds = {verdict: getattr(one, verdict) for verdict in FindingVerdict}
        given = {verdict: kind for verdict, kind in kinds.items() if kind is not None}
        if len(given) != 1:
            raise StatementError(f"{source.path}: a case has one verdict: {one.cause}")
        ((verdict, kind),) = given.items()
        when, permitted_if, undecided_if = (
            expanded(sql, source.path) for sql in (one.when, one.permitted_if, one.undecided_if)
        )
        yield Case(
            kind, verdict, one.cause, when, permitted_if, undecided_if, evidence=one.evidence
        )
