"""Patches of the client: what there is."""

import re

import pytest

from cluster.kafka.lock import read_lock
from contract.errors import UsageError
from extras.compare import patched

NAMES = {"option-1", "option-2", "option-3", "options-1-and-3"}
PATCHED_CONSUMER = "org/apache/kafka/clients/consumer/internals/"


def test_every_version_has_the_same_patches() -> None:
    versions = {patch.version for patch in patched.patches()}
    assert versions == {"4.3.1", "3.9.2"}
    for version in versions:
        assert {patch.name for patch in patched.patches(version)} == NAMES


@pytest.mark.parametrize(
    "patch", patched.patches(), ids=lambda patch: f"{patch.name} {patch.version}"
)
def test_a_patch_says_what_it_changes(patch: patched.Patch) -> None:
    assert patch.description.startswith(("KAFKA-19902, option ", "Options 1 and 3 of KAFKA-19902"))
    assert f"{PATCHED_CONSUMER}SubscriptionState.java" in patch.sources
    is_refreshed = f"{PATCHED_CONSUMER}FetchCollector.java" in patch.sources
    assert is_refreshed == ("1" in patch.name)
    (artifact,) = read_lock(patch.version, patched.PATCHES / patch.version).artifacts
    assert (artifact.classifier, artifact.version) == ("sources", patch.version)


def test_an_unknown_patch_is_refused() -> None:
    with pytest.raises(UsageError, match=re.escape("option-2 4.3.1")):
        patched.find_patch("option-9", "4.3.1")
