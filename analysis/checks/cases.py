"""What a check finds: its cases, each with kind, verdict and cause, and the findings among rows."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column
from analysis.engine.frames import Frame
from contract.verdicts import FindingVerdict

FINDING_COLUMNS = (
    "kind",
    "verdict",
    "topic",
    "partition",
    "offset_first",
    "offset_last",
    "group",
    "at",
    "cause",
    "evidence",
)
"""Of a finding: offsets inclusive, `at` in microseconds since 1970, `evidence` JSON."""

WHERE = ("topic", "partition", "offset_first", "offset_last", "group", "at")

FINDING_TYPES = {
    "partition": "int",
    "offset_first": "bigint",
    "offset_last": "bigint",
    "at": "bigint",
}

_NUMBER = "case_number"
DECIDED = (_NUMBER, "kind", "verdict")
"""The columns that `decided` adds."""
_PLACE = re.compile(r"\{([^{}]+?)(?::(\.\d+f))?\}")


@dataclass(frozen=True)
class Case:
    """What is found in rows for which a condition holds.

    Kind and cause are texts, in which `{column}` stands for the value of a column or of another
    expression in SQL; `{seconds:.1f}` has one decimal place.

    Attributes:
        kind: which of the check's anomalies it is.
        verdict: violation, permitted or undecided.
        cause: why it came about.
        when: the condition, in SQL; empty if there is none. Of rows that have a column `kind`
            already, the case is only for those with its kind.
        permitted_if: when it is permitted all the same, in SQL.
        undecided_if: when it is undecided all the same, unless it is permitted.
        evidence: the columns of its JSON evidence, where they are others than those of all cases.
    """

    kind: str
    verdict: FindingVerdict
    cause: str
    when: str = ""
    permitted_if: str = ""
    undecided_if: str = ""
    evidence: str = ""

    @property
    def verdicts(self) -> set[FindingVerdict]:
        """All that a finding of this case may have."""
        exceptions = {
            FindingVerdict.PERMITTED: self.permitted_if,
            FindingVerdict.UNDECIDED: self.undecided_if,
        }
        return {self.verdict} | {verdict for verdict, when in exceptions.items() if when}

    @property
    def is_of_one_kind(self) -> bool:
        """Whether the kind is the same in each row."""
        return not _PLACE.search(self.kind)


class Cases:
    """The cases of a population of rows, in order: of each row the first that holds.

    A row for which no case holds is no finding.
    """

    def __init__(self, *each: Case, evidence: str = "", **where: str) -> None:
        """Declare them.

        Args:
            each: the cases.
            evidence: the columns that go into the JSON evidence, separated by commas.
            where: where and when it was, in SQL, for as far as rows do not say so in columns of
                these names (topic, partition, offset_first, offset_last, group, at).
        """
        self.each = each
        self.evidence = evidence
        self.where = where

    def __iter__(self) -> Iterator[Case]:
        """The cases."""
        return iter(self.each)


def violation(
    kind: str, cause: str, *, when: str = "", permitted_if: str = "", undecided_if: str = ""
) -> Case:
    """A case that the configuration in force forbids."""
    return Case(kind, FindingVerdict.VIOLATION, cause, when, permitted_if, undecided_if)


def permitted(kind: str, cause: str, *, when: str = "", undecided_if: str = "") -> Case:
    """A case that the configuration in force allows."""
    return Case(kind, FindingVerdict.PERMITTED, cause, when, undecided_if=undecided_if)


def undecided(kind: str, cause: str, *, when: str = "", permitted_if: str = "") -> Case:
    """A case that may be forbidden or allowed: the evidence does not show which."""
    return Case(kind, FindingVerdict.UNDECIDED, cause, when, permitted_if=permitted_if)


def findings(rows: Frame, cases: Cases) -> Frame:
    """The findings among rows; those that are groups of `decided` rows as they were decided."""
    conditions = _conditions(cases, rows.columns)
    values = {name: F.col(name) for name in WHERE if name in rows.columns}
    values |= {name: _value(text) for name, text in cases.where.items()}
    values["cause"] = _chosen(conditions, [in_words(case.cause) for case in cases])
    values["evidence"] = _chosen(
        conditions, [_evidence(case.evidence or cases.evidence) for case in cases]
    )
    if _NUMBER in rows.columns:
        values |= {"kind": F.col("kind"), "verdict": F.col("verdict")}
    else:
        values |= _judged(cases, conditions)
        rows = _found(rows, cases, conditions)
    return rows.select(
        *(
            values.get(name, F.lit(None)).cast(FINDING_TYPES.get(name, "string")).alias(name)
            for name in FINDING_COLUMNS
        )
    )


def decided(rows: Frame, cases: Cases) -> Frame:
    """The rows for which a case holds, as they are before they are grouped to findings.

    Adds the columns DECIDED. `findings` takes those of groups that have them, and makes the cause
    of the group's other columns.
    """
    conditions = _conditions(cases, rows.columns)
    number = _chosen(conditions, [F.lit(number) for number in range(len(cases.each))])
    return _found(rows, cases, conditions).withColumns(
        {_NUMBER: number} | _judged(cases, conditions),
    )


def in_words(text: str) -> Column:
    """A text with the values of the row in its places."""
    places = list(_PLACE.finditer(text))
    if not places:
        return F.lit(text)
    if places[0].group() == text:
        return _value(places[0][1])
    pattern = _PLACE.sub(lambda place: f"%{place[2] or 's'}", text.replace("%", "%%"))
    return F.format_string(pattern, *(_rounded(place) for place in places))


def _evidence(columns: str) -> Column:
    """Columns, separated by commas, as JSON."""
    return F.to_json(F.struct(*columns.split(", ") if columns else [F.lit(1)]))


def _rounded(place: re.Match[str]) -> Column:
    """The value of a place. Engines format halves differently, so it is rounded before."""
    value, decimals = _value(place[1]), place[2]
    return F.round(value, F.lit(int(decimals[1:-1]))) if decimals else value


def _value(text: str) -> Column:
    """A column by its name, or an expression in SQL."""
    is_name = all(part.isidentifier() for part in text.split("."))
    return F.col(text) if is_name else F.expr(text)


def _conditions(cases: Cases, columns: Iterable[str]) -> list[Column | None]:
    """When each case holds; None if always.

    Raises:
        ValueError: a case follows one that always holds.
    """
    if _NUMBER in columns:
        return [F.col(_NUMBER) == number for number in range(len(cases.each))]
    conditions = [_condition(case, has_kind="kind" in columns) for case in cases]
    if any(one is None for one in conditions[:-1]):
        raise ValueError(f"a case without a condition is not the last one: {cases.each}")
    return conditions


def _condition(case: Case, *, has_kind: bool) -> Column | None:
    is_of_kind = F.col("kind") == case.kind if has_kind and case.is_of_one_kind else None
    if not case.when:
        return is_of_kind
    return F.expr(case.when) if is_of_kind is None else is_of_kind & F.expr(case.when)


def _found(rows: Frame, cases: Cases, conditions: list[Column | None]) -> Frame:
    """Rows for which a case holds. A row of a kind that has no case stays: it is an error."""
    each = [one.sql for one in conditions if one is not None]
    return rows.where(" OR ".join(each)) if cases.each[-1].when else rows


def _judged(cases: Cases, conditions: list[Column | None]) -> dict[str, Column]:
    return {
        "kind": _chosen(conditions, [in_words(case.kind) for case in cases]),
        "verdict": _chosen(conditions, [_verdict(case) for case in cases]),
    }


def _verdict(case: Case) -> Column:
    exceptions = {
        FindingVerdict.PERMITTED: case.permitted_if,
        FindingVerdict.UNDECIDED: case.undecided_if,
    }
    given = {verdict: F.expr(when) for verdict, when in exceptions.items() if when}
    return _chosen([*given.values(), None], [F.lit(one) for one in (*given, case.verdict)])


def _chosen(conditions: Sequence[Column | None], values: list[Column]) -> Column:
    """The value of the first case that holds."""
    if len({value.sql for value in values}) == 1:
        return values[0]
    branches = " ".join(
        f"ELSE {value.sql}" if one is None else f"WHEN {one.sql} THEN {value.sql}"
        for one, value in zip(conditions, values, strict=True)
    )
    return Column(f"CASE {branches} END")
