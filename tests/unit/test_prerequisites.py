"""What the set-up lacks is installed where it may be, and else named with one command."""

import os
import shlex
import stat
import sys
from pathlib import Path

import pytest

from cluster import prerequisites

JAVA = "echo 'openjdk version \"{}.0.1\" 2024-01-01' >&2"
DEBIAN = 'NAME="Debian GNU/Linux"\nID=debian\n'
MINT = 'ID=linuxmint\nID_LIKE="ubuntu debian"\n'
FEDORA = "ID=fedora\n"
ROOT = 0


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


def test_a_machine_with_all_is_told_nothing(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.has_user(ROOT)
    machine.system(DEBIAN)
    assert checked(capsys) == (0, "")
    assert machine.called() == []


@pytest.mark.parametrize("release", [DEBIAN, MINT])
def test_root_on_debian_gets_it_and_is_told_before(
    machine: Machine, release: str, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.has_user(ROOT)
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
    machine.has_user(ROOT)
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


def test_another_system_is_told_its_own_command(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.has_user(ROOT)
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
    machine.has_user(ROOT)
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
    machine.has_user(ROOT)
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
