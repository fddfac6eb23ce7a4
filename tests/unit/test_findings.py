"""Each check is described once, in its header."""

import re

import pytest

from analysis.statements.registry import (
    CHECKS,
    DESCRIBED,
    FAMILIES,
    WITHOUT_STATEMENT,
    Description,
    in_order,
)
from contract.terms import Check
from contract.verdicts import FindingVerdict

IDS = [definition.header.id for definition in CHECKS.values()] + [
    description.id for description in WITHOUT_STATEMENT.values()
]


def test_every_check_is_defined_once() -> None:
    assert set(DESCRIBED) == set(Check)
    assert CHECKS.keys() & WITHOUT_STATEMENT.keys() == set()


def test_ids_are_unique_and_of_a_family() -> None:
    each = [id_ for ids in IDS for id_ in ids.split(", ")]
    assert len(each) == len(set(each))
    assert all(re.fullmatch(r"[A-Z]\d+s?", id_) and id_[0] in FAMILIES for id_ in each)


def test_ids_are_sorted_by_their_numbers() -> None:
    ids = ["A10", "B1", "A2", "A1s", "A1"]
    assert sorted(ids, key=in_order) == ["A1", "A1s", "A2", "A10", "B1"]
    assert [definition.id for definition in CHECKS.values()] == sorted(
        IDS[: len(CHECKS)], key=in_order
    )


@pytest.mark.parametrize("check", DESCRIBED)
def test_every_check_is_described(check: Check) -> None:
    reported = DESCRIBED[check]
    assert re.fullmatch(r"[A-Z].*[^.]\.", reported.definition), "one sentence"
    assert ". " not in reported.definition
    assert reported.evaluates
    assert reported.source
    texts = [getattr(reported, field) for field in Description.__struct_fields__]
    assert "|" not in "".join(texts), "they stand in a table"


@pytest.mark.parametrize("check", CHECKS)
def test_a_header_says_when_a_verdict_is_given_that_the_causes_do_not_say(check: Check) -> None:
    reported, cases = CHECKS[check].header, list(CHECKS[check].cases)
    verdicts = {verdict for case in cases for verdict in case.verdicts}
    by_condition = {
        verdict for case in cases for verdict in case.verdicts if verdict != case.verdict
    }
    texts = {
        FindingVerdict.PERMITTED: reported.permitted,
        FindingVerdict.UNDECIDED: reported.undecided,
    }
    assert verdicts, "it has no cases"
    assert by_condition <= {name for name in texts if texts[name]} <= verdicts
    assert "|" not in "".join(case.cause for case in cases), "they stand in a table"
