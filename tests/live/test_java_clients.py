"""What is read from the Java clients' own fields is what they have in force."""

from pathlib import Path
from typing import Any

import pytest
from command import facts_of

from contract.software import clients_of

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]

VERSIONS = ["4.4.0", "3.9.0"]


def facts(folder: Path, kafka: str, what: str) -> dict[str, Any]:
    reported: dict[str, Any] = facts_of("java_facts.py", kafka, folder, what)
    return reported


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_producer_tells_the_settings_that_it_came_to(tmp_path: Path, kafka: str) -> None:
    """As the documentation of `enable.idempotence` has it: acks other than all switch it off."""
    reported = {
        name: (row["idempotent"], row["in_flight_max"])
        for name, row in facts(tmp_path, kafka, "producers").items()
    }
    assert reported == {
        "acks=all": (True, 5),
        "acks=1": (False, 5),
        "acks=0": (False, 5),
        "without idempotence": (False, 5),
        "one in flight": (True, 1),
        "ten in flight": (False, 10),
        "transactional": (True, 5),
    }


@pytest.mark.parametrize("kafka", VERSIONS)
def test_records_are_read_by_columns(tmp_path: Path, kafka: str) -> None:
    whole = {
        "offsets": [0, 1, 2, 3],
        "epochs": [3, -1, 0, 7],
        "values": ["a:1", "", "\u00e9\U0001f388", "b\0c"],
    }
    ordinary = {name: values[:3] for name, values in whole.items()}
    assert facts(tmp_path, kafka, "records") == {"whole": whole, "ordinary": ordinary}


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_consumers_state_is_read_with_both_protocols(tmp_path: Path, kafka: str) -> None:
    """A position that awaits validation is none that a plain commit takes.

    A transaction gets what was processed. Leader epochs are read before positions, so that a new
    leader in between shows in the state after a commit.
    """
    reported = facts(tmp_path, kafka, "consumers")
    assert set(reported) == {client for client in clients_of(kafka) if client.startswith("java")}
    unknown = {"metadata_epoch": -1, "generation": -1}
    valid = {"position": {"offset": 5, "epoch": 3}, "leader_epoch": -1}
    awaiting = {"position": None, "leader_epoch": 4}
    for *states, sent, overtaken in reported.values():
        assert states == [valid | unknown, awaiting | unknown]
        assert sent == [[3, 1]]
        assert (overtaken["position"], overtaken["leader_epoch"]) == (valid["position"], -1)
