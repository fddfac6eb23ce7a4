"""A Spark cluster on which runs can't be judged: the reason is one line, and comes soon."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from analysis.engine import executors, jvm
from analysis.engine.executors import Size, Standalone, Watch
from analysis.tasks import _reason
from contract.errors import AnalysisError, PrerequisiteError
from contract.processes import require_master
from tests.standalone import environment, standalone
from tests.traces import generated

SMALL, LARGE = Size(1, 1024), Size(8, 65_536)
MASTER = "spark://127.0.0.1:7077"


# A master that is not there.


def test_a_master_that_is_not_there_is_named_before_spark_starts() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        silent = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(PrerequisiteError) as told:
            require_master(f"spark://{silent}")
        assert str(told.value) == (
            f"No Spark master listens at {silent} (Connection refused): start it, or give "
            "--master the URL that it logs when it starts"
        )
        with pytest.raises(PrerequisiteError, match=rf"at no\.invalid:1 \(.*\) or {silent} "):
            require_master(f"spark://no.invalid:1,{silent}")
        with socket.create_server(("127.0.0.1", 0)) as master:
            require_master(f"spark://{silent},127.0.0.1:{master.getsockname()[1]}")


@pytest.mark.parametrize("master", [None, "local[2]", "yarn", "k8s://https://127.0.0.1:1"])
def test_other_masters_are_left_to_spark(master: str | None) -> None:
    require_master(master)


# What a standalone master says of its workers.


@pytest.mark.parametrize(
    ("executor", "workers", "problem"),
    [
        (SMALL, [SMALL], None),
        (LARGE, [SMALL, LARGE], None),
        (SMALL, [], "the master has no worker. Start one (fencepost docs clusters)"),
        (
            Size(1, 8192),
            [SMALL, SMALL],
            (
                "an executor needs 1 core and 8,192 MiB, and the workers have 1 core and 1,024 MiB "
                "(2 workers)"
            ),
        ),
        (
            Size(2, 8192),
            [SMALL, Size(1, 9000), Size(2, 512)],
            (
                "an executor needs 2 cores and 8,192 MiB, and the workers have 1 core and 9,000 "
                "MiB, or 1 core and 1,024 MiB, or 2 cores and 512 MiB"
            ),
        ),
        (
            LARGE,
            [Size(1, size) for size in range(1, 8)],
            (
                "an executor needs 8 cores and 65,536 MiB, and the workers have 1 core and 7 MiB, "
                "or 1 core and 6 MiB, or 1 core and 5 MiB, or 1 core and 4 MiB, or 1 core and 3 "
                "MiB, or 2 kinds more"
            ),
        ),
    ],
)
def test_an_executor_that_no_worker_can_have_is_told_from_one_that_waits(
    executor: Size, workers: list[Size], problem: str | None
) -> None:
    said = Standalone(executor, tuple(workers)).problem()
    assert (said or "").partition(". Give less:")[0] == (problem or "")


class Job:
    """A watched job, and its clock."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        found: Standalone | None,
        master: str = MASTER,
    ) -> None:
        self.now, self.told = 0.0, list[str]()
        spark: Any = SimpleNamespace(master=master)
        monkeypatch.setattr(executors, "standalone", lambda _: found)
        self.watch = Watch(spark, self.told.append, lambda: self.now)

    def look(self, running: int | None, *, seconds: float = 1) -> None:
        """Look after so long."""
        self.now += seconds
        self.watch.look(running)

    def look_for_a_minute(self) -> None:
        """Look each second, while no task runs."""
        for _ in range(60):
            self.look(0)


def test_a_busy_cluster_is_waited_for_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(monkeypatch, Standalone(SMALL, (SMALL, SMALL)))
    job.look_for_a_minute()
    assert job.told == [
        (
            f"waiting for executors of {MASTER}: it may be busy (an executor needs 1 core and "
            "1,024 MiB, and the workers have 1 core and 1,024 MiB (2 workers))"
        )
    ]


def test_a_cluster_that_says_nothing_of_its_workers_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = Job(monkeypatch, None, "yarn")
    job.look_for_a_minute()
    assert job.told == ["waiting for executors of yarn: it may be busy"]


def test_a_cluster_whose_workers_are_too_small_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = Job(monkeypatch, Standalone(LARGE, (SMALL,)))
    with pytest.raises(AnalysisError, match=f"^No executor can start on {MASTER}: an executor "):
        job.look_for_a_minute()
    assert job.now < 10
    assert job.told == []


