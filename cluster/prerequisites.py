"""Check what the set-up can't install: Python 3.11 and Java 17, or newer; iproute2 on Linux.

As root on Debian or Ubuntu it announces and installs what is missing. Elsewhere it prints the
command to install it. Runs on any Python from 3.6 on without dependencies, so that it can always
print its message.
"""

import os
import re
import shutil
import subprocess
import sys

PYTHON_MIN = (3, 11)
JAVA_MIN = 17
EXIT_MISSING = 69
_JAVA_SECONDS = 60
_SHOWN_LINES = 2
"""The first line of a JVM that does not start says that, the second one why."""
_SPARK_MODULE = "jdk.incubator.vector"
"""Spark starts its JVM with this module; a Java that was made with fewer modules may lack it."""

_OS_RELEASE = "/etc/os-release"
_THIS_VENV = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
_MANAGERS = {
    "apt-get": "apt-get install",
    "dnf": "dnf install",
    "pacman": "pacman -S",
    "brew": "brew install",
}
_PYTHON, _VENV, _JAVA, _IP = "Python 3.11", "Python's venv and ensurepip", "a Java runtime", "ip"
_PACKAGES = {
    "apt-get": {
        _PYTHON: "python3.11 python3.11-venv",
        _VENV: _THIS_VENV,
        _JAVA: "openjdk-17-jre-headless",
        _IP: "iproute2",
    },
    "dnf": {
        _PYTHON: "python3.11",
        _VENV: "python3-pip",
        _JAVA: "java-17-openjdk-headless",
        _IP: "iproute",
    },
    "pacman": {
        _PYTHON: "python",
        _VENV: "python",
        _JAVA: "jre17-openjdk-headless",
        _IP: "iproute2",
    },
    "brew": {_PYTHON: "python@3.11", _VENV: "python@3.11", _JAVA: "openjdk@17"},
}
_JAVA_OF_APT = ("openjdk-17-jre-headless", "openjdk-21-jre-headless", "openjdk-25-jre-headless")
"""The first of them that a release has."""


class Problem:
    """A missing prerequisite: its name, a message, and whether a package installs it."""

    def __init__(self, what: str, message: str, *, is_installable: bool = True) -> None:
        """Name the prerequisite."""
        self.what, self.message, self.is_installable = what, message, is_installable


def java_version(output: str) -> "int | None":
    """Return the major version that `java -version` printed; None if it printed none."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', output)
    if found is None:
        return None
    major = int(found.group(1))
    return int(found.group(2) or 0) if major == 1 else major


def problems() -> "list[Problem]":
    """Return the missing prerequisites."""
    found = (_python_problem(), java_problem(), _ip_problem())
    return [problem for problem in found if problem is not None]


def _python_problem() -> "Problem | None":
    if sys.version_info[:2] < PYTHON_MIN:
        have = ".".join(str(part) for part in sys.version_info[:3])
        message = (
            f"Python 3.11 or newer is needed, {sys.executable} is {have}; "
            "name a newer one where there is one: make PYTHON=python3.11 ..."
        )
        return Problem(_PYTHON, message)
    if not _has_venv():
        return Problem(_VENV, f"{sys.executable} has no venv or ensurepip module")
    return None


def java_problem() -> "Problem | None":
    """Return what is wrong with the Java that servers, clients and Spark are started with."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(os.path.join(home, "bin", "java") if home else "java")  # noqa: PTH118
    hint = ": set JAVA_HOME to a newer one, or unset it" if home else ""
    if java is None:
        where = f"JAVA_HOME={home} has none" if home else "there is none on PATH"
        message = f"Java {JAVA_MIN} or newer is needed, {where}{hint}"
        return Problem(_JAVA, message, is_installable=not home)
    said = _said_by(java, "--add-modules=" + _SPARK_MODULE)
    if said is None:
        message = f"{java} did not print its version within {_JAVA_SECONDS} s{hint}"
        return Problem(_JAVA, message, is_installable=False)
    if (java_version(said) or 0) >= JAVA_MIN:
        return None
    version = java_version(_said_by(java) or "")
    have = "of an unknown version" if version is None else version
    message = f"Java {JAVA_MIN} or newer is needed, {java} is {have}{hint}"
    if version is None:
        said = " ".join((_said_by(java) or "").split("\n")[:_SHOWN_LINES]).strip()
        if said:
            message = f"{java} could not start: {said}"
            return Problem(_JAVA, message, is_installable=False)
    if version is not None and version >= JAVA_MIN:
        message = (
            f"Spark needs Java's module {_SPARK_MODULE}, which {java} (Java {version}) lacks: "
            "set JAVA_HOME to a Java with all modules"
        )
    return Problem(_JAVA, message, is_installable=not home)


