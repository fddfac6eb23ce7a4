"""What a command writes replaces no pipe, device, link or evidence; an empty name names nothing."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
import typer

from analysis.report import standalone as page_as_file
from contract.errors import StorageError, UsageError
from contract.nights import SESSION_FILE, is_made_here
from contract.packages import environment
from contract.run_folder import PLAN_FILE, find_runs, require_new_file
from harness.commands import run as judging_of_runs
from simulator.history import EVENTS_MAX
from tests.conftest import Fencepost


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run in a session, with a page each."""
    run = tmp_path / "results" / "2026-01-01--001" / "S" / "0"
    for folder in (run, run.parents[1]):
        (folder / "report").mkdir(parents=True)
        (folder / "report" / "index.html").write_text("page")
    (run / PLAN_FILE).write_text("plan")
    (run / "tables").mkdir()
    (run.parents[1] / SESSION_FILE).write_text("")
    return run


@pytest.mark.parametrize("kind", ["pipe", "link", "dangling link", "folder", "socket"])
def test_a_target_that_is_no_file_is_refused_and_stays(kind: str, tmp_path: Path) -> None:
    target = tmp_path / "target"
    match kind:
        case "pipe":
            os.mkfifo(target)
        case "link":
            (tmp_path / "precious").write_text("precious")
            target.symlink_to("precious")
        case "dangling link":
            target.symlink_to("nowhere")
        case "folder":
            target.mkdir()
        case "socket":
            os.mknod(target, stat.S_IFSOCK | 0o600)
    before = target.lstat()
    page = tmp_path / "page.html"
    page.write_text("page")
    with pytest.raises(UsageError, match="no regular file"):
        page_as_file.standalone(page, target)
    assert target.lstat() == before
    assert sorted(path.name for path in tmp_path.iterdir() if ".part" in path.name) == []


@pytest.mark.parametrize(
    "name", [PLAN_FILE, "report/index.html", "new.html", "tables/x.html", "../../report/index.html"]
)
@pytest.mark.parametrize("way", ["path", "link"])
def test_the_files_of_runs_and_sessions_are_kept(
    name: str, way: str, run: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(run)
    target = (tmp_path / "link" if way == "link" else run) / name
    content = target.read_text() if target.exists() else None
    page = tmp_path / "page.html"
    page.write_text("other")
    with pytest.raises(UsageError, match=r"name a (file|place) elsewhere"):
        page_as_file.standalone(page, target)
    assert (target.read_text() if target.exists() else None) == content


def test_a_page_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="is not in UTF-8"):
        page_as_file.standalone(tmp_path / "page.html", tmp_path / "x.html")


def test_a_file_beside_is_written_and_replaced(run: Path, tmp_path: Path) -> None:
    page = run / "report" / "index.html"
    for target in (tmp_path / "mail.html", run.parents[1] / "mail.html"):
        page_as_file.standalone(page, target)
        assert target.read_text() == "page"
    page_as_file.standalone(page, tmp_path / "mail.html")
    require_new_file(tmp_path / "mail.html")


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, StorageError),
        (errno.EROFS, StorageError),
        (errno.EACCES, StorageError),
        (errno.ENOENT, UsageError),
    ],
)
def test_a_page_that_can_not_be_written_is_reported_in_words(
    number: int, kind: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(page_as_file, "replace_file", fails)
    page = tmp_path / "page.html"
    page.write_text("page")
    with pytest.raises(kind, match=f"x.html can't be written: {os.strerror(number)}") as reported:
        page_as_file.standalone(page, tmp_path / "x.html")
    assert "Errno" not in str(reported.value)


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze", ""],
        ["analyze", ".", "--store", ""],
        ["generate", ""],
        ["open", ""],
        ["open", ".", "--standalone", ""],
        ["open", "--results", ""],
        ["explain", ""],
        ["explain", "#finding-lost_record-1"],
        ["run", "baseline", "--results", ""],
        ["run", "baseline", "--kafka-dir", ""],
        ["run", "baseline", "--client-jars", ""],
        ["nightly", "--results", ""],
        ["nightly", "--suite", ""],
        ["play", "start", "--results", ""],
        ["play", "heal", "--results", ""],
    ],
)
def test_an_empty_name_is_refused(arguments: list[str], fencepost: Fencepost) -> None:
    ended = fencepost(*arguments)
    assert ended.returncode == 64, ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("where", ["", "tables", "new/store", "report"])
