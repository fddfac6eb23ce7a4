"""The docs name what there is."""

import re
from pathlib import Path

import pytest

from contract.tables import TABLES
from harness.faults.language import VERBS
from harness.faults.targets import TARGET_FORMS

ROOT = Path(__file__).resolve().parents[2]
DOCS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_in_the_results_page(table: str) -> None:
    page = (ROOT / "docs" / "results.md").read_text()
    section = page.split(f"\n## {table}\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| (\w+) \| ", section, re.MULTILINE)[1:] == TABLES[table].names


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_by_hand_has_its_row(verb: str) -> None:
    rows = re.findall(
        r"^\| ([a-z, -]+) \| ", (ROOT / "docs" / "faults.md").read_text(), re.MULTILINE
    )
    assert verb in {word for row in rows for word in row.split(", ")}


def test_every_form_of_a_target_is_told() -> None:
    page = (ROOT / "docs" / "faults.md").read_text()
    forms = re.split(r", | or ", TARGET_FORMS)
    assert [form for form in forms if f"`{form}`" not in page] == []


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_make_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in DOCS:
        named = set(re.findall(r"`make ([a-z-]+)", page.read_text()))
        assert named <= targets, page.name
