"""The nights of a results folder, and the state of the one that is held."""

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path

import msgspec

from contract.errors import UsageError
from contract.files import SCHEMA, read_regular
from contract.locks import HeldName, alone_by
from contract.nights import (
    NIGHT_FILE,
    RANDOM,
    Night,
    PlannedRun,
    read_night,
    write_atomically,
)
from contract.run_folder import new_seed
from contract.software import Choice
from harness.nightly.suite import (
    Suite,
    begun_with_both,
    find_suite,
    plan_runs,
    random_runs,
    suite_names,
)

_LOCK = "lock"
_CHOICE_SECONDS = 60.0


@dataclass(frozen=True)
class Wanted:
    """The requested night.

    Attributes:
        seed: None: that of an unfinished night, else a drawn one.
        given: the build that the command line names, as `plan_runs` takes it.
        hours: how long runs may begin; None: until the suite is done.
    """

    suite: Suite
    cluster: str
    seed: int | None
    default_kafka: str
    command: str
    given: Choice | None = None
    hours: float | None = None

    def plan(self, seed: int) -> list[PlannedRun]:
        """Return the runs of the night with this seed; with `hours`, those before random plans."""
        suite = self.suite if self.hours is None else begun_with_both(self.suite)
        return self._plan_runs(suite, seed)

    def _plan_runs(self, suite: Suite, seed: int) -> list[PlannedRun]:
        return plan_runs(
            suite,
            seed=seed,
            cluster=self.cluster,
            default_kafka=self.default_kafka,
            given=self.given,
        )

    def all_builds(self) -> list[PlannedRun]:
        """Return runs of all builds that the night may need."""
        suites = [self.suite]
        if self.hours is not None:
            random = [find_suite(RANDOM)] if RANDOM in suite_names() else []
            suites = [begun_with_both(self.suite), *random]
        return [run for suite in suites for run in self._plan_runs(suite, 0)]

    def further(self, seed: int) -> Iterator[PlannedRun]:
        """Yield the runs of random plans that follow with `hours`, without end."""
        if self.hours is not None:
            yield from random_runs(
                self.plan(seed),
                seed=seed,
                cluster=self.cluster,
                default_kafka=self.default_kafka,
                given=self.given,
            )

    def is_continued_by(self, night: Night) -> bool:
        """Return whether an earlier night is this one, interrupted, with the same suite."""
        return (
            night.ended_micros is None
            and (night.suite, night.cluster) == (self.suite.name, self.cluster)
            and night.suite_sha256 == self.suite.sha256
            and (self.hours, night.seed if self.seed is None else self.seed)
            == (night.hours, night.seed)
            and self._plans(night)
        )

    def _plans(self, night: Night) -> bool:
        planned = self.plan(night.seed)
        count = max(len(planned), len(night.runs))
        all_planned = islice(chain(planned, self.further(night.seed)), count)
        return [_identity_of(run) for run in night.runs] == [
            _identity_of(run) for run in all_planned
        ]


def _identity_of(run: PlannedRun) -> tuple[str, ...]:
    """What a planned run is, by which a night goes on."""
    return (run.id, str(run.seed), run.rerun)


