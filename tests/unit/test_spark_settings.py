"""Settings of Spark that a user gives."""

import pytest

from analysis.engine.session import _options_of_jvms
from analysis.engine.settings import OPTIONS_OF_JVMS, settings_of
from contract.errors import UsageError
from contract.verdicts import Engine


def test_a_value_may_hold_equals_signs_and_the_last_one_counts() -> None:
    given = ["spark.a=1", "spark.driver.extraJavaOptions=-Da=b -Dc=d", "spark.a= 2 ", "spark.e="]
    assert settings_of(given) == {
        "spark.a": "2",
        "spark.driver.extraJavaOptions": "-Da=b -Dc=d",
        "spark.e": "",
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("spark.executor.memory", "expected KEY=VALUE"),
        ("=4g", "expected KEY=VALUE"),
        ("", "expected KEY=VALUE"),
        ("fs.s3a.endpoint=here", "--conf spark.hadoop.fs.s3a.endpoint=here"),
        ("spark.master=local", "use --master local"),
        ("spark.sql.session.timeZone=CET", "settings of SQL can't be given"),
    ],
)
def test_a_bad_setting_is_refused(given: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        settings_of([given])


@pytest.mark.parametrize("engine", Engine)
def test_executors_are_told_no_size_of_their_heap(engine: Engine) -> None:
    """Their default is 1 GB, and a JVM with a smaller heap than it begins with does not start."""
    of_executors = _options_of_jvms(engine)[OPTIONS_OF_JVMS[1]]
    assert "-Xm" not in of_executors
