"""For all tests: no timed asserts, hypothesis's deadline among them."""

from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


class ClustersInTurn(LoadScopeScheduling):
    """Docker's clusters on one worker, all others on another, and both before everything else.

    A worker has one cluster at a time. The scopes with the most tests start first.
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith("tests/live/test_docker"):
            return "docker"
        return "clusters" if nodeid.startswith("tests/live/") else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ClustersInTurn:
    """Of pytest-xdist: who runs what."""
    return ClustersInTurn(config, log)
