"""The judge's exam: what each check must say of histories that its author did not shape.

Spark SQL and DuckDB each judge the exam, and every class of planted anomalies, and agree.
"""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from conftest import TraceReader
from judging import judge
from pyspark.sql import SparkSession

from analysis.runs.load import load_trace
from analysis.statements.registry import CHECKS, CheckDefinition
from analysis.statements.trace import Trace
from bench.mutation import PARTITIONS, RECORDS, universes
from contract.checks import Check
from contract.run_folder import RunFolder
from contract.verdicts import FindingVerdict
from simulator.history import description, planted_universe, write_history
from simulator.plants import PLANTS
from simulator.universe import Universe
from tests.exam.agreement import Judged, differing
from tests.exam.agreement import judge as judge_all
from tests.exam.exam import Exam, Said, is_right, questions, said_alone, written
from tests.exam.history import NONE, Question, expectations

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

TOGETHER = [question for question in questions() if not question.alone]
ALONE = [question for question in questions() if question.alone]
EXPECTATIONS_MIN = 150
SEED = 19902
ENGINES = ["duckdb", "spark"]
APART = (Check.CLOCK_SKEW,)
"""Classes of anomalies that would leave undecided what others' prove; each has its own history."""

OfExam = Callable[[str], dict[str, Judged]]


@pytest.fixture(scope="module")
def readers(request: pytest.FixtureRequest, read_run: TraceReader) -> dict[str, TraceReader]:
    def by_spark(folder: RunFolder) -> Trace:
        session: SparkSession = request.getfixturevalue("spark")
        return load_trace(session, folder)

    return {"duckdb": read_run, "spark": by_spark}


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Exam:
    return Exam(tmp_path_factory.mktemp("exam"), TOGETHER)


@pytest.fixture(scope="module")
def of_exam(exam: Exam, readers: dict[str, TraceReader]) -> OfExam:
    """The judging of the exam by an engine, once."""
    return cache(lambda engine: judged(readers[engine], exam.folder))


@pytest.fixture(scope="module", params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def said(exam: Exam, of_exam: OfExam, engine_name: str) -> Said:
    return exam.said(of_exam(engine_name))


def judged(read: TraceReader, folder: RunFolder) -> dict[str, Judged]:
    return judge_all(read(folder))


def _wrong(question: Question, said: dict[str, str]) -> dict[str, str]:
    """By check: what it said, and what the source asks for."""
    return {
        check: f"{said.get(check, NONE)}, but {question.source}: {expected}"
        for check, expected in question.expects.items()
        if not is_right(expected, said.get(check, NONE))
    }


@pytest.mark.parametrize("question", TOGETHER, ids=lambda question: question.name)
def test_history(question: Question, said: Said) -> None:
    assert _wrong(question, said.get(question.name, {})) == {}, question.question


@pytest.mark.parametrize("question", ALONE, ids=lambda question: question.name)
def test_history_alone(
    question: Question, engine_name: str, readers: dict[str, TraceReader], tmp_path: Path
) -> None:
    folder = written(tmp_path, [question.history()], checks=list(question.expects))
    reported = said_alone(judge(readers[engine_name](folder)))
    assert _wrong(question, reported) == {}, question.question


def test_every_finding_is_of_a_declared_case(of_exam: OfExam) -> None:
    found = [
        (check, row["kind"], row["verdict"])
        for check, one in of_exam("duckdb").items()
        for row in one.findings
        if not row["cause"] or not is_declared(CHECKS[Check(check)], row["kind"], row["verdict"])
    ]
    assert found == []


def is_declared(check: CheckDefinition, kind: str, verdict: str) -> bool:
    """Whether a case has this outcome; what rests on a gap is undecided, whatever its case."""
    return any(
        verdict in {*case.verdicts, FindingVerdict.UNDECIDED}
        and (kind == case.kind or not case.is_of_one_kind)
        for case in check.cases
    )


def test_both_engines_find_the_same_in_the_exam(of_exam: OfExam) -> None:
    by_duckdb, by_spark = map(of_exam, ENGINES)
    assert differing(by_duckdb, by_spark) == []


def of_planted(plant: Check | None) -> Iterator[Universe]:
    """Every class of anomalies but those that are judged apart, or one of these."""
    if plant is None:
        yield from universes(1)
        return
    for index, name in enumerate((str(plant), None)):
        yield planted_universe(name, index, SEED, records=RECORDS, partitions=PARTITIONS)


@pytest.mark.extended
@pytest.mark.parametrize("plant", [None, *APART])
def test_both_engines_find_the_same_of_what_is_planted(
    plant: Check | None, readers: dict[str, TraceReader], tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path)
    made = write_history(folder, of_planted(plant), description(SEED, "make test", "0", {}))
    planted = set(made.plants.values())
    assert planted == ({str(plant)} if plant else PLANTS.keys() - set(APART))
    by_duckdb, by_spark = (judged(readers[name], folder) for name in ENGINES)
    assert differing(by_duckdb, by_spark) == []
    assert [check for check in planted if not by_duckdb[check].findings] == []


def test_the_exam_asks_enough_of_every_check() -> None:
    asked = {check for question in questions() for check in question.expects}
    assert {str(check) for check in CHECKS} - asked == set()
    assert expectations(questions()) >= EXPECTATIONS_MIN
    assert len({question.name for question in questions()}) == len(questions())
