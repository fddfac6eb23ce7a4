"""How a scenario's answer is written: a Jinja template whose figures are computed from the run.

A scenario declares the text, e.g. `{{ lost_record.records(acks="all") | noun("record") }} were
lost.`; the plan carries it, and the analysis fills in the figures. A figure is a count, or a sum
of counts:

    SOURCE.MEASURE    the source is a check: its findings; a table of docs/results.md; or
                      `resumption`
    MEASURE           rows, records, groups or partitions; `faults`: how many faults held when one
                      of the rows came about; `evaluated` of a check: how many cases it judged; else
                      a column, whose values are listed
    (COLUMN="A|B", COLUMN=other_than("A"), COLUMN=above(0))
                      conditions on the rows: columns of the source, of a finding's evidence, or of
                      a row's group: client, reset, commit_epoch and the group's labels
    (during="PHASE|VERB")
                      within the phases of this description or stage, or while a fault of this verb
                      held: from its injection to its heal

and is shown in one of five forms:

    {{ FIGURE }}                        the number: `7`
    {{ FIGURE | noun("record") }}       with its noun: `7 records`, `1 record`
    {{ (FIGURE / FIGURE) | noun("case") }}
                                        a share with its upper bound: `0 of 1,000 cases (at most
                                        0.3 %, ...)`
    {{ FIGURE | whether("Some", "None") }}
                                        the first text if the number is above 0, else the second
    {{ yes_if_any(FIGURE, asked="lost") }}, {{ yes_if_none(FIGURE, asked="without loss") }}
                                        Yes or No. `asked` are words of the question: those that say
                                        what happened, or that it did not

Findings count unless they are undecided; `verdict=` chooses others. If undecided ones may belong to
a figure, the text says how many, as in `0 records (and 2 undecided)`; a choice of which only they
could be a case is `Undecided`, and so is one without a case if the scenario did not finish. Nothing
else of Jinja is allowed, since a plan may come from elsewhere: an answer neither loops nor decides.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from jinja2 import StrictUndefined, TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from contract.errors import UsageError, nearest
from contract.tables import TABLES
from contract.terms import Check

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

_YES, _NO = "Yes", "No"
_NEGATED = re.compile(r"\b(without|no|not|never|none)\b", re.IGNORECASE)
_OPEN = re.compile(r"(What|Where|Which|Who|Whose|Why|How)\b")
"""How a question begins to which neither Yes nor No is an answer."""
_ALLOWED = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Getattr,
    nodes.Call,
    nodes.Keyword,
    nodes.Const,
    nodes.Add,
    nodes.Div,
    nodes.Filter,
)
_MARK = "\0"


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
        asked: the words of the question to which the choice says Yes; empty if it does not.
    """

    counts: tuple[Count, ...]
    noun: str = ""
    choice: tuple[str, str] | None = None
    of: tuple[Count, ...] = ()
    asked: str = ""

    def __add__(self, other: "Figure") -> "Figure":
        """Add up both."""
        return replace(self, counts=(*self.counts, *other.counts))

    def __truediv__(self, other: "Figure") -> "Figure":
        """These cases of all those."""
        return replace(self, of=other.counts)

    def __call__(self, **conditions: Any) -> "Figure":
        """Count only the rows that meet these conditions.

        Raises:
            UsageError: the measure has none.
        """
        (count,) = self.counts
        if count.measure == EVALUATED:
            raise UsageError(f"{count.source}: {EVALUATED} is of a check, and has no conditions")
        met = (_condition(*condition) for condition in conditions.items())
        return Figure((replace(count, conditions=(*count.conditions, *met)),))


class _Source:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __getattr__(self, measure: str) -> Figure:
        if measure == EVALUATED and self._name not in set(Check):
            raise UsageError(f"{self._name}.{measure}: {EVALUATED} is of a check")
        return Figure((Count(self._name, measure),))


