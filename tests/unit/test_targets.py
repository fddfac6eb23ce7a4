"""What a command writes replaces no pipe, device, link or evidence; an empty name names nothing."""

import errno
import os
import stat
from pathlib import Path

import pytest

from analysis.report import standalone as page_as_file
from contract.errors import StorageError, UsageError
from contract.nights import SESSION_FILE
from contract.run_folder import PLAN_FILE, require_new_file
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
    ):
        ended = fencepost(*arguments)
        assert ended.returncode == 64
        assert "is in the folder of the run" in ended.stderr
    assert sorted(path.name for path in run.iterdir()) == [PLAN_FILE, "report", "tables"]


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
