"""What an error of Spark or of its JVM says."""

import pytest

from analysis.engine.jvm import reason


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("no such host\n\tat java.net"), "no such host"),
        (UnicodeError(" "), "UnicodeError"),
        (OSError(), "OSError"),
    ],
)
def test_an_error_is_its_first_line_or_the_name_of_its_class(error: Exception, said: str) -> None:
    assert reason(error) == said
