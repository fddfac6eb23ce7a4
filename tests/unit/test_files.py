"""Folders and files of runs: held, whole, without links, unchanged since they were collected."""

import errno
import fcntl
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from pages_of import run_folder, verdict_of

from analysis.judging import WRITTEN, judge_folder
from analysis.report.explain import _verdict
from analysis.report.night_rows import Judged
from analysis.report.session_page import NAME, name_ours, write_session
from analysis.report.standalone import self_contained
from analysis.runs.source import table_content, table_files
from analysis.statements.trace import Trace
from analysis.tasks import Share, judge_here
from cluster.nodes.pool import PoolKind
from contract import locks
from contract.errors import (
    PrerequisiteError,
    RunFolderError,
    StorageError,
    TableError,
    UsageError,
    WaitTimeoutError,
)
from contract.files import (
    copy_file,
    open_regular,
    open_to_append,
    read_file,
    read_regular,
    replace_file,
    replacing,
    storage_error,
)
from contract.locks import (
    TEMPORARY,
    HeldFolder,
    HeldName,
    Swept,
    alone_by,
    alone_in,
    hold_first,
    is_held,
    remove_temporary,
    remove_unheld,
    temporary_folder,
)
from contract.manifest import (
    MANIFEST_FILE,
    alterations,
    write_manifest,
)
from contract.nights import NIGHT_FILE, SUMMARY_FILE, read_night, read_summary
from contract.run_folder import (
    GENERATED,
    NODES_FOLDER,
    PLAN_FILE,
    POOLS,
    RUN_FILE,
    RunFolder,
    report_folder,
)
from contract.waiting import limit_waits, wait_until
from harness.clients.history import HistoryWriter
from harness.clients.member_role import open_log
from harness.commands.run import decode_again
from harness.decode.tables import write_table
from harness.nightly.state import hold, hold_night
from harness.nightly.suite import find_suite
from harness.session.ducktape_session import reserve_session
from harness.session.node_root import end_left, sweep
from tests.descriptions import description_of
from tests.programs import waiting_python
from tests.traces import generated
from tests.unit.test_nights import make_wanted

# Files that are no files end in an error, at once; files are replaced as a whole.


pytestmark = [pytest.mark.timeout(60), pytest.mark.usefixtures("by_one_check")]


def _loop(path: Path) -> None:
    path.symlink_to(path)


