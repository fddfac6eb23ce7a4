"""The sandbox and its pool, for real: cuts bite, and nothing outlives the harness."""

import os
import signal
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import psutil
import pytest

from cluster.nodes.sandbox import Sandbox, sandbox_problem
from contract.waiting import wait_until
from tests.programs import ran

ROOT = Path(__file__).resolve().parents[2]
INSIDE = str(Path(__file__).with_name("inside.py"))
NOBODY = 65534

pytestmark = pytest.mark.live

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
if sandbox_problem() is not None:
    pytest.skip(str(sandbox_problem()), allow_module_level=True)


def processes_with(mark: str) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(mark in word for word in process.info["cmdline"] or [])
    ]


def test_each_cut_bites_and_its_heal_undoes_only_that(tmp_path: Path) -> None:
    command = [sys.executable, INSIDE, str(tmp_path)]
    sandbox = Sandbox(
        command, env=ENVIRONMENT, cwd=ROOT, stdout=subprocess.PIPE, writable=[tmp_path]
    )
    assert sandbox.stdout is not None
    said = sandbox.stdout.read().decode()
    assert sandbox.wait() == 0, said
    assert "all cuts bit" in said
    assert processes_with(str(tmp_path)) == []


def test_the_commands_exit_status_comes_through() -> None:
    assert Sandbox(["sh", "-c", "exit 7"], env=ENVIRONMENT, cwd=ROOT).wait() == 7


def test_nothing_outlives_a_killed_harness() -> None:
    mark = f"600.{uuid.uuid4().int % 10**9}"
    script = (
        "import os, sys; from pathlib import Path\n"
        "from cluster.nodes.sandbox import Sandbox\n"
        f"argv = ['sh', '-c', 'sleep {mark} & setsid sleep {mark}']\n"
        "Sandbox(argv, env=dict(os.environ), cwd=Path('.')).wait()\n"
    )
    harness = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env=ENVIRONMENT)
    wait_until(
        lambda: len([p for p in processes_with(mark) if p.name() == "sleep"]) == 2,
        what="both sleepers",
        timeout_seconds=20,
    )
    harness.send_signal(signal.SIGKILL)
    harness.wait()
    wait_until(lambda: not processes_with(mark), what="their end", timeout_seconds=20)


