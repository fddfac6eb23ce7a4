"""The one exception tree.

FencepostError
├── UsageError            the request is invalid here (exit 64)
├── PrerequisiteError     the machine lacks something; the message names the fix (exit 69)
├── DistributionError     a Kafka distribution can't be locked, fetched or verified (exit 69)
├── StorageError          a folder can't be written: full, read-only, not allowed (exit 69)
├── NodeError             a node, or a command on it, failed (exit 70)
│   └── CommandFailedError
├── WaitTimeoutError      an awaited state did not come (exit 70)
│   └── NotLandedError    the effect of a fault was not seen (exit 2)
├── WorkerError           a client or observer on a node misbehaved (exit 70)
├── FaultError            a fault could not be applied or healed (exit 70)
│   └── TargetError       there is no such target in this cluster (exit 64)
├── InterruptError        Ctrl-C ended a command; the message says what is kept (exit 130)
├── AnalysisError         the analysis ended without a verdict (exit 70)
├── RunFolderError        a run's folder lacks something that the analysis needs (exit 64)
├── TableError            a table of a run is missing or unreadable (exit 70)
└── StatementError        a file of a check or fact is wrong (exit 70)
"""

import difflib
from collections.abc import Iterable


class FencepostError(Exception):
    """Base of all errors. The message says what happened and what to do."""

    exit_code = 70


class UsageError(FencepostError):
    """The request is invalid here."""

    exit_code = 64


class PrerequisiteError(FencepostError):
    """The machine lacks something; the message names the command that installs it."""

    exit_code = 69


class DistributionError(FencepostError):
    """A Kafka distribution can't be locked, fetched or verified."""

    exit_code = 69


class StorageError(FencepostError):
    """A folder can't be written; what was in it is as it was."""

    exit_code = 69


class NodeError(FencepostError):
    """A node, or something done on it, failed."""


class CommandFailedError(NodeError):
    """A command on a node ended with another exit status than 0."""


class WaitTimeoutError(FencepostError):
    """An awaited state did not come in time."""


class NotLandedError(WaitTimeoutError):
    """The effect of a fault was not seen in time, so nothing that follows is due to it."""

    exit_code = 2


class WorkerError(FencepostError):
    """A client or observer on a node ended unexpectedly or returned an error."""


class FaultError(FencepostError):
    """A fault could not be applied or healed."""


class TargetError(FaultError):
    """A fault names a target that this cluster does not have, or that the fault is not for."""

    exit_code = 64


class InterruptError(FencepostError):
    """Ctrl-C ended a command; the message says what is kept, and how to go on."""

    exit_code = 130

    def __str__(self) -> str:
        """With the word that says what happened."""
        return f"interrupted: {super().__str__()}"


class AnalysisError(FencepostError):
    """The analysis process ended without a verdict."""


class RunFolderError(FencepostError):
    """A run's folder lacks something that is needed to judge it."""

    exit_code = 64


class TableError(FencepostError):
    """A table of a run is missing or unreadable: what needs it can't be evaluated."""


class StatementError(FencepostError):
    """What is no statement, or no file of one."""


def error_named(name: str, message: str) -> FencepostError:
    """Build the error whose class has this name.

    Raises:
        KeyError: there is none.
    """
    kind: type[FencepostError] = globals()[name]
    return kind(message)


# Names that are unknown, and the known one that is probably meant.


_CUTOFF = 0.5


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like a name; None if none is."""
    found = difflib.get_close_matches(name, sorted(map(str, known)), n=1, cutoff=_CUTOFF)
    return found[0] if found else None


def lacking(kind: str, name: str, known: Iterable[str]) -> str:
    """Say that there is none of a name, and which one is most like it, else which there are."""
    there = list(map(str, known))
    if (meant := nearest(name, there)) is not None:
        return f"there is no {kind} {name}; the nearest is {meant}"
    return f"there is no {kind} {name}; there are: {', '.join(there) or 'none'}"