def _said_by(java: str, *options: str) -> "str | None":
    """Return what `java -version` prints; nothing if it does not run; None if it does not end."""
    try:
        shown = subprocess.run(
            [java, *options, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=_JAVA_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return None
    except OSError:
        return ""
    return shown.stdout.decode("utf-8", "replace")


def _ip_problem() -> "Problem | None":
    if not sys.platform.startswith("linux") or shutil.which("ip"):
        return None
    return Problem(_IP, "the command `ip` is needed, there is none on PATH")


def _has_venv() -> bool:
    try:
        import ensurepip  # noqa: F401, PLC0415
        import venv  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def command(missing: "list[Problem]") -> str:
    """Return the command that installs what is missing here; with sudo unless run by root."""
    wanted = [problem for problem in missing if problem.is_installable]
    for manager, install in _MANAGERS.items():
        if shutil.which(manager):
            packages = [_PACKAGES[manager].get(problem.what, "") for problem in wanted]
            sudo = "" if manager == "brew" or os.geteuid() == 0 else "sudo "
            return f"{sudo}{install} {' '.join(packages)}"
    return "your system's package manager: " + ", ".join(problem.what for problem in wanted)


def may_install() -> bool:
    """Whether this is Debian or Ubuntu, or one like them, and this process is root's."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    try:
        with open(_OS_RELEASE, encoding="utf-8") as release:  # noqa: PTH123
            lines = release.read().splitlines()
    except OSError:
        return False
    given = dict(line.split("=", 1) for line in lines if "=" in line)
    names = f"{given.get('ID', '')} {given.get('ID_LIKE', '')}".replace('"', "").split()
    return bool({"debian", "ubuntu"} & set(names))


def install(missing: "list[Problem]") -> bool:
    """Announce and install what is missing by apt-get; returns False if that fails.

    Java is the oldest one that this release has and Kafka runs on.
    """
    packages = [_PACKAGES["apt-get"][problem.what] for problem in missing]
    for problem in missing:
        sys.stderr.write(f"{problem.message}\n")
    sys.stderr.write(f"installing, as this is root: apt-get install {' '.join(packages)}\n")
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    subprocess.run(["apt-get", "update", "-qq"], check=False, env=environment, stdout=sys.stderr)
    java = next((package for package in _JAVA_OF_APT if _is_in_apt(package)), _JAVA_OF_APT[0])
    words = " ".join(packages).replace(_JAVA_OF_APT[0], java).split()
    ended = subprocess.run(
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends"] + words,  # noqa: RUF005
        check=False,
        env=environment,
        stdout=sys.stderr,
    )
    return ended.returncode == 0


def _is_in_apt(package: str) -> bool:
    if not shutil.which("apt-cache"):
        return False
    shown = subprocess.run(  # noqa: UP022 - as of Python 3.6
        ["apt-cache", "show", package], check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    return shown.returncode == 0


def main() -> None:
    """Install what is missing if this may be done; print what still is and exit 69."""
    missing = problems()
    may_bring = all(problem.is_installable and problem.what != _PYTHON for problem in missing)
    if missing and may_bring and may_install():
        is_installed = install(missing)
        missing = problems() if is_installed else missing
    for problem in missing:
        sys.stderr.write(f"error: {problem.message}\n")
    if any(problem.is_installable for problem in missing):
        sys.stderr.write(f"install what is missing with: {command(missing)}\n")
    sys.exit(EXIT_MISSING if missing else 0)


if __name__ == "__main__":
    main()
