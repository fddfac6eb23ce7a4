"""The docs name what there is."""

import re
from pathlib import Path

import msgspec
import pytest

from contract.nights import Night, NightSummary, PlannedRun
from contract.protocol import RULES, Rule
from contract.run_folder import Plan
from contract.tables import DECLARED
from contract.verdicts import Verdict
from harness.faults.targets import TARGET_FORMS
from website.rooms import is_taken_away

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results.md"
DOCS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


@pytest.mark.parametrize("rule", Rule)
def test_every_rule_is_one_sentence_with_its_source_and_check(rule: Rule) -> None:
    declared = RULES[rule]
    assert re.fullmatch(r"[A-Z][^|]*[^.|]\.", declared.says)
    assert declared.source.document.startswith(("KIP-", "KAFKA-"))


@pytest.mark.parametrize("table", DECLARED)
def test_every_table_says_what_a_row_is_and_where_it_comes_from(table: str) -> None:
    declared = DECLARED[table]
    assert re.match("One row per .*[.] Source: .*[.]$", declared.about)
    assert "|" not in repr(declared), "it stands in a table of the page"
    assert len({column.name for column in declared.columns}) == len(declared.columns)


@pytest.mark.parametrize(
    ("file", "document"),
    [
        ("verdict.json", Verdict),
        ("plan.json", Plan),
        ("night.json", Night),
        ("night.json", PlannedRun),
        ("summary.json", NightSummary),
    ],
)
def test_the_results_page_has_every_field(file: str, document: type[msgspec.Struct]) -> None:
    paragraphs = RESULTS.read_text().split("\n\n")
    (described,) = (paragraph for paragraph in paragraphs if f"`{file}` has " in paragraph)
    text = described[described.index(f"`{file}` has ") :]
    fields = [field.name for field in msgspec.structs.fields(document)]
    assert [name for name in fields if not re.search(rf"\b{name}\b", text)] == []


def test_every_form_of_a_target_is_reported() -> None:
    page = (ROOT / "docs" / "faults.md").read_text()
    forms = re.split(r", | or ", TARGET_FORMS)
    assert [form for form in forms if f"`{form}`" not in page] == []


def test_make_targets_that_are_named_exist() -> None:
    """The changelog also names those of the past."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in (page for page in DOCS if page.name != "CHANGELOG.md"):
        named = set(re.findall(r"`make ([a-z-]+)", page.read_text()))
        assert named <= targets, page.name


def test_files_that_are_named_exist() -> None:
    """By their paths; `NAME` and `<name>` stand for any."""
    packages = "|".join(path.parent.name for path in ROOT.glob("*/__init__.py"))
    named = re.compile(rf"`((?:{packages}|tests|scenarios)/[a-z0-9_./-]+)`")
    for page in (page for page in DOCS if page.name != "CHANGELOG.md"):
        every = named.findall(page.read_text())
        missing = [
            name for name in every if not (ROOT / name).exists() and not is_taken_away(Path(name))
        ]
        assert missing == [], page.name
