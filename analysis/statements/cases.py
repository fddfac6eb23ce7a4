"""What a check finds: its cases, each with kind, verdict and cause, and the findings among rows."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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

PLACE = ("topic", "partition", "offset_first", "offset_last", "group", "at")
FINDING_TYPES = {
    "partition": "int",
    "offset_first": "bigint",
    "offset_last": "bigint",
    "at": "bigint",
}

_VALUE = re.compile(r"\{([^{}]+?)(?::(\.\d+f))?\}")


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
        evidence: the columns that go into its JSON evidence, separated by commas; empty: those of
            all cases.
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
        return not _VALUE.search(self.kind)

    @property
    def verdict_sql(self) -> str:
        """The verdict of a row, in SQL."""
        own = f"'{self.verdict}'"
        if self.undecided_if:
            own = f"CASE WHEN {self.undecided_if} THEN '{FindingVerdict.UNDECIDED}' ELSE {own} END"
        if self.permitted_if:
            own = f"CASE WHEN {self.permitted_if} THEN '{FindingVerdict.PERMITTED}' ELSE {own} END"
        return own


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

    def findings_of(self, rows: str, columns: Sequence[str]) -> str:
        """A SELECT of the findings among rows.

        Raises:
            ValueError: a case follows one that always holds.
        """
        conditions = self._conditions(columns)
        values = {name: f"`{name}`" for name in PLACE if name in columns} | self.where
        values |= self._decisions(conditions)
        values["cause"] = _first_that_holds(
            conditions, [in_words(case.cause) for case in self.each]
        )
        values["evidence"] = _first_that_holds(
            conditions,
            [f"to_json(struct({case.evidence or self.evidence or '1'}))" for case in self.each],
        )
        items = ", ".join(
            f"CAST({values.get(name, 'NULL')} AS {FINDING_TYPES.get(name, 'string')}) AS `{name}`"
            for name in FINDING_COLUMNS
        )
        return f"SELECT {items} FROM {rows}{self._where(conditions)}"

    def decided_of(self, rows: str, columns: Sequence[str]) -> str:
        """A SELECT of the rows for which a case holds, with their kind and verdict."""
        conditions = self._conditions(columns)
        decisions = self._decisions(conditions)
        kept = [f"`{name}`" for name in columns if name not in decisions]
        items = ", ".join([*kept, *(f"{sql} AS `{name}`" for name, sql in decisions.items())])
        return f"SELECT {items} FROM {rows}{self._where(conditions)}"

    def _conditions(self, columns: Sequence[str]) -> list[str]:
        """When each case holds; empty if always.

        Raises:
            ValueError: a case follows one that always holds.
        """
        conditions = [_condition(case, has_kind="kind" in columns) for case in self.each]
        if not all(conditions[:-1]):
            raise ValueError(f"a case without a condition is not the last one: {self.each}")
        return conditions

    def _decisions(self, conditions: Sequence[str]) -> dict[str, str]:
        return {
            "kind": _first_that_holds(conditions, [in_words(case.kind) for case in self.each]),
            "verdict": _first_that_holds(conditions, [case.verdict_sql for case in self.each]),
        }

    def _where(self, conditions: Sequence[str]) -> str:
        """The rows for which a case holds. One of a kind that has no case stays: it is an error."""
        each = " OR ".join(f"({condition})" for condition in conditions if condition)
        return f" WHERE {each}" if self.each[-1].when else ""


def in_words(text: str) -> str:
    """A text with the values of the row in its places, in SQL."""
    places = list(_VALUE.finditer(text))
    if not places:
        return literal(text)
    if places[0].group() == text:
        return f"({places[0][1]})"
    pattern = _VALUE.sub(lambda place: f"%{place[2] or 's'}", text.replace("%", "%%"))
    return f"format_string({literal(pattern)}, {', '.join(f'({place[1]})' for place in places)})"


def literal(text: str) -> str:
    """A text as SQL writes it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _condition(case: Case, *, has_kind: bool) -> str:
    """When a case holds; empty if always."""
    parts = [f"`kind` = {literal(case.kind)}"] if has_kind and case.is_of_one_kind else []
    return " AND ".join([*parts, *([f"({case.when})"] if case.when else [])])


def _first_that_holds(conditions: Iterable[str], values: list[str]) -> str:
    """The value of the first case that holds."""
    if len(set(values)) == 1:
        return values[0]
    branches = " ".join(
        f"WHEN {condition} THEN {value}" if condition else f"ELSE {value}"
        for condition, value in zip(conditions, values, strict=True)
    )
    return f"CASE {branches} END"
