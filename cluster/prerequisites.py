"""Check what the set-up itself can't bring: Python 3.11 and Java 17, or newer.

Runs on any Python from 3.6 on without anything installed, so that its message can always be read.
"""

import os
import re
import shutil
import subprocess
import sys

PYTHON_MIN = (3, 11)
JAVA_MIN = 17
EXIT_MISSING = 69

_PYTHON, _VENV, _JAVA = range(3)
_INSTALL = {
    "apt-get": "sudo apt-get install {}",
    "dnf": "sudo dnf install {}",
    "pacman": "sudo pacman -S {}",
    "brew": "brew install {}",
}
_PACKAGES = {
    "apt-get": ("python3.11 python3.11-venv", "python3-venv", "openjdk-17-jre-headless"),
    "dnf": ("python3.11", "python3-pip", "java-17-openjdk-headless"),
    "pacman": ("python", "python", "jre17-openjdk-headless"),
    "brew": ("python@3.11", "python@3.11", "openjdk@17"),
}
_WORDS = ("Python 3.11 with venv", "Python's venv and ensurepip modules", "a Java 17 runtime")


def java_version(output: str) -> "int | None":
    """The major version that `java -version` printed, None if it printed none."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', output)
    if found is None:
        return None
    major = int(found.group(1))
    return int(found.group(2) or 0) if major == 1 else major


def problems() -> "list[str]":
    """What is missing, each with the command that brings it."""
    return [problem for problem in (_python_problem(), _java_problem()) if problem]


def _python_problem() -> str:
    if sys.version_info[:2] < PYTHON_MIN:
        have = ".".join(str(part) for part in sys.version_info[:3])
        return (
            f"Python 3.11 or newer is needed, {sys.executable} is {have}: {_command(_PYTHON)}, "
            "or name a newer one that is there: make PYTHON=python3.11 ..."
        )
    if not _has_venv():
        return f"{sys.executable} has no venv module: {_command(_VENV)}"
    return ""


def _java_problem() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(os.path.join(home, "bin", "java") if home else "java")  # noqa: PTH118
    if java is None:
        where = f"JAVA_HOME={home} has none" if home else "there is none on PATH"
        return f"Java 17 or newer is needed, {where}: {_command(_JAVA)}"
    shown = subprocess.run(
        [java, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    version = java_version(shown.stdout.decode("utf-8", "replace"))
    if version is None or version < JAVA_MIN:
        have = "of an unknown version" if version is None else version
        return f"Java 17 or newer is needed, {java} is {have}: {_command(_JAVA)}"
    return ""


def _has_venv() -> bool:
    try:
        import ensurepip  # noqa: F401, PLC0415
        import venv  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def _command(index: int) -> str:
    for manager, packages in _PACKAGES.items():
        if shutil.which(manager):
            return _INSTALL[manager].format(packages[index])
    return f"install {_WORDS[index]} with your system's package manager"


def main() -> None:
    """Print what is missing and exit 69, or print nothing."""
    missing = problems()
    for problem in missing:
        sys.stderr.write(f"error: {problem}\n")
    sys.exit(EXIT_MISSING if missing else 0)


if __name__ == "__main__":
    main()