def test_nothing_new_is_made_in_a_run(where: str, run: Path, fencepost: Fencepost) -> None:
    place = str(run / where)
    for arguments in (
        ["analyze", str(run), "--store", place],
        ["generate", str(run / "generated" / where), "--events", "1500"],
        ["random", "--dry-run", "--results", place],
    ):
        ended = fencepost(*arguments)
        assert ended.returncode == 64
        assert "is in the folder of the run" in ended.stderr
    assert sorted(path.name for path in run.iterdir()) == [PLAN_FILE, "report", "tables"]


def test_no_scenario_is_made_in_a_run(
    run: Path, fencepost: Fencepost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run / "tables")
    ended = fencepost("new", "scenario", "lost_orders")
    assert ended.returncode == 64
    assert "is in the folder of the run" in ended.stderr
    assert not list(run.rglob("*.py"))


def made_twice(folder: Path) -> list[Path]:
    """Two runs below a folder that no command has made."""
    runs = [folder / "deep" / "er" / name for name in ("a", "b")]
    for made in runs:
        made.mkdir(parents=True)
        (made / PLAN_FILE).write_text("{")
    return runs


def test_runs_of_a_folder_of_another_kind_are_not_judged_unasked(
    fencepost: Fencepost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = made_twice(tmp_path)
    ended = fencepost("analyze", ".")
    assert ended.returncode == 64
    assert "reports of 2 at or below it would be written: name the folders" in ended.stderr
    monkeypatch.setattr(judging_of_runs, "has_terminal", lambda: True)
    monkeypatch.setattr(judging_of_runs, "analyse_in_own_process", lambda *_, **__: 0)
    for is_meant, code in ((False, 64), (True, 0)):
        asked = Mock(return_value=is_meant)
        monkeypatch.setattr(typer, "confirm", asked)
        assert fencepost("analyze", ".").returncode == code
        assert "2 at or below it would be written. Judge them?" in asked.call_args.args[0]
    assert [path for run in runs for path in run.iterdir()] == [run / PLAN_FILE for run in runs]


@pytest.mark.parametrize("mark", ["", ".nodes", "judged"])
def test_runs_are_judged_where_a_command_makes_them(mark: str, run: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    assert is_made_here(run, [run])
    assert is_made_here(run.parents[1], [run])
    if mark:
        (results / mark).mkdir()
    assert is_made_here(results, [run]) == bool(mark)
    assert not is_made_here(tmp_path.parent, [run])
    assert not is_made_here(results, [run.joinpath(*"abcdefghi")])


def test_of_several_that_generate_into_a_folder_one_does(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "harness", "generate", "made", "--events", "100000"]
    begun = [
        subprocess.Popen(words, stderr=subprocess.PIPE, env=environment(), cwd=tmp_path)
        for _ in range(4)
    ]
    ended = [process.communicate()[1].decode() for process in begun]
    assert sorted(process.returncode for process in begun) == [0, 64, 64, 64]
    assert sum("another process writes into" in said for said in ended) == 3
    assert len(find_runs(tmp_path)) == 1


def test_a_store_that_can_not_be_written_is_refused_before_all_else(
    run: Path, fencepost: Fencepost, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for store in ("file", "file/store"):
        ended = fencepost("analyze", str(run), "--store", store)
        assert ended.returncode == 64
        assert ended.stderr.startswith(f"error: --store {store} can't be written (")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--events", "-5"],
        ["--kind", "nope"],
        ["--events", "99999999999999999999"],
        ["--events", str(EVENTS_MAX + 1)],
    ],
)
def test_a_refused_history_leaves_no_folder(
    options: list[str], fencepost: Fencepost, tmp_path: Path
) -> None:
    ended = fencepost("generate", "new/folder", *options)
    assert ended.returncode == 64
    assert len(ended.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
