"""Changes of the checks' statements that the exam notices: `python -m lab.mutants [CHECK ...]`.

Changes each statement in one place at a time (`lab.changes`), and each condition of a case, and
judges the exam's histories by it on DuckDB; then each macro (`lab.macros`), in all checks that
use it. Keeps the figures of docs/mutants.md; those of named checks and macros it prints, and what
was not noticed. With `--facts` it also changes each fact in a few places, drawn with a fixed seed,
and computes all that reads it again. Exits 1 if lab/survivors.yml names what has not survived.
"""

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple

import duckdb
import msgspec
from rich.console import Console
from rich.progress import Progress

from analysis.engine.prepared import prepared
from analysis.statements.cases import FINDING_COLUMNS
from analysis.statements.files import facts, parts_of
from analysis.statements.registry import CHECKS, CheckDefinition
from analysis.statements.trace import Row, Trace
from contract.errors import StatementError, TableError
from contract.terms import Check
from contract.verdicts import BY_SEVERITY, FindingVerdict
from lab.changes import Change, changes, changes_of_condition, in_one_spelling
from lab.folders import own_folder
from lab.macros import (
    Bodies,
    Template,
    Use,
    changes_of_macro,
    changes_of_template,
    complete,
    forms,
    template,
)
from lab.mutants_page import (
    NAME,
    OF_EACH_FACT,
    SECONDS_MAX,
    SEED,
    Judged,
    Mutants,
    Outcome,
    Reason,
    count_outcomes,
    part,
    reasons,
    survivors,
)
from tests.traces import load
from website.figures import keep

_ROWS_MAX = 20_000
"""Of a changed statement's findings that are compared; the exam has hundreds."""
_CONDITIONS = ("when", "permitted_if", "undecided_if")
_JUDGED = [name for name in FINDING_COLUMNS if name not in ("cause", "evidence")]


class Found(NamedTuple):
    """What a check finds in one trace, and whether the exam's questions about it are met."""

    rows: list[Row]
    met: list[Any]


class Asked(NamedTuple):
    """A trace of the exam, and what a check's findings in it answer."""

    trace: Trace
    met: Callable[[Check, list[Row]], list[Any]]

    def found(self, check: Check, text: str) -> Found:
        """What a statement finds.

        Raises:
            duckdb.Error: it is wrong, or takes too long.
            StatementError: it is none.
        """
        rows = self._rows(check, text)
        return Found(rows, self.met(check, rows))

    def outcome(self, check: Check, text: str, before: Found) -> Outcome:
        """What a change does, by the changed statement and what was found before."""
        try:
            rows = self._rows(check, text)
        except (duckdb.Error, StatementError):
            return Outcome.ERROR
        if _count_rows(rows, FINDING_COLUMNS) == _count_rows(before.rows, FINDING_COLUMNS):
            return Outcome.NONE
        if self.met(check, rows) != before.met:
            return Outcome.VERDICT
        same = _count_rows(rows, _JUDGED) == _count_rows(before.rows, _JUDGED)
        return Outcome.WORDS if same else Outcome.PLACE

    def _rows(self, check: Check, text: str) -> list[Row]:
        with _limit_queries(self.trace):
            CHECKS[check].judge(self.trace)  # which asks for what Python computes
            self.trace.name_all(text)
            numbers = self.trace.numbers_of(text)
            rows = self.trace.engine.rows(text, numbers=numbers, limit=_ROWS_MAX)
        of_python: list[Row] = rows.to_pylist()
        return of_python


def _count_rows(rows: Iterable[Row], columns: Iterable[str]) -> Counter[tuple[Any, ...]]:
    values = itemgetter(*columns)
    return Counter(values(row) for row in rows)


class Exam:
    """The exam's histories in traces that stay open: the common one, and those that are alone."""

    def __init__(self, place: Path) -> None:
        """Write them into a folder."""
        self._exam, self._place = import_module("tests.exam.exam"), place
        self._asked = [question for question in self._exam.questions() if not question.alone]
        self._alone = [question for question in self._exam.questions() if question.alone]
        self._together = self._exam.Exam(place / "together", self._asked)
        self._trace = cache(self._trace_alone)
        self.together = self.anew()

    def anew(self) -> Asked:
        """The common trace, of which nothing is computed yet."""
        return Asked(load(self._place / "spill", self._together.folder), self._met)

    def traces_for(self, check: Check) -> list[Asked]:
        """The traces of whose histories a check is asked, as far as it can judge them."""
        alone = [index for index, question in enumerate(self._alone) if check in question.expects]
        every = [self.together, *(Asked(self._trace(index), _worst) for index in alone)]
        return [asked for asked in every if can_judge(check, asked.trace)]

    def _trace_alone(self, index: int) -> Trace:
        question = self._alone[index]
        path, history = self._place / question.name, question.history()
        folder = self._exam.write_run(path, [history], checks=list(question.expects))
        return load(self._place / "spill", folder)

    def _met(self, check: Check, rows: list[Row]) -> list[bool]:
        """Whether each question about a check is met."""
        judged = import_module("tests.exam.agreement").Judged(findings=rows)
        try:
            said = self._together.collect_findings({check: judged})
        except (AssertionError, AttributeError, LookupError, StopIteration, TypeError, ValueError):
            return []  # a finding belongs to no history, or has no verdict or evidence
        return [
            self._exam.is_right(
                question.expects[check], said.get(question.name, {}).get(check, "none")
            )
            for question in self._asked
            if check in question.expects
        ]


