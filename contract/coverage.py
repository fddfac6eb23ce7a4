"""Which states of the protocol runs reached: `report/coverage.json` of a run, and of a series.

A state has one value in each dimension (docs/coverage.md). The analysis derives the states of a run
(`protocol_states`). Plans of the scenario random are drawn towards those that no run reached
(`harness.plans.steering`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from contract.described import SCHEMA, read_described
from contract.regular_files import replace_file
from contract.run_folder import RunFolder

COVERAGE_FILE = "coverage.json"
RANDOM_PLAN_FILE = "random.json"
"""In the folder of a run of the scenario random."""
UNKNOWN = "unknown"
NO_COMMIT = "no commit"
VALUES: Mapping[str, tuple[str, ...]] = {
    "leader": ("led", "none", "two"),
    "isr": ("full", "shrunk", "one", "below"),
    "gap": ("0", "1", "more", "ahead", "none", NO_COMMIT),
    "log_start": ("before", "at", "after", NO_COMMIT),
    "record": ("equal", "lower", "higher", "none", NO_COMMIT),
    "coordinator": ("same", "moved", "none", NO_COMMIT),
    "members": ("0", "1", "more"),
    "transaction": ("none", "open"),
}
"""The values of each dimension, without `unknown`: those of the columns of `protocol_states`."""
_OF_COMMIT = ("gap", "log_start", "record", "coordinator")


class State(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A value in each dimension."""

    leader: str
    isr: str
    gap: str
    log_start: str
    record: str
    coordinator: str
    members: str
    transaction: str

    @property
    def values(self) -> dict[str, str]:
        """By dimension."""
        return msgspec.structs.asdict(self)

    @property
    def is_known(self) -> bool:
        """Whether no value is unknown."""
        return UNKNOWN not in self.values.values()


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A state that a run reached.

    events: at which it was seen.
    groups: of which it was.
    pairs: of a group and a partition, of which it was.
    first_micros: when it was first seen.
    """

    state: State
    events: int
    groups: list[str]
    pairs: int
    first_micros: int


class RunCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """All states that a run reached: `report/coverage.json`."""

    schema: int
    states: list[Seen]


class Pair(NamedTuple):
    """Two values, of two dimensions."""

    first: str
    value: str
    second: str
    other: str


class Impossible(NamedTuple):
    """Pairs of values that no state has: of the one value with each of the others."""

    first: str
    value: str
    second: str
    others: tuple[str, ...]
    why: str

    @property
    def pairs(self) -> list[Pair]:
        """In the order of the dimensions."""
        return [_pair(self.first, self.value, self.second, other) for other in self.others]


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """A state that runs of a series reached.

    events: at which it was seen, in all runs.
    runs: that reached it, by their names.
    plans: of these runs, by their hashes.
    """

    state: State
    events: int
    runs: list[str]
    plans: list[str]


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """What the runs of a series reached: a snapshot, from which later plans are drawn.

    runs: their number.
    without: runs whose states are not known, since they were not judged.
    states: in the order of their states; those with a value that is unknown come too.
    plans: of runs of the scenario random, by their hashes.
    """

    schema: int
    runs: int
    without: list[str]
    states: list[Reached]
    plans: dict[str, dict[str, Any]]

    @property
    def known(self) -> list[Reached]:
        """The states of which every value is known."""
        return [one for one in self.states if one.state.is_known]

    @property
    def values_seen(self) -> set[tuple[str, str]]:
        """Each value that was reached, with its dimension."""
        return {item for one in self.states for item in one.state.values.items()}

    @property
    def values_never_seen(self) -> list[tuple[str, str]]:
        """Each value that was not, in the order of dimensions."""
        every = ((name, value) for name, values in VALUES.items() for value in values)
        return [item for item in every if item not in self.values_seen]

    @property
    def pairs_seen(self) -> set[Pair]:
        """The pairs of known values that were reached."""
        found = {pair for one in self.states for pair in pairs_of(one.state)}
        return {pair for pair in found if UNKNOWN not in pair}

    @property
    def pairs_never_seen(self) -> list[Pair]:
        """The possible pairs that were not reached."""
        seen = self.pairs_seen
        return [pair for pair in possible_pairs() if pair not in seen]


def _pair(first: str, value: str, second: str, other: str) -> Pair:
    names = list(VALUES)
    if names.index(first) < names.index(second):
        return Pair(first, value, second, other)
    return Pair(second, other, first, value)


def _others(name: str, value: str) -> tuple[str, ...]:
    return tuple(one for one in VALUES[name] if one != value)


_COMMITTED = "a group that has no commit has none in every dimension of its commit"
_EPOCH = "a commit has an epoch, or has none, in every dimension of its epoch"
IMPOSSIBLE = (
    *(
        Impossible(one, NO_COMMIT, other, _others(other, NO_COMMIT), _COMMITTED)
        for one in _OF_COMMIT
        for other in _OF_COMMIT
        if one != other
    ),
    Impossible("gap", "none", "record", _others("record", "none"), _EPOCH),
    Impossible("record", "none", "gap", _others("gap", "none"), _EPOCH),
    Impossible(
        "leader",
        "none",
        "isr",
        ("shrunk",),
        "the controller elects no leader only if no replica in sync is alive, and a broker that is "
        "fenced leaves the ISR unless it is the last one "
        "(`ReplicationControlManager.generateLeaderAndIsrUpdates`)",
    ),
)
"""By definition, or by Kafka's."""


