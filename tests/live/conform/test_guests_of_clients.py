"""A guest in Go, Java and JavaScript each is built, and keeps the rules of docs/guests.md."""

import re

import pytest
import yaml
from command import POOL, run_to_end

from extras.conform.released.building import ensure, problem, release_of

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(900)]


@pytest.mark.parametrize("client", ["kafka-go", "kafka-streams", "kafkajs"])
def test_a_guest_of_a_released_client_breaks_no_rule(client: str) -> None:
    release = release_of(client)
    if (lack := problem(release)) is not None:
        pytest.skip(lack)
    level = yaml.safe_load(release.features.read_text())["level"]
    status, said = run_to_end("guest", "check", f"--cluster={POOL}", "--", *ensure(release))
    assert status == 0, said
    assert re.search(rf"{client} {re.escape(release.version)}: .*level {level}$", said.strip())