def _worst(_: Check, rows: list[Row]) -> list[FindingVerdict]:
    """The verdict of a history that is judged alone."""
    verdicts = {row["verdict"] for row in rows}
    return [verdict for verdict in BY_SEVERITY if verdict in verdicts][:1]


def can_judge(check: Check, trace: Trace) -> bool:
    """Whether a trace has what a check needs."""
    try:
        CHECKS[check].judge(trace)
    except TableError:
        return False
    return not CHECKS[check].lacks(trace)


@contextmanager
def _limit_queries(trace: Trace) -> Iterator[None]:
    """What a trace's engine runs meanwhile fails if it takes too long."""
    connection = trace.engine._conn  # noqa: SLF001 - only benches stop it
    timer = Timer(SECONDS_MAX, connection.interrupt)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def changes_of(definition: CheckDefinition) -> Iterator[Change]:
    """Yield each change of a check: of its statement, and of the conditions of its cases.

    The texts of macros are changed apart.
    """
    yield from changes_of_template(_findings_of(definition), only_steps=True)
    whole = with_its_rows(definition)
    header = whole.header
    for number, case in enumerate(header.cases):
        for name in filter(partial(getattr, case), _CONDITIONS):
            condition = template(getattr(case, name))
            for change in changes_of_condition(condition.text):
                text = complete(replace(condition, text=change.text))
                cases = list(header.cases)
                cases[number] = msgspec.structs.replace(case, **{name: text})
                of_cases = msgspec.structs.replace(header, cases=cases)
                text = replace(whole, header=of_cases).findings
                step = f"case {number + 1}, {name}"
                yield replace(change, step=step, text=text)


def _findings_of(definition: CheckDefinition) -> Template:
    """The statement of findings, in which each use of a macro in its steps is a word."""
    whole = with_its_rows(definition)
    own = template(definition.source.statement)
    return replace(own, text=_with_steps(whole, own.text))


def _with_steps(whole: CheckDefinition, text: str) -> str:
    """The statement of findings with another one of the check's own."""
    before, after = (
        parts_of(replace(whole.source, text=statement)) for statement in (whole.source.text, text)
    )
    steps, own = (statement.strip() for statement in before)
    made = whole.findings.replace(f"(\n{own}\n)", f"(\n{after[1]}\n)", 1)
    return made.replace(steps, after[0].strip(), 1) if steps else made


def _with_macros(definition: CheckDefinition, bodies: Bodies) -> str:
    """The statement of findings with other texts of macros."""
    whole = with_its_rows(definition)
    cases = [
        msgspec.structs.replace(
            case,
            **{name: complete(template(getattr(case, name)), bodies) for name in _CONDITIONS},
        )
        for case in whole.header.cases
    ]
    whole = replace(whole, header=msgspec.structs.replace(whole.header, cases=cases))
    return _with_steps(whole, complete(template(whole.source.statement), bodies))


@cache
def _forms_of(check: Check) -> frozenset[Use]:
    """What a check uses of macros."""
    header = CHECKS[check].header
    conditions = [getattr(case, name) for case in header.cases for name in _CONDITIONS]
    texts = [CHECKS[check].source.statement, *conditions]
    return frozenset(form for text in texts for form in forms(template(text)))


def macros() -> dict[str, list[Use]]:
    """The forms of each macro that a check uses."""
    every = {form for check in CHECKS for form in _forms_of(check)}
    named: dict[str, list[Use]] = defaultdict(list)
    for form in sorted(every, key=str):
        named[form.macro].append(form)
    return named


def with_its_rows(definition: CheckDefinition) -> CheckDefinition:
    """A check whose statement of findings has that of its rows, if those are kept."""
    return replace(definition, header=msgspec.structs.replace(definition.header, is_by_rules=False))


class Before:
    """What a check finds in the exam, unchanged."""

    def __init__(self, check: Check, exam: Exam) -> None:
        """Judge it once."""
        self._check, self._asked = check, exam.traces_for(check)
        text = with_its_rows(CHECKS[check]).findings
        self._found = [asked.found(check, text) for asked in self._asked]

    def outcome(self, changed: str) -> Outcome:
        """What a change does, by the changed statement of findings."""
        outcomes = [Outcome.NONE]
        for asked, before in zip(self._asked, self._found, strict=True):
            outcomes.append(asked.outcome(self._check, changed, before))
            if outcomes[-1] is Outcome.VERDICT:
                break
        return _most(outcomes)


