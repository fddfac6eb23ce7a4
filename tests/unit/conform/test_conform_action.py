"""The step of the action that tries a client."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Fencepost

SCRIPT = Path(__file__).resolve().parents[3] / ".github" / "action" / "conform.sh"
A_JOB = """
[ "$*" = "conform --client-command ./guest --cluster embedded --results results \
--stories 2 --expected e.yml" ] || exit 64
mkdir -p results/conform-mine-2 && echo "cells" >results/conform-mine-2/conform.md
exit 1
"""


@pytest.mark.parametrize(
    ("program", "code", "job"),
    [(A_JOB, 1, "job=results/conform-mine-2\n"), ("exit 69", 69, "")],
)
def test_the_step_of_a_client_shows_its_cells(
    tmp_path: Path, program: str, code: int, job: str
) -> None:
    (tmp_path / "fencepost").write_text(f"#!/bin/sh\n{program}")
    (tmp_path / "fencepost").chmod(0o755)
    earlier = tmp_path / "results" / "conform-mine-1"
    earlier.mkdir(parents=True)
    (earlier / "conform.md").touch()
    out, summary = tmp_path / "output", tmp_path / "summary"
    given = {
        "CLIENT_COMMAND": "./guest",
        "FEATURES": "",
        "EXPECTED": "e.yml",
        "CLUSTER": "embedded",
        "RESULTS": "results",
        "ARGUMENTS": "--stories 2",
        "GITHUB_OUTPUT": str(out),
        "GITHUB_STEP_SUMMARY": str(summary),
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
    }
    ended = subprocess.run(
        ["bash", str(SCRIPT)],
        cwd=tmp_path,
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, out.read_text()) == (code, f"exit-code={code}\n{job}")
    assert summary.exists() == bool(job)


def test_the_command_of_the_step_exists(fencepost: Fencepost) -> None:
    script = SCRIPT.read_text()
    assert "\nfencepost conform " in script
    shown = fencepost("conform", "--help").stdout
    options = re.findall(r"--[a-z][a-z-]+", script)
    assert [option for option in options if option not in shown] == []
