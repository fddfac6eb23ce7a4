"""A folder that can't be written keeps what it has, and who writes into it does so alone."""

import errno
import os
import shutil
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

from analysis import judging
from analysis.engine.duckdb import DuckDBEngine
from analysis.report.night_rows import Judged
from analysis.tasks import Share, judge_here
from contract import locks
from contract.errors import StorageError, WaitTimeoutError
from contract.locks import alone_in
from contract.manifest import DECODED_AGAIN
from contract.program import run_program
from contract.run_folder import RunFolder
from harness.commands.run import decode_again
from harness.decode import tables
from tests import traces
from tests.descriptions import description_of, plan_of
from tests.programs import waiting_python

FULL, READ_ONLY, REFUSED = errno.ENOSPC, errno.EROFS, errno.EACCES
EVENTS = (
    '{"event":"WorkerStarted","seq":0,"wall_micros":1790000000000000,"mono_micros":1,"worker":"w",'
    '"role":"java_worker","node":"n","client":"java","client_version":"4.4.0","pid":1}\n'
    '{"event":"WorkerStopped","seq":1,"wall_micros":1790000000000001,"mono_micros":2}\n'
)


pytestmark = pytest.mark.usefixtures("by_one_check")


def judge_here_alone(folder: RunFolder) -> Judged:
    return judge_here(Share(at_once=4), folder)


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def once_judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = traces.generated(tmp_path_factory.mktemp("once") / "run")
    assert judge_here_alone(folder).verdict is not None
    return folder.path


@pytest.fixture
def generated_run(once_judged: Path, tmp_path: Path) -> RunFolder:
    """A generated run that was judged."""
    return RunFolder(Path(shutil.copytree(once_judged, tmp_path / "it's")))


@pytest.fixture
def collected_run(tmp_path: Path) -> RunFolder:
    """A run of one worker, decoded."""
    folder = RunFolder(tmp_path / "run")
    folder.write_plan(plan_of())
    folder.write_run(description_of())
    folder.history.mkdir()
    (folder.history / "w.jsonl").write_text(EVENTS)
    assert decode_again(folder)
    assert len(list(folder.tables.iterdir())) == len(DECODED_AGAIN)
    return folder


def failing(number: int, *, after: int = 0) -> Callable[..., None]:
    """Fails as the system does when something can't be written, from some call on."""
    left = iter([None] * after)

    def fail(*_: object, **__: object) -> None:
        if next(left, 0) == 0:
            raise OSError(number, os.strerror(number))

    return fail


def before(call: Callable[..., None], usual: Callable[..., object]) -> Callable[..., object]:
    """Lets a call go first."""

    def both(*args: object, **kwargs: object) -> object:
        call()
        return usual(*args, **kwargs)

    return both


def require_kept(folder: RunFolder, there: dict[str, bytes], number: int) -> None:
    found = judge_here_alone(folder)
    assert found.verdict is None
    assert found.exit_code == StorageError.exit_code
    assert str(found.error).startswith(
        f"its folder can't be written: {os.strerror(number)}. What was there is kept: "
    )
    assert content(folder.path) == there
    assert not list(folder.path.glob(".*"))


@pytest.mark.parametrize(
    ("where", "name", "number", "after"),
    [
        *((Path, "mkdir", number, 0) for number in (FULL, READ_ONLY, REFUSED, errno.EDQUOT)),
        # Page, JUnit, Markdown, metrics and verdict are each written as a whole, and moved at last.
        *((os, "fsync", FULL, after) for after in range(5)),
        (pq.ParquetWriter, "write_table", FULL, 0),
    ],
)
def test_a_folder_that_can_not_be_written_keeps_its_report(
    generated_run: RunFolder,
    monkeypatch: pytest.MonkeyPatch,
    where: object,
    name: str,
    number: int,
    after: int,
) -> None:
    there = content(generated_run.path)
    monkeypatch.setattr(where, name, failing(number, after=after))
    require_kept(generated_run, there, number)


