"""`fencepost open` finds the page that was written last, or writes it as one file."""

import os
import webbrowser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analysis.report.standalone import self_contained
from contract.errors import UsageError
from contract.run_folder import PLAN_FILE
from harness.cli import program
from harness.commands import reports
from harness.commands.reports import last_page, page_of


def page(folder: Path, *, at: int, is_run: bool = False) -> Path:
    """A page, of a run if it has a plan; written at a time in seconds."""
    file = folder / "report" / "index.html"
    file.parent.mkdir(parents=True)
    file.write_text("<title>page</title>")
    os.utime(file, (at, at))
    if is_run:
        (folder / PLAN_FILE).write_text("{}")
    return file


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A session of two runs, one of a single run, and a night."""
    results = tmp_path / "results"
    page(results / "2026-01-01--001", at=100)
    page(results / "2026-01-01--001" / "S" / "0", at=90, is_run=True)
    page(results / "2026-01-01--001" / "S" / "1", at=91, is_run=True)
    page(results / "2026-01-01--002", at=200)
    page(results / "2026-01-01--002" / "S" / "0", at=190, is_run=True)
    page(results / "nightly" / "smoke-1", at=150)
    page(results / "nightly" / "smoke-1" / "runs" / "001" / "0", at=140, is_run=True)
    page(results / ".nodes" / "session-1", at=999)
    (results / "latest").symlink_to(results / "2026-01-01--001")
    return results


def test_the_last_page_is_of_the_run_where_a_session_has_one(results: Path) -> None:
    assert last_page(results) == results / "2026-01-01--002" / "S" / "0" / "report" / "index.html"


def test_the_last_page_may_be_of_a_night(results: Path) -> None:
    night = results / "nightly" / "smoke-1" / "report" / "index.html"
    os.utime(night, (300, 300))
    assert last_page(results) == night


def test_the_last_page_may_be_of_a_playground(results: Path) -> None:
    session = results / ".playground" / "2026-01-01--001"
    page(session, at=400)
    (session.parent / "state.json").write_text("{}")
    run = page(session / "P" / "0", at=390, is_run=True)
    assert last_page(results) == run


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("latest", "2026-01-01--001"),
        ("2026-01-01--001/S/1", "2026-01-01--001/S/1"),
        ("nightly/smoke-1", "nightly/smoke-1"),
        ("2026-01-01--001/report/index.html", "2026-01-01--001"),
    ],
)
def test_a_folder_or_a_page_is_shown(results: Path, path: str, shown: str) -> None:
    assert page_of(results / path) == results / shown / "report" / "index.html"


def test_a_page_of_another_run_is_not_opened(results: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "report").symlink_to(results / "2026-01-01--001" / "report")
    with pytest.raises(UsageError, match="is a page of another folder"):
        page_of(tmp_path / "mine")


def test_without_a_page_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="run a scenario first"):
        last_page(tmp_path)
    with pytest.raises(UsageError, match="fencepost analyze"):
        page_of(tmp_path)


@pytest.mark.parametrize("is_graphical", [False, True])
def test_the_path_is_printed_and_a_browser_opened_where_one_can(
    results: Path, monkeypatch: pytest.MonkeyPatch, *, is_graphical: bool
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(reports, "is_graphical", lambda: is_graphical)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    shown = CliRunner().invoke(
        program(), ["open", "--results", str(results)], standalone_mode=False
    )
    assert shown.output == f"{last_page(results)}\n"
    assert opened == ([last_page(results).as_uri()] if is_graphical else [])


def test_a_page_is_written_as_one_file(results: Path, tmp_path: Path) -> None:
    session = results / "2026-01-01--002"
    (session / "ducktape.log").touch()
    (session / "report" / "plotly-6.1.min.js").write_text("f('</script><b>')\n")
    source = session / "S" / "0" / "report" / "index.html"
    source.write_text(
        '<p>é</p><script src="../../../report/plotly-6.1.min.js" defer></script><p>end</p>'
    )
    file = tmp_path / "mail.html"
    command = ["open", str(session), "--standalone", str(file)]
    ended = CliRunner().invoke(program(), command)
    assert ended.exit_code == 0
    assert file.read_text() == "<p>é</p><script>f('<\\/script><b>')\n</script><p>end</p>"
    assert self_contained(file) == file.read_text()
