"""A test and a scenario of a user: a fault, a program beside the brokers, a verdict."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from command import POOL

from contract.packages import environment
from contract.run_folder import find_runs
from contract.waiting import wait_until
from tests.programs import ran, ran_python

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]
MINE = '''
import sys

import pytest

WRITE = """
import os
from kafka import KafkaProducer
# A deposed leader may be asked first, which does not respond.
producer = KafkaProducer(
    bootstrap_servers=os.environ["BOOTSTRAP_SERVERS"].split(","), request_timeout_ms=10_000
)
for number in range(10):
    producer.send("notes", str(number).encode()).get(120)
print("wrote 10")
"""


@pytest.mark.fencepost_cluster(brokers=3, topics=["orders:3:3"])
def test_a_partitioned_leader_loses_nothing(fencepost_cluster, capsys):
    kafka = fencepost_cluster
    with pytest.raises(Exception, match="a network of their own"):
        kafka.bootstrap
    kafka.create_topic("notes:1:3")
    kafka.produce("orders", records_per_second=200)
    kafka.consume("orders")
    before = kafka.partition("orders", 0)
    with kafka.fault("cut-controllers leader:orders-0"):
        ended = kafka.exec([sys.executable, "-c", WRITE])
        assert ended.exit_code == 0, ended.output
        after = kafka.partition("orders", 0)
    assert "wrote 10" in capsys.readouterr().out
    assert after.leader != before.leader
    assert after.leader_epoch > before.leader_epoch
    assert kafka.exec(["sh", "-c", "cat; exit 3"], on=2, stdin="x").exit_code == 3
    (written,) = kafka.stop_producing()
    assert written.ok > 0
    kafka.stop_consuming()
    judged = kafka.judge()
    judged.assert_holds("lost_record", "skipped_record", "fault_landed")
    judged.assert_no_violations()
    assert judged.page.is_file()
'''
STAYS = """
import time


def test_stays(fencepost_cluster):
    print("up", flush=True)
    time.sleep(600)
"""


def pytest_of(folder: Path, text: str) -> list[str]:
    file = folder / "test_mine.py"
    file.write_text(text)
    plugins = ("-p", "fencepost.pytest_plugin", "-p", "no:cacheprovider")
    return [sys.executable, "-m", "pytest", "-q", "-s", *plugins, str(file)]


def test_a_test_of_a_user_injects_runs_and_judges(tmp_path: Path) -> None:
    command = pytest_of(tmp_path, MINE)
    words = [word for word in command if word != "-s"]
    ended = ran(*words, env=environment(), cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout
    assert "1 passed" in ended.stdout


@pytest.mark.long
def test_a_killed_test_leaves_no_process(tmp_path: Path) -> None:
    started = subprocess.Popen(
        pytest_of(tmp_path, STAYS),
        env=environment({"PYTEST_DEBUG_TEMPROOT": str(tmp_path)}),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    with started:
        assert any(line.strip() == "up" for line in started.stdout)
        assert len(below(tmp_path)) > 1
        started.send_signal(signal.SIGKILL)
    wait_until(lambda: not below(tmp_path), what="the end of all processes", timeout_seconds=30)


def below(folder: Path) -> list[int]:
    """The processes whose command names a folder, but not this one."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if process.pid != os.getpid()
        and any(str(folder) in word for word in process.info["cmdline"] or [])
    ]


@pytest.mark.long
def test_what_new_scenario_writes_passes(tmp_path: Path) -> None:
    for arguments in (
        ["new", "scenario", "mine"],
        ["run", "mine_test.py::test_mine", "--cluster", POOL.value, "--seed", "19902"],
    ):
        ended = ran_python("-m", "fencepost", *arguments, env=environment(), cwd=tmp_path)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"mine_test.py", "results"}
    (run,) = find_runs(tmp_path / "results")
    assert run.run().file == "mine_test.py"
    assert run.run().rerun.startswith("fencepost run mine_test.py::test_mine --cluster")
    assert "another broker leads orders-0" in (run.report / "index.html").read_text()
