"""The file of attempts. A later pass adds to it; one page shows the attempts of all passes."""

from pathlib import Path

import msgspec

from bench.torture.attempt import Attempt
from contract.errors import UsageError
from contract.regular_files import replace_file


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
