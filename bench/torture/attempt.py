"""Attempts to break the tool: what one is, their surroundings, and the file that keeps them."""

import subprocess
import sys
from functools import cached_property
from pathlib import Path
from random import Random

import msgspec

from contract.errors import UsageError
from contract.manifest import MANIFEST_FILE
from contract.regular_files import replace_file
from contract.run_folder import RunFolder, files_named, find_runs

ROOT = Path(__file__).resolve().parents[2]
TRACEBACK = "Traceback (most recent call last)"


class Attempt(msgspec.Struct, frozen=True):
    """One attempt.

    Attributes:
        area: the class of attempts that it belongs to.
        tried: what was done, in words.
        problem: what went wrong; empty if the tool held.
        skipped: why it could not be tried; empty if it was.
    """

    area: str
    tried: str
    problem: str = ""
    skipped: str = ""


class Area(msgspec.Struct, frozen=True):
    """A class of attempts.

    Attributes:
        name: of the class.
        promise: what holds.
        by: what makes it hold.
    """

    name: str
    promise: str
    by: str


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


class AreaRecord(msgspec.Struct, kw_only=True):
    """The attempts of one class.

    Attributes:
        git_head: the commit on which they were made.
        attempts: in order.
        seconds: how long they took.
        is_complete: whether all that the class plans were made.
    """

    git_head: str
    attempts: list[Attempt] = []
    seconds: float = 0.0
    is_complete: bool = False


class Record(msgspec.Struct, kw_only=True):
    """All classes, by name.

    Attributes:
        seed: of all random choices.
        hours: how long was asked for.
        areas: what was tried of each class.
    """

    seed: int
    hours: float
    areas: dict[str, AreaRecord] = {}

    def attempts(self) -> list[Attempt]:
        """All attempts that were made or skipped."""
        return [one for area in self.areas.values() for one in area.attempts]

    def write(self, file: Path) -> None:
        """Replace the file as a whole, so that a kill leaves the old one or the new one."""
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")


def read_record(file: Path, *, seed: int, hours: float) -> Record:
    """Return the record that earlier passes wrote to a file, or a new one.

    Raises:
        UsageError: its seed or hours differ, or the file can't be read.
    """
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Record)
    except FileNotFoundError:
        return Record(seed=seed, hours=hours)
    except (msgspec.DecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(
            f"{file} can't be read as a record of attempts ({error}). Remove it"
        ) from error
    if (found.seed, found.hours) != (seed, hours):
        raise UsageError(
            f"{file} has attempts with seed {found.seed} and {found.hours:g} hours; expected seed "
            f"{seed} and {hours:g} hours. Name another file with --record"
        )
    return found