def parts(text: str) -> Iterator[str | Figure]:
    """Yield the pieces of an answer: texts and figures.

    Raises:
        UsageError: a figure is not written as above, or its source does not exist.
    """
    figures: list[Figure] = []

    def as_text(value: Any) -> str:
        if not isinstance(value, Figure):
            raise UsageError(f"{value!r} is no figure: write SOURCE.MEASURE, such as sends.records")
        figures.append(value)
        return f"{_MARK}{len(figures) - 1}{_MARK}"

    environment = _environment()
    environment.finalize = as_text
    try:
        _require_allowed(environment.parse(text))
        rendered = environment.from_string(text).render()
    except TemplateError as error:
        raise UsageError(f"{error.message or type(error).__name__}") from error
    except (TypeError, ValueError, AttributeError, SyntaxError, RecursionError) as error:
        wrong = "a figure is not written as in `fencepost docs your-scenario`"
        raise UsageError(f"{wrong}: {error}") from error
    for at, piece in enumerate(rendered.split(_MARK)):
        if at % 2:
            yield figures[int(piece)]
        elif piece:
            yield piece


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, cache_size=0)
    sources = {str(name): _Source(str(name)) for name in (*Check, *TABLES, RESUMPTION)}
    functions = (yes_if_any, yes_if_none, above, other_than)
    environment.globals = {**sources, **{function.__name__: function for function in functions}}
    environment.filters = {function.__name__: function for function in (noun, whether)}
    return environment


def _require_allowed(template: nodes.Template) -> None:
    for node in (template, *template.find_all(nodes.Node)):
        if not isinstance(node, _ALLOWED):
            raise UsageError(f"an answer has figures only, and no {type(node).__name__}")
        if isinstance(node, nodes.TemplateData) and {"{", "}", _MARK} & set(node.data):
            raise UsageError("a figure stands in double braces, such as {{ lost_record.records }}")
        if isinstance(node, nodes.Getattr) and not isinstance(node.node, nodes.Name):
            raise UsageError(f"{node.attr}: write SOURCE.MEASURE, such as sends.records")
    known = _environment().globals
    for name in template.find_all(nodes.Name):
        if name.name not in known:
            meant = nearest(name.name, known)
            hint = "" if meant is None else f"; the nearest is {meant}"
            raise UsageError(f"{name.name} is neither a check nor a table{hint}")


def noun(figure: Figure, name: str) -> Figure:
    """With the noun of what is counted, in the singular."""
    return replace(figure, noun=name)


def whether(figure: Figure, some: str, none: str) -> Figure:
    """One of two texts.

    Raises:
        UsageError: they are Yes and No, which have their own functions.
    """
    if {some, none} & {_YES, _NO}:
        raise UsageError("Yes and No are written by yes_if_any or yes_if_none")
    return replace(figure, choice=(some, none))


def yes_if_any(figure: Figure, asked: str) -> Figure:
    """Yes to a question for what the figure counts."""
    return replace(figure, choice=(_YES, _NO), asked=asked)


def yes_if_none(figure: Figure, asked: str) -> Figure:
    """Yes to a question whether what the figure counts did not happen."""
    return replace(figure, choice=(_NO, _YES), asked=asked)


def above(number: int) -> tuple[str, str]:
    """A condition: above a whole number.

    Raises:
        UsageError: it is none.
    """
    if isinstance(number, bool) or not isinstance(number, int):
        raise UsageError(f"above({number!r}): it is not a whole number")
    return ">", str(number)


def other_than(value: str) -> tuple[str, str]:
    """A condition: none of these values."""
    return "!=", _text(value)


def _condition(column: str, wanted: Any) -> Condition:
    operator, value = wanted if isinstance(wanted, tuple) else ("=", _text(wanted))
    return Condition(column, operator, tuple(value.split("|")))


def _text(value: Any) -> str:
    if not isinstance(value, str | int):
        raise UsageError(f"{value!r} is neither a text nor a number")
    return str(value).lower() if isinstance(value, bool) else str(value)


def require_asked(answer: str, question: str) -> None:
    """Refuse an answer whose Yes and No are not those of the question.

    Raises:
        UsageError: the question has other words, or the Yes and the No are swapped.
    """
    pieces = list(parts(answer))
    texts = " ".join(piece for piece in pieces if isinstance(piece, str))
    for figure in (piece for piece in pieces if isinstance(piece, Figure) and piece.asked):
        is_for_none = figure.choice == (_NO, _YES)
        form = yes_if_none.__name__ if is_for_none else yes_if_any.__name__
        other = yes_if_any.__name__ if is_for_none else yes_if_none.__name__
        if _OPEN.match(question):
            raise UsageError(f"{form}: {question!r} asks for more than Yes or No")
        if not re.search(rf"\b{re.escape(figure.asked)}\b", question):
            raise UsageError(
                f"{form}: the question does not ask {figure.asked!r}: name its own words, and "
                f"count what they are about ({question!r})"
            )
        is_negated = _NEGATED.search(figure.asked) is not None
        is_counted = re.search(rf"\b{re.escape(figure.asked)}\b", texts) is not None
        if (is_negated and not is_for_none) or (is_counted and is_for_none and not is_negated):
            raise UsageError(f"{form}: Yes and No to {figure.asked!r} are swapped: {other}")
