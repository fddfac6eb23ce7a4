"""What Kafka's message classes of each release make of requests and responses."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = {
    "4.4.0": {
        "FETCH": [4, 18, 9],
        "LIST_OFFSETS": [1, 11, 4],
        "METADATA": [4, 13],
        "OFFSET_FOR_LEADER_EPOCH": [2, 4, 2],
    },
    "3.9.0": {
        "FETCH": [0, 17, 9],
        "LIST_OFFSETS": [0, 9, 4],
        "METADATA": [4, 12],
        "OFFSET_FOR_LEADER_EPOCH": [0, 4, 2],
    },
}


def facts(folder: Path, kafka: str) -> dict[str, Any]:
    said = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("wire_facts.py")), kafka, str(folder)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    reported: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
    return reported


@pytest.mark.parametrize("kafka", VERSIONS)
def test_requests_at_every_version_and_malformed_responses(tmp_path: Path, kafka: str) -> None:
    """Kafka's own schemas say from which version on a request has the current leader epoch."""
    reported = facts(tmp_path, kafka)
    assert reported["versions"] == VERSIONS[kafka]
    assert reported["refused"].startswith("FETCH 11: ")
    assert "lastFetchedEpoch" in reported["refused"]
    responses = reported["responses"]
    assert responses.pop("whole") == 50
    assert responses.pop("with a byte too many") == ("OffsetForLeaderEpoch 2 has 1 bytes too many")
    assert responses.pop("of another request") == (
        "OffsetForLeaderEpoch 2 has correlation id 8, not 7"
    )
    assert set(responses) == {"without its last byte", "without the throttle time"}
    assert all("can't be decoded" in said for said in responses.values()), responses
