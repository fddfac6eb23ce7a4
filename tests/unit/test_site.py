"""The site of the docs: every part of a page is made, and every link leads somewhere."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from os.path import relpath
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from contract.errors import UsageError
from contract.program import anchor
from contract.tables import DECLARED
from harness.commands.requirements import DEFAULT_KAFKA
from harness.nightly.suite import Entry
from harness.session.catalog import ScenarioFile, read_scenario
from website.__main__ import make
from website.declared import parameters_in_words, scenario_rows
from website.pages import Page, read, write
from website.parts import parts
from website.rooms import ROOT


@cache
def site() -> Mapping[PurePosixPath, Page]:
    return read(parts())


def text_of(name: str) -> str:
    return site()[PurePosixPath("docs") / name].text


def page_of(text: str) -> Mapping[PurePosixPath, Page]:
    source = PurePosixPath("docs/some.md")
    return {source: Page(source, PurePosixPath("some.md"), text)}


def test_every_part_is_made_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    write(tmp_path, site())
    assert (tmp_path / "index.md").is_file()
    assert not re.search("<!-- made: [a-z]", "".join(page.text for page in site().values()))
    for target in re.findall(r"\]\(([^():#]+\.png)\)", (tmp_path / "timeline.md").read_text()):
        assert (tmp_path / target).is_file()


@pytest.mark.parametrize("folder", [ROOT / "website", ROOT / "docs"])
def test_a_folder_of_something_else_is_not_replaced(folder: Path) -> None:
    there = sorted(folder.iterdir())
    with pytest.raises(UsageError, match="is no folder of a site"):
        make(folder)
    assert sorted(folder.iterdir()) == there


def test_every_page_has_its_place_in_the_navigation() -> None:
    config = tomllib.loads((ROOT / "website" / "zensical.toml").read_text())
    named = re.findall(r"'([^']+\.md)'", str(config["project"]["nav"]))
    pages = {str(page.place) for page in site().values()}
    assert len(named) == len(set(named))
    decisions = {page for page in pages if re.match(r"decisions/\d", page)}
    evidence = {page for page in pages if page.startswith("reports/evidence/")}
    assert pages - decisions - evidence == set(named), "reports link their evidence"
    assert text_of("decisions/index.md").count("\n- ") == len(decisions)


def test_a_part_that_nothing_makes_or_no_page_has_is_refused() -> None:
    made = parts()
    with pytest.raises(UsageError, match="nothing makes the part"):
        read({name: part for name, part in made.items() if name != "facts"})
    with pytest.raises(UsageError, match="no page of docs/ has a place for: other"):
        read({**made, "other": str})


@pytest.mark.parametrize("link", ["[a](none.md)", "[a](#none)", "![a](images/none.png)"])
def test_a_link_that_leads_nowhere_is_refused(link: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"docs/some\.md: .*none"):
        write(tmp_path, page_of(f"# Some\n\n{link}"))


def test_links_to_files_need_a_repository(tmp_path: Path) -> None:
    text = "# Some\n\n[`make`](../Makefile#L3), [some](#some), `[a](b)`\n\n```\n[a](b)\n```"
    write(tmp_path, page_of(text))
    assert "\n`make`, [some](some.md#some), `[a](b)`\n" in (tmp_path / "some.md").read_text()
    write(tmp_path, page_of(text), repository="https://host/main/")
    assert "[`make`](https://host/main/Makefile#L3), " in (tmp_path / "some.md").read_text()


def test_anchors_are_those_of_github() -> None:
    assert anchor("What `x` costs, in [records](a.md)") == "what-x-costs-in-records"
    assert anchor("4.3.1-option-2 & more") == "431-option-2--more"


@pytest.mark.parametrize("name", DECLARED)
def test_every_table_has_its_section(name: str) -> None:
    assert f"\n## {name}\n" in text_of("results.md")


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (({},), ""),
        (None, "see its file"),
        (({"recipe": "pause"}, {"recipe": "deaf"}), "recipe: pause, deaf"),
        (
            ({"by": 1, "of": 2}, {"by": 1, "of": 3}, {"by": 4, "of": 2}, {"by": 4, "of": 3}),
            "by: 1, 4; of: 2, 3",
        ),
        (({"by": 1, "of": 2}, {"by": 4, "of": 3}), "(by: 1, of: 2), (by: 4, of: 3)"),
    ],
)
def test_parameters_are_in_words(
    declared: tuple[Mapping[str, Any], ...] | None, words: str
) -> None:
    assert parameters_in_words(declared) == words


@pytest.fixture
def calm(tmp_path: Path) -> ScenarioFile:
    file = tmp_path / "calm_test.py"
    file.write_text('"""Is it calm?\n\nFault:   none.\n"""\n')
    return read_scenario(file)


def test_a_scenario_has_one_row_with_its_versions_once_each(calm: ScenarioFile) -> None:
    entries = [
        Entry(scenario="calm", kafka=["4.4.0", "3.9.0"]),
        Entry(scenario="calm", kafka=["3.9.0"]),
        Entry(scenario="other", kafka=["4.3.1"]),
    ]
    link = f"[calm]({relpath(calm.path, ROOT / 'docs')})"
    assert list(scenario_rows([calm], entries)) == [(link, "Is it calm?", "", "4.4.0, 3.9.0")]


def test_an_entry_without_versions_runs_on_the_default_one(calm: ScenarioFile) -> None:
    ((*_, versions),) = scenario_rows([calm], [Entry(scenario="calm")])
    assert versions == DEFAULT_KAFKA


def test_scenarios_that_must_fail_are_named() -> None:
    assert "A run of `canary` must fail" in text_of("scenarios.md")