ODD: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "loop": _loop,
    "device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.fixture(params=sorted(ODD))
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Path]:
    """Makes a path below a folder that is no regular file."""

    def make(name: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        ODD[request.param](path)
        return path

    return make


def of_run(read: Callable[[RunFolder], object]) -> Callable[[Path], object]:
    return lambda path: read(RunFolder(path))


def altered(run: RunFolder) -> None:
    (reported,) = alterations(run)
    raise RunFolderError(reported)


def unreadable(run: RunFolder) -> None:
    raise TableError(table_files(run).unreadable["polls"])


def read_polls(run: RunFolder) -> None:
    table_content("polls", lambda: open_regular(run.tables / "polls.parquet"))


@pytest.mark.parametrize(
    ("name", "read", "kind", "reported"),
    [
        ("file", lambda path: read_file(path / "file"), OSError, "file"),
        (PLAN_FILE, of_run(RunFolder.plan), RunFolderError, "is not a valid"),
        (RUN_FILE, of_run(RunFolder.run), RunFolderError, "is not a valid"),
        (MANIFEST_FILE, of_run(altered), RunFolderError, r"^manifest\.json is invalid"),
        (NIGHT_FILE, read_night, RunFolderError, "is not a valid"),
        (f"report/{SUMMARY_FILE}", read_summary, RunFolderError, "is not a valid"),
        ("report/verdict.json", of_run(_verdict), RunFolderError, "is not a valid verdict"),
        ("tables/polls.parquet", of_run(unreadable), TableError, "is not a Parquet file"),
        ("tables/polls.parquet", of_run(read_polls), TableError, "table polls can't be read"),
        (
            "suite.yml",
            lambda path: find_suite(str(path / "suite.yml")),
            UsageError,
            "the suite .* can't be read",
        ),
    ],
)
def test_what_is_no_file_is_an_error(
    odd: Callable[[str], Path],
    tmp_path: Path,
    name: str,
    read: Callable[[Path], object],
    kind: type[Exception],
    reported: str,
) -> None:
    assert read_regular(odd(name)) is None
    with pytest.raises(kind, match=reported):
        read(tmp_path)


def test_a_limit_of_file_sizes_is_reported_as_a_full_disk_is() -> None:
    reported = storage_error(OSError(errno.EFBIG, "File too large"), Path("results"))
    assert reported is not None
    assert reported.exit_code == 69
    assert str(reported).startswith("results can't be written: File too large.")
    assert "ulimit -f unlimited" in str(reported)


def test_a_file_that_can_not_be_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "state.json"
    replace_file(file, b"old")

    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        replace_file(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


WRITERS = {
    "replace": lambda path: replace_file(path, b"new"),
    "copy": lambda path: copy_file(Path(__file__), path),
    "append": open_to_append,
    "history": HistoryWriter,
    "log": open_log,
    "table": lambda path: write_table(path.parent, path.stem, []),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_nothing_is_written_into_what_is_no_file(
    odd: Callable[[str], Path], write: Callable[[Path], object]
) -> None:
    path = odd("polls.parquet")
    before = path.lstat()
    with pytest.raises(UsageError, match="is no regular file, and would be replaced"):
        write(path)
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_what_a_link_leads_to_is_neither_emptied_nor_made(
    tmp_path: Path, write: Callable[[Path], object]
) -> None:
    others, new = tmp_path / "others", tmp_path / "new"
    others.write_bytes(b"theirs")
    for target in (others, new):
        link = tmp_path / "polls.parquet"
        link.symlink_to(target)
        with pytest.raises(UsageError, match="is no regular file"):
            write(link)
        link.unlink()
    assert others.read_bytes() == b"theirs"
    assert not new.exists()


def test_a_name_may_be_as_long_as_names_can_be(tmp_path: Path) -> None:
    file = tmp_path / ("n" * 255)
    replace_file(file, b"new")
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_was_removed_meanwhile_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with (
        pytest.raises(StorageError, match="run was removed"),
        replacing(folder / "file"),
    ):
        shutil.rmtree(folder)
    with pytest.raises(StorageError, match="run was removed"):
        replace_file(folder / "file", b"new")
    with pytest.raises(StorageError, match="run was removed"):
        report_folder(folder)


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_run_that_is_removed_while_it_is_judged_is_named_once(
    tmp_path: Path, *, is_begun: bool
) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()

    def load(_spilled: Path) -> Trace:
        shutil.rmtree(folder.path)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder.path))

    if not is_begun:
        folder.path.rmdir()
    judged = judge_folder(folder, load, why="")
    assert (judged.verdict, judged.exit_code) == (None, StorageError.exit_code)
    assert (judged.error or "").startswith("its folder was removed while it was judged: ")
    assert list(tmp_path.iterdir()) == []


# Folders and names that belong to a process as long as it lives.


HOLDER = (
    "import sys; from pathlib import Path; from contract.locks import HeldFolder; "
    "held = HeldFolder(Path(sys.argv[1]), 'x-'); print(held.path, flush=True); sys.stdin.read()"
)

STOPPED = (
    "import fcntl, os, signal, sys; lock = os.open(sys.argv[1], os.O_RDONLY); "
    "fcntl.flock(lock, fcntl.LOCK_EX); os.kill(os.getpid(), signal.SIGSTOP)"
)


@contextmanager
def stopped_with_the_lock_of(path: Path) -> Iterator[int]:
    """A process that holds the lock of a file or folder, and is stopped."""
    holder = subprocess.Popen([sys.executable, "-c", STOPPED, str(path)])
    try:
        seen = psutil.Process(holder.pid)
        wait_until(
            lambda: seen.status() == psutil.STATUS_STOPPED, what="its stop", timeout_seconds=30
        )
        yield holder.pid
    finally:
        holder.kill()
        holder.wait()


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="this system lists no locks")
def test_a_wait_for_a_stopped_process_ends_and_names_it(tmp_path: Path) -> None:
    nights, names = tmp_path / "nights", tmp_path / "nodes" / "names.lock"
    root = names.parent / "root"
    for folder in (nights, root):
        folder.mkdir(parents=True)
    for lock in (nights / ".lock", names):
        lock.touch()
    waits = {
        tmp_path: lambda: alone_in(tmp_path).__enter__(),
        names: lambda: reserve_session(tmp_path / "results", root),
        nights / ".lock": lambda: hold_night(nights, make_wanted(), is_fresh=False).__enter__(),
    }
    for lock, wait in waits.items():
        with stopped_with_the_lock_of(lock) as holder, limit_waits(0.1):
            reported = rf"process {holder}, which is stopped \(kill -CONT lets it go on\)"
            with pytest.raises(WaitTimeoutError, match=reported):
                wait()


