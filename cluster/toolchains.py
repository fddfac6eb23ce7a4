"""What clients in other languages are built and run with: Go, Rust, Node with npm, compilers."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from contract.errors import PrerequisiteError

_SECONDS = 60
_NUMBERS = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True)
class Tool:
    """A program of a toolchain.

    Attributes:
        program: as it is called.
        arguments: with which it prints its version.
        language: in which the clients are that need it.
        minimum: the oldest version that all of them can be built and run with.
        package: that has it, on Debian.
        part: of the program, that it prints its version with; empty: the program itself.
        home: the variable of the environment that names its folder, which goes before the PATH.
    """

    program: str
    arguments: tuple[str, ...]
    language: str
    minimum: str
    package: str
    part: str = ""
    home: str = ""

    @property
    def named(self) -> str:
        """What it is called in messages."""
        return self.part or self.program


GO = Tool("go", ("version",), "Go", "1.26.0", "golang")
CARGO = Tool("cargo", ("--version",), "Rust", "1.85.0", "cargo")
GCC = Tool("gcc", ("--version",), "Go or Rust with parts in C", "9.0.0", "gcc")
GXX = Tool("g++", ("--version",), "JavaScript or Rust with parts in C++", "10.0.0", "g++")
MAKE = Tool("make", ("--version",), GXX.language, "4.0", "make")
JAVAC = Tool("javac", ("-version",), "Java", "17.0.0", "openjdk-17-jdk-headless", home="JAVA_HOME")
NODE = Tool("node", ("--version",), "JavaScript", "20.0.0", "nodejs")
NPM = Tool("npm", ("--version",), "JavaScript", "9.0.0", "npm")
_HEADER = "require('path').resolve(process.execPath, '../../include/node/node.h')"
NODE_HEADERS = Tool(
    "node",
    ("-p", f"require('fs').readFileSync({_HEADER}) && process.version"),
    "JavaScript with parts in C++",
    NODE.minimum,
    "libnode-dev",
    "headers of node",
)
TOOLS = (GO, CARGO, GCC, NODE, NPM, NODE_HEADERS, GXX, MAKE)
"""What `fencepost doctor` names for guests alone; javac has a line of its own there."""


def path_of(tool: Tool) -> str | None:
    """Return the path of a tool's program; None if it is not on this machine."""
    home = os.environ.get(tool.home)
    inside = shutil.which(tool.program, path=str(Path(home) / "bin")) if home else None
    return inside or shutil.which(tool.program)


@cache
def version_of(tool: Tool) -> str | None:
    """Return the version of a tool on this machine, as `1.26.0`; None if it is not there."""
    program = path_of(tool)
    if program is None:
        return None
    try:
        ended = subprocess.run(
            [program, *tool.arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _NUMBERS.search(ended.stdout)
    return None if ended.returncode or found is None else ".".join(n or "0" for n in found.groups())


def problem_of(tool: Tool, minimum: str | None = None) -> str | None:
    """Return why a tool does not serve and what to do; None if it serves."""
    needed, found = minimum or tool.minimum, version_of(tool)
    if found is not None and _numbers(found) >= _numbers(needed):
        return None
    lacking = "is not on this machine" if found is None else f"is {found} here"
    return (
        f"{tool.named} {lacking}: install {tool.named} {needed} or newer (Debian: apt-get "
        f"install {tool.package}, if that is new enough), or clients in {tool.language} are not "
        "evaluable"
    )


def _numbers(version: str) -> tuple[int, ...]:
    found = _NUMBERS.search(version)
    return () if found is None else tuple(int(number or 0) for number in found.groups())


def javac_command() -> str:
    """The `javac` beside `java_command`, else that of the PATH.

    Raises:
        PrerequisiteError: there is none: a JRE has no compiler.
    """
    found = path_of(JAVAC)
    if found is None:
        raise PrerequisiteError(
            "no javac in JAVA_HOME or on PATH: patches of the client can't be compiled; Debian: "
            f"apt-get install {JAVAC.package}"
        )
    return found
