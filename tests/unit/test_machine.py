"""What a machine lacks: found by the set-up, and told before anything starts."""

import errno
import os
import re
import shlex
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.errors import DockerException

from cluster import prerequisites
from cluster.nodes import docker_client
from cluster.nodes.doctor import Finding
from cluster.nodes.pool import PoolKind
from contract.errors import PrerequisiteError, StorageError, UsageError
from harness.commands import doctor, requirements, run
from harness.commands.requirements import require_pool, require_programs, require_runs
from tests.programs import ran_python

# What the set-up lacks is installed where it may be, and else named with one command.


JAVA = "echo 'openjdk version \"{}.0.1\" 2024-01-01' >&2"
DEBIAN = 'NAME="Debian GNU/Linux"\nID=debian\n'
MINT = 'ID=linuxmint\nID_LIKE="ubuntu debian"\n'
FEDORA = "ID=fedora\n"


class Machine:
    """A PATH with these tools only, an os-release file, and a user."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.tools, self.calls = folder / "bin", folder / "calls"
        self.tools.mkdir()
        self._release, self._patch = folder / "os-release", patch
        patch.setenv("PATH", str(self.tools))
        patch.delenv("JAVA_HOME", raising=False)
        patch.setattr(prerequisites, "_OS_RELEASE", str(self._release))
        patch.setattr(sys, "platform", "linux")

    def be(
        self,
        *,
        user: int = 1000,
        java: int | None = 21,
        has: Sequence[str] = ("ip",),
        release: str = "",
        apt_get: str = "exit 0",
        **environment: str,
    ) -> None:
        self._patch.setattr(os, "geteuid", lambda: user)
        for name in has:
            self.put(name, "exit 0")
        if java:
            self.put("java", JAVA.format(java))
        if release:
            self._release.write_text(release)
            self.put("apt-get", f'echo "apt-get $*" >> {self.calls}\n{apt_get}')
            self.put("apt-cache", '[ "$2" != openjdk-17-jre-headless ]')
        for name, value in environment.items():
            self._patch.setenv(name, value)

    def put(self, name: str, script: str) -> None:
        tool = self.tools / name
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)

    def brings(self, **tools: str) -> str:
        """What apt-get does that installs these tools."""
        lines = [
            f"printf '#!/bin/sh\\n%s\\n' {shlex.quote(script)} > {self.tools / name}\n"
            f"/bin/chmod +x {self.tools / name}"
            for name, script in tools.items()
        ]
        return '[ "$1" = install ] || exit 0\n' + "\n".join(lines)

    def commands_called(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def run_check(capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        prerequisites.main()
    return int(ended.value.code or 0), capsys.readouterr().err


@pytest.mark.parametrize("release", [DEBIAN, MINT])
def test_root_on_debian_gets_it_and_is_told_before(
    machine: Machine, release: str, capfd: pytest.CaptureFixture[str]
) -> None:
    brought = machine.brings(java=JAVA.format(21), ip="exit 0")
    machine.be(user=0, java=None, has=(), release=release, apt_get=f"{brought}\necho done")
    code, said = run_check(capfd)
    assert code == 0
    assert said.index("installing, as this is root: apt-get install") < said.index("done")
    assert machine.commands_called() == [
        "apt-get update -qq",
        "apt-get install -y -qq --no-install-recommends openjdk-21-jre-headless iproute2",
    ]


WITH = "install what is missing with: "


@pytest.mark.parametrize(
    ("machines", "code", "last"),
    [
        ({"user": 0, "release": DEBIAN}, 0, ""),
        (
            {"user": 0, "java": 11, "release": DEBIAN, "apt_get": "exit 100"},
            69,
            f"{WITH}apt-get install openjdk-17-jre-headless",
        ),
        (
            {"java": None, "has": (), "release": DEBIAN},
            69,
            rf"{WITH}sudo apt-get install python3\..*-venv openjdk-17-jre-headless iproute2",
        ),
        (
            {"user": 0, "java": None, "has": ("ip", "dnf")},
            69,
            f"{WITH}dnf install java-17-openjdk-headless",
        ),
        # A system that only has apt-get gets nothing installed; no package mends an old JAVA_HOME.
        ({"user": 0, "has": (), "release": FEDORA}, 69, ".*"),
        ({"user": 0, "release": DEBIAN, "JAVA_HOME": "/nonexistent"}, 69, "error: .*or unset it.*"),
        ({"java": None, "has": ()}, 69, ".* package manager: a Java runtime, ip"),
    ],
)
def test_what_is_lacking_is_one_command(
    machine: Machine,
    machines: dict[str, Any],
    code: int,
    last: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine.be(**machines)
    if "sudo" in last:
        monkeypatch.setattr(prerequisites, "_has_venv", lambda: False)
    ended, said = run_check(capfd)
    assert ended == code
    assert re.fullmatch(last, said.splitlines()[-1] if said else ""), said
    assert "sudo" not in last or said.count("error: ") == 3
    assert machine.commands_called() == [] or "apt_get" in machines


# What a machine lacks is told before anything starts, in one sentence with the remedy.


VERSION_21 = "echo 'openjdk version \"21.0.8\" 2025-07-15' >&2\n"
OLD = "#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n"


def java_home(path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """A program that is taken for Java, and JAVA_HOME names."""
    java = path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(script)
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(path))
    return java


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (OLD, "Java 17 or newer is needed, .*is 11: set JAVA_HOME to a newer one"),
        ("#!/nonexistent\n", "Java 17 or newer is needed, .*is of an unknown version"),
        ("#!/bin/sh\nexit 1\n", "Java 17 or newer is needed, .*is of an unknown version"),
        (
            f'#!/bin/sh\n[ "$1" = -version ] || exit 1\n{VERSION_21}',
            r".*jdk\.incubator\.vector, which .*Java 21\) lacks",
        ),
        (
            "#!/bin/sh\necho Error occurred during initialization >&2\necho heap\nexit 1\n",
            "{java} could not start: Error occurred during initialization heap$",
        ),
    ],
)
def test_a_java_that_does_not_serve_is_reported(
    script: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = java_home(tmp_path, monkeypatch, script)
    with pytest.raises(PrerequisiteError, match=f"^{problem.replace('{java}', str(java))}"):
        require_programs()


def test_a_user_who_may_not_use_docker_is_reported_the_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(**_: object) -> None:
        raise DockerException("('Connection aborted.', PermissionError(13, 'Permission denied'))")

    monkeypatch.setattr(docker, "from_env", refuse)
    monkeypatch.setattr(docker_client, "_clients", {})
    with pytest.raises(PrerequisiteError, match="usermod -aG docker"):
        require_pool(PoolKind.DOCKER)


def test_what_the_doctor_advises_is_shown_in_full(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = "kernel.apparmor_restrict_unprivileged_userns=0"
    found = Finding(f"{PoolKind.LOOPBACK} pool", is_good=True, detail="", fix="")
    advised = Finding("embedded pool", is_good=False, detail="no namespaces", fix=setting)
    monkeypatch.setattr(doctor, "diagnose", lambda: [found, advised])
    monkeypatch.setenv("COLUMNS", "70")
    doctor.doctor()
    assert setting in "".join(capsys.readouterr().out.split())


def test_a_java_that_hangs_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java_home(tmp_path, monkeypatch, "#!/bin/sh\nsleep 1000\n")
    monkeypatch.setattr("cluster.prerequisites._JAVA_SECONDS", 0.2)
    with pytest.raises(PrerequisiteError, match=r"did not print its version within 0\.2 s"):
        require_programs()


def test_no_java_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PrerequisiteError, match="there is none on PATH; install it with: "):
        require_programs()


def test_runs_are_judged_again_only_where_spark_can_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PrerequisiteError, match=r"Java 17 or newer is needed, JAVA_HOME=.* none"):
        run.analyze([str(tmp_path)])


def limits_after(soft: int, hard: int) -> str:
    """What a process with these limits of open files ends with, or what it is told."""
    script = (
        "import resource\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))\n"
        "from contract.errors import PrerequisiteError\n"
        "from harness.commands.requirements import require_programs\n"
        "try:\n    require_programs()\nexcept PrerequisiteError as error:\n    print(error)\n"
        "else:\n    print(*resource.getrlimit(resource.RLIMIT_NOFILE))\n"
    )
    return ran_python("-c", script).stdout.strip()


def test_few_open_files_are_reported_with_the_command_that_permits_more() -> None:
    assert limits_after(256, 256) == (
        "a process may open 256 files here, and 1024 are needed: raise the limit with: "
        "ulimit -n 1024"
    )


@pytest.mark.parametrize(("hard", "found"), [(256, "False ulimit -n 1024"), (4096, "True ")])
def test_the_doctor_has_a_row_for_open_files(hard: int, found: str) -> None:
    script = (
        f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard}))\n"
        "from cluster.nodes.doctor import _open_files\n"
        "row = _open_files()\n"
        "print(row.is_good, row.fix.rpartition(': ')[2])"
    )
    assert ran_python("-c", script).stdout.strip("\n") == found


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.EROFS, StorageError), (errno.ENOTDIR, UsageError)]
)
def test_a_results_folder_that_can_not_be_written_has_the_code_of_storage(
    number: int, kind: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(**_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(requirements, "TemporaryFile", fails)
    with pytest.raises(kind, match=r"^--results .* can't be written .*: name another folder$"):
        requirements.require_writable(tmp_path)


def test_a_soft_limit_of_open_files_is_raised() -> None:
    assert limits_after(256, 4096) == "1024 4096"
    assert limits_after(2048, 4096) == "2048 4096"


# A umask with which a user can't use its own files is told before anything is written.


@pytest.mark.parametrize("umask", [0o777, 0o700, 0o277])
def test_a_umask_that_shuts_its_own_user_out_is_reported(umask: int, tmp_path: Path) -> None:
    usual = os.umask(umask)
    try:
        for require in (require_programs, lambda: require_runs(tmp_path / "r", PoolKind.LOOPBACK)):
            with pytest.raises(PrerequisiteError, match=f"^with umask {umask:04o} .*umask 022$"):
                require()
        assert os.umask(umask) == umask
    finally:
        os.umask(usual)
    assert not (tmp_path / "r").exists()
