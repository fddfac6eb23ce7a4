"""The figures of an answer (`contract.answers`), counted in a run's tables and findings."""

import os
from collections.abc import Iterable
from functools import cached_property, reduce
from operator import or_
from typing import Any

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.report.shares import share
from analysis.runs.source import table_of
from contract.answers import COUNTING, DURING, EVALUATED, RESUMPTION, Condition, Count, Figure
from contract.errors import TableError
from contract.findings import FINDINGS, FINDINGS_FILE
from contract.regular_files import open_regular
from contract.run_folder import GroupPlan, RunFolder
from contract.tables import TABLES
from contract.verdicts import CheckResult, CheckVerdict, FindingVerdict, Resumption, Verdict

VALUES_MAX = 4
_DECIDED = [str(FindingVerdict.VIOLATION), str(FindingVerdict.PERMITTED)]
_TIMES = ("answered_micros", "polled_micros", "committed_micros", "at_micros", "at")


class Figures:
    """The figures of one run; one that its files can't give is unknown."""

    def __init__(self, folder: RunFolder, verdict: Verdict) -> None:
        """Nothing is read before it is asked for."""
        self._folder = folder
        self._verdict = verdict

    def is_known(self, figure: Figure) -> bool:
        """Whether the run's files give it."""
        return all(self._value(count) is not None for count in (*figure.counts, *figure.of))

    def written(self, figure: Figure) -> str:
        """A figure as text: a number, a number with its noun, a choice, a share, or values."""
        if figure.of:
            return self._share(figure)
        values = [self._value(count) for count in figure.counts]
        if any(value is None for value in values):
            return _unknown(figure)
        if any(isinstance(value, str) for value in values):
            return ", ".join(str(value) for value in values)
        number = sum(value for value in values if isinstance(value, int))
        if figure.choice is not None:
            return figure.choice[0 if number else 1]
        return with_noun(number, figure.noun)

    def _share(self, figure: Figure) -> str:
        some, every = (
            [self._value(count) for count in counts] for counts in (figure.counts, figure.of)
        )
        numbers = [[one for one in values if isinstance(one, int)] for values in (some, every)]
        if numbers != [some, every]:
            return _unknown(figure)
        found, cases = (sum(values) for values in numbers)
        return f"{found:,} of {with_noun(cases, figure.noun)} ({share(found, cases)})"

    def _value(self, count: Count) -> int | str | None:
        try:
            if count.measure == EVALUATED:
                return self._evaluated(count.source)
            rows = self._rows(count.source)
            if _is_check(count.source) and not _names(count, "verdict"):
                rows = rows[rows["verdict"].isin(_DECIDED)]
            for condition in count.conditions:
                rows = rows[self._meets(rows, condition, count.source)]
            return _measured(rows, count.measure)
        except (TableError, KeyError):
            return None

    def _rows(self, source: str) -> pd.DataFrame:
        if source == RESUMPTION:
            rows = [msgspec.structs.asdict(row) for row in self._verdict.resumption]
            return pd.DataFrame(rows, columns=list(Resumption.__struct_fields__), dtype=object)
        if source in self._verdict.unusable:
            raise TableError(f"table {source} is unusable")
        if source in TABLES:
            return _frame(table_of(self._folder, source))
        return self._findings(source)

    def _judged(self, check: str) -> CheckResult:
        """The result of a check.

        Raises:
            KeyError: the check could not judge.
        """
        result = self._verdict.checks[check]
        is_unreliable = result.verdict is CheckVerdict.UNDECIDED and result.reason
        if is_unreliable or result.verdict is CheckVerdict.NOT_EVALUABLE:
            raise KeyError(check)
        return result

    def _evaluated(self, check: str) -> int:
        return self._judged(check).evaluated

    def _findings(self, check: str) -> pd.DataFrame:
        """All findings of a check.

        Raises:
            KeyError: the check could not judge, or not all of its findings are there.
        """
        result = self._judged(check)
        found = self._all_findings
        rows = found[found["check"] == check]
        if len(rows) != result.findings:
            raise KeyError(check)
        return rows

    @cached_property
    def _all_findings(self) -> pd.DataFrame:
        file = self._folder.report / FINDINGS_FILE
        if os.path.lexists(file):
            try:
                with open_regular(file) as content:
                    return _frame(pq.read_table(content, schema=FINDINGS))
            except (pa.ArrowException, OSError) as error:
                raise TableError(f"{FINDINGS_FILE} can't be read: {error}") from error
        rows = [
            msgspec.structs.asdict(one) | {"evidence": msgspec.json.encode(one.evidence).decode()}
            for result in self._verdict.checks.values()
            for one in result.examples
        ]
        return pd.DataFrame(rows, columns=FINDINGS.names)

    def _meets(self, rows: pd.DataFrame, condition: Condition, source: str) -> "pd.Series[bool]":
        """Which rows meet a condition.

        Raises:
            KeyError: neither they nor their groups have the column.
        """
        if condition.column == DURING:
            return self._during(rows, condition.accepted)
        values = self._column(rows, condition.column, source)
        if condition.operator == ">":
            return pd.to_numeric(values, errors="coerce") > int(condition.accepted[0])
        is_one = values.map(_text).isin(condition.accepted)
        return ~is_one if condition.operator == "!=" else is_one

    def _column(self, rows: pd.DataFrame, name: str, source: str) -> "pd.Series[Any]":
        if name in rows:
            return rows[name]
        if "group" in rows and name in self._properties:
            return rows["group"].map(self._properties[name])
        if _is_check(source):
            evidence = rows["evidence"].map(lambda text: msgspec.json.decode(text).get(name))
            return evidence.astype(object)
        raise KeyError(name)

    @cached_property
    def _properties(self) -> dict[str, dict[str, str]]:
        """By property: the value of each group."""
        found: dict[str, dict[str, str]] = {}
        for group in self._folder.plan().groups:
            for name, value in _properties_of(group).items():
                found.setdefault(name, {})[group.group] = value
        return found

    def _during(self, rows: pd.DataFrame, names: Iterable[str]) -> "pd.Series[bool]":
        phases = self._rows("phases")
        chosen = phases[phases["stage"].isin(list(names)) | phases["doing"].isin(list(names))]
        if chosen.empty:
            raise KeyError(DURING)
        at = next(rows[name] for name in _TIMES if name in rows)
        spans = zip(chosen["began_micros"], chosen["ended_micros"], strict=True)
        return reduce(or_, [at.between(began, ended) for began, ended in spans])


