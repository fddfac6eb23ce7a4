"""Prepare all statements at set-up, so that no analysis has to (`analysis.engine.prepared`)."""

from collections.abc import Iterator
from contextlib import suppress

from analysis.engine import prepared
from analysis.facts import gaps
from analysis.runs import validity
from analysis.statements.files import facts
from analysis.statements.registry import CHECKS, depends_on, output_columns
from analysis.verdict import exercise
from contract.python import IS_INSTALLED


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


def ensure() -> None:
    """Write the file of an installation if it is missing; without it, all is prepared each time."""
    if IS_INSTALLED and not prepared.FILE.exists():
        with suppress(OSError):
            main()


def main() -> None:
    """Write the file."""
    columns = {depends_on(check.source): output_columns(check.source) for check in CHECKS.values()}
    prepared.write(texts(), columns)


if __name__ == "__main__":
    main()
