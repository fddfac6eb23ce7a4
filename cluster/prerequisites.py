"""Check what the set-up itself can't bring: Python 3.11 and Java 17, or newer.

Runs on any Python 3 without anything installed, so that its message can always be read.
"""

import re
import shutil
import subprocess
import sys

PYTHON_MIN = (3, 11)
JAVA_MIN = 17
EXIT_MISSING = 69

_INSTALL = {
    "apt-get": "sudo apt-get install {}",
    "dnf": "sudo dnf install {}",
    "pacman": "sudo pacman -S {}",
    "brew": "brew install {}",
}
_PACKAGES = {
    "apt-get": ("python3.11 python3.11-venv", "openjdk-17-jre-headless"),
    "dnf": ("python3.11", "java-17-openjdk-headless"),
    "pacman": ("python", "jre17-openjdk-headless"),
    "brew": ("python@3.11", "openjdk@17"),
}


def java_version(output):
    """The major version that `java -version` printed, None where it does not tell."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', output)
    if found is None:
        return None
    major = int(found.group(1))
    return int(found.group(2) or 0) if major == 1 else major


def problems():
    """What is missing, each with the command that brings it."""
    missing = []
    if sys.version_info[:2] < PYTHON_MIN:
        have = ".".join(str(part) for part in sys.version_info[:3])
        missing.append(
            "Python 3.11 or newer is needed, this is {}: {} (or set PYTHON=python3.12 for make)".format(
                have, _command(0)
            )
        )
    elif not _has_venv():
        missing.append("Python's venv module is missing: {}".format(_command(0)))
    java = shutil.which("java")
    if java is None:
        missing.append("Java 17 or newer is needed, there is none: {}".format(_command(1)))
        return missing
    shown = subprocess.run([java, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    version = java_version(shown.stdout.decode("utf-8", "replace"))
    if version is None or version < JAVA_MIN:
        missing.append(
            "Java 17 or newer is needed, {} is {}: {}".format(
                java, "of an unknown version" if version is None else version, _command(1)
            )
        )
    return missing


def _has_venv():
    try:
        import ensurepip  # noqa
        import venv  # noqa
    except ImportError:
        return False
    return True


def _command(index):
    for manager, packages in _PACKAGES.items():
        if shutil.which(manager):
            return _INSTALL[manager].format(packages[index])
    return "install {} with your system's package manager".format(
        ("Python 3.11 with venv", "a Java 17 runtime")[index]
    )


def main():
    """Print what is missing and exit 69, or print nothing."""
    missing = problems()
    for problem in missing:
        sys.stderr.write("error: {}\n".format(problem))
    sys.exit(EXIT_MISSING if missing else 0)


if __name__ == "__main__":
    main()
