"""The runs of the arbiter, and its pairwise table: few rows with every pair of two values."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, product
from pathlib import Path
from random import Random

import msgspec

from cluster.kafka.patched import patches
from contract.clients import Client, clients_of
from contract.outcomes import CommitEpoch, Manner, ResetPolicy
from contract.run_folder import RunFolder, find_runs, has_runs
from scenarios.commit_hazards_test import HAZARDS as TOPICS
from scenarios.commit_hazards_test import groups_of
from scenarios.commit_ways import PROTOCOLS, WAYS, Way, group_name
from scenarios.mixed_languages_test import BY_CLIENT
from studies.arbiter.rows import HAZARDS, LANGUAGES, RACE, RELEASED, is_complete

Values = Mapping[str, Hashable]
Pair = tuple[tuple[str, Hashable], tuple[str, Hashable]]

_CANDIDATES = 8
"""Rows that are tried for each row that is taken."""


def covering(
    factors: Mapping[str, Sequence[Hashable]],
    is_allowed: Callable[[Values], bool],
    *,
    seed: int,
) -> list[dict[str, Hashable]]:
    """Return rows that have every pair of values that some allowed row has.

    Greedy: of several random rows, each made around a pair that is missing yet, the one is taken
    that adds most pairs. The same arguments always make the same rows.

    Args:
        factors: their values, by name.
        is_allowed: whether a part of a row may occur; of a part of an allowed row it is true, and
            each part for which it is true must be a part of some allowed row.
        seed: of all random choices.
    """
    random = Random(seed)  # noqa: S311 - nothing is secret
    missing = dict.fromkeys(
        ((one, first), (other, second))
        for one, other in combinations(factors, 2)
        for first, second in product(factors[one], factors[other])
        if is_allowed({one: first, other: second})
    )
    rows: list[dict[str, Hashable]] = []
    while missing:
        first = next(iter(missing))
        tried = [_around(first, factors, is_allowed, missing, random) for _ in range(_CANDIDATES)]
        best = max(tried, key=lambda row: sum(pair in missing for pair in pairs(row)))
        rows.append({name: best[name] for name in factors})
        for pair in pairs(rows[-1]):
            missing.pop(pair, None)
    return rows


def pairs(row: Values) -> Iterator[Pair]:
    """Return all pairs of a row's values, in the order of its factors."""
    yield from combinations(row.items(), 2)


def _around(
    pair: Pair,
    factors: Mapping[str, Sequence[Hashable]],
    is_allowed: Callable[[Values], bool],
    missing: Mapping[Pair, None],
    random: Random,
) -> dict[str, Hashable]:
    """Fill a row that has a pair, factor by factor, with the value that adds most pairs."""
    given = dict(pair)
    left = [name for name in factors if name not in given]
    for name in random.sample(left, len(left)):
        values = [value for value in factors[name] if is_allowed({**given, name: value})]
        random.shuffle(values)
        given[name] = max(
            values,
            key=lambda value: sum(one in missing for one in _with(given, name, value, factors)),
        )
    return {name: given[name] for name in factors}


def _with(
    given: Values, name: str, value: Hashable, factors: Mapping[str, object]
) -> Iterator[Pair]:
    """Return the pairs that a value makes with those that a row has already."""
    order = list(factors)
    for other, known in given.items():
        one, two = sorted(((name, value), (other, known)), key=lambda item: order.index(item[0]))
        yield (one, two)


KAFKAS = ("3.9.2", "4.4.0")
"""The released clients of the table; patches come with their own versions."""
_SEED = 19902


class TableRow(msgspec.Struct, frozen=True, kw_only=True):
    """A group under a hazard, with one build of the client.

    topic: with the hazard, e.g. `truncated/above`.
    """

    topic: str
    way: Way
    reset: ResetPolicy
    protocol: Client
    kafka: str
    build: str

    @property
    def style(self) -> CommitEpoch:
        """The epoch that it commits."""
        return self.way[0]

    @property
    def manner(self) -> Manner:
        """How it commits."""
        return self.way[1]

    @property
    def hazard(self) -> str:
        """The hazard of its run."""
        return self.topic.partition("/")[0]

    @property
    def group(self) -> str:
        """The name of its group."""
        return group_name(
            self.topic.partition("/")[2], self.protocol, (self.style, self.manner), self.reset
        )


@cache
def table() -> tuple[TableRow, ...]:
    """Return the rows, always the same ones for the same hazards, ways and patches."""
    found = covering(
        {
            "topic": [f"{hazard}/{topic}" for hazard, topics in TOPICS.items() for topic in topics],
            "way": list(WAYS),
            "client": list(_clients()),
            "reset": list(ResetPolicy),
            "protocol": list(PROTOCOLS),
        },
        _is_allowed,
        seed=_SEED,
    )
    return tuple(_row(one) for one in found)


def by_run() -> dict[tuple[str, str, str], list[TableRow]]:
    """Return the rows by (hazard, kafka, build): those of a run share its elections."""
    runs: defaultdict[tuple[str, str, str], list[TableRow]] = defaultdict(list)
    for row in table():
        runs[row.hazard, row.kafka, row.build].append(row)
    return dict(sorted(runs.items()))


def _clients() -> Iterator[tuple[str, str]]:
    """Return (kafka, build): the released clients, and each patch with the release that it fits."""
    yield from ((kafka, RELEASED) for kafka in KAFKAS)
    patched = [(patch.version, patch.name) for patch in patches()]
    yield from sorted({(kafka, RELEASED) for kafka, _ in patched if kafka not in KAFKAS})
    yield from patched


def _is_allowed(part: Values) -> bool:
    """Whether the protocol is one that the client has."""
    client, protocol = part.get("client"), part.get("protocol")
    if client is None or protocol is None:
        return True
    kafka, _ = msgspec.convert(client, tuple[str, str])
    return protocol in clients_of(kafka)


def _row(one: Values) -> TableRow:
    kafka, build = msgspec.convert(one["client"], tuple[str, str])
    return msgspec.convert(
        {**{name: one[name] for name in one if name != "client"}, "kafka": kafka, "build": build},
        TableRow,
    )


QUICK_KAFKA = "4.3.1"
"""The newest version whose sources are published."""
BUILDS = (RELEASED, "option-1", "option-2", "option-3", "options-1-and-3")
ON_EACH_BUILD = ("clean", "truncated", "validated")
"""Hazards that the quick run has on each build; the others it has on the released client."""
_QUICK_RACES = (RELEASED, "option-1", "options-1-and-3")
_FIRST_SEED = 1900


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    hazard: of commit_hazards or mixed_languages; empty for prefetch_race.
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


def handovers(repeat: int) -> Iterator[Cell]:
    """Members of other clients behind each build, several times."""
    for number, build in product(range(1, repeat + 1), BUILDS):
        yield Cell(
            scenario=LANGUAGES,
            kafka=QUICK_KAFKA,
            build=build,
            seed=_FIRST_SEED + number,
            hazard=BY_CLIENT,
        )


def _hazard(kafka: str, build: str, hazard: str, seed: int) -> Cell:
    return Cell(scenario=HAZARDS, kafka=kafka, build=build, seed=seed, hazard=hazard)
