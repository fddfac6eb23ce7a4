"""Spark standalone on the loopback: a master, and workers of one core each."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from analysis.engine.jvm import spark_home
from contract.waiting import wait_until

LOOPBACK = "127.0.0.1"
WORKER_GB = 2
"""The memory of a worker, which its executor takes whole; the driver's is separate."""

_START_SECONDS = 60
_STOP_SECONDS = 20
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile("Successfully registered with master")
_RECENT_CHARACTERS = 2000


@contextmanager
def standalone(workers: int, folder: Path) -> Iterator[str]:
    """Yield the URL of a master with workers of one core each; all of them end with the block.

    They listen on the loopback only. Where the system can bind them, a worker's core is all that it
    has, for its compiler and its collector too; the master, and what this process starts meanwhile,
    share the workers' cores. So a worker more is a core more.

    Args:
        workers: how many.
        folder: for their logs and files; it must exist.
    """
    started: list[subprocess.Popen[bytes]] = []
    cores = _cores()
    try:
        _bind(os.getpid(), cores[:workers])
        log = folder / "master.log"
        arguments = ["--host", LOOPBACK, "--port", "0", "--webui-port", "0"]
        started.append(_start("master.Master", arguments, folder, log))
        master = _await_match(log, _MASTER)[1]
        for number in range(workers):
            log = folder / f"worker-{number}.log"
            arguments = ["--host", LOOPBACK, "--cores", "1", "--memory", f"{WORKER_GB}g"]
            arguments += ["--webui-port", "0", "--work-dir", str(folder / f"worker-{number}")]
            started.append(_start("worker.Worker", [*arguments, master], folder, log))
            _bind(started[-1].pid, cores[number : number + 1])
            _await_match(log, _REGISTERED)
        yield master
    finally:
        _bind(os.getpid(), cores)
        for process in reversed(started):
            _stop(process)


def environment() -> dict[str, str]:
    """Return the environment of a driver, master or worker on the loopback interface."""
    return {
        **os.environ,
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_HOME": str(spark_home()),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        "PYSPARK_SUBMIT_ARGS": f"--conf spark.executor.memory={WORKER_GB}g pyspark-shell",
    }


def _cores() -> list[int]:
    """The cores that this process may use; none if the system does not report them."""
    process = psutil.Process()
    return list(process.cpu_affinity()) if hasattr(process, "cpu_affinity") else []


def _bind(process: int, cores: list[int]) -> None:
    """Restrict a process and its later children to these cores; does nothing without cores."""
    if cores:
        psutil.Process(process).cpu_affinity(cores)


def _start(program: str, arguments: list[str], folder: Path, log: Path) -> subprocess.Popen[bytes]:
    env = environment()
    spark_class = str(Path(env["SPARK_HOME"]) / "bin" / "spark-class")
    with log.open("wb") as output:
        return subprocess.Popen(
            [spark_class, f"org.apache.spark.deploy.{program}", *arguments],
            cwd=folder,
            env=env,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _await_match(log: Path, pattern: re.Pattern[str]) -> re.Match[str]:
    """Return the match of a pattern in a process's log, once it is there."""
    return wait_until(
        lambda: pattern.search(log.read_text()),
        what=f"`{pattern.pattern}` in {log.name}",
        timeout_seconds=_START_SECONDS,
        hint="Spark standalone needs Java, and ports on the loopback",
        recent=lambda: log.read_text()[-_RECENT_CHARACTERS:],
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process, and those that it had started and left."""
    left = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _, alive = psutil.wait_procs(left, timeout=_STOP_SECONDS)
    for survivor in alive:
        survivor.kill()
