"""What is read from the Java clients' own fields is what they have in force."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]

ROOT = Path(__file__).resolve().parents[2]


def test_a_producer_tells_the_settings_that_it_came_to(tmp_path: Path) -> None:
    """As the documentation of `enable.idempotence` has it: acks other than all switch it off."""
    program = Path(__file__).with_name("producer_settings.py")
    said = subprocess.run(
        [sys.executable, str(program), str(tmp_path)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    told = {
        name: (row["idempotent"], row["in_flight_max"])
        for name, row in json.loads(said.stdout.splitlines()[-1]).items()
    }
    assert told == {
        "acks=all": (True, 5),
        "acks=1": (False, 5),
        "acks=0": (False, 5),
        "without idempotence": (False, 5),
        "one in flight": (True, 1),
        "ten in flight": (False, 10),
        "transactional": (True, 5),
    }
