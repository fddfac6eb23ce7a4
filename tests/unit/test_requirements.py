"""What a machine lacks is told before anything starts, in one sentence with the remedy."""

import subprocess
import sys
from pathlib import Path

import docker
import pytest
from docker.errors import DockerException

from cluster.nodes import docker_client
from cluster.nodes.doctor import Finding
from cluster.nodes.pool import PoolKind
from contract.errors import PrerequisiteError
from harness.commands import doctor, run
from harness.commands.requirements import require_pool, require_programs

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
def test_a_java_that_does_not_serve_is_told(
    script: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_home(tmp_path, monkeypatch, script)
    with pytest.raises(PrerequisiteError, match=f"^Java 17 or newer is needed, .*{problem}"):
        require_programs()


def test_a_java_without_a_module_that_spark_needs_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_home(tmp_path, monkeypatch, f'#!/bin/sh\n[ "$1" = -version ] || exit 1\n{VERSION_21}')
    with pytest.raises(PrerequisiteError, match=r"jdk\.incubator\.vector, which .*Java 21\) lacks"):
        require_programs()


def test_a_user_who_may_not_use_docker_is_told_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_java_that_hangs_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java_home(tmp_path, monkeypatch, "#!/bin/sh\nsleep 1000\n")
    monkeypatch.setattr("cluster.prerequisites._JAVA_SECONDS", 0.2)
    with pytest.raises(PrerequisiteError, match=r"did not print its version within 0\.2 s"):
        require_programs()


def test_a_java_that_can_not_start_says_why_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "Error occurred during initialization of VM"
    java = java_home(tmp_path, monkeypatch, f"#!/bin/sh\necho {said} >&2\necho heap\nexit 1\n")
    told = f"^{java} could not start: {said} heap$"
    with pytest.raises(PrerequisiteError, match=told):
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


def test_few_open_files_are_told_with_the_command_that_permits_more() -> None:
    assert limits_after(256, 256) == (
        "a process may open 256 files here, and 1024 are needed: raise the limit with: "
        "ulimit -n 1024"
    )


def test_a_soft_limit_of_open_files_is_raised() -> None:
    assert limits_after(256, 4096) == "1024 4096"
    assert limits_after(2048, 4096) == "2048 4096"
