"""An answer is made of the tables and findings of its run, and changes with them."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pages_of import (
    PERMITTED,
    change_verdict,
    finding,
    make_resumption,
    make_send,
    phase,
    result,
    run_folder,
    verdict_of,
    with_tables,
)

from analysis.report.answer import UNFINISHED, UNKNOWN, answer, consequence
from analysis.report.run_facts import RunFacts
from contract.answers import Figure, parts, require_asked
from contract.errors import UsageError
from contract.run_folder import Consequence, RunFolder
from contract.verdicts import (
    FINDINGS,
    FINDINGS_FILE,
    CheckResult,
    CheckVerdict,
    Finding,
    FindingVerdict,
    Verdict,
)
from harness.session.catalog import ScenarioFile, scenarios
from harness.story.scenario import Scenario
from harness.story.soundness import require_answer

LOST = verdict_of({"lost_record": result(finding())})
RESUMED = make_resumption()
DECIDED = (FindingVerdict.VIOLATION, PERMITTED)


def answer_of(tmp_path: Path, text: str, verdict: Verdict = LOST) -> str:
    folder = run_folder(tmp_path, answer=text)
    rows = [
        make_send(0, 9),
        make_send(10, 12, acks="1", answered_micros=3_000_000),
        make_send(13, 13, outcome="failed", answered_micros=None),
    ]
    faults = [
        {"fault": "stop", "injected_micros": 2_500_000, "healed_micros": 3_500_000},
        {"fault": "stop", "injected_micros": 3_600_000, "healed_micros": 3_700_000},
        {"fault": "elect preferred", "injected_micros": 2_900_000, "healed_micros": None},
        {"fault": "bounce", "injected_micros": 3_100_000, "healed_micros": None},
    ]
    phases = [phase("a: b", 2_000_000, 4_000_000)]
    with_tables(folder, sends=rows, phases=phases, faults=faults)
    return answer(RunFacts(folder), verdict)


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("{{ sends.records }}", "14"),
        ("{{ sends.rows | noun('send') }}", "3 sends"),
        (
            "{{ sends.records(outcome='ok') | noun('record') }} of {{ sends.records }}",
            "13 records of 14",
        ),
        ("{{ sends.records(outcome='failed') | noun('record') }}", "1 record"),
        ("{{ sends.records(outcome=other_than('ok')) }}", "1"),
        ("{{ sends.records(acks='1|all', outcome='ok') }}", "13"),
        ("{{ sends.records(first_offset=above(9)) }}", "4"),
        ("{{ sends.records(during='a: b') | noun('record') }}", "3 records"),
        ("{{ sends.records(during='held') }}", "3"),
        ("{{ sends.records(during='stop') }} of {{ sends.records(during='bounce') }}", "3 of 0"),
        ("{{ sends.records(during='elect preferred|a: b') }}", "3"),
        (
            "{{ sends.faults }}, {{ sends.faults(during='stop') }}, {{ sends.faults(acks='all') }}",
            "2, 2, 0",
        ),
        ("{{ sends.acks }}", "1 and all"),
        ("{{ sends.partitions }}", "1"),
        ("{{ lost_record.rows }} of {{ lost_record.records | noun('record') }}", "1 of 2 records"),
        ("{{ lost_record.records(acks='all') }}", "2"),
        ("{{ lost_record.records(acks=1) }}", "0"),
        ("{{ lost_record.rows + sends.rows }}", "4"),
        ("{{ lost_record.evaluated | noun('send') }}", "9 sends"),
        (
            "{{ (lost_record.rows / sends.records) | noun('send') }}",
            "1 of 14 sends (at most 30 %, with 95% confidence if they were independent)",
        ),
        (
            "{{ (reset.rows / sends.rows) | noun('send') }}, {{ sends.rows }}",
            "An unknown number of sends, 3",
        ),
        ("{{ sends.rows / reset.evaluated }}, {{ sends.rows }}", "An unknown number, 3"),
        (
            "{{ sends.rows | whether('a', 'b') }}{{ sends.rows(acks=0) | whether('a', 'b') }}",
            "Ab",
        ),
        ("{{ lost_record.kind }}: {{ lost_record.groups }}", "Truncated: 0"),
        (
            "{{ sends.rows }}. {{ polls.records | noun('record') }}.",
            "3. An unknown number of records.",
        ),
        (
            "{{ polls.rows }} polls; {{ polls.topic }} {{ sends.rows }}",
            "An unknown number polls; unknown 3",
        ),
        ("{{ yes_if_any(polls.rows, asked='x') }}: {{ sends.rows }}", "Undecided: 3"),
        ("{{ sends.records(during='never') }}, {{ sends.rows }}", "An unknown number, 3"),
        ("{{ sends.rows }} {{ reset.rows }}", "3 an unknown number"),
        (
            "{{ sends.groups }} {{ phases.partitions }} {{ sends.rows }}",
            "An unknown number an unknown number 3",
        ),
        ("{{ reset.rows }} {{ polls.rows }}", UNKNOWN),
    ],
)
def test_a_figure_is_counted(tmp_path: Path, text: str, reported: str) -> None:
    assert answer_of(tmp_path, text) == reported


def test_a_large_number_has_separators(tmp_path: Path) -> None:
    folder = with_tables(
        run_folder(tmp_path, answer="{{ sends.records }}"), sends=[make_send(1, 12_000)]
    )
    assert answer(RunFacts(folder), LOST) == "12,000"


def test_other_tables_and_findings_make_another_answer(tmp_path: Path) -> None:
    text = "{{ yes_if_any(lost_record.records, asked='lost') }}: {{ lost_record.records }} of "
    text += "{{ sends.records }} were lost."
    assert answer_of(tmp_path, text) == "Yes: 2 of 14 were lost."
    longer = finding(offset_last=7)
    more = verdict_of({"lost_record": result(longer, finding(offset_first=0, offset_last=0))})
    assert answer_of(tmp_path, text, more) == "Yes: 7 of 14 were lost."
    none = verdict_of({"lost_record": result()})
    assert answer_of(tmp_path, text, none) == "No: 0 of 14 were lost."
    with_tables(RunFolder(tmp_path), sends=[make_send(0, 99)])
    assert answer(RunFacts(RunFolder(tmp_path)), none) == "No: 0 of 100 were lost."


@pytest.mark.parametrize(
    ("figure", "reported"),
    [
        ("lost_record.rows", "2 (and 1 undecided)"),
        ("lost_record.records | noun('record')", "4 records (and 2 undecided)"),
        ("lost_record.rows(verdict='permitted')", "1 (and 1 undecided)"),
        ("lost_record.rows(verdict='undecided')", "1"),
        ("lost_record.rows(verdict=other_than('permitted'))", "2"),
        ("lost_record.rows(acks='1')", "0"),
        ("lost_record.partitions", "1"),  # that of the undecided one is counted already
        ("lost_record.topic", "T (and 1 undecided)"),
        ("(lost_record.rows / sends.rows) | noun('send')", "2 of 3 sends (and 1 undecided)"),
        ("yes_if_any(lost_record.rows, asked='lost')", "Yes"),
        ("yes_if_any(lost_record.rows(kind='other'), asked='lost')", "No"),
        ("yes_if_any(reset.rows, asked='reset')", "Undecided"),
        ("yes_if_none(reset.rows, asked='without a reset')", "Undecided"),
        ("reset.rows | whether('Some', 'None')", "Undecided"),
    ],
)
def test_an_answer_says_what_is_undecided(tmp_path: Path, figure: str, reported: str) -> None:
    lost = [
        finding(verdict=verdict, evidence={"acks": "all", "kind": "lost"})
        for verdict in (*DECIDED, FindingVerdict.UNDECIDED)
    ]
    reset = finding("reset", verdict=FindingVerdict.UNDECIDED, evidence={})
    verdict = verdict_of({"lost_record": result(*lost), "reset": result(reset)})
    assert answer_of(tmp_path, f"{{{{ {figure} }}}}", verdict) == reported


@pytest.mark.parametrize(
    "judged",
    [
        result(finding(), verdict=CheckVerdict.UNDECIDED, reason="a gap in sends"),
        result(verdict=CheckVerdict.NOT_EVALUABLE),
        result(finding(), findings=2),
    ],
)
def test_unreliable_findings_are_unknown(tmp_path: Path, judged: CheckResult) -> None:
    verdict = verdict_of({"lost_record": judged})
    reported = answer_of(
        tmp_path, "{{ sends.rows }}; {{ lost_record.rows | noun('one') }}", verdict
    )
    assert reported == "3; an unknown number of ones"


def test_all_findings_are_read_from_their_file(tmp_path: Path) -> None:
    folder = run_folder(
        tmp_path, answer="{{ lost_record.records | noun('record') }} in {{ lost_record.rows }}"
    )
    examples = [finding(), finding(offset_first=5, offset_last=5)]
    rows = [
        msgspec.structs.asdict(example) | {"number": number, "evidence": '{"acks": "all"}'}
        for number, example in enumerate(examples, start=1)
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=FINDINGS), folder.report / FINDINGS_FILE)
    verdict = verdict_of({"lost_record": result(examples[0], findings=2)})
    assert answer(RunFacts(folder), verdict) == "3 records in 2"
    (folder.report / FINDINGS_FILE).write_bytes(b"damaged")
    assert answer(RunFacts(folder), verdict) == UNKNOWN


def test_rows_are_chosen_by_the_properties_of_their_groups(tmp_path: Path) -> None:
    def of(client: str) -> Finding:
        return finding("reset", group=f"{client}.g", client=client, evidence={})

    verdict = verdict_of({"reset": result(of("java"), of("librdkafka"), of("librdkafka"))})
    text = "{{ reset.groups }}, {{ reset.rows(client='librdkafka') }}, "
    text += (
        "{{ reset.groups(log_end='above') }}, {{ reset.rows(log_end='below') }}, {{ reset.client }}"
    )
    assert answer_of(tmp_path, text, verdict) == "2, 2, 2, 0, java and librdkafka"


def test_resumption_is_counted_too(tmp_path: Path) -> None:
    other = msgspec.structs.replace(
        RESUMED, group="librdkafka.g", resumed_at=None, never_delivered=None
    )
    verdict = change_verdict(LOST, resumption=[RESUMED, other])
    text = "{{ resumption.groups }} at {{ resumption.resumed_at }}, "
    text += "{{ resumption.groups(resumed_at=100) }}, "
    text += (
        "{{ resumption.groups(never_delivered=above(0)) }}, {{ resumption.rows(log_end='above') }}"
    )
    assert answer_of(tmp_path, text, verdict) == "2 at 100, 1, 0, 2"


SENTENCE = Consequence(
    sentence="of {{ sends.records | noun('record') }} {{ lost_record.records }}.", document="KIP-1"
)


def consequence_of(tmp_path: Path, verdict: Verdict = LOST, **fields: Any) -> Consequence | None:
    folder = run_folder(tmp_path, follows=SENTENCE, **fields)
    return consequence(RunFacts(with_tables(folder, sends=[make_send(0, 9)])), verdict)


def test_what_follows_has_the_figures_of_the_run(tmp_path: Path) -> None:
    assert str(consequence_of(tmp_path)) == "Of 10 records 2. (KIP-1)"
    none = verdict_of({"lost_record": result()})
    assert str(consequence_of(tmp_path, none)) == "Of 10 records 0. (KIP-1)"


@pytest.mark.parametrize(
    ("checks", "fields"),
    [
        ({}, {}),
        ({"lost_record": result(verdict=CheckVerdict.UNDECIDED, reason="a gap")}, {}),
        (LOST.checks, {"error": "boom"}),
    ],
    ids=["no check", "a gap", "an unfinished run"],
)
def test_nothing_follows_from_figures_that_are_not_known(
    tmp_path: Path, checks: dict[str, CheckResult], fields: dict[str, Any]
) -> None:
    assert consequence_of(tmp_path, verdict_of(checks), **fields) is None


def test_a_plan_that_declares_nothing_has_nothing_that_follows(tmp_path: Path) -> None:
    assert consequence(RunFacts(run_folder(tmp_path)), LOST) is None


def test_a_figure_that_is_not_one_leaves_nothing_that_follows(tmp_path: Path) -> None:
    wrong = msgspec.structs.replace(SENTENCE, sentence="{{ nonsense }}")
    assert consequence(RunFacts(run_folder(tmp_path, follows=wrong)), LOST) is None


def test_an_unfinished_run_says_so(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, answer="{{ lost_record.rows }}", error="boom")
    assert answer(RunFacts(folder), LOST) == f"{UNFINISHED}1"


@pytest.mark.parametrize(
    ("function", "found"), [("yes_if_none", "No"), ("yes_if_any", "Yes")], ids=["none", "any"]
)
def test_of_an_unfinished_run_no_case_decides_nothing(
    tmp_path: Path, function: str, found: str
) -> None:
    asked = f"{{{{ {function}(lost_record.rows, asked='lost') }}}}"
    folder = run_folder(tmp_path, answer=asked, error="boom")
    none = verdict_of({"lost_record": result()})
    assert answer(RunFacts(folder), none) == f"{UNFINISHED}Undecided"
    assert answer(RunFacts(folder), LOST) == f"{UNFINISHED}{found}"


@pytest.mark.parametrize(
    "text", ["", "{{ nonsense }}", "{{ lost_record.rows", "{lost_record.rows?Yes|No}"]
)
def test_a_plan_without_an_answer_is_answered_by_its_checks(tmp_path: Path, text: str) -> None:
    verdict = verdict_of({"lost_record": result(finding()), "reset": result()})
    reported = "1 of 2 checks that the question is about found no violation; the others: "
    assert answer_of(tmp_path, text, verdict) == f"{reported}lost_record (violated)."
    holding = verdict_of({"reset": result()})
    reported = "1 of 1 check that the question is about found no violation."
    assert answer_of(tmp_path, text, holding) == reported


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{{ }}", "Expected an expression"),
        ("{{ lost_record }}", "lost_record is no figure: write SOURCE.MEASURE"),
        ("{{ sends.rows.rows }}", "SOURCE.MEASURE"),
        ("{{ lost.rows }}", "lost is neither a check nor a table"),
        ("{lost_record.rows}", "in double braces"),
        ("{{ sends.rows(acks) }}", "acks is neither a check nor a table"),
        ("{{ sends.rows(first_offset=above('x')) }}", "not a whole number"),
        ("{{ sends.rows(acks='1) }}", "unexpected char"),
        ("{{ sends.rows | whether('a') }}", "missing 1 required"),
        ("{{ sends.rows | whether('Yes', 'No') }}", "by yes_if_any or yes_if_none"),
        ("{{ sends.evaluated }}", "is of a check"),
        ("{{ lost_record.evaluated(kind='truncated') }}", "has no conditions"),
        ("{{ sends.rows + 1 }}", "not written as"),
        ("{% for one in sends %}x{% endfor %}", "no For"),
        ("{{ sends.rows if sends.rows else 'x' }}", "no CondExpr"),
        ("{{ 'x' * 9999999999 }}", "no Mul"),
        ("{{ sends.__class__ }}", "Undefined is no figure"),
        ("{{ range(9) }}", "range is neither"),
        ("{{ " + "(" * 999 + "sends.rows" + ")" * 999 + " }}", "not written as"),
        ("{{ sends.rows" + " + sends.rows" * 9999 + " }}", "not written as"),
    ],
)
def test_a_figure_that_is_not_one_is_an_error(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        list(parts(text))


@pytest.mark.parametrize(
    ("form", "question", "problem"),
    [
        ("yes_if_any(lost_record.rows, asked='lost')", "Is a record lost?", None),
        ("yes_if_none(lost_record.rows, asked='survive')", "Do all records survive?", None),
        ("yes_if_none(lost_record.rows, asked='without loss')", "Is it without loss?", None),
        ("yes_if_none(lost_record.rows, asked='survive')", "Is a record lost?", "does not ask"),
        ("yes_if_none(lost_record.rows, asked='lost')", "Is a record lost?", "are swapped"),
        ("yes_if_any(lost_record.rows, asked='without loss')", "Is it without loss?", "swapped"),
        ("yes_if_any(lost_record.rows, asked='lost')", "What is lost?", "asks for more than Yes"),
    ],
)
def test_yes_and_no_are_of_the_question(form: str, question: str, problem: str | None) -> None:
    answer = f"{{{{ {form} }}}}: {{{{ lost_record.rows }}}} were lost."
    if problem is None:
        require_asked(answer, question)
    else:
        with pytest.raises(UsageError, match=problem):
            require_asked(answer, question)


def _class_of(scenario: ScenarioFile) -> type[Scenario]:
    place = scenario.path.relative_to(Path(__file__).resolve().parents[2])
    module = import_module(".".join(place.with_suffix("").parts))
    (found,) = (
        cls
        for cls in vars(module).values()
        if isinstance(cls, type) and issubclass(cls, Scenario) and cls.__module__ == module.__name__
    )
    return found


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: str(scenario.name))
def test_every_scenario_declares_an_answer_of_known_figures(scenario: ScenarioFile) -> None:
    declared = _class_of(scenario)
    assert [part for part in parts(declared.answer) if isinstance(part, Figure)]
    require_answer(
        declared.answer, labels={name for group in declared.groups for name in group.labels}
    )
    require_asked(declared.answer, scenario.question)


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: str(scenario.name))
def test_every_scenario_declares_in_a_sentence_what_follows(scenario: ScenarioFile) -> None:
    follows = _class_of(scenario).follows
    assert follows is not None
    assert follows.sentence.endswith(".")
    assert ". " not in follows.sentence
    assert re.match(r"(KIP-\d+|Javadoc of |Kafka documentation, )", follows.document)
    require_answer(follows.sentence, labels=[])


def test_an_unknown_column_is_refused_before_the_groups_are_known() -> None:
    with pytest.raises(UsageError, match="sends: there is no column outcom; the nearest is outcom"):
        require_answer("{{ sends.records(outcom='ok') }}")
    require_answer("{{ commits.rows(way='sync') }}")