def test_a_holder_that_the_system_does_not_name_is_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_LOCKS", tmp_path / "none")
    with (
        alone_in(tmp_path),
        limit_waits(0),
        pytest.raises(WaitTimeoutError, match="another process holds the lock"),
        alone_in(tmp_path),
    ):
        pass


def test_a_new_folder_does_not_wait_for_who_sweeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who sweeps may be stopped between the lock and the end of a folder."""
    swept: list[int] = []
    mkdir = Path.mkdir

    def held_once(path: Path) -> None:
        mkdir(path)
        if not swept:
            swept.append(os.open(path, os.O_RDONLY))
            fcntl.flock(swept[0], fcntl.LOCK_EX | fcntl.LOCK_NB)

    monkeypatch.setattr(Path, "mkdir", held_once)
    held = HeldFolder(tmp_path, "x-")
    assert len(list(tmp_path.iterdir())) == 2
    os.close(swept[0])
    assert remove_unheld(tmp_path, "x-") == Swept(removed=1)
    assert held.path.exists()


def test_a_folder_is_held_until_its_process_is_killed(tmp_path: Path) -> None:
    with waiting_python("-c", HOLDER, tmp_path) as (_, line):
        folder = Path(line.strip())
        (folder / "file").touch()
        assert is_held(folder)
        remove_unheld(tmp_path, "x-")
        assert folder.exists()
    assert not is_held(folder)
    remove_unheld(tmp_path, "y-")
    assert folder.exists()
    remove_unheld(tmp_path, "x-")
    assert not folder.exists()


def test_what_a_killed_process_left_among_temporary_files_goes_with_its_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contract.locks.gettempdir", lambda: str(tmp_path))
    holder = HOLDER.replace("'x-'", f"'{TEMPORARY}spark-'")
    with temporary_folder("own") as own, waiting_python("-c", holder, tmp_path) as (_, line):
        assert own.stat().st_mode & 0o777 == 0o700
        folder = line.strip()
        program = subprocess.Popen([sys.executable, "-c", "input()", folder], stdin=subprocess.PIPE)
        assert remove_temporary() == Swept()
        assert program.poll() is None
    assert not own.exists()
    assert remove_temporary() == Swept(removed=1)
    assert program.wait(10) == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_program_of_a_killed_session_is_ended(tmp_path: Path) -> None:
    folder = tmp_path / NODES_FOLDER / f"session-1@{socket.gethostname()[-30:]}"
    folder.mkdir(parents=True)
    program = subprocess.Popen(
        [sys.executable, "-c", "input()", str(folder)], stdin=subprocess.PIPE
    )
    program.send_signal(signal.SIGSTOP)
    end_left(tmp_path)
    assert program.wait(10) == -signal.SIGKILL
    assert sweep(tmp_path) == Swept(removed=1)


def test_a_folder_goes_with_its_object_and_another_hosts_stays(tmp_path: Path) -> None:
    held = HeldFolder(tmp_path, "x-")
    folder = held.path
    assert folder.is_dir()
    del held
    assert not folder.exists()
    other = tmp_path / "x-1@another-host"
    other.mkdir()
    remove_unheld(tmp_path, "x-")
    assert other.exists()


def test_a_name_has_one_holder(tmp_path: Path) -> None:
    first = HeldName(tmp_path / "name")
    with pytest.raises(BlockingIOError):
        HeldName(tmp_path / "name")
    assert is_held(tmp_path / "name")
    del first
    HeldName(tmp_path / "name")
    assert not is_held(tmp_path / "none")
    assert [path.name for path in tmp_path.iterdir()] == ["name"]


def test_who_asks_does_not_keep_a_name_from_its_holder(tmp_path: Path) -> None:
    """`is_held` holds a name for an instant; a holder that begins in it waits."""
    name = tmp_path / "name"
    asker = HeldName(name)
    threading.Timer(0.1, asker.release).start()
    HeldName(name)


def test_a_folder_that_is_swept_before_it_is_held_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    mkdir = Path.mkdir

    def swept_once(path: Path) -> None:
        mkdir(path)
        made.append(path)
        if len(made) == 1:
            path.rmdir()

    monkeypatch.setattr(Path, "mkdir", swept_once)
    held = HeldFolder(tmp_path, "x-")
    assert made == [made[0], held.path]
    assert is_held(held.path)


# Nothing is written or read through a link that leads out of a run, session or night.


FOLDERS = ("tables", "report", "history", "clients", "brokers", "segments")
FILES = ("tables/polls.parquet", "report/index.html", "history/driver.jsonl", "plan.json")


def judge_alone(folder: RunFolder) -> Judged:
    return judge_here(Share(at_once=1), folder)


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def judged_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    other = generated(tmp_path_factory.mktemp("judged") / "other")
    assert judge_alone(other).verdict is not None
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
    found = judge_alone(mine)
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
    assert judge_alone(linked).verdict is not None


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
    assert judge_alone(other).verdict is not None
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


def test_a_lock_is_made_and_taken_through_no_link(tmp_path: Path) -> None:
    link, target, none = tmp_path / "lock", tmp_path / "target", tmp_path / "none"
    target.write_text("kept")
    for of_link in (target, none):
        link.symlink_to(of_link)
        with pytest.raises(BlockingIOError):
            HeldName(link)
        with pytest.raises(UsageError):
            hold(tmp_path)
        with pytest.raises(PrerequisiteError, match="and no link"):
            alone_by(link, what="", timeout_seconds=0).__enter__()
        link.unlink()
    assert target.read_text() == "kept"
    assert not none.exists()


def test_locks_are_in_a_folder_of_this_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "gettempdir", lambda: str(tmp_path))
    (folder,) = (tmp_path / f"fencepost-{os.getuid()}",)
    _, held = hold_first(["a"], "x-")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "x-a.lock").stat().st_mode) == 0o600
    held.release()
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
    monkeypatch.setattr(locks, "gettempdir", lambda: str(tmp_path))
    with pytest.raises(PrerequisiteError, match="it has a slash"):
        hold_first([name], "x-")
    assert not list(tmp_path.rglob("*.lock"))


# What changed in a run's folder since it was collected.


HISTORY = "history/clients.jsonl"


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path)
    run.write_run(description_of())
    for name in (
        "plan.json",
        HISTORY,
        "clients/clients.log",
        "brokers/1/server.log",
        "tables/polls.parquet",
        "tables/log_starts.parquet",
        "report/index.html",
        "segments/1/t-0/0.log",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    write_manifest(run)
    return run


@pytest.mark.parametrize("cluster", POOLS)
@pytest.mark.parametrize("ended_micros", [None, 2])
def test_a_run_of_ours_without_a_manifest_can_not_be_relied_on(
    folder: RunFolder, cluster: str, ended_micros: int | None
) -> None:
    folder.write_run(description_of(cluster=cluster, ended_micros=ended_micros))
    (folder.path / MANIFEST_FILE).unlink()
    (reported,) = alterations(folder)
    assert reported.startswith(
        "manifest.json is missing: the run was not collected to its end, or its"
    )


@pytest.mark.parametrize("cluster", [GENERATED, "elsewhere"])
def test_a_run_from_elsewhere_without_a_manifest_is_not_compared(
    folder: RunFolder, cluster: str
) -> None:
    folder.write_run(description_of(cluster=cluster))
    (folder.path / MANIFEST_FILE).unlink()
    (folder.path / HISTORY).unlink()
    assert list(alterations(folder)) == []


def test_our_runs_are_those_of_pools() -> None:
    assert set(POOLS) == {str(kind) for kind in PoolKind}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda path: (path / HISTORY).write_text("x"), f"{HISTORY} was changed after the run"),
        (lambda path: (path / HISTORY).unlink(), f"{HISTORY} is missing, though it was collected"),
        (
            lambda path: (path / "history" / "more.jsonl").touch(),
            "history/more.jsonl was added after the run",
        ),
        (
            lambda path: (path / "tables" / "log_starts.parquet").write_text("x"),
            "tables/log_starts.parquet was changed after the run",
        ),
        (lambda path: (path / MANIFEST_FILE).write_text("{"), "manifest.json is invalid"),
        (lambda path: (path / MANIFEST_FILE).write_text("{}"), "manifest.json is invalid"),
        (
            lambda path: (path / MANIFEST_FILE).write_text('{"files":{}}'),
            "manifest.json is invalid",
        ),
        (
            lambda path: (path / MANIFEST_FILE).write_text('{"schema":2,"files":{}}'),
            "manifest.json is invalid: {path}/manifest.json has schema 2, and this release knows",
        ),
    ],
)
def test_an_alteration_is_named(
    folder: RunFolder, change: Callable[[Path], object], expected: str
) -> None:
    change(folder.path)
    (found,) = alterations(folder)
    assert found.startswith(expected.format(path=folder.path))


@pytest.mark.parametrize(
    "name", ["report/index.html", "tables/polls.parquet", "segments/1/t-0/0.log"]
)
def test_what_the_analysis_writes_or_does_not_read_may_change(folder: RunFolder, name: str) -> None:
    (folder.path / name).write_text("new")
    assert list(alterations(folder)) == []
