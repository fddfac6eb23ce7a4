"""The tables of docs/conformance.md, from the cells that are kept."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from extras.conform.expected import Merged, is_kept, merged
from extras.conform.released.rows import Row
from extras.conform.stories import Told
from extras.conform.vocabulary import CONTROL, MEETS, QUICK, Cell, Hazard, Kind
from website import figures
from website.figures import rendered

NAME = "conformance"
_TEMPLATE = Path(__file__).with_name("conformance.md.j2")
_PREDICTIONS = Path(__file__).with_name("predictions.yml")


class Prediction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was predicted of cells before their first run, and why."""

    clients: list[str]
    cells: list[str]
    outcome: str
    why: str


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of the table, of all its stories.

    row: the client, as `python -m extras.conform.released` names it.
    version: as the client reported it.
    framework: whether it is in the table of these.
    broken: the document of a claim that it breaks; empty: it breaks none.
    seeds: of the stories.
    rerun: the command of a further story; a story of several clients has its own in its folder.
    prediction: empty: there was none.
    """

    row: str
    version: str
    language: str
    shares: str
    kafka: str
    cell: Merged
    broken: str
    seeds: list[int]
    rerun: str
    prediction: str = ""
    why: str = ""
    framework: bool = False

    @property
    def agrees(self) -> bool | None:
        """Whether it came as predicted; None without a prediction, or without a story."""
        if not self.prediction or not self.cell.of:
            return None
        return self.cell.words == self.prediction


def predictions() -> list[Prediction]:
    """All predictions."""
    return msgspec.convert(yaml.safe_load(_PREDICTIONS.read_text()), list[Prediction])


def shown(told: Iterable[Told], rows: Sequence[Row]) -> list[Shown]:
    """The cells of stories, by row, version of Kafka and place."""
    by_client = {row.client: row for row in rows}
    found: dict[tuple[str, str, str], list[tuple[Told, Cell]]] = {}
    for story in told:
        for cell in story.cells:
            if cell.client in by_client:
                key = (by_client[cell.client].name, story.kafka, cell.place)
                found.setdefault(key, []).append((story, cell))
    predicted = predictions()
    made = [_shown(by_client[of[0][1].client], of, predicted) for of in found.values()]
    order = [row.name for row in rows]
    return sorted(made, key=lambda one: (one.kafka, order.index(one.row), _place(one.cell)))


def _shown(row: Row, of: Sequence[tuple[Told, Cell]], predicted: Iterable[Prediction]) -> Shown:
    one = merged([cell for _, cell in of])
    counted = [story for story, cell in of if cell.kind is not Kind.NOT_EVALUABLE] or [of[0][0]]
    place = f"{one.hazard}.{one.meets}"
    fitting = [each for each in predicted if row.name in each.clients and place in each.cells]
    versions = [story.versions.get(row.client, "") for story in counted]
    return Shown(
        row=row.name,
        version=next(filter(None, versions), ""),
        language=row.features.language,
        shares=row.features.shares,
        kafka=counted[0].kafka,
        cell=one,
        broken=row.features.broken(one.hazard, one.kind, one.reset),
        seeds=[story.seed for story in counted],
        rerun=f"python -m extras.conform.released --rows {row.name} --hazards {one.hazard}",
        prediction=fitting[0].outcome if fitting else "",
        why=" ".join(fitting[0].why.split()) if fitting else "",
        framework=row.features.framework,
    )


def _place(one: Merged) -> tuple[int, int]:
    hazard = Hazard(one.hazard)
    return list(Hazard).index(hazard), MEETS[hazard].index(one.meets)


def table(cells: Sequence[Shown], hazards: Sequence[Hazard]) -> dict[str, Any]:
    """The columns and rows of one table: a column for each hazard and way to meet it."""
    columns = [(hazard, meets) for hazard in hazards for meets in MEETS[hazard]]
    columns = [one for one in columns if any(_is_at(cell, *one) for cell in cells)]
    rows: dict[tuple[str, str], list[Shown]] = {}
    for cell in cells:
        if any(_is_at(cell, *one) for one in columns):
            rows.setdefault((cell.row, cell.kafka), []).append(cell)
    return {
        "columns": [f"`{hazard}`, {meets}" for hazard, meets in columns],
        "rows": [_row(of, columns) for of in rows.values()],
    }


def _is_at(one: Shown, hazard: Hazard, meets: str) -> bool:
    return (one.cell.hazard, one.cell.meets) == (hazard, meets)


def _row(of: Sequence[Shown], columns: Sequence[tuple[Hazard, str]]) -> dict[str, Any]:
    first = next((one for one in of if one.version), of[0])
    found = [next((one for one in of if _is_at(one, *column)), None) for column in columns]
    return {
        "name": first.row,
        "version": first.version,
        "language": first.language,
        "shares": first.shares,
        "kafka": first.kafka,
        "cells": ["not run" if one is None else _in_table(one) for one in found],
    }


def _in_table(one: Shown) -> str:
    """A cell, with what the pointer shows over it."""
    stories = f"{one.cell.of} stories" if one.cell.of != 1 else "1 story"
    said = [stories, *(f"broken: {one.broken}" for _ in filter(None, [one.broken]))]
    if one.cell.reason:
        said = [one.cell.reason]
    if one.prediction:
        said.append(f"predicted: {one.prediction}")
    title = "; ".join(said).replace('"', "'").replace("|", "/")
    words = one.cell.words.replace("|", "/")
    marked = f"**{words}**" if one.broken else words
    return f'<span title="{title}">{marked}</span>'


def commands(cells: Iterable[Shown]) -> Iterator[dict[str, str]]:
    """How each cell that does not keep its place is repeated, and what was predicted of it."""
    for one in cells:
        if one.cell.of and not is_kept(one.cell):
            yield {
                "row": one.row,
                "kafka": one.kafka,
                "cell": f"`{one.cell.hazard}`, {one.cell.meets}",
                "outcome": one.cell.words,
                "stories": str(one.cell.of),
                "broken": one.broken or "none",
                "prediction": one.prediction or "none",
                "seeds": ", ".join(map(str, one.seeds)),
            }


def part(cells: Sequence[Shown] | None = None) -> str:
    """The part of docs/conformance.md that is made, by default of the cells that are kept."""
    every = figures.kept(NAME, list[Shown]) if cells is None else list(cells)
    clients = [one for one in every if not one.framework]
    others = [hazard for hazard in Hazard if hazard not in QUICK]
    compared = [one for one in every if one.agrees is not None]
    return rendered(
        _TEMPLATE,
        quick=table(clients, QUICK),
        others=table(clients, others),
        frameworks=table([one for one in every if one.framework], list(Hazard)),
        failing=list(commands(every)),
        cells=len([one for one in every if one.cell.of]),
        not_evaluable=[one for one in every if not one.cell.of],
        predicted=len(compared),
        agreed=sum(bool(one.agrees) for one in compared),
        disagreeing=[one for one in compared if not one.agrees],
        control=CONTROL,
    )
