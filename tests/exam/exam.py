"""The judge's exam: histories written by hand, judged as one run, and what each check said of each.

`World` keeps those apart that are judged together, and attributes findings to them.
"""

import importlib
import pkgutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path

import msgspec

import tests.exam.histories
from analysis.engine.duckdb import DuckDBEngine
from analysis.statements.registry import CHECKS
from analysis.statements.trace import Trace
from contract.run_folder import Plan, RunDescription, RunFolder
from contract.tables import TABLES
from contract.verdicts import BY_SEVERITY, CheckVerdict, Verdict
from harness.decode.tables import as_table, write_table
from simulator.history import description
from tests.exam.agreement import Judged
from tests.exam.files import FOLDER, read
from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    QUESTIONS,
    VIOLATION,
    History,
    Question,
)
from tests.exam.rows import Found
from tests.exam.world import World
from tests.records import from_rows

UNCLEAN = {"unclean.leader.election.enable": "true"}
"""Settings of servers in the exam's run: a history may elect a coordinator uncleanly.

One that is judged alone has the default.
"""

Said = dict[str, dict[str, str]]
"""By history, then by check: a line for each of the worst findings, `verdict: kind: words`, which
are the cause and the evidence.

A check without findings is left out.
"""

_AS_FOUND = itemgetter("topic", "partition", "group", "verdict")
_AS_FINDING = {
    CheckVerdict.HOLDS: NONE,
    CheckVerdict.VIOLATED: VIOLATION,
}


@cache
def questions() -> tuple[Question, ...]:
    """All histories of tests/exam/histories, by their names."""
    for module in pkgutil.iter_modules(tests.exam.histories.__path__):
        importlib.import_module(f"tests.exam.histories.{module.name}")
    every = [
        *QUESTIONS,
        *(question for path in sorted(FOLDER.glob("*.yml")) for question in read(path)),
    ]
    names = Counter(question.name for question in every)
    if twice := [name for name, times in names.items() if times > 1]:
        raise ValueError(f"several histories are called {', '.join(twice)}")
    return tuple(sorted(every, key=lambda question: question.name))


class Exam:
    """Histories that are laid into one run."""

    def __init__(self, path: Path, asked: Sequence[Question]) -> None:
        self._asked = asked
        self._world = World([question.name for question in asked])
        made = [
            question.history(place)
            for question, place in zip(asked, self._world.places, strict=True)
        ]
        self._verdicts = {
            (history.name, check): verdicts
            for history in made
            for check, verdicts in history.verdicts.items()
        }
        self.folder = write_run(path, made, checks=[str(check) for check in CHECKS])

    def collect_findings(self, judged: Mapping[str, Judged]) -> Said:
        """What the checks found in each history."""
        silent = (NONE, NOT_VIOLATION)
        asked_for = {
            check
            for question in self._asked
            for check, what in question.expects.items()
            if what not in silent
        }
        found: dict[tuple[str, str], list[tuple[str, str, str]]] = defaultdict(list)
        for check, result in judged.items():
            if result.lacks:
                assert check not in asked_for, f"the exam can't ask {check}: {result.lacks}"
            for row in result.findings:
                words = f"{row['cause']} {row['evidence']}"
                reported = (row["verdict"], row["kind"], words)
                place = self._world.place_of(row)
                assert place, f"a finding that belongs to no history: {row}"
                found[place.name, check].append(reported)
        said: Said = defaultdict(dict)
        for (history, check), reported_of_it in found.items():
            verdicts = {verdict for verdict, _, _ in reported_of_it}
            worst = next(verdict for verdict in BY_SEVERITY if verdict in verdicts)
            said[history][check] = _lines(worst, reported_of_it)
        return said

    def misjudgments(self, judged: Mapping[str, Judged]) -> dict[tuple[str, str], set[Found]]:
        """What is found beyond what histories say that a check is to find, or is lacking."""
        found: dict[tuple[str, str], set[Found]] = defaultdict(set)
        for check in {check for _, check in self._verdicts}:
            for row in judged[check].findings:
                place = self._world.place_of(row)
                found[place.name if place else "", check].add(_AS_FOUND(row))
        return {
            key: verdicts ^ found[key]
            for key, verdicts in self._verdicts.items()
            if verdicts != found[key]
        }


def said_alone(verdict: Verdict) -> dict[str, str]:
    """What the checks said of a history that has a run of its own."""
    return {
        check: _lines(
            _AS_FINDING.get(result.verdict, str(result.verdict)),
            [(example.verdict, example.kind, example.cause) for example in result.examples],
        )
        for check, result in verdict.checks.items()
    }


def _lines(verdict: str, found: Iterable[tuple[str, str, str]]) -> str:
    """The findings of a verdict, a line each; or the verdict, if there are none."""
    lines = [": ".join(finding) for finding in found if finding[0] == verdict]
    return "\n".join(sorted(lines)) or verdict


def is_right(expected: str, said: str) -> bool:
    """Whether a check said what the document asks for."""
    if expected == NOT_VIOLATION:
        return not said.startswith(VIOLATION)
    verdict, kind, words = (*expected.split(": ", 2), "", "")[:3]
    reported = [(*line.split(": ", 2), "", "")[:3] for line in said.splitlines()]
    return any(
        finding[0] == verdict and kind in ("", finding[1]) and words in finding[2]
        for finding in reported
    )


def write_run(path: Path, made: Iterable[History], *, checks: list[str]) -> RunFolder:
    """A run in a folder, with what was written of each history."""
    histories = list(made)
    for history in histories[:-1]:
        _end_faults(history)
    folder = RunFolder(path)
    folder.write_plan(_plan(histories, checks))
    folder.write_run(_run(histories, UNCLEAN))
    missing = {table for history in histories for table in history.missing}
    for table in TABLES.keys() - missing:
        rows = [row for history in histories for row in history.rows.get(table, [])]
        write_table(folder.tables, table, rows)
    return folder


def trace_of(engine: DuckDBEngine, history: History, *, checks: list[str]) -> Trace:
    """A run of one history, in memory."""

    def load(name: str) -> None:
        engine.add(name, from_rows(name, as_table(name, history.rows.get(name, []))))

    counts = {name: len(history.rows.get(name, [])) for name in TABLES}
    plan, run = _plan([history], checks), _run([history])
    return Trace(engine, plan, run, load, counts, missing=frozenset(history.missing))


def _plan(histories: list[History], checks: list[str]) -> Plan:
    return Plan(
        scenario="exam",
        question="does the judge conclude what the documents say?",
        parameters={},
        topics=[topic for history in histories for topic in history.topics],
        groups=[group for history in histories for group in history.groups],
        producers=[producer for history in histories for producer in history.producers],
        must_judge=checks,
        expects=[],
    )


def _run(histories: list[History], settings: Mapping[str, str] | None = None) -> RunDescription:
    ended = histories[-1].at(histories[-1].seconds)
    (error,) = {history.error for history in histories} or {None}
    run = description(0, "make test", "unknown", {})
    return msgspec.structs.replace(
        run, ended_micros=ended, error=error, config={"settings": settings or {}}
    )


def _end_faults(history: History) -> None:
    """A fault that is not healed holds to the end of its own history, not into the next one."""
    for fault in history.rows["faults"]:
        if fault["healed_micros"] is None:
            fault["healed_micros"] = history.at(history.seconds - 1)
