"""Feature levels of the cluster (KIP-584), which are finalized apart from its servers' versions."""

import enum
from typing import Any

from contract.errors import WorkerError
from harness.clients.observer import Observer
from harness.story.wire import Wire
from harness.wire.answers import error_of_update
from harness.wire.requests import api_versions, update_features

_ASKED = (4, 3)
"""Versions of ApiVersions: the first that a broker supports has all features that it can have."""


class HowFar(enum.IntEnum):
    """`FeatureUpdate.UpgradeType`: a downgrade is safe if no metadata is lost by it."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class Features:
    """Reads and finalizes feature levels by single requests; each is a row of `wire_calls`."""

    def __init__(self, wire: Wire, observer: Observer) -> None:
        """Use the observer's worker."""
        self._wire = wire
        self._observer = observer

    def finalized(self, broker: int) -> dict[str, int]:
        """Return the finalized levels, as a broker reports them; those of level 0 are missing."""
        found = self._reported_features(broker, "finalizedFeatures")
        return {str(feature["name"]): int(feature["maxVersionLevel"]) for feature in found}

    def newest(self, broker: int) -> dict[str, int]:
        """Return the newest level of each feature that a broker supports."""
        found = self._reported_features(broker, "supportedFeatures")
        return {str(feature["name"]): int(feature["maxVersion"]) for feature in found}

    def update(self, levels: dict[str, int], how: HowFar = HowFar.UPGRADE) -> int:
        """Ask the cluster to finalize levels; returns the error code, 0 if it did.

        Raises:
            WorkerError: it did not respond.
        """
        broker = self._observer.kafka.answering_brokers()[0]
        (result,) = self._wire.call(broker, [update_features(levels, how=int(how))])
        if result.response is None:
            raise WorkerError(f"broker {broker} does not answer to {how.name}: {result.failure}")
        return error_of_update(result.response)

    def await_finalized(self, levels: dict[str, int]) -> None:
        """Wait until all brokers report these levels as finalized.

        Raises:
            WaitTimeoutError: one does not.
        """

        def reported_levels() -> dict[int, dict[str, int]]:
            brokers = self._observer.kafka.topology.broker_ids
            return {broker: self.finalized(broker) for broker in brokers}

        self._observer.await_that(
            lambda: all(
                levels.items() <= finalized.items() for finalized in reported_levels().values()
            ),
            what=f"brokers to report the feature levels {levels}",
            timeout_seconds=60,
            last_seen=reported_levels,
        )

    def _reported_features(self, broker: int, field: str) -> list[dict[str, Any]]:
        results = self._wire.call(broker, [api_versions(version=version) for version in _ASKED])
        for result in results:
            if result.response is not None and not result.response["errorCode"]:
                found: list[dict[str, Any]] = result.response.get(field, [])
                return found
        raise WorkerError(f"broker {broker} does not return its features: {results}")
