"""Nothing is written or read through a link that leads out of a run, session or night."""

import os
import shutil
import stat
from pathlib import Path

import pytest
from pages_of import run_folder, verdict_of

from analysis.judging import WRITTEN
from analysis.report.ducktape_page import NAME, name_ours
from analysis.report.night_rows import Judged
from analysis.report.session_page import write_session
from analysis.report.standalone import self_contained
from analysis.tasks import Share, judge_here
from contract import held
from contract.errors import PrerequisiteError, RunFolderError, UsageError
from contract.held import HeldName, hold_first
from contract.run_folder import RunFolder
from harness.commands.run import decode_again
from simulator.history import Request, description, universes_of, write_history

FOLDERS = ("tables", "report", "history", "clients", "brokers", "segments")
FILES = ("tables/polls.parquet", "report/index.html", "history/driver.jsonl", "plan.json")


def judged(folder: RunFolder) -> Judged:
    return judge_here(Share(at_once=1), folder, "a test")


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def judged_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    other = RunFolder(tmp_path_factory.mktemp("judged") / "other")
    universes = universes_of(Request(events=1_000, seed=1))
    write_history(other, universes, description(1, "test", "0", {}))
    assert judged(other).verdict is not None
    for name in FOLDERS:
        (other.path / name).mkdir(exist_ok=True)
    (other.history / "driver.jsonl").write_text("{}\n")
    return other.path


@pytest.fixture
def other(judged_run: Path, tmp_path: Path) -> RunFolder:
    """A run that was judged."""
    return RunFolder(shutil.copytree(judged_run, tmp_path / "other"))


@pytest.mark.parametrize("name", [*FOLDERS, *FILES])
def test_a_run_with_a_part_of_another_one_is_refused(
    other: RunFolder, tmp_path: Path, name: str
) -> None:
    mine = run_folder(tmp_path / "mine")
    mine.report.rmdir()
    link = mine.path / name
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(other.path / name)
    before = content(other.path)
    assert decode_again(mine)
    found = judged(mine)
    assert found.verdict is None
    assert found.exit_code == RunFolderError.exit_code
    assert found.error == (
        f"{link} is a link to {other.path / name}, which is outside of the run: put a copy in its "
        "place"
    )
    assert content(other.path) == before


def test_links_within_a_run_and_to_a_run_are_followed(other: RunFolder, tmp_path: Path) -> None:
    (other.tables / "polls.parquet").rename(other.path / "elsewhere.parquet")
    (other.tables / "polls.parquet").symlink_to("../elsewhere.parquet")
    linked = RunFolder(tmp_path / "latest")
    linked.path.symlink_to(other.path)
    assert judged(linked).verdict is not None


def test_a_page_of_another_session_is_not_replaced(tmp_path: Path) -> None:
    other, mine = tmp_path / "other", tmp_path / "mine"
    (other / "report").mkdir(parents=True)
    (other / NAME).write_text("<body>")
    runs = [Judged(run_folder(mine / str(at)), verdict_of({})) for at in range(2)]
    (mine / "report").symlink_to(other / "report")
    (mine / NAME).symlink_to(other / NAME)
    with pytest.raises(RunFolderError, match="remove it, so that no other report is replaced"):
        write_session(mine, runs)
    assert not name_ours(mine)
    assert content(other) == {NAME: b"<body>"}


def test_a_page_that_is_a_link_is_replaced_itself(other: RunFolder) -> None:
    for name in WRITTEN:
        (other.report / name).unlink(missing_ok=True)
        (other.report / name).symlink_to(other.path / f"target-{name}")
    assert judged(other).verdict is not None
    assert not list(other.path.glob("target-*"))


@pytest.mark.parametrize(
    "source", ["../../secret", "../../secret.js", "plotly-6.0.0.min.js", "%2e%2e/secret.js"]
)
def test_only_the_script_of_a_report_goes_into_a_page(tmp_path: Path, source: str) -> None:
    for name in ("secret", "secret.js"):
        (tmp_path / name).write_text("secret")
    run = run_folder(tmp_path / "run")
    (run.report / "plotly-6.0.0.min.js").symlink_to(tmp_path / "secret.js")
    page = run.report / "index.html"
    page.write_text(f'<script src="{source}" defer></script>')
    with pytest.raises(UsageError, match="which is no script of a report"):
        self_contained(page)


def test_a_lock_is_made_through_no_link(tmp_path: Path) -> None:
    link, target = tmp_path / "name", tmp_path / "target"
    link.symlink_to(target)
    with pytest.raises(BlockingIOError):
        HeldName(link)
    assert not target.exists()


def test_locks_are_in_a_folder_of_this_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "gettempdir", lambda: str(tmp_path))
    (folder,) = (tmp_path / f"fencepost-{os.getuid()}",)
    _, one = hold_first(["a"], "x-")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "x-a.lock").stat().st_mode) == 0o600
    one.release()
    folder.chmod(0o777)
    with pytest.raises(PrerequisiteError, match="only this user can write into"):
        hold_first(["a"], "x-")
    (folder / "x-a.lock").unlink()
    folder.rmdir()
    (tmp_path / "victim").mkdir()
    folder.symlink_to(tmp_path / "victim")
    with pytest.raises(PrerequisiteError, match="only this user can write into"):
        hold_first(["a"], "x-")
    assert not list((tmp_path / "victim").iterdir())


@pytest.mark.parametrize("name", ["../a", "a/b", "/a"])
def test_a_lock_has_no_name_of_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(held, "gettempdir", lambda: str(tmp_path))
    with pytest.raises(PrerequisiteError, match="it has a slash"):
        hold_first([name], "x-")
    assert not list(tmp_path.rglob("*.lock"))
