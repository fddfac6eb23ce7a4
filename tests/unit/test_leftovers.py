"""What killed commands and runs left: what is removed, what stays, and what is said of it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import psutil
import pytest
from docker.errors import APIError, DockerException, NotFound
from requests import ConnectionError as Unreachable
from requests import Response
from typer.testing import CliRunner

from cluster.image import build
from cluster.nodes import docker_client, docker_pool
from cluster.nodes.docker_pool import remove_orphans, unseen
from contract import locks
from contract.errors import PrerequisiteError
from contract.locks import HeldFolder, Swept, remove_unheld
from contract.processes import run_group
from contract.run_folder import NODES_FOLDER
from contract.waiting import wait_until
from harness.cli import program
from harness.commands import clean as cleaning
from harness.session import ducktape_session
from tests.programs import ran_python

HOST = socket.gethostname()
ENDED = 2**22 + 1
"""No process: Linux numbers them up to 2**22."""

GOES_ON = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print("started", flush=True)
"""


def refused(status: HTTPStatus, said: str) -> APIError:
    response = Response()
    response.status_code = status
    kind = NotFound if status is HTTPStatus.NOT_FOUND else APIError
    return kind(said, response=response, explanation=said)


@dataclass
class Known:
    """A container or a network of a daemon that is none."""

    name: str
    labels: Mapping[str, str]
    networks: tuple[str, ...] = ()
    problem: Exception | None = None
    is_removed: bool = False

    @property
    def id(self) -> str:
        return self.name

    @property
    def attrs(self) -> dict[str, Any]:
        return {"Labels": self.labels}

    def remove(self, **_: object) -> None:
        if self.problem is not None:
            raise self.problem
        self.is_removed = True


@dataclass
class Listed:
    known: list[Known] = field(default_factory=list)

    def list(self, *, filters: Mapping[str, str], **_: object) -> list[Known]:
        label, network = filters.get("label"), filters.get("network")
        there = [known for known in self.known if not known.is_removed]
        return [
            known
            for known in there
            if label in {None, *known.labels} and network in {None, *known.networks}
        ]


