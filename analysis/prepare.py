"""What is made once, so that no analysis has to: at set-up, or by the first one of an installation.

That is what is known of each statement (`analysis.engine.prepared`), and class data of Spark's JVM.
"""

import subprocess
from collections.abc import Iterator
from contextlib import suppress

from analysis.engine import class_data, prepared
from analysis.engine.session import close_spark, end_jvm
from analysis.engine.settings import OPTIONS_OF_DRIVER
from analysis.facts import gaps
from analysis.opening import open_spark
from analysis.runs import validity
from analysis.statements.files import facts
from analysis.statements.registry import CHECKS
from analysis.statements.trace import depends_on, returned_by
from analysis.tasks import warm_up
from analysis.verdict import exercise
from contract.errors import FencepostError

_END_SECONDS = 120


def texts() -> Iterator[str]:
    """Every statement that an analysis may run, but for short ones that depend on the run."""
    for fact in facts().values():
        if fact.text:
            yield fact.text
    for check in CHECKS.values():
        yield from filter(None, (check.source.text, check.findings, check.evaluated, check.summary))
        if check.header.exercised:
            yield exercise.counting(check.header.exercised)
    yield from validity.statements()
    yield from gaps.statements()


def main() -> None:
    """Make all of it."""
    stated = [(fact.text, fact.place) for fact in facts().values() if fact.text]
    stated += [(check.source.text, check.source.path) for check in CHECKS.values()]
    prepared.write(
        texts(), {depends_on(*statement): returned_by(*statement) for statement in stated}
    )
    with suppress(FencepostError, OSError, subprocess.TimeoutExpired):
        record_class_data()


def record_class_data() -> None:
    """Record them from a Spark that judges nothing, if they are missing."""
    if (place := class_data.to_record()) is None:
        return
    with place.making() as archive:
        if archive is not None:
            options = " ".join(class_data.recording(archive))
            spark = open_spark(settings={OPTIONS_OF_DRIVER: options})
            warm_up(spark)
            close_spark(spark)
            end_jvm(_END_SECONDS)


if __name__ == "__main__":
    main()