def _unknown(figure: Figure) -> str:
    if figure.choice is not None:
        return "Undecided"
    if any(count.measure not in COUNTING for count in figure.counts):
        return "unknown"
    return f"an unknown number of {figure.noun}s" if figure.noun else "an unknown number"


def _is_check(source: str) -> bool:
    return source not in TABLES and source != RESUMPTION


def _names(count: Count, column: str) -> bool:
    return any(condition.column == column for condition in count.conditions)


def _text(value: object) -> str:
    """A value as a condition writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_noun(number: int, noun: str) -> str:
    """E.g. `1 record`, `12,000 records`; without a noun the number alone."""
    if not noun:
        return f"{number:,}"
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _measured(rows: pd.DataFrame, measure: str) -> int | str:
    if measure not in COUNTING:
        return _listed(rows[measure])
    if measure == "records":
        return _records(rows)
    if measure == "groups":
        return int(rows["group"].nunique()) if len(rows) else 0
    if measure == "partitions":
        return len(rows[["topic", "partition"]].drop_duplicates()) if len(rows) else 0
    return len(rows)


def _records(rows: pd.DataFrame) -> int:
    """The number of records in rows that are ranges of offsets or of sequence numbers."""
    if rows.empty:
        return 0
    each = pd.Series(0, index=rows.index, dtype="float64")
    for first, last in (("offset_first", "offset_last"), ("first_offset", "last_offset")):
        if first in rows:
            each = pd.to_numeric(rows[last]) - pd.to_numeric(rows[first])
    if "first_sequence" in rows:
        by_sequence = pd.to_numeric(rows["last_sequence"]) - pd.to_numeric(rows["first_sequence"])
        each = each.fillna(by_sequence)
    return int((each.fillna(0) + 1).sum())


def _listed(values: "pd.Series[Any]") -> str:
    known = sorted(values.dropna().unique())
    told = [f"{one:,}" if isinstance(one, int) else _text(one) for one in known]
    if not told:
        return "none"
    if len(told) > VALUES_MAX:
        return f"{', '.join(told[:VALUES_MAX])} and {len(told) - VALUES_MAX} more"
    return " and ".join([", ".join(told[:-1]), told[-1]] if told[:-1] else told)


def _properties_of(group: GroupPlan) -> dict[str, str]:
    own = {"client": group.client, "reset": group.reset, "commit_epoch": group.commit_epoch}
    return group.labels | own


def _frame(table: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True)
    return frame