class Daemon:
    def __init__(self) -> None:
        self.containers, self.networks = Listed(), Listed()


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Daemon:
    made = Daemon()
    monkeypatch.setattr(docker_pool, "connect", lambda: made)
    monkeypatch.setattr(docker_pool, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(cleaning, "docker_problem", lambda: None)
    monkeypatch.setattr(cleaning, "is_docker_expected", lambda: True)
    monkeypatch.setattr(locks, "gettempdir", lambda: str(tmp_path))
    return made


def labels(folder: Path | str, *, host: str = HOST, process: str = "") -> dict[str, str]:
    return {"fencepost.owner": f"{host}:{folder}", "fencepost.process": process}


def of_ended(folder: str = "/nowhere") -> dict[str, str]:
    return labels(folder, process=f"{docker_pool.visible_processes()}:{ENDED}")


def cleaned(results: Path) -> tuple[int, str]:
    ended = CliRunner().invoke(program(["clean"]), ["clean", "--results", str(results)])
    return ended.exit_code, ended.output


# Docker: containers and networks of runs.


def test_a_network_that_another_process_removes_is_gone(daemon: Daemon) -> None:
    gone = refused(HTTPStatus.NOT_FOUND, "network not found")
    first, last = Known("first", of_ended(), problem=gone), Known("last", of_ended())
    daemon.networks.known = [first, last]
    assert remove_orphans() == Swept()
    assert last.is_removed


def test_a_network_with_a_container_of_others_stays_and_the_rest_goes(
    daemon: Daemon, tmp_path: Path
) -> None:
    busy = refused(HTTPStatus.FORBIDDEN, "network has active endpoints")
    network, other = Known("dead", of_ended(), problem=busy), Known("other", of_ended())
    orphan = Known("orphan", of_ended())
    daemon.networks.known = [network, other]
    daemon.containers.known = [Known("foreign", {}, networks=("dead",)), orphan]
    left = tmp_path / f"fencepost-x@{HOST[-30:]}"
    left.mkdir()
    code, said = cleaned(tmp_path / "results")
    assert code == 69
    assert "removed 1 containers of dead runs" in said
    assert "removed 1 folders of dead commands" in said
    assert (
        "error: network dead of a dead run stays (container foreign is in it). Remove it: docker "
        "network disconnect --force dead foreign && docker network rm dead"
    ) in " ".join(said.split())
    assert orphan.is_removed
    assert other.is_removed
    assert not left.exists()


def test_a_dead_runs_network_that_a_run_has_taken_is_its_own(daemon: Daemon) -> None:
    project = {"com.docker.compose.project": "fencepost"}
    busy = refused(HTTPStatus.FORBIDDEN, "network has active endpoints")
    daemon.networks.known = [Known("dead", {**of_ended(), **project}, problem=busy)]
    daemon.containers.known = [Known("fencepost-node-1", project, networks=("dead",))]
    assert remove_orphans() == Swept()


def test_a_container_that_stays_is_named_and_a_new_run_takes_another_project(
    daemon: Daemon,
) -> None:
    of_first = {**of_ended(), "com.docker.compose.project": "p"}
    problem = refused(HTTPStatus.INTERNAL_SERVER_ERROR, "driver failed")
    daemon.containers.known = [Known("p-node-1", of_first, problem=problem)]
    (line,) = remove_orphans().kept
    assert "p-node-1 of a dead run stays (driver failed)" in line
    assert line.endswith("docker rm --force p-node-1")
    name, held = docker_pool.take_project("p")
    assert name == "p-2"
    held.release()


def test_a_run_whose_lock_can_not_be_seen_may_be_alive(daemon: Daemon, tmp_path: Path) -> None:
    """A service with temporary files of its own, a cleaner of them, a container, another host."""
    here = docker_pool.visible_processes()
    held = HeldFolder(tmp_path, "fencepost-owner-")
    ended = tmp_path / "ended"
    ended.mkdir()
    stays = [
        Known("alive", labels(held.path)),
        Known("cleaned", labels("/nowhere", process=f"{here}:{os.getpid()}")),
        Known("hidden", labels("/nowhere", process=f"{here}:1")),
        Known("elsewhere", labels("/nowhere", process=f"another:{ENDED}")),
        Known("on-host", labels(ended, host="another")),
        Known("earlier-release", {"fencepost.owner": f"{HOST}:/nowhere"}),
    ]
    goes = [Known("unheld", labels(ended)), Known("over", of_ended())]
    daemon.containers.known = [*stays, *goes]
    assert remove_orphans() == Swept(removed=2)
    assert [known for known in stays if known.is_removed] == []
    assert all(known.is_removed for known in goes)
    lines = unseen()
    assert [line.partition(" ")[0] for line in lines] == [known.name for known in stays[1:]]
    assert all(line.endswith(f"docker rm --force {line.partition(' ')[0]}") for line in lines)
    code, said = cleaned(tmp_path / "results")
    assert code == 0, said
    assert "cleaned stays" in said


def test_the_end_of_a_docker_run_says_what_the_daemon_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def raising(error: Exception) -> Callable[[], Swept]:
        def remove() -> Swept:
            raise error

        return remove

    for error, is_connection in (
        (refused(HTTPStatus.INTERNAL_SERVER_ERROR, "no space left"), False),
        (DockerException("connection aborted"), True),
        (Unreachable("refused"), True),
    ):
        monkeypatch.setattr(ducktape_session, "remove_orphans", raising(error))
        ducktape_session.remove_containers()
        said = capsys.readouterr().err
        assert ("does not respond" in said) == is_connection
        assert ("refused a request (no space left)" in said) == (not is_connection)
        assert "fencepost clean" in said
    monkeypatch.setattr(ducktape_session, "remove_orphans", lambda: Swept(kept=("network x",)))
    ducktape_session.remove_containers()
    assert capsys.readouterr().err == "network x\n"


@pytest.fixture
def silent_daemon(tmp_path: Path) -> Iterator[str]:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        yield f"unix://{tmp_path / 's'}"


def test_a_daemon_that_does_not_respond_is_said(
    silent_daemon: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_client, "_clients", {})
    monkeypatch.setattr(docker_client, "_FIRST_SECONDS", 0.5)
    monkeypatch.setattr(locks, "gettempdir", lambda: str(tmp_path))
    for host in (silent_daemon, "garbage", "unix:///nowhere/s", "tcp://127.0.0.1:1"):
        monkeypatch.setenv("DOCKER_HOST", host)
        code, said = cleaned(tmp_path / "results")
        assert code == 0, said
        assert "containers of dead runs were not looked for: no Docker daemon responds" in said
        assert f"Check DOCKER_HOST, which is '{host}'" in said


def test_a_machine_without_docker_is_cleaned_as_if_there_was_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(docker_client, "_SOCKET", tmp_path / "none")
    monkeypatch.setattr(locks, "gettempdir", lambda: str(tmp_path))
    code, said = cleaned(tmp_path / "results")
    assert code == 0, said
    assert "containers" not in said


@pytest.mark.usefixtures("daemon")
def test_a_daemon_that_fails_in_between_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Swept:
        raise Unreachable("Read timed out")

    monkeypatch.setattr(cleaning, "remove_orphans", fail)
    code, said = cleaned(tmp_path / "results")
    assert code == 69
    assert "failed in between (Read timed out)" in said
    assert "folders of dead commands" in said


# Folders that can't be removed.


@pytest.fixture
def unremovable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a killed session, with a file that can't be removed, and one that can."""
    folder = tmp_path / NODES_FOLDER / f"session-1@{HOST[-30:]}"
    (folder / "node-1").mkdir(parents=True)
    kept = folder / "node-1" / "kept"
    kept.touch()
    (folder / "goes").touch()
    unlink = os.unlink

    def refuse(path: Any, **options: Any) -> None:
        if Path(path).name == "kept":
            raise PermissionError(1, "Operation not permitted", str(kept))
        unlink(path, **options)

    monkeypatch.setattr(os, "unlink", refuse)
    monkeypatch.setattr(locks, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(cleaning, "is_docker_expected", lambda: False)
    return folder


def test_what_can_not_be_removed_is_not_counted_and_named(
    unremovable: Path, tmp_path: Path
) -> None:
    code, said = cleaned(tmp_path)
    assert code == 69
    assert "removed the folders of 0 dead sessions" in said
    named = " ".join(said.split())
    assert f"error: {unremovable} of a killed command can't be removed (Operation not" in named
    assert f"permitted: {unremovable / 'node-1' / 'kept'})" in named
    assert not (unremovable / "goes").exists()
    assert "removed 0 folders of dead commands" in said


def test_what_is_mounted_in_a_left_folder_is_unmounted_or_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of this machine are mounted in a system that a killed mmdebstrap made."""
    left = tmp_path / f"x-1@{HOST[-30:]}"
    inner = left / "a b" / "proc"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    mounts = tmp_path / "mounts"
    escaped = str(inner).replace(" ", r"\040")
    mounts.write_text(f"proc {escaped} proc rw 0 0\ndev {escaped}/sub tmpfs rw 0 0\n")
    monkeypatch.setattr(locks, "_MOUNTS", mounts)
    called: list[str] = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: called.append(str(command[-1])))
    (line,) = remove_unheld(tmp_path, "x-").kept
    assert f"something is mounted there: {inner}" in line
    assert called == [f"{inner}/sub", str(inner)]
    assert (inner / "file").exists()

    def unmount(*_: object, **__: object) -> None:
        mounts.write_text("")

    monkeypatch.setattr(subprocess, "run", unmount)
    assert remove_unheld(tmp_path, "x-") == Swept(removed=1)
    assert not left.exists()


# Programs that a command starts, and what these start.


def test_a_program_of_others_ends_with_what_it_started(tmp_path: Path) -> None:
    code = f"""
import os, signal, sys, threading
from contract.processes import run_group
threading.Timer(2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
run_group([sys.executable, "-c", {GOES_ON!r} + "import time; time.sleep(60)", {str(tmp_path)!r}])
"""
    ended = ran_python("-c", code, timeout=30)
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt")
    assert not named(tmp_path)


def test_a_program_that_removes_what_it_made_has_the_time_for_it(tmp_path: Path) -> None:
    made = tmp_path / "made"
    slow = (
        "import os, pathlib, signal, sys, time\n"
        "made = pathlib.Path(sys.argv[1])\n"
        "def end(*_):\n    time.sleep(0.5)\n    made.unlink()\n    sys.exit(1)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "made.touch()\n"
        "time.sleep(60)\n"
    )
    with pytest.raises(subprocess.TimeoutExpired):
        run_group([sys.executable, "-c", slow, str(made)], timeout_seconds=2)
    assert not made.exists()
    assert not named(made)


def test_a_program_that_ends_is_as_of_subprocess(tmp_path: Path) -> None:
    echo = "import sys; print(sys.stdin.read(), end=''); print('e', file=sys.stderr); sys.exit(3)"
    ended = run_group([sys.executable, "-c", echo], given="in", cwd=tmp_path, env=dict(os.environ))
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "in", "e\n")


def named(path: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(path) in (process.info["cmdline"] or ())
    ]


MMDEBSTRAP = """#!/bin/sh
for archive; do :; done
root=$(mktemp -d "$TMPDIR/mmdebstrap.XXXX")
trap 'rm -rf "$root"; exit 1' TERM
sleep 60 & wait
"""


@pytest.fixture
def registry_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host without a registry, with a mmdebstrap; returns its folder of temporary files."""
    tool = tmp_path / "bin" / "mmdebstrap"
    tool.parent.mkdir()
    tool.write_text(MMDEBSTRAP)
    tool.chmod(0o755)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(locks, "gettempdir", lambda: str(temporary))
    return temporary


MAKE = """
import sys
from cluster.image import build
from contract import locks
locks.gettempdir = lambda: sys.argv[1]
build.make_base(None, why="")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_ended_build_of_the_base_leaves_nothing(number: int, registry_less: Path) -> None:
    """After SIGKILL the next command or `fencepost clean` removes it, with what still runs."""
    parent = subprocess.Popen(
        [sys.executable, "-c", MAKE, str(registry_less)], stderr=subprocess.PIPE
    )
    wait_until(
        lambda: bool(list(registry_less.glob("*/mmdebstrap.*"))),
        what="a system",
        timeout_seconds=30,
    )
    (folder,) = registry_less.iterdir()
    children = psutil.Process(parent.pid).children(recursive=True)
    parent.send_signal(number)
    parent.communicate(timeout=30)
    if number == signal.SIGKILL:
        assert locks.remove_temporary() == Swept(removed=1)
    wait_until(
        lambda: not any(child.is_running() for child in children), what="end", timeout_seconds=10
    )
    assert not folder.exists()


def test_a_base_that_can_not_be_made_says_what_mmdebstrap_said(
    registry_less: Path, tmp_path: Path
) -> None:
    (tmp_path / "bin" / "mmdebstrap").write_text("#!/bin/sh\necho no mirror >&2\nexit 1\n")
    with pytest.raises(PrerequisiteError, match="could not make a base: no mirror"):
        build.make_base(None, why="")
    assert list(registry_less.iterdir()) == []
