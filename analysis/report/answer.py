"""The answer to a scenario's question, and what follows from it, with the figures of the run.

All figures of a text are the columns of one statement about the run's tables, its findings and its
resumptions (`contract.answers`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.report.run_facts import RunFacts
from analysis.report.words import share, with_noun
from analysis.statements.cases import literal
from analysis.statements.trace import Row
from contract.answers import (
    COUNTED,
    COUNTING,
    DURING,
    EVALUATED,
    FAULTS,
    RESUMPTION,
    Condition,
    Count,
    Figure,
    parts,
)
from contract.errors import FencepostError, TableError
from contract.files import open_regular
from contract.run_folder import Consequence
from contract.table_columns import Column
from contract.tables import TABLES
from contract.verdicts import (
    FINDINGS,
    FINDINGS_FILE,
    CheckResult,
    CheckVerdict,
    FindingVerdict,
    Resumption,
    Verdict,
)

UNFINISHED = "The scenario did not finish. Until then: "
UNKNOWN = "Undecided: the sources of the answer are missing, or have gaps."
VALUES_MAX = 4
_CHECKS_MAX = 3
_VERDICT = "verdict"
_UNDECIDED = str(FindingVerdict.UNDECIDED)
_DECIDED = (str(FindingVerdict.VIOLATION), str(FindingVerdict.PERMITTED))
_TIMES = ("answered_micros", "polled_micros", "committed_micros", "at_micros", "at")


def answer(facts: RunFacts, verdict: Verdict) -> str:
    """The answer in plain text; a general one where the plan declares none.

    A figure that the run's files can't give is named as unknown.
    """
    try:
        reported = _write_answer(facts, verdict, list(parts(facts.folder.plan().answer)))
    except FencepostError:
        reported = ""
    reported = reported or general_answer(verdict)
    return f"{UNFINISHED}{reported}" if facts.folder.run().error is not None else reported


def consequence(facts: RunFacts, verdict: Verdict) -> Consequence | None:
    """What follows from a run; None unless it finished and all figures are known."""
    declared = facts.folder.plan().follows
    if declared is None or facts.folder.run().error is not None:
        return None
    try:
        reported = _write_answer(facts, verdict, list(parts(declared.sentence)), needs_all=True)
    except FencepostError:
        return None
    return msgspec.structs.replace(declared, sentence=reported) if reported else None


def _write_answer(
    facts: RunFacts, verdict: Verdict, pieces: list[str | Figure], *, needs_all: bool = False
) -> str:
    figures = [piece for piece in pieces if isinstance(piece, Figure)]
    values = Figures(facts, verdict, figures)
    known = [values.is_known(figure) for figure in figures]
    if needs_all and not all(known):
        return ""
    if figures and not any(known):
        return UNKNOWN
    text = "".join(piece if isinstance(piece, str) else values.text_of(piece) for piece in pieces)
    # Sentences begin with a capital letter, whatever figure they begin with.
    return re.sub(r"(?:^|(?<=\. ))[a-z]", lambda match: match[0].upper(), text)


def general_answer(verdict: Verdict) -> str:
    """What the checks that the question is about came to."""
    asked = {name: verdict.checks[name] for name in verdict.must_judge if name in verdict.checks}
    clear = (CheckVerdict.HOLDS, CheckVerdict.PERMITTED)
    found = [name for name, result in asked.items() if result.verdict not in clear]
    held = f"{len(asked) - len(found)} of {with_noun(len(asked), 'check')}"
    reported = f"{held} that the question is about found no violation"
    if not found:
        return f"{reported}."
    more = f" and {len(found) - _CHECKS_MAX} more" if len(found) > _CHECKS_MAX else ""
    named = ", ".join(f"{name} ({asked[name].verdict})" for name in found[:_CHECKS_MAX])
    return f"{reported}; the others: {named}{more}."


@dataclass(frozen=True)
class _Source:
    """What a count is about: a name in statements, its columns, and what its rows must meet."""

    name: str
    columns: tuple[str, ...]
    chosen: str = "true"


class Figures:
    """The figures of one text; one that its files can't give is unknown."""

    def __init__(self, facts: RunFacts, verdict: Verdict, figures: Iterable[Figure]) -> None:
        """Count all of them."""
        self._facts = facts
        self._verdict = verdict
        counts = dict.fromkeys(
            count for figure in figures for count in (*figure.counts, *figure.of)
        )
        self._checks = sorted({count.source for count in counts if _is_check(count.source)})
        for count in list(counts):
            if (wider := _with_undecided(count)) is not None:
                counts |= {_number_of(count): None, wider: None}
        named = {term.column for count in counts for term in count.conditions}
        self._keys = sorted(named - self._groups.keys() - {DURING, *FINDINGS.names})
        self._values: dict[Count, int | str | None] = dict.fromkeys(counts)
        self._count(counts)

    def is_known(self, figure: Figure) -> bool:
        """Whether the run's files give it."""
        return all(self._values[count] is not None for count in (*figure.counts, *figure.of))

    def text_of(self, figure: Figure) -> str:
        """A figure as text: a number, a number with its noun, a choice, a share, or values.

        It says how many findings besides may belong to it, since they are undecided. That there is
        no case is open until the scenario has finished.
        """
        undecided = sum(map(self._undecided, figure.counts))
        besides = f" (and {undecided:,} undecided)" if undecided else ""
        values = [self._values[count] for count in figure.counts]
        numbers = [value for value in values if isinstance(value, int)]
        if figure.of:
            cases = [value for count in figure.of if isinstance(value := self._values[count], int)]
            if len(numbers) < len(values) or len(cases) < len(figure.of):
                return _text_of_unknown(figure)
            found, of = sum(numbers), sum(cases)
            counted = f"{found:,} of {with_noun(of, figure.noun)}"
            return f"{counted}{besides or f' ({share(found, of)})'}"
        if None in values:
            return _text_of_unknown(figure)
        if len(numbers) < len(values):
            return ", ".join(str(value) for value in values) + besides
        if figure.choice is not None:
            some, none = figure.choice
            is_open = undecided or self._facts.folder.run().error is not None
            return some if sum(numbers) else _UNDECIDED.capitalize() if is_open else none
        return with_noun(sum(numbers), figure.noun) + besides

    def _undecided(self, count: Count) -> int:
        """How much more would be counted if all undecided findings were."""
        if (wider := _with_undecided(count)) is None:
            return 0
        all_of_it, decided = self._values[wider], self._values[_number_of(count)]
        return int(all_of_it or 0) - int(decided or 0)

    def _count(self, counts: Iterable[Count]) -> None:
        """Ask for all counts that can be asked for, by one statement."""
        columns: dict[Count, str] = {}
        for count in counts:
            try:
                if count.measure == EVALUATED:
                    self._values[count] = self._result_of(count.source).evaluated
                else:
                    columns[count] = self._column(count)
            except (TableError, KeyError):
                continue
        if columns:
            named = (f"({text}) as figure_{at}" for at, text in enumerate(columns.values()))
            (row,) = self._facts.rows(f"select {', '.join(named)}") or ({},)
            for count, value in zip(columns, row.values(), strict=False):
                is_listed = count.measure not in COUNTING
                self._values[count] = _list_values(value) if is_listed else int(value or 0)

    def _column(self, count: Count) -> str:
        """A count as a statement.

        Raises:
            KeyError: a column does not exist, or a check could not judge.
            TableError: the table can't be used.
        """
        source = self._source(count.source)
        measured = self._aggregate(count.measure, source)
        terms = [source.chosen, *(self._met(condition, source) for condition in count.conditions)]
        if _is_check(count.source) and all(
            condition.column != _VERDICT for condition in count.conditions
        ):
            terms.append(_is_in(_VERDICT, _DECIDED))
        # Its names are declared ones, and what a plan writes is in quotation marks.
        return f"select {measured} from {source.name} where {' and '.join(terms)}"  # noqa: S608

    def _source(self, name: str) -> _Source:
        if name == RESUMPTION:
            return _Source(self._resumptions, Resumption.__struct_fields__)
        if name in TABLES:
            if problem := self._facts.trace.problem(name):
                raise TableError(problem)
            return _Source(name, tuple(TABLES[name].names))
        result = self._result_of(name)
        if sum(row["check"] == name for row in self._found) != result.findings:
            raise KeyError(name)
        return _Source(self._findings, (*FINDINGS.names, *self._keys), _is_in("check", (name,)))

    def _result_of(self, check: str) -> CheckResult:
        """The result of a check.

        Raises:
            KeyError: the check could not judge.
        """
        result = self._verdict.checks[check]
        is_unreliable = result.verdict is CheckVerdict.UNDECIDED and result.reason
        if is_unreliable or result.verdict is CheckVerdict.NOT_EVALUABLE:
            raise KeyError(check)
        return result

    def _met(self, condition: Condition, source: _Source) -> str:
        """Whether a row meets a condition.

        Raises:
            KeyError: neither the rows nor their groups have the column.
        """
        if condition.column == DURING:
            return self._during(condition.accepted, source)
        if condition.column in source.columns:
            return _compare_in_words(condition, f"`{condition.column}`")
        groups = self._groups.get(condition.column)
        if groups is None or "group" not in source.columns:
            raise KeyError(condition.column)
        of_group = " ".join(
            f"when {literal(label)} then {literal(value)}" for label, value in groups
        )
        return _compare_in_words(condition, f"case `group` {of_group} end")

    def _during(self, names: tuple[str, ...], source: _Source) -> str:
        phases = [
            phase for phase in self._rows("phases") if {phase["stage"], phase["doing"]} & set(names)
        ]
        chosen = [_spans(phase, source, "began_micros", "ended_micros") for phase in phases]
        if set(names) - {name for phase in phases for name in (phase["stage"], phase["doing"])}:
            chosen += [text for verb, text in self._fault_states(source) if verb in names]
        if not chosen:
            raise KeyError(DURING)
        return f"({' or '.join(chosen)})"

    def _fault_states(self, source: _Source) -> list[tuple[str, str]]:
        """Of each fault: its verb, and whether it held at a row's time."""
        return [
            (row["fault"], _spans(row, source, "injected_micros", "healed_micros"))
            for row in self._rows("faults")
        ]

    def _rows(self, table: str) -> list[Row]:
        """The rows of a table.

        Raises:
            TableError: it can't be used.
        """
        if problem := self._facts.trace.problem(table):
            raise TableError(problem)
        return self._facts.rows(f"select * from {table}")  # noqa: S608 - a table's name

    def _aggregate(self, measure: str, source: _Source) -> str:
        """An aggregate.

        Raises:
            KeyError: it is of a column that does not exist.
            TableError: it is of faults, whose table can't be used.
        """
        if measure != FAULTS:
            return _aggregate(measure, source)
        held = [f"max(if({text}, 1, 0))" for _, text in self._fault_states(source)]
        return f"coalesce({' + '.join(held or ['max(0)'])}, 0)"

    @cached_property
    def _groups(self) -> dict[str, list[tuple[str, str]]]:
        """By property: each group with its value."""
        found: dict[str, list[tuple[str, str]]] = {}
        for group in self._facts.folder.plan().groups:
            own = {"client": group.client, "reset": group.reset, "commit_epoch": group.commit_epoch}
            for name, value in (group.labels | own).items():
                found.setdefault(name, []).append((group.group, value))
        return found

    @cached_property
    def _found(self) -> list[Row]:
        """The findings of the checks that are counted, with the evidence that is asked for.

        Raises:
            TableError: the file of all findings is damaged.
        """
        file = self._facts.folder.report / FINDINGS_FILE
        if file.exists():
            try:
                with open_regular(file) as content:
                    chosen = [("check", "in", self._checks)]
                    rows = pq.read_table(content, schema=FINDINGS, filters=chosen).to_pylist()
            except (pa.ArrowException, OSError) as error:
                raise TableError(f"{FINDINGS_FILE} can't be read: {error}") from error
            evidence = [msgspec.json.decode(row["evidence"]) for row in rows]
        else:
            results = self._verdict.checks.items()
            examples = [
                example
                for check, result in results
                for example in result.examples
                if check in self._checks
            ]
            rows = [msgspec.structs.asdict(example) | {"number": None} for example in examples]
            evidence = [example.evidence for example in examples]
        return [
            {key: _text(values.get(key)) for key in self._keys} | row | {"evidence": None}
            for row, values in zip(rows, evidence, strict=True)
        ]

    @cached_property
    def _findings(self) -> str:
        kinds = {name: pa.string() for name in self._keys}
        kinds |= dict(zip(FINDINGS.names, FINDINGS.types, strict=True))
        return self._name_rows(kinds, self._found)

    @cached_property
    def _resumptions(self) -> str:
        fields = msgspec.structs.fields(Resumption)
        kinds = {
            field.name: pa.int64() if "int" in str(field.type) else pa.string() for field in fields
        }
        return self._name_rows(
            kinds, [msgspec.structs.asdict(resumption) for resumption in self._verdict.resumption]
        )

    def _name_rows(self, kinds: Mapping[str, pa.DataType], rows: list[Row]) -> str:
        """The name of rows, as statements read them."""
        return self._facts.named([Column(*pair, null=True) for pair in kinds.items()], rows)


