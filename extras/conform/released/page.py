"""The tables of docs/conformance.md, from the cells that are kept."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from extras.conform.expected import Merged, is_kept, join_cells, merge_cells
from extras.conform.released.rows import Row
from extras.conform.stories import Told
from extras.conform.vocabulary import CONTROL, MEETS, QUICK, Cell, Hazard, Kind
from website import figures
from website.figures import render

NAME = "conformance"
_TEMPLATE = Path(__file__).with_name("conformance.md.j2")
_PREDICTIONS = Path(__file__).with_name("predictions.yml")
_TIMING = Path(__file__).with_name("timing.yml")


class Prediction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was predicted of cells before their first run, and why."""

    clients: list[str]
    cells: list[str]
    outcome: str
    why: str


class Timing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cells whose outcome depends on a moment, and by what mechanism."""

    clients: list[str]
    cells: list[str]
    why: str


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of the table, of all its stories.

    row: the client, as `python -m extras.conform.released` names it.
    version: as the client reported it.
    framework: whether it is in the table of these.
    broken: the document of a claim that it breaks; empty: it breaks none.
    seeds: of the stories.
    dates: on which these began.
    rerun: the command of a further story; a story of several clients has its own in its folder.
    prediction: empty: there was none.
    timing: by what mechanism another moment leads to another outcome; empty: none is known.
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
    dates: list[str] = []
    timing: str = ""

    @property
    def words(self) -> str:
        """Its outcome, with a mark if it depends on timing."""
        return self.cell.words + (" (timing)" if self.timing else "")

    @property
    def agrees(self) -> bool | None:
        """Whether it came as predicted; None without a prediction, or without a story."""
        if not self.prediction or not self.cell.of:
            return None
        return self.cell.words == self.prediction


def predictions() -> list[Prediction]:
    """All predictions."""
    return msgspec.convert(yaml.safe_load(_PREDICTIONS.read_text()), list[Prediction])


def timings() -> list[Timing]:
    """All cells that depend on timing."""
    return msgspec.convert(yaml.safe_load(_TIMING.read_text()), list[Timing])


def cells_of_stories(
    told: Iterable[Told], rows: Sequence[Row], kept: Sequence[Shown] = ()
) -> list[Shown]:
    """The cells of stories, by row, version of Kafka and place, joined to those that are kept.

    A cell of one story that did not come as predicted is left out until further ones show it.

    Args:
        told: stories; those that are counted in `kept` are not counted again.
        rows: that the table has.
        kept: the cells of earlier stories.
    """
    by_client = {row.client: row for row in rows}
    by_name = {row.name: row for row in rows}
    found = {(entry.row, entry.kafka, entry.cell.place): entry for entry in kept}
    stories: dict[tuple[str, str, str], list[tuple[Told, Cell]]] = {}
    for story in told:
        for cell in story.cells:
            if cell.client in by_client:
                key = (by_client[cell.client].name, story.kafka, cell.place)
                if key not in found or story.seed not in found[key].seeds:
                    stories.setdefault(key, []).append((story, cell))
    for key, of in stories.items():
        entry = _cell_of_stories(by_client[of[0][1].client], of)
        found[key] = _joined(found[key], entry) if key in found else entry
    predicted, moments = predictions(), timings()
    made = [
        _described(entry, by_name[entry.row], predicted, moments)
        for entry in found.values()
        if entry.row in by_name
    ]
    order = list(by_name)
    return sorted(
        (entry for entry in made if entry.agrees is not False or entry.cell.of > 1),
        key=lambda entry: (entry.kafka, order.index(entry.row), _place(entry.cell)),
    )


def _cell_of_stories(row: Row, of: Sequence[tuple[Told, Cell]]) -> Shown:
    cell = merge_cells([cell for _, cell in of])
    counted = [story for story, cell in of if cell.kind is not Kind.NOT_EVALUABLE] or [of[0][0]]
    versions = [story.versions.get(row.client, "") for story in counted]
    return Shown(
        row=row.name,
        version=next(filter(None, versions), ""),
        language=row.features.language,
        shares=row.features.shares,
        kafka=counted[0].kafka,
        cell=cell,
        broken="",
        seeds=[story.seed for story in counted],
        dates=sorted({story.date for story in counted}),
        rerun=f"python -m extras.conform.released --rows {row.name} --hazards {cell.hazard}",
    )


def _joined(kept: Shown, new: Shown) -> Shown:
    """A cell with further stories, or that of another release of a row without a version."""
    if not new.cell.of:
        return kept
    if not kept.cell.of or kept.version != new.version:
        return new
    return msgspec.structs.replace(
        kept,
        cell=join_cells(kept.cell, new.cell),
        seeds=[*kept.seeds, *new.seeds],
        dates=sorted({*kept.dates, *new.dates}),
    )


def _described(
    entry: Shown, row: Row, predicted: Iterable[Prediction], moments: Iterable[Timing]
) -> Shown:
    """A cell with what is said of its row, and was predicted of it."""
    of, features = entry.cell, row.features
    place = f"{of.hazard}.{of.meets}"
    fitting = [each for each in predicted if row.name in each.clients and place in each.cells]
    depends = [each for each in moments if row.name in each.clients and place in each.cells]
    return msgspec.structs.replace(
        entry,
        language=features.language,
        shares=features.shares,
        framework=features.framework,
        broken=features.broken_claim(of.hazard, of.kind, of.reset),
        prediction=fitting[0].outcome if fitting else "",
        why=" ".join(fitting[0].why.split()) if fitting else "",
        timing=" ".join(depends[0].why.split()) if depends else "",
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
        "dates": sorted({date for entry in of for date in entry.dates}),
        "cells": ["no result" if entry is None else _in_table(entry) for entry in found],
    }


def _in_table(entry: Shown) -> str:
    """A cell, with what the pointer shows over it."""
    stories = f"{entry.cell.of} stories" if entry.cell.of != 1 else "1 story"
    said = [f"{stories} on Kafka {entry.kafka}, {', '.join(entry.dates)}"]
    said += [f"broken: {entry.broken}" for _ in filter(None, [entry.broken])]
    said += [f"depends on timing: {entry.timing}" for _ in filter(None, [entry.timing])]
    if entry.cell.reason:
        said = [entry.cell.reason]
    if entry.prediction:
        said.append(f"predicted: {entry.prediction}")
    title = "; ".join(said).replace('"', "'").replace("|", "/")
    words = entry.words.replace("|", "/")
    marked = f"**{words}**" if entry.broken else words
    return f'<span title="{title}">{marked}</span>'


def commands(cells: Iterable[Shown]) -> Iterator[dict[str, str]]:
    """How each cell that does not keep its place is repeated, and what was predicted of it."""
    for entry in cells:
        if entry.cell.of and not is_kept(entry.cell):
            yield {
                "row": entry.row,
                "kafka": entry.kafka,
                "cell": f"`{entry.cell.hazard}`, {entry.cell.meets}",
                "outcome": entry.words,
                "stories": str(entry.cell.of),
                "broken": entry.broken or "none",
                "prediction": entry.prediction or "none",
                "dates": ", ".join(entry.dates),
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
