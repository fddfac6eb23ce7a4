"""A job of one client: which stories it needs, and what comes of their cells."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from contract.errors import UsageError
from contract.files import SCHEMA
from extras.conform.expected import (
    Expected,
    Job,
    Merged,
    Result,
    Standing,
    Story,
    exit_code,
    merge_cells,
    result_of,
)
from extras.conform.features import Features
from extras.conform.stories import Told
from extras.conform.vocabulary import MEETS, Cell, Hazard, Reader


@dataclass(frozen=True)
class Work:
    """What a job is about.

    Attributes:
        name: of the client, as pages have it.
        client: as plans name it.
        features: what it has and claims.
        hazards: that it meets.
        expected: its cells that are known to fail.
    """

    name: str
    client: str
    features: Features
    hazards: tuple[Hazard, ...]
    expected: tuple[Expected, ...] = ()

    @property
    def readers(self) -> list[Reader]:
        """Each way to commit with each reset policy."""
        return self.features.readers(self.client)

    def require_testable(self) -> None:
        """Refuse an expected cell of which there is no story, so that it could never be removed.

        Raises:
            UsageError: the client lacks its way to commit or its reset policy.
        """
        has = {f"{reader.commit}.{reader.reset}" for reader in self.readers}
        for entry in self.expected:
            if entry.cell.split(".", 2)[2] not in has:
                raise UsageError(
                    f"line {entry.line} of the expected cells: {entry.cell} is not applicable, by "
                    "the "
                    "features file: remove it"
                )

    def due_alone(self, told: Iterable[Told]) -> list[tuple[Hazard, Reader]]:
        """Return what is run again alone: of cells that fail unexpectedly, or show nothing."""
        again = (Standing.UNEXPECTED, Standing.NOT_EVALUABLE)
        cells = [result.cell for result in self._results(told, []) if result.standing in again]
        wanted = {(cell.hazard, cell.commit, cell.reset) for cell in cells}
        return [
            (hazard, reader)
            for hazard in self.hazards
            for reader in self.readers
            if (hazard, reader.commit, reader.reset) in wanted
        ]

    def job(
        self, told: Sequence[Told], alone: Sequence[Told], *, home: Path, seed: int, kafka: str
    ) -> Job:
        """Return what the stories say.

        Args:
            told: of all readers.
            alone: of those that were run again, one by one.
            home: the folder of their runs.
            seed: of the job.
            kafka: the version of the brokers.
        """
        results = self._results(told, alone)
        versions = [story.versions.get(self.client, "") for story in (*told, *alone)]
        return Job(
            schema=SCHEMA,
            name=self.name,
            version=next(filter(None, versions), ""),
            kafka=kafka,
            seed=seed,
            exit_code=exit_code(results),
            results=results,
            stories=[_story(story, home) for story in (*told, *alone)],
        )

    def _results(self, told: Iterable[Told], alone: Iterable[Told]) -> list[Result]:
        expected = {entry.cell: entry for entry in self.expected}
        of_alone = self._merge_by_place(alone)
        found = self._merge_by_place(told) | {
            cell.place: merge_cells([cell])
            for cell in self.features.lacking(self.client, self.hazards)
        }
        results = [
            result_of(cell, expected, self.features, of_alone.get(place))
            for place, cell in found.items()
        ]
        return sorted(results, key=self._order)

    def _merge_by_place(self, told: Iterable[Told]) -> dict[str, Merged]:
        by_place: dict[str, list[Cell]] = {}
        for story in told:
            for cell in story.cells:
                if cell.client == self.client:
                    by_place.setdefault(cell.place, []).append(cell)
        return {place: merge_cells(cells) for place, cells in by_place.items()}

    def _order(self, result: Result) -> tuple[object, ...]:
        cell = result.cell
        hazard = Hazard(cell.hazard)
        return (
            self.hazards.index(hazard),
            MEETS[hazard].index(cell.meets),
            result.standing is Standing.NOT_APPLICABLE,
            cell.commit != "explicit",
            cell.reset,
        )


def _story(told: Told, home: Path) -> Story:
    page = f"{told.folder}/report/index.html"
    return Story(
        hazard=told.hazard,
        seed=told.seed,
        page=page if told.folder and (home / page).is_file() else "",
        rerun=told.rerun,
        problem="; ".join([told.problem] if told.problem else told.notes),
        seconds=told.seconds,
    )
