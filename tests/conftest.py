"""For all tests: no timed asserts, hypothesis's deadline among them."""

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep what starts clusters on one worker of pytest-xdist: two at once starve each other."""
    for item in items:
        if item.get_closest_marker("live") or item.get_closest_marker("docker"):
            item.add_marker(pytest.mark.xdist_group("clusters"))