def _most(outcomes: Iterable[Outcome]) -> Outcome:
    return min(outcomes, key=list(Outcome).index)


def judge_check(check: Check, before: Before) -> Judged:
    """Judge each change of a check.

    Raises:
        RuntimeError: the statement finds something else in the spelling of its changes.
    """
    judged, unchanged = Judged(), _findings_of(CHECKS[check])
    text = complete(replace(unchanged, text=in_one_spelling(unchanged.text)))
    if before.outcome(text) is not Outcome.NONE:
        raise RuntimeError(f"sqlglot changes what {check} finds")
    for change in changes_of(CHECKS[check]):
        judged.outcomes.append((change, before.outcome(change.text)))
    return judged


def judge_macro(name: str, before: Callable[[Check], Before]) -> Judged:
    """Judge each change of a macro, by all checks that use it; facts keep the macro as it is."""
    judged = Judged()
    for form in macros()[name]:
        users = [check for check in CHECKS if form in _forms_of(check)]
        for change, changed in changes_of_macro(form):
            outcomes = [Outcome.NONE]
            for check in users:
                text = _with_macros(CHECKS[check], {form: changed})
                outcomes.append(before(check).outcome(text))
                if outcomes[-1] is Outcome.VERDICT:
                    users.remove(check)
                    users.insert(0, check)  # it may notice the next one too
                    break
            judged.outcomes.append((change, _most(outcomes)))
    return judged


def judge_fact(name: str, exam: Exam, found: Mapping[Check, Found]) -> Judged:
    """Judge some changes of a fact, by all checks that read it.

    Args:
        name: of the fact.
        exam: the histories.
        found: in the common trace, by check.
    """
    judged, fact = Judged(), facts()[name]
    every = list(changes(fact.text))
    chosen = random.Random(f"{SEED} {name}").sample(every, min(OF_EACH_FACT, len(every)))
    for change in chosen:
        asked, outcomes = exam.anew(), [Outcome.NONE]
        asked.trace.with_rows(replace(fact, text=change.text))
        for check, before in found.items():
            if name in _read(CHECKS[check].source.text):
                text = with_its_rows(CHECKS[check]).findings
                outcomes.append(asked.outcome(check, text, before))
                if outcomes[-1] is Outcome.VERDICT:
                    break
        judged.outcomes.append((change, _most(outcomes)))
    return judged


@cache
def _read(text: str) -> frozenset[str]:
    """All that a statement reads, by way of facts too; what Python computes may read any fact."""
    read = set(prepared(text).tables)
    for name in prepared(text).tables:
        fact = facts().get(name)
        if fact is not None:
            read |= facts().keys() if fact.compute else _read(fact.text)
    return frozenset(read)


def main() -> None:
    """Keep the figures, or print those of the named checks and macros.

    Raises:
        SystemExit: no check or macro has this name; or a reason is of a change that is noticed, or
            of none.
    """
    names = [name for name in sys.argv[1:] if name != "--facts"]
    if unknown := set(names) - set(map(str, CHECKS)) - macros().keys():
        sys.exit(f"error: no check or macro is called {', '.join(sorted(unknown))}")
    checks = [check for check in CHECKS if not names or check in names]
    of_facts: dict[str, Judged] = {}
    with own_folder("mutants") as place, Progress(console=Console(stderr=True)) as progress:
        exam = Exam(place)
        before = cache(partial(Before, exam=exam))
        of_checks = {
            str(check): judge_check(check, before(check))
            for check in progress.track(checks, description="checks")
        }
        of_macros = {
            name: judge_macro(name, before)
            for name in progress.track(sorted(macros()), description="macros")
            if not names or name in names
        }
        if "--facts" in sys.argv:
            found = {
                check: exam.together.found(check, with_its_rows(CHECKS[check]).findings)
                for check in CHECKS
                if can_judge(check, exam.together.trace)
            }
            stated = [name for name, fact in facts().items() if fact.text]
            for name in progress.track(stated, description="facts"):
                of_facts[name] = judge_fact(name, exam, found)
    every = of_checks | of_macros | of_facts
    unused: list[Reason] = []
    for name, judged in every.items():
        unused += judged.excuse(reason for reason in reasons() if reason.of == name)
    figures = Mutants(
        count_outcomes(of_checks), count_outcomes(of_macros), count_outcomes(of_facts)
    )
    if names:
        print(part(figures), *survivors(every), sep="\n")
    else:
        print(f"wrote {keep(NAME, figures)}")
    for reason in unused:
        print(f"lab/survivors.yml: {reason.of} has no survivor {reason.before} → {reason.after}")
    sys.exit(1 if unused else 0)


if __name__ == "__main__":
    main()