class HeldNight:
    """A night that this process holds; every change is written before the method returns."""

    def __init__(self, path: Path, state: Night) -> None:
        """The night's lock must be held."""
        self.path = path
        self.state = state
        self._counted_to = time.monotonic()

    def update(self, run: PlannedRun) -> None:
        """Replace the record of the run with this id."""
        runs = [run if other.id == run.id else other for other in self.state.runs]
        self._save(msgspec.structs.replace(self.state, runs=runs))

    def add(self, run: PlannedRun) -> None:
        """Add a run at the end."""
        self._save(msgspec.structs.replace(self.state, runs=[*self.state.runs, run]))

    def stop(self, why: str) -> None:
        """Note why no further run begins; an empty text: one does."""
        if why != self.state.stopped:
            self._save(msgspec.structs.replace(self.state, stopped=why))

    def count_time(self) -> None:
        """Count the time since this was last called, or since the night is held, as used."""
        if self.state.hours is not None:
            now = time.monotonic()
            used = round(self.state.used_seconds + now - self._counted_to, 1)
            self._counted_to = now
            self._save(msgspec.structs.replace(self.state, used_seconds=used))

    @property
    def left_seconds(self) -> float:
        """How long runs may still begin; infinite if they have no limit."""
        if self.state.hours is None:
            return math.inf
        return self.state.hours * 3600 - self.state.used_seconds

    def finish(self) -> None:
        """Mark the night as run and judged, so that it is not continued."""
        self._save(msgspec.structs.replace(self.state, ended_micros=time.time_ns() // 1000))

    @property
    def remaining(self) -> list[PlannedRun]:
        """The runs that are yet to be done, in order; an interrupted run is not done."""
        return [run for run in self.state.runs if not run.is_over]

    def _save(self, state: Night) -> None:
        write_atomically(self.path / NIGHT_FILE, state)
        self.state = state


@contextmanager
def hold_night(nights: Path, wanted: Wanted, *, is_fresh: bool) -> Iterator[HeldNight]:
    """Hold the newest unfinished night of a request, or a new one, until the block ends.

    The kernel releases a dead process's lock, so that a killed night can be continued.

    Raises:
        UsageError: another process holds that night.
        WaitTimeoutError: another process that chooses a night does not end.
    """
    nights.mkdir(parents=True, exist_ok=True)
    with alone_by(
        nights / f".{_LOCK}",
        what=f"the choice of other nights in {nights}",
        timeout_seconds=_CHOICE_SECONDS,
    ):
        path = (None if is_fresh else _find_unfinished(nights, wanted)) or _create(nights, wanted)
        lock = hold(path)
    with lock:
        state = read_night(path)
        if state is None:
            raise UsageError(f"{path} has no {NIGHT_FILE}: start a new night with --fresh")
        yield HeldNight(path, state)


def earlier_runs(nights: Path, night: Night) -> list[PlannedRun]:
    """Return the runs of all earlier nights of the same suite and pool, oldest first."""
    earlier = [
        other
        for _, other in all_nights(nights)
        if (other.suite, other.cluster) == (night.suite, night.cluster)
        and other.started_micros < night.started_micros
    ]
    return [run for other in earlier for run in other.runs]


def all_nights(nights: Path) -> list[tuple[Path, Night]]:
    """Return the nights of a folder, the oldest first."""
    found = [
        (file.parent, night)
        for file in nights.glob(f"*/{NIGHT_FILE}")
        if (night := read_night(file.parent)) is not None
    ]
    return sorted(found, key=lambda pair: pair[1].started_micros)


def _find_unfinished(nights: Path, wanted: Wanted) -> Path | None:
    paths = [path for path, night in all_nights(nights) if wanted.is_continued_by(night)]
    return paths[-1] if paths else None


def _create(nights: Path, wanted: Wanted) -> Path:
    started_micros = time.time_ns() // 1000
    seed = new_seed() if wanted.seed is None else wanted.seed
    path = new_folder(nights, wanted.suite.name)
    night = Night(
        schema=SCHEMA,
        suite=wanted.suite.name,
        suite_sha256=wanted.suite.sha256,
        description=wanted.suite.description,
        cluster=wanted.cluster,
        seed=seed,
        command=wanted.command,
        started_micros=started_micros,
        runs=wanted.plan(seed),
        hours=wanted.hours,
    )
    write_atomically(path / NIGHT_FILE, night)
    return path


def new_folder(parent: Path, name: str) -> Path:
    """Create `<name>-<stamp>`, with a number appended if that exists."""
    stamp, number = datetime.now(tz=UTC).strftime("%Y%m%d-%H%M%S"), 1
    while True:
        path = parent / (f"{name}-{stamp}" + (f"-{number}" if number > 1 else ""))
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path


def hold(path: Path) -> HeldName:
    """Hold a night by its lock file, which has its owner's process id.

    Raises:
        UsageError: another process holds the night, or its lock file is a link.
    """
    file = path / _LOCK
    try:
        return HeldName(file, content=f"{os.getpid()}\n".encode())
    except BlockingIOError:
        owner = (read_regular(file) or b"").decode(errors="replace").strip() or "unknown"
        raise UsageError(
            f"night {path.name} is running already, in process {owner}: wait for its end, "
            "or start another night with --fresh"
        ) from None
