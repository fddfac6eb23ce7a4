"""For all tests: no timed asserts, hypothesis's deadline among them."""

from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


class ClustersInTurn(LoadScopeScheduling):
    """All that starts clusters on one worker, and first: two clusters at once starve each other."""

    def _split_scope(self, nodeid: str) -> str:
        return "clusters" if nodeid.startswith("tests/live/") else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ClustersInTurn:
    """Of pytest-xdist: who runs what."""
    return ClustersInTurn(config, log)
