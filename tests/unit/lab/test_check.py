"""Which tests concern a change: `make check`."""

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from contract.errors import UsageError
from lab.check import LIVE, Tree
from tests.conftest import pytest_terminal_summary

FILES = {
    "contract/ranges.py": "",
    "contract/tables.py": "from contract import ranges\n",
    "harness/kill.py": "",
    "analysis/checks/a_check.sql": "select 1\n",
    "analysis/facts/given.yml": "",
    "analysis/statements/files.py": 'SUBJECTS = "given.yml"\n',
    "docs/page.md": "",
    "analysis/report/templates/run.html.j2": "",
    "tests/unit/histories.py": "import contract.tables\n",
    "tests/unit/test_ranges.py": "from contract.ranges import merged\n",
    "tests/unit/test_tables.py": "from histories import made\n",
    "tests/unit/test_files.py": "from analysis.statements.files import SUBJECTS\n",
    "tests/unit/test_exam.py": "",
    "tests/unit/test_facts.py": "",
    "tests/unit/test_docs.py": "",
    "tests/unit/test_tidy.py": "",
    "tests/unit/test_run_page.py": "",
    "tests/live/stories.py": "from harness.kill import Kill\n",
    "tests/live/stories_test.py": "from stories import STORIES\n",
    "tests/live/test_faults.py": 'SCENARIO = "stories_test.py"\n',
}


def git(folder: Path, *arguments: str) -> None:
    user = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *user, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "all")
    return tmp_path


def unit_tests(root: Path, *changed: str) -> list[str]:
    """Without test_tidy.py, which is for each change."""
    chosen = [Path(test).stem for test in Tree(root).choose_tests(list(changed))]
    assert "test_tidy" in chosen
    return [name for name in chosen if name != "test_tidy"]


def test_changed_are_new_other_and_deleted_files(root: Path) -> None:
    (root / "contract" / "ranges.py").write_text("a = 1\n")
    (root / "contract" / "new.py").write_text("")
    (root / "harness" / "kill.py").unlink()
    expected = ["contract/new.py", "contract/ranges.py", "harness/kill.py"]
    assert Tree(root).changed_files() == expected
    git(root, "add", ".")
    git(root, "commit", "-m", "second")
    assert Tree(root).changed_files() == []
    assert Tree(root).changed_files("HEAD~1") == expected


def test_a_base_that_git_does_not_know_is_refused(root: Path) -> None:
    with pytest.raises(UsageError, match="no_branch"):
        Tree(root).changed_files("no_branch")


@pytest.mark.parametrize(
    ("changed", "chosen"),
    [
        (["contract/ranges.py"], ["test_ranges"]),
        (["analysis/checks/a_check.sql"], ["test_exam"]),
        (["analysis/macros/sets.sql"], ["test_exam", "test_facts"]),
        (["analysis/facts/given.yml"], ["test_files"]),
        (["docs/page.md"], ["test_docs"]),
        (["analysis/report/templates/run.html.j2"], ["test_run_page"]),
        (["tests/unit/test_ranges.py", "tests/unit/test_gone.py"], ["test_ranges"]),
    ],
)
def test_what_reads_a_changed_file_is_chosen(
    root: Path, changed: list[str], chosen: list[str]
) -> None:
    assert unit_tests(root, *changed) == chosen


def test_without_an_importing_test_those_of_what_imports_it_are_chosen(root: Path) -> None:
    chosen = Tree(root).choose_tests(["contract/tables.py"])
    assert chosen["tests/unit/test_tables.py"][2] == "reads contract/tables.py in 2 steps"


def test_a_module_with_a_mistake_is_read_by_its_tests(root: Path) -> None:
    (root / "contract" / "ranges.py").write_text("def\n")
    assert unit_tests(root, "contract/ranges.py") == ["test_ranges"]


def test_tests_of_a_cluster_are_found_through_the_files_beside_them(root: Path) -> None:
    assert list(Tree(root).choose_tests(["harness/kill.py"], LIVE)) == ["tests/live/test_faults.py"]


def test_each_failed_test_is_named_with_its_command() -> None:
    written: list[str] = []
    failed = SimpleNamespace(nodeid="tests/unit/test_a.py::test_b[1 < 2]", keywords={})
    long = SimpleNamespace(nodeid="tests/live/test_c.py::test_d", keywords={"long": 1})
    reporter: Any = SimpleNamespace(
        stats={"failed": [failed], "error": [failed, long]}, write_line=written.append
    )
    pytest_terminal_summary(reporter)
    assert written == [
        "run again: .venv/bin/pytest 'tests/unit/test_a.py::test_b[1 < 2]'",
        "run again: .venv/bin/pytest -m long tests/live/test_c.py::test_d",
    ]
