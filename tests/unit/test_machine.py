"""What a machine lacks: found by the set-up, and told before anything starts."""

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import docker
import pytest
from docker.errors import DockerException

from cluster import prerequisites
from cluster.nodes import docker_client
from cluster.nodes.doctor import Finding
from cluster.nodes.pool import PoolKind
from contract.errors import PrerequisiteError
from harness.commands import doctor, run
from harness.commands.requirements import require_pool, require_programs, require_runs

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
        self.has_user(1000)
        self.put("java", JAVA.format(21))
        self.put("ip", "exit 0")

    def put(self, name: str, script: str) -> None:
        tool = self.tools / name
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)

    def remove(self, name: str) -> None:
        (self.tools / name).unlink()

    def has_user(self, number: int) -> None:
        self._patch.setattr(os, "geteuid", lambda: number)

    def system(self, release: str, apt_get: str = "exit 0") -> None:
        self._release.write_text(release)
        self.put("apt-get", f'echo "apt-get $*" >> {self.calls}\n{apt_get}')
        self.put("apt-cache", '[ "$2" != openjdk-17-jre-headless ]')

    def brings(self, **tools: str) -> str:
        """What apt-get does that installs these tools."""
        lines = [
            f"printf '#!/bin/sh\\n%s\\n' {shlex.quote(script)} > {self.tools / name}\n"
            f"/bin/chmod +x {self.tools / name}"
            for name, script in tools.items()
        ]
        return '[ "$1" = install ] || exit 0\n' + "\n".join(lines)

    def called(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def checked(capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        prerequisites.main()
    return int(ended.value.code or 0), capsys.readouterr().err


def test_a_machine_with_all_is_reported_nothing(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.has_user(0)
    machine.system(DEBIAN)
    assert checked(capsys) == (0, "")
    assert machine.called() == []


@pytest.mark.parametrize("release", [DEBIAN, MINT])
def test_root_on_debian_gets_it_and_is_told_before(
    machine: Machine, release: str, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.has_user(0)
    machine.remove("java")
    machine.remove("ip")
    machine.system(release, machine.brings(java=JAVA.format(21), ip="exit 0") + "\necho done")
    code, said = checked(capfd)
    assert code == 0
    assert said.index("installing, as this is root: apt-get install") < said.index("done")
    assert machine.called() == [
        "apt-get update -qq",
        "apt-get install -y -qq --no-install-recommends openjdk-21-jre-headless iproute2",
    ]


def test_a_failed_install_names_the_command(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.has_user(0)
    machine.put("java", JAVA.format(11))
    machine.system(DEBIAN, "exit 100")
    code, said = checked(capfd)
    assert code == 69
    last = said.splitlines()[-1]
    assert last == "install what is missing with: apt-get install openjdk-17-jre-headless"


def test_others_than_root_are_told_one_command(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.remove("java")
    machine.remove("ip")
    machine.system(DEBIAN)
    monkeypatch.setattr(prerequisites, "_has_venv", lambda: False)
    code, said = checked(capsys)
    assert code == 69
    *problems, last = said.splitlines()
    assert [line.split(":")[0] for line in problems] == ["error"] * 3
    assert last.startswith("install what is missing with: sudo apt-get install python3.")
    assert last.endswith("-venv openjdk-17-jre-headless iproute2")
    assert machine.called() == []


def test_another_system_is_reported_its_own_command(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.has_user(0)
    machine.remove("java")
    machine.put("dnf", "exit 0")
    (code, said) = checked(capsys)
    assert (code, said.splitlines()[-1]) == (
        69,
        "install what is missing with: dnf install java-17-openjdk-headless",
    )


def test_a_system_that_only_has_apt_get_gets_nothing_installed(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.has_user(0)
    machine.remove("ip")
    machine.system(FEDORA)
    assert checked(capsys)[0] == 69
    assert machine.called() == []


def test_no_package_mends_an_old_java_home(
    machine: Machine,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine.has_user(0)
    machine.system(DEBIAN)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    code, said = checked(capsys)
    assert code == 69
    assert "or unset it" in said
    assert "install what" not in said
    assert machine.called() == []


def test_no_known_package_manager(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.remove("java")
    machine.remove("ip")
    code, said = checked(capsys)
    assert code == 69
    assert said.splitlines()[-1].endswith("package manager: a Java runtime, ip")


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
        (OLD, "is 11: set JAVA_HOME to a newer one"),
        ("#!/nonexistent\n", "is of an unknown version"),
        ("#!/bin/sh\nexit 1\n", "is of an unknown version"),
    ],
)
def test_a_java_that_does_not_serve_is_reported(
    script: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_home(tmp_path, monkeypatch, script)
    with pytest.raises(PrerequisiteError, match=f"^Java 17 or newer is needed, .*{problem}"):
        require_programs()


def test_a_java_without_a_module_that_spark_needs_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_home(tmp_path, monkeypatch, f'#!/bin/sh\n[ "$1" = -version ] || exit 1\n{VERSION_21}')
    with pytest.raises(PrerequisiteError, match=r"jdk\.incubator\.vector, which .*Java 21\) lacks"):
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


def test_a_java_that_can_not_start_says_why_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "Error occurred during initialization of VM"
    java = java_home(tmp_path, monkeypatch, f"#!/bin/sh\necho {said} >&2\necho heap\nexit 1\n")
    reported = f"^{java} could not start: {said} heap$"
    with pytest.raises(PrerequisiteError, match=reported):
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
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return ended.stdout.strip()


def test_few_open_files_are_reported_with_the_command_that_permits_more() -> None:
    assert limits_after(256, 256) == (
        "a process may open 256 files here, and 1024 are needed: raise the limit with: "
        "ulimit -n 1024"
    )


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
