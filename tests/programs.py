"""Programs that tests start and wait for."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def ran(*command: str | Path, **options: Any) -> "subprocess.CompletedProcess[str]":
    """How a program ended, with what it printed."""
    usual: dict[str, Any] = {"capture_output": True, "text": True}
    return subprocess.run(command, check=False, **(usual | options))


def ran_python(*arguments: str | Path, **options: Any) -> "subprocess.CompletedProcess[str]":
    """How this Python ended with these arguments."""
    return ran(sys.executable, *arguments, **options)


@contextmanager
def waiting_python(
    *arguments: str | Path, **options: Any
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A Python that has printed a line, and that line; it is killed at the end."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, *arguments], **(pipes | options))
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()
