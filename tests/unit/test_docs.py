"""The docs name what there is."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from contract.nights import Night, NightSummary, PlannedRun
from contract.protocol import RULES, Rule
from contract.run_folder import Plan
from contract.tables import DECLARED
from contract.verdicts import Verdict
from harness.faults.targets import TARGET_FORMS
from setup import PACKAGES, PAGES
from tests.conftest import Fencepost
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


def messages() -> Iterator[tuple[str, str]]:
    """What the packages of a wheel may print, with where it stands: texts that are no docstring."""
    for path in (path for package in PACKAGES for path in ROOT.glob(f"{package}/**/*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and id(node) not in alone:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", str(node.value)


def test_a_message_names_pages_that_come_with_the_tool() -> None:
    """Of the repository an installation has `docs/*.md`, which `fencepost docs` shows."""
    named = re.compile(r"fencepost docs ([a-z-]+)|(docs/\S+?\.md|[A-Z]+\.md)\b")
    found = {
        (f"docs/{page}.md" if page else file, where)
        for where, text in messages()
        for page, file in named.findall(text)
    }
    assert len(found) > 10
    assert {(file, where) for file, where in found if file not in PAGES} == set()


def test_docs_shows_a_page_as_it_is_written(fencepost: Fencepost) -> None:
    for named in ("your-settings", "docs/your-settings.md", "your-settings.md#topics"):
        ended = fencepost("docs", named)
        page = (ROOT / "docs" / "your-settings.md").read_text()
        assert (ended.returncode, ended.stdout) == (0, page)
    ended = fencepost("docs", "your-seting")
    assert ended.returncode == 64
    assert "there is no page your-seting; the nearest is your-settings" in ended.stderr
    listed = fencepost("docs").stdout.splitlines()
    assert len(listed) == 1 + len(PAGES)