def _number_of(count: Count) -> Count:
    """The number of what a count lists; the count itself if it lists nothing."""
    return count if count.measure in COUNTING else replace(count, measure="rows")


def _with_undecided(count: Count) -> Count | None:
    """The number of what is counted and of undecided findings; None if none can be left out."""
    if not _is_check(count.source) or count.measure == EVALUATED:
        return None
    of_verdict = [term for term in count.conditions if term.column == _VERDICT]
    if any(term.operator != "=" or _UNDECIDED in term.accepted for term in of_verdict):
        return None
    others = [term for term in count.conditions if term.column != _VERDICT]
    accepted = of_verdict[0].accepted if of_verdict else _DECIDED
    wider = Condition(_VERDICT, "=", (*accepted, _UNDECIDED))
    return replace(_number_of(count), conditions=(*others, wider))


def _spans(row: Row, source: _Source, began: str, ended: str) -> str:
    """Whether a row of a source came about within a time; one without an end has not ended.

    Raises:
        KeyError: the source has no time.
    """
    at = next((name for name in _TIMES if name in source.columns), None)
    if at is None:
        raise KeyError(DURING)
    until = "" if row[ended] is None else f" and `{at}` <= {row[ended]}"
    return f"(`{at}` >= {row[began]}{until})"


def _aggregate(measure: str, source: _Source) -> str:
    """An aggregate.

    Raises:
        KeyError: it is of a column that does not exist.
    """
    if not set(COUNTED.get(measure, ())) <= set(source.columns):
        raise KeyError(measure)
    if measure == "records":
        return f"sum({_records(source.columns)})"
    if measure == "groups":
        return "count(distinct `group`)"
    if measure == "partitions":
        return "count(distinct struct(topic, partition))"
    if measure in COUNTING:
        return "count(*)"
    if measure not in source.columns:
        raise KeyError(measure)
    return f"sort_array(collect_set(`{measure}`))"


