"""The tables of docs/conformance.md, from the cells that are kept."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from extras.conform.expected import Merged, is_kept, merge_cells
from extras.conform.released.rows import Row
from extras.conform.stories import Told
from extras.conform.vocabulary import CONTROL, LIVE, MEETS, QUICK, Cell, Hazard, Kind
from website import figures
from website.figures import render

NAME = "conformance"
_TEMPLATE = Path(__file__).with_name("conformance.md.j2")
_PREDICTIONS = Path(__file__).with_name("predictions.yml")
_TIMED = ((Hazard.TRUNCATION_ABOVE, LIVE), (Hazard.TWO_ELECTIONS, LIVE))
"""Where a position that is not validated is out of range only until new records are written."""


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
    def is_timed(self) -> bool:
        """Whether it depends on when the member fetched first: another story may differ."""
        meets = Hazard(self.cell.hazard), self.cell.meets
        skips = self.cell.kind is Kind.SKIPS
        if meets[0] is Hazard.TRUNCATION_BELOW:
            return skips
        return meets in _TIMED and (skips or self.cell.kind is Kind.REPEATS)

    @property
    def agrees(self) -> bool | None:
        """Whether it came as predicted; None without a prediction, or without a story."""
        if not self.prediction or not self.cell.of:
            return None
        return self.cell.words == self.prediction


def predictions() -> list[Prediction]:
    """All predictions."""
    return msgspec.convert(yaml.safe_load(_PREDICTIONS.read_text()), list[Prediction])


def cells_of_stories(told: Iterable[Told], rows: Sequence[Row]) -> list[Shown]:
    """The cells of stories, by row, version of Kafka and place."""
    by_client = {row.client: row for row in rows}
    found: dict[tuple[str, str, str], list[tuple[Told, Cell]]] = {}
    for story in told:
        for cell in story.cells:
            if cell.client in by_client:
                key = (by_client[cell.client].name, story.kafka, cell.place)
                found.setdefault(key, []).append((story, cell))
    predicted = predictions()
    made = [_cell_of_stories(by_client[of[0][1].client], of, predicted) for of in found.values()]
    order = [row.name for row in rows]
    return sorted(made, key=lambda entry: (entry.kafka, order.index(entry.row), _place(entry.cell)))


def _cell_of_stories(
    row: Row, of: Sequence[tuple[Told, Cell]], predicted: Iterable[Prediction]
) -> Shown:
    cell = merge_cells([cell for _, cell in of])
    counted = [story for story, cell in of if cell.kind is not Kind.NOT_EVALUABLE] or [of[0][0]]
    place = f"{cell.hazard}.{cell.meets}"
    fitting = [each for each in predicted if row.name in each.clients and place in each.cells]
    versions = [story.versions.get(row.client, "") for story in counted]
    return Shown(
        row=row.name,
        version=next(filter(None, versions), ""),
        language=row.features.language,
        shares=row.features.shares,
        kafka=counted[0].kafka,
        cell=cell,
        broken=row.features.broken_claim(cell.hazard, cell.kind, cell.reset),
        seeds=[story.seed for story in counted],
        rerun=f"python -m extras.conform.released --rows {row.name} --hazards {cell.hazard}",
        prediction=fitting[0].outcome if fitting else "",
        why=" ".join(fitting[0].why.split()) if fitting else "",
        framework=row.features.framework,
    )


def _place(cell: Merged) -> tuple[int, int]:
    hazard = Hazard(cell.hazard)
    return list(Hazard).index(hazard), MEETS[hazard].index(cell.meets)


def table(cells: Sequence[Shown], hazards: Sequence[Hazard]) -> dict[str, Any]:
    """The columns and rows of one table: a column for each hazard and way to meet it."""
    columns = [(hazard, meets) for hazard in hazards for meets in MEETS[hazard]]
    columns = [column for column in columns if any(_is_at(cell, *column) for cell in cells)]
    rows: dict[tuple[str, str], list[Shown]] = {}
    for cell in cells:
        if any(_is_at(cell, *column) for column in columns):
            rows.setdefault((cell.row, cell.kafka), []).append(cell)
    return {
        "columns": [f"`{hazard}`, {meets}" for hazard, meets in columns],
        "rows": [_row(of, columns) for of in rows.values()],
    }


def _is_at(entry: Shown, hazard: Hazard, meets: str) -> bool:
    return (entry.cell.hazard, entry.cell.meets) == (hazard, meets)


def _row(of: Sequence[Shown], columns: Sequence[tuple[Hazard, str]]) -> dict[str, Any]:
    first = next((entry for entry in of if entry.version), of[0])
    found = [next((entry for entry in of if _is_at(entry, *column)), None) for column in columns]
    return {
        "name": first.row,
        "version": first.version,
        "language": first.language,
        "shares": first.shares,
        "kafka": first.kafka,
        "cells": ["not run" if entry is None else _in_table(entry) for entry in found],
    }


def _in_table(entry: Shown) -> str:
    """A cell, with what the pointer shows over it."""
    stories = f"{entry.cell.of} stories" if entry.cell.of != 1 else "1 story"
    said = [stories, *(f"broken: {entry.broken}" for _ in filter(None, [entry.broken]))]
    if entry.cell.reason:
        said = [entry.cell.reason]
    if entry.prediction:
        said.append(f"predicted: {entry.prediction}")
    title = "; ".join(said).replace('"', "'").replace("|", "/")
    words = entry.cell.words.replace("|", "/")
    marked = f"**{words}**" if entry.broken else words
    marked += ", *by timing*" if entry.is_timed else ""
    return f'<span title="{title}">{marked}</span>'


def commands(cells: Iterable[Shown]) -> Iterator[dict[str, str]]:
    """How each cell that does not keep its place is repeated, and what was predicted of it."""
    for entry in cells:
        if entry.cell.of and not is_kept(entry.cell):
            yield {
                "row": entry.row,
                "kafka": entry.kafka,
                "cell": f"`{entry.cell.hazard}`, {entry.cell.meets}",
                "outcome": entry.cell.words,
                "stories": str(entry.cell.of),
                "broken": entry.broken or "none",
                "prediction": entry.prediction or "none",
                "seeds": ", ".join(map(str, entry.seeds)),
            }


def part(cells: Sequence[Shown] | None = None) -> str:
    """The part of docs/conformance.md that is made, by default of the cells that are kept."""
    every = figures.read_figures(NAME, list[Shown]) if cells is None else list(cells)
    clients = [entry for entry in every if not entry.framework]
    others = [hazard for hazard in Hazard if hazard not in QUICK]
    compared = [entry for entry in every if entry.agrees is not None]
    return render(
        _TEMPLATE,
        quick=table(clients, QUICK),
        others=table(clients, others),
        frameworks=table([entry for entry in every if entry.framework], list(Hazard)),
        failing=list(commands(every)),
        cells=len([entry for entry in every if entry.cell.of]),
        not_evaluable=[entry for entry in every if not entry.cell.of],
        predicted=len(compared),
        agreed=sum(bool(entry.agrees) for entry in compared),
        disagreeing=[entry for entry in compared if not entry.agrees],
        control=CONTROL,
    )
