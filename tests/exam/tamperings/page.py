"""The page of tamperings: what was changed, and the checks that noticed it."""

from collections.abc import Iterable, Iterator

from contract.markdown import table_row
from tests.exam.tamperings.judged import SEED, Outcome
from tests.exam.tamperings.tampering import hidden, runs

_INTRODUCTION = """\
# Which tamperings the checks notice

Made by `make tamperings`. A tampering changes one place of a genuine run: it drops, repeats,
changes or swaps rows, or it removes, empties or damages a table or a file. Each names in advance
the check that must notice it, by the definitions of [findings.md](findings.md). It is noticed if
the changed run has a finding or a verdict that the genuine run does not have. If it only damages
evidence (`undecided`, `not_evaluable`), no check may report a violation because of it.
`manifest.json` of these runs is written after the change, as it shows any later change of a file.

{noticed} of {judged} were noticed; {accusing} that damage evidence led to an accusation
(seed {seed}).

## Changed rows
Many changed copies are judged in one trace. Each has its own names, servers and times.

- `changed run`: what it says, or lacks. "Surely failed" is the outcome `failed`, not `unknown`.
- `verb`, `table`, `scenario`: how rows are changed, in which table, and in which scenario.
- `named check`, `must be`: the check that must notice it, and the verdict of its new finding.
- `noticed`: whether the named check has such a finding.
- `also`: other checks that have a new finding.

| changed run | verb | table | scenario | named check | must be | noticed | also |
|---|---|---|---|---|---|---|---|
"""
_ALONE = """
## Changed tables, files and evidence
Each is judged alone. The run must not pass. `must be` is what the named check may result in
(`unclear`: undecided or not evaluable), `was` is what it resulted in, and `run` is the verdict of
the run.

| changed run | verb | of | named check | must be | was | run | noticed |
|---|---|---|---|---|---|---|---|
"""
_HIDDEN = """
## What no evidence could show
| changed run | verb | of | why |
|---|---|---|---|
"""


def page(outcomes: list[Outcome]) -> str:
    """The whole page."""
    introduction = _INTRODUCTION.format(
        noticed=sum(one.is_noticed for one in outcomes),
        judged=len(outcomes),
        accusing=sum(bool(one.accusers) for one in outcomes),
        seed=SEED,
    )
    of_rows = (_row(one) for one in outcomes if not one.tampering.alone)
    alone = (_alone(one) for one in outcomes if one.tampering.alone)
    shown = (table_row(one["name"], one["verb"], one["of"], one["reason"]) for one in hidden())
    return introduction + _lines(of_rows) + _ALONE + _lines(alone) + _HIDDEN + _lines(shown)


def _lines(rows: Iterable[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def _row(one: Outcome) -> str:
    what = one.tampering
    also = sorted({check for check, _ in one.new if check != str(what.check)})
    of = (what.name, what.first.verb, what.first.of, runs()[what.run].scenario)
    return table_row(*of, str(what.check), what.verdict, _noticed(one), ", ".join(also))


def _alone(one: Outcome) -> str:
    what = one.tampering
    of = (what.name, what.first.verb, what.first.of, str(what.check or "(the run)"))
    return table_row(*of, what.verdict, one.seen, one.run, _noticed(one))


def _noticed(one: Outcome) -> str:
    if one.error:
        return f"not tampered with: {one.error}"
    accusing = f", accuses: {', '.join(one.accusers)}" if one.accusers else ""
    return ("yes" if one.is_noticed else "**no**") + accusing


def failures(outcomes: list[Outcome]) -> Iterator[str]:
    """One line for each that was not noticed, or that led to a violation wrongly."""
    for one in outcomes:
        if one.error or not one.is_noticed or one.accusers:
            seen = one.seen or dict(one.new)
            yield f"{one.tampering.name} ({one.tampering.check}): {_noticed(one)}; {seen}"
