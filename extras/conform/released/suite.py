"""Carries out the stories of the table, a few clients each, and goes on after a kill."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cluster.nodes.pool import PoolKind
from contract.errors import FencepostError
from contract.run_folder import new_seed
from extras.conform.released.rows import Row
from extras.conform.stories import Stories, Told, keep_told, read_told
from extras.conform.vocabulary import CONTROL, DECIDED, SCENARIO, Hazard, batches
from harness.commands.options import choice_of, fetch_build
from harness.commands.requirements import require_runs
from harness.invocation import session_of
from harness.nightly.run import duration
from harness.session.catalog import find_scenarios
from harness.session.series import Judge

ATTEMPTS = 2
"""Of a story whose cells were not evaluable."""


@dataclass(frozen=True)
class Wanted:
    """What is carried out.

    Attributes:
        rows: clients.
        hazards: that each meets.
        stories: of each client and hazard.
        kafka: the version of the brokers.
    """

    rows: Sequence[Row]
    hazards: Sequence[Hazard]
    stories: int
    kafka: str

    def due(self, told: Sequence[Told]) -> Iterator[tuple[Hazard, list[Row]]]:
        """Yield the stories that are not carried out yet, a few clients each, as of now."""
        for hazard in self.hazards:
            rows = {row.plainest: row for row in self.rows if self._lacks(row, hazard, told)}
            for batch in batches(rows):
                yield hazard, [rows[reader] for reader in batch]

    def _lacks(self, row: Row, hazard: Hazard, told: Sequence[Told]) -> bool:
        of = [
            {cell.kind for cell in story.cells if cell.client == row.client}
            for story in told
            if (story.hazard, story.kafka) == (hazard, self.kafka)
        ]
        tried = [kinds for kinds in of if kinds]
        shown = Counter(bool(kinds & set(DECIDED)) for kinds in tried)[True]
        return shown < self.stories and len(tried) < self.stories + ATTEMPTS - 1


def carry_out(wanted: Wanted, results: Path) -> list[Told]:
    """Carry out what is due, one story after the other; each is kept when it has ended.

    Args:
        wanted: the clients and hazards.
        results: the folder of results; stories are in its `conformance`.
    """
    results = require_runs(results, PoolKind.EMBEDDED)
    home = results / "conformance"
    home.mkdir(parents=True, exist_ok=True)
    told = read_told(home)
    runnable = _runnable(wanted.rows)
    wanted = Wanted(runnable, wanted.hazards, wanted.stories, wanted.kafka)
    with Judge(home) as judge:
        while (next_ones := next(wanted.due(told), None)) is not None:
            hazard, rows = next_ones
            story = _tell(hazard, rows, wanted.kafka, (home, results), judge)
            told = [*told, story]
            keep_told(home, told)
            named = ", ".join(row.name for row in rows)
            print(
                f"{hazard} of {named} in {duration(story.seconds)}: {story.problem or 'told'}",
                flush=True,
            )
    return told


def _runnable(rows: Sequence[Row]) -> list[Row]:
    """The rows that can run here; of the others it says why not."""
    found = []
    for row in rows:
        try:
            row.guest()
        except FencepostError as error:
            print(f"{row.name} is not run: {error}", flush=True)
        else:
            found.append(row)
    return found


def _tell(
    hazard: Hazard, rows: Sequence[Row], kafka: str, places: tuple[Path, Path], judge: Judge
) -> Told:
    home, results = places
    guests = [guest for row in rows if (guest := row.guest()) is not None]
    choice = msgspec.structs.replace(choice_of(kafka, None, None, None), guests=guests)
    build = fetch_build(choice, PoolKind.EMBEDDED, find_scenarios([SCENARIO]))
    seed = new_seed()
    session = session_of(seed=seed, kafka=kafka, cluster=PoolKind.EMBEDDED.value, build=build)
    stories = Stories(home, results, session, judge)
    readers = [row.plainest for row in rows if row.client != CONTROL]
    return stories.carry_out(hazard, readers, seed=seed, name=f"{hazard}-{seed}")
