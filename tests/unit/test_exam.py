"""The judge's exam: what each check must say of histories that its author did not shape."""

import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import TraceReader
from judging import judge

from analysis.engine.duckdb import Database
from analysis.statements.registry import CHECKS, CheckDefinition
from contract.ranges import RECORDS, records_of
from contract.run_folder import RunFolder
from contract.terms import Check
from contract.verdicts import FindingVerdict, Verdict
from tests.exam.agreement import Judged, differing
from tests.exam.agreement import judge as judge_all
from tests.exam.exam import Exam, Said, is_right, questions, said_alone, trace_of, write_run
from tests.exam.history import NONE, Question, expectations

pytestmark = pytest.mark.timeout(1800)

TOGETHER = [question for question in questions() if not question.alone]
ALONE = [question for question in questions() if question.alone]
EXPECTATIONS_MIN = 150

OfAlone = Callable[[str], Verdict]
Outcome = tuple[str, str, str]
"""A check, and kind and verdict of a finding."""
UNREACHED = {
    ("nonmonotonic_send", "within a transaction", "permitted"): "KIP-98, ProducerConfig: a "
    "transactional producer is idempotent, with acks=all, so no client reports other settings",
    ("wrong_commit_error", "{rule}", "permitted"): "the exam's run names no release of Kafka; see "
    "test_coordinators_before_4_0_have_their_own_errors",
}
"""Outcomes without a history, each with its reason."""


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Exam:
    return Exam(tmp_path_factory.mktemp("exam"), TOGETHER)


@pytest.fixture(scope="module")
def of_exam(exam: Exam, read_run: TraceReader) -> dict[str, Judged]:
    """The judging of the exam."""
    return judge_run(read_run, exam.folder)


@pytest.fixture(scope="module")
def of_alone(database: Database) -> OfAlone:
    """The verdict on a history of a run of its own, once."""

    def judged_alone(name: str) -> Verdict:
        (question,) = [each for each in ALONE if each.name == name]
        checks = list(question.expects)
        return judge(trace_of(database.engine(), question.history(), checks=checks))

    return cache(judged_alone)


@pytest.fixture(scope="module")
def said_by_checks(exam: Exam, of_exam: dict[str, Judged]) -> Said:
    return exam.collect_findings(of_exam)


def judge_run(read: TraceReader, folder: RunFolder) -> dict[str, Judged]:
    return judge_all(read(folder))


def _wrong(question: Question, said: dict[str, str]) -> dict[str, str]:
    """By check: what it said, and what the source asks for."""
    return {
        check: f"{said.get(check, NONE)}, but {question.source}: {expected}"
        for check, expected in question.expects.items()
        if not is_right(expected, said.get(check, NONE))
    }


def alone(question: Question, path: Path) -> RunFolder:
    """A run of one history, in which its checks are judged."""
    return write_run(path, [question.history()], checks=list(question.expects))


def test_each_history_has_its_findings(said_by_checks: Said) -> None:
    reported = [
        (question, _wrong(question, said_by_checks.get(question.name, {}))) for question in TOGETHER
    ]
    assert {
        f"{question.name}: {question.question}": wrong for question, wrong in reported if wrong
    } == {}


def test_each_place_has_its_verdict(exam: Exam, of_exam: dict[str, Judged]) -> None:
    assert exam.misjudgments(of_exam) == {}


@pytest.mark.parametrize("question", ALONE, ids=lambda question: question.name)
def test_history_alone(question: Question, of_alone: OfAlone) -> None:
    assert _wrong(question, said_alone(of_alone(question.name))) == {}, question.question


def test_every_finding_is_of_a_declared_case(of_exam: dict[str, Judged]) -> None:
    found = [
        (check, row["kind"], row["verdict"])
        for check, result in of_exam.items()
        for row in result.findings
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


@pytest.mark.extended
def test_ranges_hide_nothing(exam: Exam, of_exam: dict[str, Judged], read_run: TraceReader) -> None:
    """Judged as ranges, and with a range for each record."""
    assert differing(of_exam, judge_run(read_run, single(exam.folder))) == []


def single(folder: RunFolder) -> RunFolder:
    """A copy of a run with a range for each record."""
    copy = RunFolder(folder.path.with_name("single"))
    shutil.copytree(folder.path, copy.path, dirs_exist_ok=True)
    for table in RECORDS:
        path = copy.tables / f"{table}.parquet"
        pq.write_table(one_range_a_record(pq.read_table(path)), path)
    return copy


def one_range_a_record(ranges: pa.Table) -> pa.Table:
    """The same records, none of them in a range with another."""
    count = np.asarray(records_of(ranges))
    which = np.repeat(np.arange(ranges.num_rows), count)
    ahead = pa.array(np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count))
    single = ranges.take(pa.array(which))
    for name in ("first_offset", "first_sequence", "first_place"):
        if name in single.column_names:
            place = single.schema.get_field_index(name)
            values = pc.add(single[name], ahead).cast(single.schema.field(name).type)
            single = single.set_column(place, single.schema.field(name), values)
    for name in ("offset", "sequence"):
        place = single.schema.get_field_index(f"last_{name}")
        single = single.set_column(place, single.schema.field(place), single[f"first_{name}"])
    return single


def test_the_exam_reaches_each_outcome(of_exam: dict[str, Judged], of_alone: OfAlone) -> None:
    """Each check, kind and verdict that a case declares, or there is a reason why it does not."""
    found = {
        (check, row["kind"], row["verdict"])
        for check, result in of_exam.items()
        for row in result.findings
    }
    for question in ALONE:
        found |= {
            (example.check, example.kind, str(example.verdict))
            for result in of_alone(question.name).checks.values()
            for example in result.examples
        }
    assert {outcome for outcome in outcomes() if not is_among(outcome, found)} == UNREACHED.keys()


def test_coordinators_before_4_0_have_their_own_errors(
    read_run: TraceReader, tmp_path: Path
) -> None:
    (question,) = [each for each in TOGETHER if each.name == "group-is-mapped-at-version-6"]
    folder = alone(question, tmp_path)
    check = CHECKS[Check.WRONG_COMMIT_ERROR]
    verdicts = []
    for release in ("3.9.2", "4.0.0"):
        folder.write_run(msgspec.structs.replace(folder.run(), kafka=release))
        verdicts += [row["verdict"] for row in check.judge(read_run(folder)).findings.collect()]
    assert verdicts == ["permitted", "violation"]


def outcomes() -> set[Outcome]:
    """What the checks declare that they may find; a kind has `{column}` where it is a row's."""
    return {
        (str(check), case.kind, str(verdict))
        for check, definition in CHECKS.items()
        for case in definition.cases
        for verdict in case.verdicts
    }


def is_among(outcome: Outcome, found: set[Outcome]) -> bool:
    check, kind, verdict = outcome
    kinds = re.compile(".*".join(re.escape(part) for part in re.split(r"\{[^}]*\}", kind)))
    return any(
        (finding[0], finding[2]) == (check, verdict) and kinds.fullmatch(finding[1])
        for finding in found
    )


def test_the_exam_asks_enough_of_every_check() -> None:
    asked = {check for question in questions() for check in question.expects}
    assert {str(check) for check in CHECKS} == asked
    assert [question.name for question in questions() if not question.expects] == []
    assert expectations(questions()) >= EXPECTATIONS_MIN
    assert len({question.name for question in questions()}) == len(questions())
