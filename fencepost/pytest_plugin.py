"""The fixture `fencepost_cluster` of pytest (docs/your-tests.md)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fencepost.testing import Cluster

_SCOPE = "fencepost_cluster_scope"
_MARK = "fencepost_cluster"
_SCOPES = ("function", "class", "module", "package", "session")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a user choose how many tests share a cluster."""
    parser.addini(_SCOPE, "Scope of the fixture fencepost_cluster.", default="function")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers", f"{_MARK}(**options): what fencepost.testing.cluster() is called with"
    )


def _scope(fixture_name: str, config: pytest.Config) -> Any:  # noqa: ARG001 - pytest names them
    scope = config.getini(_SCOPE)
    if scope not in _SCOPES:
        raise pytest.UsageError(f"{_SCOPE}={scope} has to be one of {', '.join(_SCOPES)}")
    return scope


@pytest.fixture(scope="session")
def fencepost_cluster_options() -> dict[str, Any]:
    """The options of all clusters; define one of this name in conftest.py for others."""
    return {}


@pytest.fixture(scope=_scope)
def fencepost_cluster(
    request: pytest.FixtureRequest,
    fencepost_cluster_options: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator["Cluster"]:
    """A cluster, with the options of the marker of this name of the test, class or module."""
    from fencepost.testing import cluster  # noqa: PLC0415 - what takes time

    marker = request.node.get_closest_marker(_MARK)
    options = {**fencepost_cluster_options, **(marker.kwargs if marker else {})}
    options.setdefault("results", tmp_path_factory.mktemp("fencepost"))
    with cluster(**options) as started:
        yield started