FORBIDDEN = {
    "another folder": "echo x > /var/tmp/fencepost-not",
    "a kernel setting": "echo 4 > /proc/sys/kernel/printk",
    "a key of the kernel": "echo h > /proc/sysrq-trigger",
    "a power state": "echo x > /sys/power/state",
    "a disk": "ls /dev/[hsv]d[a-z] /dev/nvme* /dev/mem 2>&1 | grep -v 'No such file'",
    "the passwords": "test -s /etc/shadow && cat /etc/shadow",
    "a key of a user": "ls -A ~/.ssh | grep .",
    "the daemon of containers": "ls /run/docker.sock /var/run/docker.sock",
    "to write all again": "mount -o remount,bind,rw /",
    "to uncover a file": "umount /etc/shadow",
    "to uncover devices": "umount -l /dev",
    "another root": "cd /proc/1/root",
    "other processes": "kill -0 $OUTSIDE",
    "to load a module": "modprobe dummy",
    "to change the clock": "date -s @0",
    "to own a file of another": "chown 1 $OWN/file",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_a_sandbox_can_not_reach(what: str, tmp_path: Path) -> None:
    script = f"echo content > $OWN/file || exit 7; {FORBIDDEN[what]}"
    sandbox = Sandbox(
        ["sh", "-c", script],
        env={**ENVIRONMENT, "OWN": str(tmp_path), "OUTSIDE": str(os.getpid())},
        cwd=Path("/"),
        stdout=subprocess.PIPE,
        writable=[tmp_path],
    )
    assert sandbox.stdout is not None
    said = sandbox.stdout.read().decode()
    assert sandbox.wait() not in (0, 7), said
    assert (tmp_path / "file").read_text() == "content\n"
    assert not Path("/var/tmp/fencepost-not").exists()


def test_a_sandbox_has_what_programs_need(tmp_path: Path) -> None:
    script = "mktemp && echo x > /dev/null && head -c 1 /dev/urandom > $OWN/x && cat /etc/hosts"
    sandbox = Sandbox(
        ["sh", "-c", script],
        env={**ENVIRONMENT, "OWN": str(tmp_path)},
        cwd=Path("/"),
        stdout=subprocess.PIPE,
        writable=[tmp_path],
    )
    assert sandbox.stdout is not None
    assert sandbox.stdout.read().startswith(b"/run/")
    assert sandbox.wait() == 0


@pytest.mark.parametrize("parent", ["/dev/shm", "/run", "/tmp", "/var/tmp"])
def test_a_sandbox_can_write_its_folders_wherever_they_are(parent: str) -> None:
    with tempfile.TemporaryDirectory(dir=parent) as name:
        folder = Path(name, "a b,c")
        folder.mkdir()
        script = f"cd '{folder}' && mkdir x && echo content > x/file && ip netns add y"
        sandbox = Sandbox(["sh", "-c", script], env=ENVIRONMENT, cwd=ROOT, writable=[folder])
        assert sandbox.wait() == 0
        assert (folder / "x" / "file").read_text() == "content\n"


@pytest.mark.parametrize("stopped", ["unshare", "the first process", "the command"])
def test_what_is_stopped_ends_with_the_sandbox(stopped: str) -> None:
    mark = f"600.{uuid.uuid4().int % 10**9}"
    sandbox = Sandbox(["sleep", mark], env=ENVIRONMENT, cwd=ROOT)

    def processes_inside() -> list[psutil.Process] | None:
        """unshare, the first process in the sandbox, and the command inside."""
        inside = processes_with(mark)
        return inside if inside and inside[-1].info["cmdline"] == ["sleep", mark] else None

    processes = wait_until(processes_inside, what="the command", timeout_seconds=20)
    names = ["unshare", "the first process", "the command"]
    processes[names.index(stopped)].suspend()
    sandbox.kill()
    assert sandbox.wait() != 0
    wait_until(lambda: not processes_with(mark), what="their end", timeout_seconds=20)


def test_blocked_user_namespaces_are_reported_with_what_still_runs() -> None:
    script = (
        "echo 0 > /proc/sys/user/max_user_namespaces && "
        f"{sys.executable} -c 'from cluster.nodes.sandbox import sandbox_problem as p; print(p())'"
    )
    command = ["unshare", "--user", "--map-root-user", "--mount-proc", "--pid", "--fork", "--mount"]
    reported = ran(*command, "sh", "-c", script, cwd=ROOT, env=ENVIRONMENT)
    assert "blocks user namespaces" in reported.stdout, reported.stderr
    assert "user.max_user_namespaces=15000" in reported.stdout
    assert "--cluster loopback" in reported.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="runs as an ordinary user already")
def test_an_ordinary_user_gets_the_same_pool(tmp_path_factory: pytest.TempPathFactory) -> None:
    as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    inside = ["unshare", "--user", "--map-root-user", sys.executable, "-c", ""]
    reads = subprocess.run([*as_nobody, *inside], cwd=ROOT, check=False)
    if reads.returncode != 0:
        pytest.skip(f"{sys.executable} lies where ordinary users may not read")
    folder = tmp_path_factory.mktemp("nobody")
    for path in (folder, *folder.parents[:2]):
        path.chmod(0o777)
    script = (
        "import os, sys; from pathlib import Path\n"
        "from cluster.nodes.sandbox import Sandbox\n"
        f"sys.exit(Sandbox([sys.executable, {INSIDE!r}, {str(folder)!r}], "
        f"env=dict(os.environ), cwd=Path('.'), writable=[Path({str(folder)!r})]).wait())\n"
    )
    ended = ran(*as_nobody, sys.executable, "-c", script, cwd=ROOT, env=ENVIRONMENT)
    assert "all cuts bit" in ended.stdout, ended.stderr
