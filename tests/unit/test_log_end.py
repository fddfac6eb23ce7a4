"""What is said of a server that ended, where only the first line of a message is kept."""

import pytest

from cluster.kafka.service import log_end


@pytest.mark.parametrize(
    ("tail", "told"),
    [
        ("", "its log is empty"),
        ("\n \n", "its log is empty"),
        ("one", "its log ends with: one"),
        ("one\ntwo\n\n", "its log ends with: two\none"),
    ],
)
def test_the_last_line_stands_first(tail: str, told: str) -> None:
    assert log_end(tail) == told
