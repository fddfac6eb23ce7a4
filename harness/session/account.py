"""What a session was asked to run, and which of it came to nothing.

ducktape's process reports both.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from cluster.reports import report as send
from contract.errors import FencepostError, RunFolderError
from contract.events import as_json
from contract.nights import SESSION_FILE
from contract.run_folder import PLAN_FILE, RunFolder

_PREFIX = "fencepost-test: "


class Asked(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A test that is to be run, and the folder that its run is to have."""

    test: str
    folder: str


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A test that did not pass, and why."""

    test: str
    why: str


def report(event: Asked | Failed) -> None:
    """Report it for `dropped_tests`."""
    send(f"{_PREFIX}{as_json(event).decode()}")


def dropped_tests(
    reports: Iterable[str], exit_code: int, refused: FencepostError | None
) -> list[str]:
    """Return a sentence for each test without a run, and each failure that is no error of a run."""
    reported = [_read(line) for line in reports]
    asked = [event for event in reported if isinstance(event, Asked)]
    why = {
        event.test: _in_words(event.why, refused) for event in reported if isinstance(event, Failed)
    }
    otherwise = f"ducktape ended with {exit_code} before it was its turn"
    found: list[str] = []
    is_reported = False
    for event in asked:
        if not Path(event.folder, PLAN_FILE).exists():
            found.append(f"{event.test} has no run: {why.get(event.test, otherwise)}")
            continue
        try:
            error = RunFolder(Path(event.folder)).run().error
        except RunFolderError as problem:
            error = None
            found.append(f"{event.test} can't be judged: {problem}")
        if error is not None:
            is_reported = True
        elif event.test in why:
            found.append(f"{event.test} failed after its run: {why[event.test]}")
    if exit_code and not found and not is_reported:
        found.append(f"ducktape ended with {exit_code}, and no run says why: see {SESSION_FILE}")
    return found


def failure_of(folder: Path, reports: Iterable[str]) -> str | None:
    """Return why the test of a run's folder did not pass, as ducktape reported; None if not."""
    reported = [_read(line) for line in reports]
    tests = [
        event.test
        for event in reported
        if isinstance(event, Asked) and Path(event.folder) == folder
    ]
    return next(
        (event.why for event in reported if isinstance(event, Failed) and event.test in tests), None
    )


def _in_words(why: str, refused: FencepostError | None) -> str:
    """Return the message of an error instead of its form in Python, if it is known."""
    return str(refused) if refused is not None and repr(str(refused)) in why else why


def _read(line: str) -> Asked | Failed | None:
    """Return what `report` sent; None for another report."""
    if not line.startswith(_PREFIX):
        return None
    try:
        event: Asked | Failed = msgspec.json.decode(line.removeprefix(_PREFIX), type=Asked | Failed)
    except msgspec.DecodeError:
        return None
    return event
