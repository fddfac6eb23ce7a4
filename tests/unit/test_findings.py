"""Each check is described once, in its code: docs/findings.md is made from that."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from analysis.checks.described import FAMILIES, described, in_order
from analysis.checks.registry import CHECKS
from analysis.findings_page import PAGE, with_tables
from analysis.verdict.others import OTHERS
from contract.checks import Check
from contract.verdicts import FindingVerdict

DESCRIBED = {check: one.description for check, one in CHECKS.items()} | {
    check: described(function) for check, (_, function) in OTHERS.items()
}
IDS = [one.id for one in CHECKS.values()] + [ids for ids, _ in OTHERS.values()]


def documented() -> None:
    """A first line.

    An explanation
    of two lines.

    And a second paragraph.

    Permitted: where it is
        allowed.
    Evaluates: all: each.
    Source: KIP-1.
    """


def test_the_page_is_made_from_the_code() -> None:
    page = PAGE.read_text()
    assert with_tables(page) == page, "run `make findings`"


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="made by make findings"):
        with_tables("# Findings\n")


def test_every_check_is_defined_once() -> None:
    assert set(DESCRIBED) == set(Check)


def test_ids_are_unique_and_of_a_family() -> None:
    each = [one for ids in IDS for one in ids.split(", ")]
    assert len(each) == len(set(each))
    assert all(re.fullmatch(r"[A-Z]\d+s?", one) and one[0] in FAMILIES for one in each)


def test_ids_are_sorted_by_their_numbers() -> None:
    ids = ["A10", "B1", "A2", "A1s", "A1"]
    assert sorted(ids, key=in_order) == ["A1", "A1s", "A2", "A10", "B1"]
    assert [one.id for one in CHECKS.values()] == sorted(IDS[: len(CHECKS)], key=in_order)


@pytest.mark.parametrize("check", DESCRIBED)
def test_every_check_is_described(check: Check) -> None:
    told = DESCRIBED[check]
    assert re.fullmatch(r"[A-Z].*[^.]\.", told.definition), "one sentence"
    assert ". " not in told.definition
    assert "|" not in repr(told), "it stands in a table"


@pytest.mark.parametrize("check", CHECKS)
def test_a_definition_has_the_verdicts_of_the_cases(check: Check) -> None:
    told = CHECKS[check].description
    verdicts = {verdict for case in CHECKS[check].cases for verdict in case.verdicts}
    sections = {
        FindingVerdict.PERMITTED: told.permitted,
        FindingVerdict.UNDECIDED: told.undecided,
    }
    assert verdicts, "it has no cases"
    assert verdicts - {FindingVerdict.VIOLATION} == {one for one in sections if sections[one]}


def test_a_docstring_is_read_by_its_labels() -> None:
    told = described(documented)
    assert told.definition == "A first line."
    assert told.explanation == "An explanation of two lines. And a second paragraph."
    assert (told.permitted, told.undecided) == ("where it is allowed.", "")
    assert (told.evaluates, told.source) == ("all: each.", "KIP-1.")


@pytest.mark.parametrize("text", ["", "A definition.", "A definition.\n\nEvaluates: all."])
def test_a_docstring_that_lacks_a_part_is_refused(text: str) -> None:
    def check() -> None: ...

    check.__doc__ = text
    function: Callable[..., Any] = check
    with pytest.raises(ValueError, match="check: its docstring has no"):
        described(function)
