"""The names of settings that a misspelt one is compared with are those of Kafka's classes."""

import json

import pytest

from cluster.kafka.settings import FILE
from lab.setting_names import types_of_all

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]


def test_the_names_of_settings_are_those_of_kafkas_classes() -> None:
    """Of all locked versions: a misspelt one is refused before a cluster starts."""
    assert json.loads(FILE.read_text()) == types_of_all(), "python -m lab.setting_names"
