"""The runs of the arbiter: which hazard, on which build of the client, with which seed."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import msgspec

from bench.arbiter.rows import HAZARDS, RACE, RELEASED, is_complete
from contract.run_folder import find_runs, has_runs

QUICK_KAFKA = "4.3.1"
KAFKAS = (QUICK_KAFKA, "3.9.2")
"""The newest versions of two lines whose sources are published."""
BUILDS = (RELEASED, "option-1", "option-2", "option-3", "options-1-and-3")
ON_EACH_BUILD = ("clean", "truncated", "validated")
"""Hazards that the quick run has on each build; the others it has on the released client."""
ALL_HAZARDS = (
    *ON_EACH_BUILD,
    "expired",
    "retained",
    "returned",
    "twice",
    "empty",
    "control",
    "aborted",
    "recreated",
)
_QUICK_RACES = (RELEASED, "option-1", "options-1-and-3")
_FIRST_SEED = 1900


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One run. hazard: of commit_hazards; empty for prefetch_race."""

    scenario: str
    kafka: str
    build: str
    seed: int
    hazard: str = ""

    @property
    def name(self) -> str:
        """Names its folder."""
        what = self.hazard or "race"
        return f"{self.kafka}-{self.build}-{what}-{self.seed}"

    def is_done(self, results: Path) -> bool:
        """Whether its run ended without an error."""
        folder = results / self.name
        return has_runs(folder) and any(is_complete(run.run()) for run in find_runs(folder))


def quick() -> Iterator[Cell]:
    """Three hazards on each build, the others on the released client, and the race."""
    for hazard, build in product(ON_EACH_BUILD, BUILDS):
        yield _hazard(QUICK_KAFKA, build, hazard, _FIRST_SEED)
    for hazard in ALL_HAZARDS[len(ON_EACH_BUILD) :]:
        yield _hazard(QUICK_KAFKA, RELEASED, hazard, _FIRST_SEED)
    for build in _QUICK_RACES:
        yield Cell(scenario=RACE, kafka=QUICK_KAFKA, build=build, seed=_FIRST_SEED)


def pairwise() -> Iterator[Cell]:
    """Every pair of hazard, build and version, each hazard once on each build."""
    for (row, hazard), (column, build) in product(enumerate(ALL_HAZARDS), enumerate(BUILDS)):
        kafka = KAFKAS[(row + column) % len(KAFKAS)]
        yield _hazard(kafka, build, hazard, _FIRST_SEED + 1)


def races(repeat: int) -> Iterator[Cell]:
    """The race on every build, several times."""
    for number, build in product(range(1, repeat + 1), BUILDS):
        yield Cell(scenario=RACE, kafka=QUICK_KAFKA, build=build, seed=_FIRST_SEED + number)


def _hazard(kafka: str, build: str, hazard: str, seed: int) -> Cell:
    return Cell(scenario=HAZARDS, kafka=kafka, build=build, seed=seed, hazard=hazard)
