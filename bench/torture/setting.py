"""The shared state of attempts: a folder, random choices, a genuine run."""

import subprocess
import sys
from functools import cached_property
from pathlib import Path
from random import Random

from bench.torture.attempt import Area
from contract.manifest import MANIFEST_FILE
from contract.run_folder import RunFolder, files_named, find_runs

ROOT = Path(__file__).resolve().parents[2]


class Setting:
    """The surroundings of one pass of attempts.

    Attributes:
        place: an empty folder for what attempts write.
        seed: of all random choices.
        hours: how long to try, roughly.
    """

    def __init__(
        self, place: Path, *, seed: int, hours: float, run: Path | None, kept: Path
    ) -> None:
        """Name the surroundings; nothing is started yet.

        Args:
            place: an empty folder.
            seed: of all random choices.
            hours: how long to try, roughly.
            run: a finished run to damage, or None for a new one.
            kept: where a new one is kept for later passes.
        """
        self.place, self.seed, self.hours = place, seed, hours
        self._run, self._kept = run, kept

    def count(self, in_an_hour: int) -> int:
        """The number of attempts to make, from that of an hour; at least one."""
        return max(1, round(in_an_hour * self.hours))

    def dice(self, area: Area, number: int | None = None) -> Random:
        """The random choices of an area, or of one of its attempts."""
        words = f"{self.seed} {area.name}" + ("" if number is None else f" {number}")
        return Random(words)  # noqa: S311 - not for secrets

    @cached_property
    def genuine(self) -> RunFolder:
        """A finished run of the scenario `baseline`."""
        return find_runs(self._run)[-1] if self._run else self._finished("baseline")

    @cached_property
    def elected(self) -> RunFolder:
        """A finished run with elections, truncations and groups of every commit style."""
        return self._finished("commit_epoch")

    def _finished(self, scenario: str) -> RunFolder:
        """The run of a scenario that is kept, or a new one."""
        results = self._kept / scenario
        if not results.exists() or not files_named(results, MANIFEST_FILE):
            command = [sys.executable, "-m", "harness", "run", scenario, "--results"]
            subprocess.run(
                [*command, str(results)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
            )
        return find_runs(results)[-1]
