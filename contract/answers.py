"""How a scenario's answer is written: a text whose figures are computed from the run.

A scenario declares the text, e.g. `{lost_record.records acks=all:record} were lost.`; the plan
carries it, and the analysis fills in the figures. A figure in braces is one or several counts,
joined by ` + `, and one of four forms:

    {COUNTS}              the number: `7`
    {COUNTS:record}       with its noun: `7 records`, `1 record`
    {COUNTS?Yes|No}       the first text if the number is above 0, else the second
    {COUNTS / COUNTS:case}
                          a share with its upper bound: `0 of 1,000 cases (at most 0.3 %, ...)`

A count is `SOURCE.MEASURE` and any number of conditions on the rows of the source:

    SOURCE    a check: its findings; a table of docs/results.md; or `resumption`
    MEASURE   rows, records, groups or partitions; `faults`: how many faults held when one of the
              rows came about; `evaluated` of a check: how many cases it judged; else a column,
              whose values are listed
    COLUMN=A|B, COLUMN!=A, COLUMN>0
              of the source, of a finding's evidence, or of a row's group: client, reset,
              commit_epoch and the group's labels
    during="PHASE|VERB"
              within the phases of this description or stage, or while a fault of this verb held:
              from its injection to its heal

Findings count unless they are undecided; `verdict=` chooses others.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from contract.checks import Check
from contract.errors import UsageError
from contract.tables import TABLES

RESUMPTION = "resumption"
"""The source of the verdict's rows of the same name."""
DURING = "during"
"""The condition on phases and faults."""
EVALUATED = "evaluated"
"""The measure of what a check judged; it has no conditions."""
FAULTS = "faults"
"""The measure of the faults that held at the time of a row."""
COUNTING = ("rows", "records", "groups", "partitions", FAULTS, EVALUATED)
"""The measures that are numbers; all others are columns."""
COUNTED = {"groups": ("group",), "partitions": ("topic", "partition")}
"""The columns whose different values a measure counts."""

_FIGURE = re.compile(r"\{([^{}]*)\}")
_NOUN = re.compile(r"(.*):([a-z][a-z ]*)", re.DOTALL)
_SOURCE = re.compile(r"([a-z_]+)\.([a-z_]+)")
_CONDITION = re.compile(r"([a-z_]+)(=|!=|>)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Condition:
    """What a row's column must be: one of the values, none of them, or above a number."""

    column: str
    operator: str
    accepted: tuple[str, ...]


@dataclass(frozen=True)
class Count:
    """A measure of the rows of a source that meet all conditions."""

    source: str
    measure: str
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A figure of an answer.

    Attributes:
        counts: that are added up.
        noun: in the singular; empty without one.
        choice: the texts for a number above 0 and for 0; None if the number itself is shown.
        of: the counts of all cases, of which `counts` are some; empty if it is no share.
    """

    counts: tuple[Count, ...]
    noun: str = ""
    choice: tuple[str, str] | None = None
    of: tuple[Count, ...] = ()


def parts(text: str) -> Iterator[str | Figure]:
    """Yield the pieces of an answer: texts and figures.

    Raises:
        UsageError: a figure is not written as above, or its source does not exist.
    """
    end = 0
    for match in _FIGURE.finditer(text):
        if match.start() > end:
            yield text[end : match.start()]
        yield _figure(match[1])
        end = match.end()
    if end < len(text):
        yield text[end:]


def _figure(written: str) -> Figure:
    asked, asks, choice = written.partition("?")
    with_noun = _NOUN.fullmatch(asked)
    counted, noun = with_noun.groups() if with_noun else (asked, "")
    counted, is_share, of = counted.partition(" / ")
    texts = choice.split("|")
    if asks and len(texts) != 2:  # noqa: PLR2004 - one for each case
        raise UsageError(f"{{{written}}}: two texts must follow the `?`, separated by `|`")
    return Figure(
        counts=_counts(counted),
        noun=noun,
        choice=(texts[0], texts[1]) if asks else None,
        of=_counts(of) if is_share else (),
    )


def _counts(written: str) -> tuple[Count, ...]:
    return tuple(_count(one) for one in written.split(" + "))


def _count(written: str) -> Count:
    try:
        words = shlex.split(written)
    except ValueError as error:
        raise UsageError(f"{written}: {error}") from error
    named = _SOURCE.fullmatch(words[0]) if words else None
    if named is None:
        raise UsageError(f"{written or 'a figure'}: write SOURCE.MEASURE, such as sends.records")
    source, measure = named.groups()
    if source not in {*Check, *TABLES, RESUMPTION}:
        raise UsageError(f"{written}: {source} is neither a check nor a table")
    if measure == EVALUATED and (source not in set(Check) or words[1:]):
        raise UsageError(f"{written}: {EVALUATED} is of a check, and has no conditions")
    return Count(source, measure, tuple(_condition(word) for word in words[1:]))


def _condition(written: str) -> Condition:
    match = _CONDITION.fullmatch(written)
    if match is None:
        raise UsageError(f"{written}: write COLUMN=VALUE, COLUMN!=VALUE or COLUMN>NUMBER")
    column, operator, value = match.groups()
    if operator == ">" and not value.lstrip("-").isdecimal():
        raise UsageError(f"{written}: {value!r} is not a whole number")
    return Condition(column, operator, tuple(value.split("|")))
