"""Spark that is opened: its options, its JVM, and what is told where it does not open."""

import io
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Thread
from typing import Any

import psutil
import pytest
from pyspark.accumulators import AccumulatorTCPServer, UpdateRequestHandler

from analysis import cli, early, opening
from analysis.engine import class_data, session
from analysis.engine.session import _print_no_lost_connection, open_spark
from analysis.engine.settings import settings_of
from contract.errors import AnalysisError, PrerequisiteError, StorageError, UsageError
from contract.locks import HeldFolder
from contract.processes import ClassData, is_local, require_options, require_spark_home
from contract.waiting import wait_until
from harness.commands import judging
from harness.commands.judging import EarlyAnalysis, count_stories, options_of
from harness.commands.requirements import require_programs
from harness.session.catalog import ScenarioFile
from tests.programs import ran_python

# Spark that does not open: its options are told in one line, and nothing stays behind.


OF_JVM = """WARNING: Using incubator modules
Error: Could not create the Java Virtual Machine.
Error: A fatal exception has occurred. Program will exit.
Invalid initial heap size: -Xms-5g
"""
OF_SPARK = """Exception in thread "main"
org.apache.spark.SparkException: Could not parse Master URL: 'x'
\tat org.apache.spark.SparkContext$.createTaskScheduler(SparkContext.scala)
"""


@pytest.fixture
def own_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def opens(monkeypatch: pytest.MonkeyPatch, how: Callable[[], Any]) -> None:
    monkeypatch.setattr(session, "open_spark", lambda *_, **__: how())


@pytest.mark.parametrize(
    "master",
    [
        "nope",
        "",
        "local[-3]",
        "local[0]",
        "local[x]",
        "local[2",
        "spark://",
        "spark://a:b",
        "yarn ",
    ],
)
def test_a_master_of_another_form_is_named(master: str) -> None:
    with pytest.raises(UsageError, match=r"^--master "):
        require_options(master, [])


@pytest.mark.parametrize(
    "master",
    [
        None,
        "local",
        "local[2]",
        "local[*]",
        "local[*,3]",
        "local[2, 1]",
        "local-cluster[2,1,1024]",
        "spark://a:7077,b:7077",
        "yarn",
        "k8s://https://a:443",
    ],
)
def test_masters_of_spark_are_taken(master: str | None) -> None:
    require_options(master, ["spark.driver.memory=4g", "spark.executor.cores=2", "spark.x=-5g"])
    assert is_local(master) == (master is None or master.partition("[")[0] == "local")


