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
    merged,
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
        has = {f"{one.commit}.{one.reset}" for one in self.readers}
        for one in self.expected:
            if one.cell.split(".", 2)[2] not in has:
                raise UsageError(
                    f"line {one.line} of the expected cells: {one.cell} is not applicable, by the "
                    "features file: remove it"
                )

    def due_alone(self, told: Iterable[Told]) -> list[tuple[Hazard, Reader]]:
        """Return what is run again alone: of cells that fail unexpectedly, or show nothing."""
        again = (Standing.UNEXPECTED, Standing.NOT_EVALUABLE)
        cells = [one.cell for one in self._results(told, []) if one.standing in again]
        wanted = {(one.hazard, one.commit, one.reset) for one in cells}
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
        versions = [one.versions.get(self.client, "") for one in (*told, *alone)]
        return Job(
            schema=SCHEMA,
            name=self.name,
            version=next(filter(None, versions), ""),
            kafka=kafka,
            seed=seed,
            exit_code=exit_code(results),
            results=results,
            stories=[_story(one, home) for one in (*told, *alone)],
        )

    def _results(self, told: Iterable[Told], alone: Iterable[Told]) -> list[Result]:
        expected = {one.cell: one for one in self.expected}
        of_alone = self._merged(alone)
        found = self._merged(told) | {
            one.place: merged([one]) for one in self.features.lacking(self.client, self.hazards)
        }
        results = [
            result_of(one, expected, self.features, of_alone.get(place))
            for place, one in found.items()
        ]
        return sorted(results, key=self._order)

    def _merged(self, told: Iterable[Told]) -> dict[str, Merged]:
        by_place: dict[str, list[Cell]] = {}
        for story in told:
            for cell in story.cells:
                if cell.client == self.client:
                    by_place.setdefault(cell.place, []).append(cell)
        return {place: merged(cells) for place, cells in by_place.items()}

    def _order(self, one: Result) -> tuple[object, ...]:
        cell = one.cell
        hazard = Hazard(cell.hazard)
        return (
            self.hazards.index(hazard),
            MEETS[hazard].index(cell.meets),
            one.standing is Standing.NOT_APPLICABLE,
            cell.commit != "explicit",
            cell.reset,
        )


def _story(one: Told, home: Path) -> Story:
    page = f"{one.folder}/report/index.html"
    return Story(
        hazard=one.hazard,
        seed=one.seed,
        page=page if one.folder and (home / page).is_file() else "",
        rerun=one.rerun,
        problem="; ".join([one.problem] if one.problem else one.notes),
        seconds=one.seconds,
    )
