"""docs/lies.md: the planted lies, and the checks that noticed them."""

from collections.abc import Iterable, Iterator

from bench.lies.alone import ToldAlone
from bench.lies.genuine import Story
from bench.lies.hidden import HIDDEN
from bench.lies.telling import Told
from contract.markdown import table_row

INTRODUCTION = """\
# Which lies the checks notice

Made by `make lies`. A lie changes one place of a genuine run: it drops, repeats, alters, shifts
or swaps rows, or it removes, empties or damages a table or a file. Each lie names in advance the
check that must notice it, by the definitions of [findings.md](findings.md). A lie is noticed if the
run with the lie has a finding or a verdict that the genuine run does not have. If a lie only
damages evidence (`undecided`, `not_evaluable`), no check may report a violation because of it.
`manifest.json` of these runs is written after the lie, because it shows any later change of a file.

{noticed} of {told} lies were noticed; {accusing} that damage evidence led to an accusation
(seed {seed}).

## Lies about rows
Many lies are planted in one trace. Each has its own copy of the run, with its own names, servers
and times.

- `lie`: what the changed run says. "Surely failed" is the outcome `failed`, not `unknown`.
- `verb`, `table`, `scenario`: how rows are changed, in which table, and in which scenario.
- `named check`, `must be`: the check that must notice the lie, and the verdict of its new finding.
- `noticed`: whether the named check has such a finding.
- `also`: other checks that have a new finding.

| lie | verb | table | scenario | named check | must be | noticed | also |
|---|---|---|---|---|---|---|---|
"""
ALONE = """
## Lies about tables, files and evidence
Each lie is planted alone. The run must not pass. `must be` is what the named check may result in,
`was` is what it resulted in, and `run` is the verdict of the run.

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
    return table_row(*cells, _noticed(one), ", ".join(also))


def _alone(one: ToldAlone) -> str:
    lie = one.lie
    must_be = " or ".join(str(verdict) for verdict in lie.verdicts)
    cells = (lie.name, lie.verb, lie.of, str(lie.check or "(the run)"), must_be, one.seen)
    return table_row(*cells, one.verdict, _noticed(one))


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