def possible_pairs() -> list[Pair]:
    """Every pair of values of two dimensions that is not listed as impossible."""
    return [
        pair
        for first, second in combinations(VALUES, 2)
        for value, other in product(VALUES[first], VALUES[second])
        if (pair := Pair(first, value, second, other)) not in impossible_pairs()
    ]


def is_possible(state: State) -> bool:
    """Whether no pair of its values is listed as impossible."""
    return impossible_pairs().isdisjoint(pairs_of(state))


@cache
def impossible_pairs() -> frozenset[Pair]:
    """All that are listed."""
    return frozenset(pair for one in IMPOSSIBLE for pair in one.pairs)


def pairs_of(state: State) -> Iterator[Pair]:
    """The pairs of values of a state."""
    for (first, value), (second, other) in combinations(state.values.items(), 2):
        yield Pair(first, value, second, other)


def hash_of(plan: bytes) -> str:
    """The name of a plan, by the bytes of its file."""
    return sha256(plan).hexdigest()[:16]


def run_coverage(folder: RunFolder) -> RunCoverage | None:
    """What was kept with a run; None if nothing was.

    Raises:
        RunFolderError: the file is damaged.
    """
    try:
        return read_described(folder.report / COVERAGE_FILE, RunCoverage)
    except FileNotFoundError:
        return None


def read_coverage(file: Path) -> Coverage:
    """Read a snapshot.

    Raises:
        FileNotFoundError: it is missing.
        RunFolderError: it is damaged, or of another form.
    """
    return read_described(file, Coverage, what="coverage of a series")


def write_coverage(file: Path, coverage: Coverage) -> None:
    """Write a snapshot, the same bytes for the same runs."""
    text = msgspec.json.format(msgspec.json.encode(coverage, order="sorted"), indent=1)
    replace_file(file, text + b"\n")


def coverage_of(runs: Mapping[str, tuple[Path, RunCoverage | None]]) -> Coverage:
    """What the runs of a series reached.

    Args:
        runs: by name, the folder and what was reached; None where that is not known.
    """
    events: Counter[State] = Counter()
    reached_by: dict[State, list[str]] = defaultdict(list)
    hashes: dict[str, str] = {}
    plans: dict[str, dict[str, Any]] = {}
    for name, (folder, reached) in sorted(runs.items()):
        if reached is None:
            continue
        if (file := folder / RANDOM_PLAN_FILE).is_file():
            content = file.read_bytes()
            hashes[name] = hash_of(content)
            plans[hashes[name]] = msgspec.json.decode(content)
        for seen in reached.states:
            events[seen.state] += seen.events
            reached_by[seen.state].append(name)
    return Coverage(
        schema=SCHEMA,
        runs=sum(reached is not None for _, reached in runs.values()),
        without=sorted(name for name, (_, reached) in runs.items() if reached is None),
        states=[
            Reached(
                state=state,
                events=events[state],
                runs=reached_by[state],
                plans=sorted({hashes[name] for name in reached_by[state] if name in hashes}),
            )
            for state in sorted(events)
        ],
        plans=dict(sorted(plans.items())),
    )