@pytest.mark.parametrize(
    "setting",
    [
        "spark.driver.memory=-5g",
        "spark.executor.memory=0",
        "spark.executor.memoryOverhead=1 g",
        "spark.driver.memory=",
        "spark.executor.cores=abc",
        "spark.task.cpus=0",
        "spark.cores.max=-1",
    ],
)
def test_a_setting_of_another_form_is_named(setting: str) -> None:
    with pytest.raises(UsageError, match=f"^--conf {setting}: expected "):
        require_options("local[2]", ["spark.executor.memory=4g", setting])


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (OF_JVM, "Invalid initial heap size: -Xms-5g"),
        (OF_SPARK, "org.apache.spark.SparkException: Could not parse Master URL: 'x'"),
        ("", ""),
    ],
)
def test_of_what_the_jvm_prints_one_line_is_reported(
    said: str,
    why: str,
    own_temp: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fails() -> None:
        sys.stderr.write(said)
        raise AnalysisError("Spark did not start on local")

    opens(monkeypatch, fails)
    with pytest.raises(AnalysisError) as reported:
        opening.open_spark()
    assert str(reported.value) == f"Spark did not start on local{f' ({why})' if why else ''}"
    with pytest.raises(UsageError, match=r"^--conf spark\.a=b: Spark did not start"):
        cli.Asked(None, {"spark.a": "b"}).open()
    with pytest.raises(AnalysisError):
        cli.Asked("spark://a:7077", {"spark.a": "b"}).open()
    assert capfd.readouterr() == ("", "")
    assert list(own_temp.iterdir()) == []


def test_a_java_that_hangs_is_ended(own_temp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[psutil.Process] = []

    def hangs() -> None:
        java = subprocess.Popen(["sh", "-c", "sleep 1000; true"])
        started.append(psutil.Process(java.pid))
        java.wait()

    opens(monkeypatch, hangs)
    monkeypatch.setattr(opening, "OPEN_SECONDS", 0.5)
    with pytest.raises(PrerequisiteError, match="Java did not start Spark within"):
        opening.open_spark()
    java = started[0]
    wait_until(
        lambda: not java.is_running() or java.status() == psutil.STATUS_ZOMBIE,
        what="the killed program's end",
        timeout_seconds=60,
    )
    assert list(own_temp.iterdir()) == []


# Settings of Spark that a user gives.


def test_a_value_may_hold_equals_signs_and_the_last_one_counts() -> None:
    given = ["spark.a=1", "spark.driver.extraJavaOptions=-Da=b -Dc=d", "spark.a= 2 ", "spark.e="]
    assert settings_of(given) == {
        "spark.a": "2",
        "spark.driver.extraJavaOptions": "-Da=b -Dc=d",
        "spark.e": "",
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("spark.executor.memory", "expected KEY=VALUE"),
        ("=4g", "expected KEY=VALUE"),
        ("", "expected KEY=VALUE"),
        ("fs.s3a.endpoint=here", "--conf spark.hadoop.fs.s3a.endpoint=here"),
        ("spark.master=local", "use --master local"),
        ("spark.sql.session.timeZone=CET", "settings of SQL can't be given"),
    ],
)
def test_a_bad_setting_is_refused(given: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        settings_of([given])


def test_a_jvm_that_refuses_its_first_call_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one does that was ended while it started."""

    def refuse(**_: object) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(session, "SparkContext", refuse)
    with pytest.raises(AnalysisError, match=r"Spark did not start on .*Connection refused"):
        open_spark()


@pytest.mark.parametrize("why", ["full", "missing"])
def test_temporary_files_that_can_not_be_written_are_named_before_spark_starts(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path if why == "full" else tmp_path / "none"
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(session, "_held", [])
    monkeypatch.setattr(session, "SparkContext", pytest.fail)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if why == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with (
            pytest.raises(StorageError) as reported,
            cli.naming_runs([Path("results/1"), "s3a://b/2"]),
        ):
            opening.open_spark()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    said = str(reported.value)
    assert said.startswith(f"{folder} can't be written (")
    assert "set TMPDIR to another folder; the runs are kept" in said
    assert said.endswith("judge them with: fencepost analyze results/1 s3a://b/2")


def test_a_killed_jvm_is_named_with_the_command_that_judges_again() -> None:
    with pytest.raises(AnalysisError) as reported, cli.naming_runs([Path("a b")]):
        raise session.jvm_ended()
    assert str(reported.value).endswith("judge them with: fencepost analyze 'a b'")


def left_by_a_killed_one(folder: Path) -> Path:
    """The folder of an analysis that could not remove it."""
    killed = HeldFolder(folder, "fencepost-spark-")
    (killed.path / "spark-1").mkdir()
    left = shutil.move(killed.path, folder / "kept")
    killed.remove()
    return Path(shutil.move(left, killed.path))


def test_temporary_files_of_a_killed_analysis_are_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(session, "_held", [])
    left_by_a_killed_one(tmp_path)
    own = session.folder_of_temporary_files()
    assert session.folder_of_temporary_files() == own
    assert list(tmp_path.iterdir()) == [own]


def test_the_jvm_of_a_killed_analysis_is_ended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has not yet read its standard input, and would stay without its folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(session, "_held", [])
    other = HeldFolder(tmp_path, "fencepost-spark-")
    elsewhere = tmp_path / "fencepost-spark-elsewhere"
    programs = []
    killed = left_by_a_killed_one(tmp_path)
    for folder in (killed, other.path, elsewhere):
        option = f"-Djava.io.tmpdir={folder}"
        program = [sys.executable, "-c", "input()", option]
        programs.append(subprocess.Popen(program, stdin=subprocess.PIPE))
    session.folder_of_temporary_files()
    ended, *running = programs
    assert ended.wait(60) == -signal.SIGKILL
    for process in running:  # of an analysis that goes on; of one whose folders are not those here
        assert process.poll() is None
        process.communicate()


def test_an_analysis_that_is_asked_to_end_removes_its_temporary_files(tmp_path: Path) -> None:
    program = (
        "import signal; from analysis.engine import session\n"
        "(session.folder_of_temporary_files() / 'spark-1').mkdir()\n"
        "signal.raise_signal(signal.SIGTERM)"
    )
    ended = ran_python("-c", program, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert ended.returncode == -signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


# A SPARK_HOME that has no Spark is told before anything starts.


@pytest.mark.parametrize("require", [require_programs, open_spark])
@pytest.mark.parametrize("home", ["/nonexist", "", "a file", "a folder", "not executable"])
def test_a_spark_home_without_spark_is_reported(
    require: object, home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(require)
    monkeypatch.chdir(tmp_path)
    Path("a file").touch()
    Path("a folder").mkdir()
    Path("not executable", "bin").mkdir(parents=True)
    Path("not executable", "bin", "spark-submit").touch(mode=0o644)
    monkeypatch.setenv("SPARK_HOME", home)
    with pytest.raises(PrerequisiteError, match=f"^SPARK_HOME={home} names no Spark .*unset it$"):
        require()


def test_a_spark_home_with_spark_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = tmp_path / "bin" / "spark-submit"
    launcher.parent.mkdir()
    launcher.touch(mode=0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    require_spark_home()
    monkeypatch.delenv("SPARK_HOME")
    require_spark_home()


# What an error of Spark or of its JVM says.


# What serves Spark's JVM prints nothing when that is killed: the analysis says it in one line.


def test_a_lost_connection_prints_no_traceback(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AccumulatorTCPServer, "handle_error", AccumulatorTCPServer.handle_error)
    _print_no_lost_connection()
    server = AccumulatorTCPServer(("127.0.0.1", 0), UpdateRequestHandler, "token")
    with server:
        serving = Thread(target=server.handle_request)
        serving.start()
        with socket.create_connection(server.server_address) as jvm:
            jvm.sendall(b"to")
        serving.join(10)
        assert not serving.is_alive()
    assert capfd.readouterr().err == ""


# What is printed while Spark's JVM starts stays out of the terminal, unless it does not start.


PROGRAM = """
import subprocess, sys
from analysis.engine.quiet import quiet
with quiet():
    subprocess.run("echo out; echo err >&2", shell=True, check=True)
    later = subprocess.Popen("read _; echo late; echo later >&2", shell=True, stdin=subprocess.PIPE)
    if sys.argv[1] == "fail":
        raise SystemExit(7)
print("after")
later.communicate(b"\\n")
"""


def test_programs_print_nothing_as_long_as_they_run() -> None:
    ended = ran_python("-c", PROGRAM, "pass")
    assert (ended.stdout, ended.stderr, ended.returncode) == ("after\n", "", 0)


def test_what_they_printed_is_shown_after_an_exception() -> None:
    ended = ran_python("-c", PROGRAM, "fail")
    assert (ended.stdout, ended.returncode) == ("", 7)
    assert ended.stderr == "out\nerr\n"


# The process of the analysis starts before its runs are collected, and never stays.


EARLY, ORDINARY = 3, 4
ANALYSIS = """
import json, os, sys
from contract.processes import report_end
log, *options = sys.argv[1:]
is_early = options[-1:] == ["--early"]
del options[-1 if is_early else -2:]
assert options in ([], ["--verbose", "--json"])
assert is_early or sys.argv[-2] == "--"
with open(log, "a") as file:
    print(os.getpid(), file=file)
folder = json.loads(sys.stdin.readline()) if is_early else sys.argv[-1]
report_end()
sys.exit((3 if is_early else 4) if folder == "results/a\\nb" else 5)
"""
FOLDER = Path("results/a\nb")
SETTLING, FINAL, COLLECTING = "settling: x", "final read: x", "collecting: x"
HELD, STARTING = "held: kill follower:orders-0", "starting: servers and clients"


@pytest.fixture
def await_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[int]]:
    """Waits until so many processes of the analysis have started, and returns their ids."""
    log = tmp_path / "log"
    monkeypatch.setattr(judging, "_COMMAND", (sys.executable, "-c", ANALYSIS, str(log)))

    def ids() -> list[int]:
        return [int(line) for line in log.read_text().split()] if log.exists() else []

    def wait(count: int) -> list[int]:
        what = f"{count} processes of the analysis"
        wait_until(lambda: len(ids()) >= count, what=what, timeout_seconds=30)
        return ids()

    return wait


@pytest.mark.parametrize(
    ("stories", "phases", "judged"),
    [
        (1, [], ORDINARY),
        (1, ["starting ducktape", STARTING, HELD], ORDINARY),
        (1, [STARTING, HELD, SETTLING], EARLY),
        (1, [STARTING, "healed: x", FINAL], EARLY),
        (1, [HELD, COLLECTING], EARLY),
        (1, [HELD, SETTLING, FINAL, COLLECTING], EARLY),
        (1, [HELD, SETTLING, HELD], ORDINARY),
        (1, [HELD, SETTLING, HELD, SETTLING], EARLY),
        (2, [HELD, SETTLING, COLLECTING], ORDINARY),
        (2, [HELD, SETTLING, COLLECTING, STARTING, HELD, SETTLING, COLLECTING], EARLY),
        (1, [SETTLING, COLLECTING, STARTING, HELD], ORDINARY),
    ],
)
def test_it_starts_when_no_fault_follows(
    await_started: Callable[[int], list[int]], stories: int, phases: list[str], judged: int
) -> None:
    options = options_of(is_verbose=True, as_json=True)
    assert options == ("--verbose", "--json")
    with EarlyAnalysis(stories=stories, options=options) as analysis:
        for phase in phases:
            analysis.phase(phase)
        assert analysis.judge(FOLDER) == judged
    assert len(await_started(1)) >= 1


def test_one_that_ended_before_it_was_asked_is_replaced(
    await_started: Callable[[int], list[int]],
) -> None:
    with EarlyAnalysis(stories=1) as analysis:
        analysis.phase(SETTLING)
        (process,) = await_started(1)
        os.kill(process, 9)
        wait_until(
            lambda: psutil.Process(process).status() == psutil.STATUS_ZOMBIE,
            what="its end",
            timeout_seconds=30,
        )
        assert analysis.judge(FOLDER) == ORDINARY
    assert len(await_started(2)) == 2


def test_one_that_is_not_asked_ends_with_the_command(
    await_started: Callable[[int], list[int]],
) -> None:
    def interrupt(block: AbstractContextManager[EarlyAnalysis]) -> None:
        with block as analysis:
            analysis.phase(SETTLING)
            await_started(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt(EarlyAnalysis(stories=1))
    (process,) = await_started(1)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_no_options_are_none() -> None:
    assert options_of(is_verbose=False, as_json=False) == ()


def test_stories_are_the_declared_sets_of_parameters() -> None:
    matrix = ScenarioFile("a", Path("a"), "?", ({"x": 1}, {"x": 2}))
    unknown = ScenarioFile("b", Path("b"), "?", None)
    assert count_stories([matrix, unknown], {}) == 3
    assert count_stories([matrix], {"x": 2}) == 1


class ReplacedError(Exception):
    """Raised in the place of replacing the process."""


def test_it_starts_again_where_spark_did_not_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise OSError

    def replace(_: str, argv: list[str]) -> None:
        raise ReplacedError(*argv[1:])

    monkeypatch.setattr(early, "open_spark", fails)
    monkeypatch.setattr(early, "lower_priority", lambda: lambda: None)
    monkeypatch.setattr(os, "execv", replace)
    monkeypatch.setattr(sys, "argv", ["analysis", "--json", "--early"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(str(tmp_path)) + "\n"))
    with pytest.raises(ReplacedError) as ended:
        early.ready_for_folder()
    assert ended.value.args == ("-P", "-m", "analysis.__main__", "--json", "--", str(tmp_path))


# Class data of Spark's JVM.

RECORDS = """
import sys
sys.prefix = sys.argv[1]
from analysis import prepare
from analysis.engine import class_data
prepare.record_class_data()
print(*class_data.flags())
"""


@pytest.mark.spark
@pytest.mark.extended
def test_class_data_are_recorded_once_and_used(tmp_path: Path) -> None:
    flags = [ran_python("-c", RECORDS, tmp_path).stdout]
    (archive,) = tmp_path.rglob("*.jsa")
    changed = archive.stat().st_mtime_ns
    flags.append(ran_python("-c", RECORDS, tmp_path).stdout)
    assert all(flag.startswith(f"-XX:SharedArchiveFile={archive} ") for flag in flags)
    assert archive.stat().st_mtime_ns == changed


def test_folders_of_classes_leave_no_class_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """A JVM whose class path has a folder with files ends when it is to write an archive."""
    monkeypatch.setattr(class_data, "_place", lambda: ClassData(Path("none"), "spark", "17", "0"))
    assert class_data.to_record() is not None
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    assert class_data.to_record() is None