def test_a_disk_that_is_full_for_an_engine_decides_no_check(
    generated_run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = content(generated_run.path)

    def spill(*_: object) -> None:
        raise duckdb.IOException('Could not write file "x": No space left on device')

    monkeypatch.setattr(DuckDBEngine, "keep", spill)
    require_kept(generated_run, there, FULL)


def test_a_failure_leaves_no_earlier_verdict(generated_run: RunFolder) -> None:
    (generated_run.path / "plan.json").write_text("{")
    found = judge_here_alone(generated_run)
    assert found.exit_code == 64
    assert "is not a valid Plan" in str(found.error)
    assert not list(generated_run.report.glob("[!p]*"))


def test_an_unexpected_error_leaves_its_traceback_and_no_earlier_verdict(
    generated_run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(judging, "answer", crash)
    found = judge_here_alone(generated_run)
    assert found.exit_code == 70
    assert "the analysis failed: unexpected ZeroDivisionError" in str(found.error)
    assert "Traceback" in (generated_run.report / "traceback.txt").read_text()
    left = {path.name for path in generated_run.report.iterdir() if "plotly" not in path.name}
    assert left == {"traceback.txt"}


@pytest.mark.parametrize("after", [0, 1, 17])
def test_a_disk_that_becomes_full_loses_no_table(
    collected_run: RunFolder, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    there = content(collected_run.path)
    write = before(failing(FULL, after=after), pq.write_table)
    monkeypatch.setattr(tables.pq, "write_table", write)
    with pytest.raises(StorageError, match=r"run can't be written: No space left on device\."):
        decode_again(collected_run)
    assert content(collected_run.path) == there
    assert not list(collected_run.path.glob(".*"))


def test_a_read_only_run_is_reported_in_one_sentence(
    collected_run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "mkdir", failing(READ_ONLY))
    with pytest.raises(StorageError, match="copy it to a folder that this user can write"):
        decode_again(collected_run)


def test_a_run_of_an_earlier_release_is_not_decoded_again(collected_run: RunFolder) -> None:
    pq.write_table(pa.table({"target": ["leader:t-0"]}), collected_run.tables / "faults.parquet")
    there = content(collected_run.path)
    assert decode_again(collected_run)
    assert content(collected_run.path) == there


def test_four_analyses_at_once_come_to_one_verdict(collected_run: RunFolder) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(decode_again, [collected_run] * 4))
        found = list(pool.map(judge_here_alone, [collected_run] * 4))
    assert {run.error for run in found} == {None}
    assert len({str(run.verdict.doubts) for run in found if run.verdict is not None}) == 1
    assert len(list(collected_run.tables.iterdir())) == len(DECODED_AGAIN)
    assert not list(collected_run.path.glob(".*"))


def test_who_writes_waits_for_who_writes(collected_run: RunFolder) -> None:
    is_done = threading.Event()

    def decode() -> None:
        decode_again(collected_run)
        is_done.set()

    with alone_in(collected_run.path):
        waiting = threading.Thread(target=decode)
        waiting.start()
        assert not is_done.is_set()
        (collected_run.history / "w.jsonl").write_text(EVENTS * 2)
    waiting.join()
    rows = pq.read_table(collected_run.tables / "histories.parquet").to_pylist()
    assert rows[0]["duplicate_lines"] == 2


def test_a_wait_for_another_process_ends_with_its_name(
    generated_run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = content(generated_run.path)
    monkeypatch.setattr(locks, "_WRITER_SECONDS", 0)
    with alone_in(generated_run.path):
        found = judge_here_alone(generated_run)
    assert found.exit_code == WaitTimeoutError.exit_code
    assert f"the end of what another process writes into {generated_run.path}" in str(found.error)
    assert content(generated_run.path) == there


def test_a_killed_analysis_loses_no_report(generated_run: RunFolder) -> None:
    there = content(generated_run.path)
    program = (
        "import sys; from functools import partial; from pathlib import Path\n"
        "from analysis import judging\n"
        "from analysis.tasks import Share, judge_here; from contract.run_folder import RunFolder\n"
        "judging._write = lambda *_: (print('writing', flush=True), sys.stdin.read())\n"
        "judging.judge = partial(judging.judge, only=[])\n"
        "judge_here(Share(at_once=1), RunFolder(Path(sys.argv[1])))\n"
    )
    with waiting_python("-c", program, generated_run.path) as (_, line):
        assert line == "writing\n"
    left = {name: data for name, data in content(generated_run.path).items() if name[0] != "."}
    assert left == there
    assert judge_here_alone(generated_run).verdict is not None
    assert not list(generated_run.path.glob(".*"))


@pytest.mark.parametrize("number", [FULL, READ_ONLY, REFUSED])
def test_any_command_tells_it_in_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(sys, "argv", ["x"])
    app = typer.Typer()

    @app.command()
    def write() -> None:
        raise OSError(number, os.strerror(number), "a/file")

    with pytest.raises(SystemExit) as ended:
        run_program(app, name="x")
    assert ended.value.code == StorageError.exit_code
    reported = capsys.readouterr().err
    assert reported.startswith(f"error: a/file can't be written: {os.strerror(number)}.")
    assert reported.count("\n") == 1