def _records(columns: tuple[str, ...]) -> str:
    """The number of records of a row, which is a range of offsets or of sequence numbers."""
    spans = [
        f"{last} - {first} + 1"
        for first, last in (
            ("offset_first", "offset_last"),
            ("first_offset", "last_offset"),
            ("first_sequence", "last_sequence"),
        )
        if first in columns
    ]
    return f"coalesce({', '.join([*spans, '1'])})"


def _compare_in_words(condition: Condition, value: str) -> str:
    if condition.operator == ">":
        return f"coalesce(cast({value} as double) > {int(condition.accepted[0])}, false)"
    is_one = f"coalesce({_is_in(f'cast({value} as string)', condition.accepted)}, false)"
    return f"not {is_one}" if condition.operator == "!=" else is_one


def _is_in(value: str, accepted: Iterable[str]) -> str:
    return f"{value} in ({', '.join(map(literal, accepted))})"


def _text_of_unknown(figure: Figure) -> str:
    if figure.choice is not None:
        return _UNDECIDED.capitalize()
    if any(count.measure not in COUNTING for count in figure.counts):
        return "unknown"
    return f"an unknown number of {figure.noun}s" if figure.noun else "an unknown number"


def _is_check(source: str) -> bool:
    return source not in TABLES and source != RESUMPTION


def _text(value: Any) -> str | None:
    """A value as a condition writes it."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _list_values(values: list[Any] | None) -> str:
    reported = [
        f"{value:,}" if isinstance(value, int) else str(_text(value)) for value in values or []
    ]
    if not reported:
        return "none"
    if len(reported) > VALUES_MAX:
        return f"{', '.join(reported[:VALUES_MAX])} and {len(reported) - VALUES_MAX} more"
    return " and ".join([", ".join(reported[:-1]), reported[-1]] if reported[:-1] else reported)
