"""What is printed while Spark's JVM starts stays out of the terminal, unless it does not start."""

import subprocess
import sys

PROGRAM = """
import subprocess, sys
from analysis.engine.quiet import quiet
with quiet():
    subprocess.run("echo out; echo err >&2", shell=True, check=True)
    later = subprocess.Popen("read _; echo late; echo later >&2", shell=True, stdin=subprocess.PIPE)
    if sys.argv[1] == "fail":
        raise SystemExit(7)
print("after")
later.communicate(b"\\n")
"""


def ran(how: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", PROGRAM, how]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_programs_print_nothing_as_long_as_they_run() -> None:
    ended = ran("pass")
    assert (ended.stdout, ended.stderr, ended.returncode) == ("after\n", "", 0)


def test_what_they_printed_is_shown_after_an_exception() -> None:
    ended = ran("fail")
    assert (ended.stdout, ended.returncode) == ("", 7)
    assert ended.stderr == "out\nerr\n"
