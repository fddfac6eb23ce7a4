"""docs/lies.md: the planted lies, and the checks that noticed them."""

from collections.abc import Iterable, Iterator

from bench.lies.alone import ToldAlone
from bench.lies.genuine import Story
from bench.lies.hidden import HIDDEN
from bench.lies.telling import Told

INTRODUCTION = """\
# Which lies the checks notice

Made by `make lies`. A lie is one place of a genuine run that is changed: a row that is dropped,
repeated, altered, shifted or swapped, a table or file that is missing, empty or damaged. Each
names in advance the check that must notice it, by the definitions of
[findings.md](findings.md). What is noticed is a finding, or a verdict, that the genuine run does
not have. Where a lie only damages evidence (`undecided`, `not_evaluable`), no check may accuse
Kafka or a client because of it. The lies are planted without `manifest.json`, which shows any
change of a file after the run.

{noticed} of {told} lies were noticed; {accusing} that damage evidence led to an accusation
(seed {seed}).

## Lies about rows
Many are planted in one trace, each in a copy of the run with its own names, servers and times.
`also` are other checks that found something new.

| lie | verb | table | scenario | named check | must be | noticed | also |
|---|---|---|---|---|---|---|---|
"""
ALONE = """
## Lies about tables, files and evidence
Planted one at a time. The run must not pass; `run` is its verdict.

| lie | verb | of | named check | must be | was | run | noticed |
|---|---|---|---|---|---|---|---|
"""
OF_NO_EVIDENCE = """
## Lies that no evidence could show
| lie | verb | of | why |
|---|---|---|---|
"""


def page(told: list[Told], alone: list[ToldAlone], stories: dict[str, Story], seed: int) -> str:
    """Return the whole page."""
    every: list[Told | ToldAlone] = [*told, *alone]
    introduction = INTRODUCTION.format(
        noticed=sum(one.is_noticed for one in every),
        told=len(every),
        accusing=sum(bool(one.accusers) for one in every),
        seed=seed,
    )
    of_rows = (_row(one, stories[one.lie.story].scenario) for one in told)
    of_files = (_alone(one) for one in alone)
    hidden = (f"| {name} | {verb} | {of} | {why} |" for verb, of, name, why in HIDDEN)
    return (
        introduction + _lines(of_rows) + ALONE + _lines(of_files) + OF_NO_EVIDENCE + _lines(hidden)
    )


def _lines(rows: Iterable[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def _row(one: Told, scenario: str) -> str:
    lie = one.lie
    also = sorted({check for check, _ in one.noticed if check != str(lie.check)})
    cells = (lie.name, lie.verb, lie.table, scenario, str(lie.check), str(lie.verdict))
    return f"| {' | '.join([*cells, _noticed(one), ', '.join(also)])} |"


def _alone(one: ToldAlone) -> str:
    lie = one.lie
    must_be = " or ".join(str(verdict) for verdict in lie.verdicts)
    cells = (lie.name, lie.verb, lie.of, str(lie.check or "(the run)"), must_be, one.seen)
    return f"| {' | '.join([*cells, one.verdict, _noticed(one)])} |"


def _noticed(one: Told | ToldAlone) -> str:
    if one.error:
        return f"not planted: {one.error}"
    accusing = f", accuses: {', '.join(one.accusers)}" if one.accusers else ""
    return ("yes" if one.is_noticed else "**no**") + accusing


def failures(told: list[Told], alone: list[ToldAlone]) -> Iterator[str]:
    """Yield one line for each lie that was not noticed, or that led to a violation wrongly."""
    every: list[Told | ToldAlone] = [*told, *alone]
    for one in every:
        if one.error or not one.is_noticed or one.accusers:
            seen = dict(one.noticed) if isinstance(one, Told) else one.seen
            yield f"{one.lie.name} ({one.lie.check}): {_noticed(one)}; {seen}"
