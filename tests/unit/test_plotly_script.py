"""One file of plotly's script serves all pages of a session or night."""

from pathlib import Path

import pytest
from pages_of import run_folder

from analysis.report.plotly_script import script_tag, shared_script
from contract.run_folder import RunFolder

RUN = "Scenario/test/by=time.leader=killed/0"


def run_in(path: Path, *marks: str) -> RunFolder:
    folder = run_folder(path / RUN)
    for mark in marks:
        (path / mark).parent.mkdir(parents=True, exist_ok=True)
        (path / mark).touch()
    return folder


def test_runs_of_a_session_share_one_file(tmp_path: Path) -> None:
    first = run_in(tmp_path, "ducktape.log")
    second = run_folder(tmp_path / "Scenario/test/1")
    scripts = {shared_script(folder) for folder in (first, second)}
    assert {script.parent for script in scripts} == {tmp_path / "report"}
    assert len(list(tmp_path.rglob("plotly-*.js"))) == 1


def test_a_night_has_one_file_for_all_its_sessions(tmp_path: Path) -> None:
    session = tmp_path / "runs/001-x/2026-11-24--001"
    folder = run_in(session, "ducktape.log")
    (tmp_path / "night.json").touch()
    assert shared_script(folder).parent == tmp_path / "report"


def test_a_run_alone_has_its_own(tmp_path: Path) -> None:
    folder = run_in(tmp_path)
    assert shared_script(folder).parent == folder.report


@pytest.mark.parametrize("marks", [("ducktape.log",), ()])
def test_a_page_loads_the_file_by_its_path_from_there(
    tmp_path: Path, marks: tuple[str, ...]
) -> None:
    folder = run_in(tmp_path / "a session", *marks)
    page = folder.report / "index.html"
    script = shared_script(folder)
    address = script_tag(page, script).split('"')[1]
    assert (page.parent / address).resolve() == script.resolve()
    assert not address.startswith("/")


def test_a_script_that_exists_is_left(tmp_path: Path) -> None:
    folder = run_in(tmp_path)
    before = shared_script(folder)
    before.write_text("kept")
    assert shared_script(folder).read_text() == "kept"
