"""What Kafka's message classes of each release make of requests and responses."""

from pathlib import Path
from typing import Any

import pytest
from command import facts_of

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]

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
    reported: dict[str, Any] = facts_of("wire_facts.py", kafka, folder)
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
