"""The rules of the protocol in a verdict: which of them a run has no response about."""

import io

import msgspec
import pytest
from rich.console import Console

from analysis.report.terminal import show
from analysis.statements.files import sources
from analysis.verdict.rules import NOT_APPLICABLE, NOT_ASKED, reasons_unasked
from contract.protocol import RULES, Rule, Versions
from contract.terms import Check
from contract.verdicts import RuleRow, Verdict
from tests.made import make_struct

OF_ERRORS = (str(Check.WRONG_EPOCH_ERROR),)


def row(verdict: str, *, rule: Rule = Rule.OLDER_EPOCH, api: str = "FETCH") -> RuleRow:
    return RuleRow(rule=str(rule), api=api, versions="", responses=0, verdict=verdict)


@pytest.mark.parametrize(
    ("rows", "must_judge", "doubts"),
    [
        ([row(NOT_ASKED)], OF_ERRORS, 1),
        ([row(NOT_ASKED)], (), 0),
        ([row(NOT_ASKED)], (str(Check.WRONG_EPOCH_END),), 0),
        ([row(NOT_ASKED), row("holds", api="LIST_OFFSETS")], OF_ERRORS, 0),
        ([row(NOT_ASKED), row(NOT_APPLICABLE, api="LIST_OFFSETS")], OF_ERRORS, 1),
        ([row(NOT_ASKED), row("violated", rule=Rule.NEWER_EPOCH)], OF_ERRORS, 0),
        ([row(NOT_ASKED), row("holds", rule=Rule.DIVERGENCE)], OF_ERRORS, 1),
        ([row(NOT_APPLICABLE)], OF_ERRORS, 0),
        ([], OF_ERRORS, 0),
    ],
)
def test_a_check_needs_a_response_about_one_of_its_rules(
    rows: list[RuleRow], must_judge: tuple[str, ...], doubts: int
) -> None:
    found = reasons_unasked(rows, must_judge)
    assert found == ["no response is about a rule of wrong_epoch_error"] * doubts


def test_the_terminal_counts_the_rules() -> None:
    verdict = make_struct(
        Verdict,
        scenario="s",
        seed=1,
        kafka="4.4.0",
        cluster="embedded",
        must_judge=list(OF_ERRORS),
        rules=[
            msgspec.structs.replace(row("holds"), responses=1),
            row("holds", api="LIST_OFFSETS"),
            row(NOT_APPLICABLE),
            row(NOT_ASKED, rule=Rule.NEWER_EPOCH),
            row(NOT_ASKED, rule=Rule.DIVERGENCE),
        ],
    )
    out = io.StringIO()
    show(verdict, Console(file=out, width=100))
    reported = "rules of the protocol, by API: 2 holds, 1 not applicable, 2 not asked;"
    assert f"{reported} without a response: newer epoch\n" in out.getvalue()


def test_versions_are_written_as_in_kafkas_schemas() -> None:
    assert [str(version) for version in RULES[Rule.OLDER_EPOCH].versions.values()] == [
        "9+",
        "4+",
        "2+",
    ]
    assert str(Versions(0, 8)) == "0-8"


def test_a_statement_judges_each_rule() -> None:
    texts = [source.text for folder in ("checks", "facts") for source in sources(folder).values()]
    assert [rule for rule in RULES if not any(f"'{rule}'" in text for text in texts)] == []
