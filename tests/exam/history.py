"""A tiny history written by hand: what happened, row by row, and what each check must say of it.

Histories are written from the KIP, the Javadoc, Kafka's source and the contract
(`contract/`, docs/results.md), never from a check. Each asks one question and names the
source of its answer. The exam (tests/unit/test_exam.py) lays all of them into one trace, each with
topics, groups, brokers and a time of its own, judges it, and compares.

Times are seconds since the history began (0 to 90, unless it is made longer); offsets are
inclusive unless said otherwise.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tests.exam.client_rows import ClientRows
from tests.exam.cluster_rows import ClusterRows
from tests.exam.world import Place

NONE = "none"
"""Expected of a check: it finds nothing here."""
VIOLATION, PERMITTED, UNDECIDED = "violation", "permitted", "undecided"
NOT_VIOLATION = "not violation"
"""Expected of a check: it may find this permitted or undecided, or nothing; it accuses nobody."""
NOT_EVALUABLE = "not_evaluable"
"""Expected of a check's verdict, in a history that is judged alone."""


@dataclass
class History(ClientRows, ClusterRows):
    """The rows of one history, and its plan; see `ClientRows` and `ClusterRows` for its verbs.

    Names of topics, groups, producers and workers are made its own by a prefix, broker ids by an
    offset, and times by where it begins; so write `t`, `g`, `p`, `w`, broker 1 and second 3.
    """


Story = Callable[[History], None]


@dataclass(frozen=True)
class Question:
    """One history of the exam.

    Attributes:
        name: of the function that writes it.
        question: what it asks.
        source: what decides it: the KIP, the class or configuration of Kafka, the JIRA issue; for a
            question about the harness the module of `contract/`, the page or the decision.
        expects: by the name of a check: NONE, VIOLATION, PERMITTED, UNDECIDED, NOT_VIOLATION (the
            worst finding that it makes in this history), or NOT_EVALUABLE (alone only). After a
            verdict, `: kind` or `: kind: words of the cause or evidence` asks for one such finding.
        alone: judged in a trace of its own: what it asks depends on a table that others fill, or on
            the whole run. Each costs seconds.
    """

    name: str
    question: str
    source: str
    expects: Mapping[str, str]
    alone: bool
    tell: Story

    def history(self, place: Place | None = None) -> History:
        """Its rows, at its place in a trace; else alone in one."""
        made = History(place or Place(self.name, 0), self.alone)
        self.tell(made)
        if not made.rows["histories"]:
            made.worker(client=next((group.client for group in made.groups), "java"))
        return made


QUESTIONS: list[Question] = []


def asks(
    question: str, *, source: str, expects: Mapping[str, str], alone: bool = False
) -> Callable[[Story], Story]:
    """Take a function that writes a history into the exam."""

    def register(tell: Story) -> Story:
        name = tell.__name__.replace("_", "-")
        QUESTIONS.append(Question(name, question, source, expects, alone, tell))
        return tell

    return register


def expectations(questions: Iterable[Question]) -> int:
    """How many verdicts are asked for."""
    return sum(len(question.expects) for question in questions)