@pytest.mark.parametrize("running", [1, None])
def test_tasks_that_run_wait_for_nothing(
    running: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job(monkeypatch, Standalone(LARGE, ()))
    job.look(0)
    job.look(running, seconds=60)
    job.look(0)
    job.look(0)
    local = Job(monkeypatch, Standalone(LARGE, ()), "local[2]")
    local.look(0)
    local.look(0, seconds=60)
    assert (job.told, local.told) == ([], [])


def test_each_master_of_a_url_is_asked() -> None:
    assert jvm.masters("spark://a:1,b:2") == ["spark://a:1", "spark://b:2"]
    assert jvm.masters("local-cluster[1,1,1024]") == jvm.masters("yarn") == []


# What executors say.


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("error=2, No such file or directory", "No such file or directory"),
        ("Exec failed, error: 13 (Permission denied) ", "(Permission denied)"),
    ],
)
@pytest.mark.parametrize("where", ["", ' (in directory ".")'])
def test_an_interpreter_that_executors_do_not_have_is_named(
    said: str, why: str, where: str
) -> None:
    error = OSError(
        f'org.X: y\n\tat a.b\nCaused by: Cannot run program "/a b"{where}: {said}\n\tat'
    )
    reason = _reason(error)
    assert reason.startswith(
        f"Spark's executors have no Python interpreter /a b ({why.strip('()')})"
    )


# A real standalone master, with two workers of one core each on the loopback interface.


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with standalone(2, tmp_path_factory.mktemp("standalone")) as url:
        yield url


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated(tmp_path_factory.mktemp("runs") / "run").path


def analyze(run: Path, master: str, *settings: str) -> "subprocess.Popen[str]":
    given = [word for setting in settings for word in ("--conf", setting)]
    return subprocess.Popen(
        [sys.executable, "-m", "harness", "analyze", str(run), "--master", master, *given],
        env={**environment(), "PYSPARK_SUBMIT_ARGS": "pyspark-shell"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said_by(process: "subprocess.Popen[str]") -> str:
    """What a command says on standard error until it ends; it is ended if it does not."""
    try:
        return process.communicate(timeout=300)[1]
    finally:
        if process.poll() is None:
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
            process.kill()


@pytest.mark.extended
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "spark.pyspark.python=/no/such/python",
            (
                r"Spark's executors have no Python interpreter /no/such/python "
                r"\(No such file or directory\)\. .*"
            ),
        ),
        (
            "spark.executor.memory=8g",
            (
                r"No executor can start on spark://127\.0\.0\.1:\d+: an executor needs 1 core "
                r"and 8,192 MiB, and the workers have 1 core and 2,048 MiB \(2 workers\)\. Give .*"
            ),
        ),
        ("spark.executor.cores=4", r"No executor can start on .* needs 4 cores and 1,024 MiB, .*"),
        ("spark.task.cpus=2", r"No executor can start on .* needs 2 cores and 1,024 MiB, .*"),
    ],
)
def test_what_a_cluster_lacks_is_one_line(
    setting: str, message: str, master: str, run: Path
) -> None:
    said = said_by(analyze(run, master, setting))
    (line,) = [line for line in said.splitlines() if not re.match(r" +[\d.]+ s  ", line)]
    assert re.fullmatch(f"error: {message}", line), said


@pytest.mark.extended
def test_a_busy_cluster_is_waited_for(master: str, run: Path) -> None:
    busy = subprocess.Popen(
        [
            sys.executable,
            "-c",
            (
                "from pyspark.sql import SparkSession\n"
                f"SparkSession.builder.master({master!r}).getOrCreate()\n"
                "print('has all cores', flush=True)\ninput()"
            ),
        ],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert busy.stdout is not None
    assert busy.stdout.readline() == "has all cores\n"
    waiting = analyze(run, master)
    assert waiting.stderr is not None
    lines = iter(waiting.stderr.readline, "")
    assert any(f"waiting for executors of {master}: it may be busy" in line for line in lines)
    busy.communicate("\n", timeout=60)
    said = said_by(waiting)
    assert waiting.returncode == 0, said


@pytest.mark.extended
def test_a_master_that_is_not_there_ends_the_command(run: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        ended = analyze(run, f"spark://127.0.0.1:{listener.getsockname()[1]}")
        said = said_by(ended)
    assert ended.returncode == PrerequisiteError.exit_code
    assert "error: No Spark master listens at 127.0.0.1:" in said
