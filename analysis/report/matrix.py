"""What came out by scenario, Kafka version and client: the matrix of a session's or night's page.

A cell has the findings that name a group of its client; `cluster` has all others.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from contract.nights import lasting_parameters
from contract.run_folder import Plan
from contract.verdicts import CheckVerdict, FindingVerdict, RunVerdict, Verdict

CLUSTER = "cluster"


@dataclass(frozen=True)
class Run:
    """A run of the matrix.

    Attributes:
        name: of its row: the scenario and its parameters.
        kafka: of its columns.
        link: to its page; empty without one.
        plan: None where it could not be read.
        verdict: None where the run was not judged.
        must_fail: whether its suite expects the verdict fail, as of a canary.
        is_known: whether it fails by known findings only.
    """

    name: str
    kafka: str
    link: str
    plan: Plan | None
    verdict: Verdict | None
    must_fail: bool = False
    is_known: bool = False


@dataclass
class Cell:
    """What the runs of one row and column came to: how many of each word, and the first's page."""

    words: Counter[str] = field(default_factory=Counter)
    links: dict[str, str] = field(default_factory=dict)

    def add(self, word: str, link: str) -> None:
        """Count a run."""
        self.words[word] += 1
        self.links.setdefault(word, link)

    @property
    def entries(self) -> list[tuple[str, int, str]]:
        """Word, runs, link: the gravest first."""
        return [(word, self.words[word], self.links[word]) for word in WORDS if word in self.words]


WORDS = ("unexpected", "undecided", "known", "expected", "holds")
"""What a cell says of a run, the gravest first."""


@dataclass(frozen=True)
class Matrix:
    """Versions with their clients, and cells per scenario; None: the run has no such client."""

    versions: list[tuple[str, list[str]]]
    rows: list[tuple[str, list[Cell | None]]]


def matrix(runs: Sequence[Run]) -> Matrix:
    """The matrix of some runs, with rows in their order."""
    cells: dict[tuple[str, str, str], Cell] = {}
    for run in runs:
        for client, word in _words(run).items():
            cells.setdefault((run.name, run.kafka, client), Cell()).add(word, run.link)
    versions = [
        (kafka, _clients(client for _, version, client in cells if version == kafka))
        for kafka in dict.fromkeys(run.kafka for run in runs)
    ]
    columns = [(kafka, client) for kafka, clients in versions for client in clients]
    rows = [
        (name, [cells.get((name, *column)) for column in columns])
        for name in dict.fromkeys(run.name for run in runs)
    ]
    return Matrix(versions, rows)


def row_name(scenario: str, parameters: dict[str, Any]) -> str:
    """E.g. `zombie_leader, recipe pause`."""
    given = lasting_parameters(parameters)
    return ", ".join([scenario, *(f"{name} {value}" for name, value in given.items())])


def _clients(found: Iterable[str]) -> list[str]:
    return sorted(set(found), key=lambda client: (client != CLUSTER, client))


def _words(run: Run) -> dict[str, str]:
    """A word for the cluster and for each client of the run's groups."""
    if run.verdict is None or run.plan is None:
        return {CLUSTER: "undecided"}
    client_of = {group.group: group.client for group in run.plan.groups}
    found: dict[str, set[str]] = {client: set() for client in (CLUSTER, *client_of.values())}
    for group, word in _notes_of(run.verdict):
        is_due = word == "unexpected" and (run.must_fail or run.is_known)
        due = "known" if run.is_known else "expected"
        found[client_of.get(group or "", CLUSTER)].add(due if is_due else word)
    if run.must_fail and run.verdict.verdict is RunVerdict.PASS:
        found[CLUSTER].add("unexpected")
    is_noted = any("undecided" in words for words in found.values())
    if run.verdict.verdict is RunVerdict.UNDECIDED and not is_noted:
        found[CLUSTER].add("undecided")
    return {
        client: next((word for word in WORDS if word in words), "holds")
        for client, words in found.items()
    }


def _notes_of(verdict: Verdict) -> Iterator[tuple[str | None, str]]:
    """Yield notes on unexpected, expected and undecided findings, each with its group, if any."""
    for entry in verdict.unexpected:
        yield entry.group, "unexpected"
    for expectation in verdict.expectations:
        if expectation.verdict is FindingVerdict.VIOLATION and expectation.findings:
            seen: list[str | None] = [*expectation.seen] or [None]
            yield from ((group, "expected") for group in seen)
    for result in verdict.checks.values():
        undecided = [
            example for example in result.examples if example.verdict is FindingVerdict.UNDECIDED
        ]
        yield from ((example.group, "undecided") for example in undecided)
        if result.verdict is CheckVerdict.UNDECIDED and not undecided:
            yield None, "undecided"
