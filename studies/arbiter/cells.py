"""The runs of the arbiter: which hazard, on which build of the client, with which seed."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import msgspec

from contract.run_folder import RunFolder, find_runs, has_runs
from scenarios.commit_hazards_test import HAZARDS as TOPICS
from scenarios.commit_hazards_test import groups_of
from studies.arbiter.rows import HAZARDS, RACE, RELEASED, is_complete
from studies.arbiter.table import by_run

QUICK_KAFKA = "4.3.1"
"""The newest version whose sources are published."""
BUILDS = (RELEASED, "option-1", "option-2", "option-3", "options-1-and-3")
ON_EACH_BUILD = ("clean", "truncated", "validated")
"""Hazards that the quick run has on each build; the others it has on the released client."""
_QUICK_RACES = (RELEASED, "option-1", "options-1-and-3")
_FIRST_SEED = 1900


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    hazard: of commit_hazards; empty for prefetch_race.
    groups: those of the pairwise table; empty for the usual ones of the hazard.
    """

    scenario: str
    kafka: str
    build: str
    seed: int
    hazard: str = ""
    groups: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Names its folder."""
        what = self.hazard or "race"
        if self.groups:
            what += "-pairs"
        return f"{self.kafka}-{self.build}-{what}-{self.seed}"

    @property
    def parameters(self) -> dict[str, object]:
        """Those of its scenario."""
        if not self.hazard:
            return {}
        if not self.groups:
            return {"hazard": self.hazard}
        every = [group.group for group in groups_of(self.hazard, every=True)]
        return {"hazard": self.hazard, "ways": [every.index(group) for group in self.groups]}

    def is_done(self, results: Path) -> bool:
        """Whether a run of all its groups ended without an error."""
        folder = results / self.name
        return has_runs(folder) and any(self._is_in(run) for run in find_runs(folder))

    def _is_in(self, run: RunFolder) -> bool:
        groups = {group.group for group in run.plan().groups}
        return is_complete(run.run()) and groups.issuperset(self.groups)


def quick() -> Iterator[Cell]:
    """Three hazards on each build, the others on the released client, and the race."""
    for hazard, build in product(ON_EACH_BUILD, BUILDS):
        yield _hazard(QUICK_KAFKA, build, hazard, _FIRST_SEED)
    for hazard in (one for one in TOPICS if one not in ON_EACH_BUILD):
        yield _hazard(QUICK_KAFKA, RELEASED, hazard, _FIRST_SEED)
    for build in _QUICK_RACES:
        yield Cell(scenario=RACE, kafka=QUICK_KAFKA, build=build, seed=_FIRST_SEED)


def pairwise() -> Iterator[Cell]:
    """The runs of the pairwise table."""
    for (hazard, kafka, build), rows in by_run().items():
        yield Cell(
            scenario=HAZARDS,
            kafka=kafka,
            build=build,
            seed=_FIRST_SEED + 1,
            hazard=hazard,
            groups=tuple(row.group for row in rows),
        )


def races(repeat: int) -> Iterator[Cell]:
    """The race on every build, several times."""
    for number, build in product(range(1, repeat + 1), BUILDS):
        yield Cell(scenario=RACE, kafka=QUICK_KAFKA, build=build, seed=_FIRST_SEED + number)


def _hazard(kafka: str, build: str, hazard: str, seed: int) -> Cell:
    return Cell(scenario=HAZARDS, kafka=kafka, build=build, seed=seed, hazard=hazard)
