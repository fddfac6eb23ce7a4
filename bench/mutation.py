"""Recall and precision of each check on planted anomalies: `python -m bench.mutation [SEEDS]`.

Generates one history of many universes: each class of anomalies planted at a number of seeds, and
clean universes of every kind. Judges it once with every registered check, attributes all findings
to universes by topic, group, worker or time, and keeps the figures of docs/mutation.md. Exits 1 if
a check misses a planted anomaly, or has a finding that is neither planted nor a consequence.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from analysis.statements.registry import CHECKS
from bench.figures import keep, kept, rendered
from bench.folders import own_folder
from bench.traces import load
from contract.checks import Check
from contract.run_folder import RunFolder
from contract.verdicts import FindingVerdict
from simulator.history import KINDS, Generated, description, planted_universe, write_history
from simulator.log import micros
from simulator.plants import PLANTS
from simulator.universe import BEGINNING_MICROS, BROKERS, UNIVERSE_SECONDS, Place, Universe

SEEDS = 20
RECORDS, PARTITIONS = 60, 2
"""Records of each partition, and partitions, of a universe."""
_SEED = 19902
_UNEXPLAINED_SHOWN = 5
_OF_ALL = (Check.CLOCK_SKEW,)
"""They judge a whole history at once, so each of their anomalies needs a history of its own."""
_NAME = "mutation"
_TEMPLATE = Path(__file__).with_name("mutation.md.j2")


class CheckFigures(msgspec.Struct, frozen=True):
    """The score of a check. planted: None if the simulator has no anomaly for it."""

    id: str
    check: str
    planted: int | None
    recall: float | None
    precision: float | None
    findings: int


class Mutation(msgspec.Struct, frozen=True):
    """The scores of all checks, on a number of histories.

    Attributes:
        seeds: histories of each class.
        clean: histories without an anomaly.
        universes: all histories.
        rows: of all tables.
        seed: of all random choices.
        checks: their scores.
    """

    seeds: int
    clean: int
    universes: int
    rows: int
    seed: int
    checks: list[CheckFigures]


def part() -> str:
    """The part of docs/mutation.md that is made."""
    return rendered(_TEMPLATE, figures=kept(_NAME, Mutation))


@dataclass(frozen=True)
class Found:
    """One finding, and the universe that it belongs to."""

    topic: str
    check: str
    row: dict[str, Any]

    def is_at(self, place: Place) -> bool:
        """Whether a place is this finding's."""
        return (
            self.check == place.check
            and place.verdict in (None, self.row["verdict"])
            and place.partition in (None, self.row["partition"])
            and place.group in (None, self.row["group"])
            and self._covers(place.offset)
        )

    def _covers(self, offset: int | None) -> bool:
        first, last = self.row["offset_first"], self.row["offset_last"]
        if offset is None or first is None:
            return True
        return bool(first <= offset <= (first if last is None else last))


@dataclass
class Score:
    """The result of one check."""

    planted: int = 0
    missed: list[str] = field(default_factory=list)
    findings: int = 0
    unexplained: list[Found] = field(default_factory=list)

    @property
    def recall(self) -> float:
        """The share of the planted anomalies that were found."""
        return 1 - len(self.missed) / self.planted if self.planted else 0.0

    @property
    def precision(self) -> float:
        """The share of the findings that are explained."""
        return 1 - len(self.unexplained) / self.findings if self.findings else 1.0

    @property
    def is_perfect(self) -> bool:
        """Whether no anomaly was missed and every finding is explained."""
        return not self.missed and not self.unexplained


def universes(seeds: int) -> Iterator[Universe]:
    """Yield each class but _OF_ALL at each seed, then as many clean universes of each kind."""
    wanted: list[tuple[str | None, str]] = [(name, "") for name in PLANTS if name not in _OF_ALL]
    wanted += [(None, kind) for kind in KINDS]
    for index, (plant, kind) in enumerate(one for one in wanted for _ in range(seeds)):
        yield planted_universe(
            plant, index, _SEED, records=RECORDS, partitions=PARTITIONS, kind=kind
        )


def findings(folder: RunFolder, topics: list[str], console: Console) -> Iterator[Found]:
    """Yield all findings of every registered check, each with its universe.

    Args:
        folder: the history's.
        topics: of its universes, in their order.
        console: for the number of findings and the time of each check.
    """
    trace = load(folder.path.with_suffix(".spill"), folder)
    groups = {group.group: group.topic for group in trace.plan.groups}
    for check, definition in CHECKS.items():
        began = time.monotonic()
        if lacks := definition.lacks(trace):
            console.print(f"{check}: {lacks}", style="yellow")
            continue
        rows = definition.judge(trace).findings.collect()
        console.print(
            f"{check}: {len(rows):,} findings, {time.monotonic() - began:.1f} s", style="dim"
        )
        for row in rows:
            yield Found(_topic(row, topics, groups), str(check), row)


def scores_of_all(seeds: int, place: Path, console: Console) -> dict[str, Score]:
    """Return the scores of _OF_ALL, on a planted universe beside a clean one at each seed."""
    made = Generated()
    found: list[Found] = []
    for check in _OF_ALL:
        for seed in range(seeds):
            history = f"{check}, seed {seed}"
            folder = RunFolder(place / history)
            pair = [
                planted_universe(plant, index, seed, records=RECORDS, partitions=PARTITIONS)
                for index, plant in enumerate((str(check), None))
            ]
            write_history(folder, pair, description(seed, "make mutation", "unknown", {}))
            rows = CHECKS[check].judge(load(place / "spill", folder)).findings.collect()
            made.planted[history], made.plants[history] = pair[0].planted, str(check)
            found += [Found(history, str(check), dict(row)) for row in rows]
        console.print(f"{check}: {seeds} histories of its own", style="dim")
    return scores(made, found)


def _topic(row: dict[str, Any], topics: list[str], groups: dict[str, str]) -> str:
    """Return the universe of a finding, by topic, group, worker, server or time.

    A topic of no universe is Kafka's own, with the offsets of groups. The observer is the worker of
    every universe.
    """
    if row["topic"] in topics:
        return str(row["topic"])
    if row["group"] in groups:
        return groups[row["group"]]
    evidence: dict[str, Any] = msgspec.json.decode(row["evidence"])
    number = str(evidence.get("worker", "")).rpartition("-")[2]
    if number.isdecimal():
        return topics[int(number)]
    servers = evidence.get("servers")
    if servers:
        return topics[(int(servers[0]) - 1) // BROKERS]
    if row["at"] is not None:
        return topics[int(row["at"] - BEGINNING_MICROS) // micros(UNIVERSE_SECONDS)]
    return ""


def scores(made: Generated, found: Iterable[Found]) -> dict[str, Score]:
    """Return, by check, the planted anomalies with those missed, and the unexplained findings."""
    by_topic: dict[str, list[Found]] = defaultdict(list)
    for one in found:
        by_topic[one.topic].append(one)
    counted: dict[str, set[str]] = defaultdict(lambda: {FindingVerdict.VIOLATION.value})
    scored: dict[str, Score] = defaultdict(Score)
    for topic, places in made.planted.items():
        plant = made.plants[topic]
        scored[plant].planted += 1
        for place in places:
            verdicts = list(FindingVerdict) if place.verdict is None else [place.verdict]
            counted[plant] |= {str(verdict) for verdict in verdicts}
            if not any(one.is_at(place) for one in by_topic[topic]):
                scored[plant].missed.append(f"{topic}: {place}")
                break
    for topic, ones in by_topic.items():
        explained = [*made.planted.get(topic, []), *made.expected.get(topic, [])]
        for one in ones:
            if one.row["verdict"] not in counted[one.check]:
                continue
            scored[one.check].findings += 1
            if not any(one.is_at(place) for place in explained):
                scored[one.check].unexplained.append(one)
    return scored


def figures_of(scored: dict[str, Score]) -> Iterator[CheckFigures]:
    """Yield the figures of each check."""
    for check, definition in CHECKS.items():
        score = scored.get(str(check), Score())
        is_planted = str(check) in PLANTS
        yield CheckFigures(
            id=definition.id,
            check=str(check),
            planted=score.planted if is_planted else None,
            recall=round(score.recall, 3) if is_planted else None,
            precision=round(score.precision, 3) if is_planted or score.findings else None,
            findings=score.findings,
        )


def main() -> None:
    """Keep the figures."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS
    console = Console(stderr=True)
    with own_folder("mutation") as place:
        folder = RunFolder(place / "universes")
        described = description(_SEED, "make mutation", "unknown", {})
        made = write_history(folder, universes(seeds), described)
        console.print(f"{len(made.expected)} universes, {sum(made.rows.values()):,} rows")
        scored = scores(made, findings(folder, list(made.expected), console))
        scored |= scores_of_all(seeds, place, console)
    figures = Mutation(
        seeds=seeds,
        clean=len(made.expected) - len(made.planted),
        universes=len(made.expected),
        rows=sum(made.rows.values()),
        seed=_SEED,
        checks=list(figures_of(scored)),
    )
    console.print(f"wrote {keep(_NAME, figures)}")
    wrong = {name: score for name, score in scored.items() if not score.is_perfect}
    for name, score in wrong.items():
        console.print(f"{name}: recall {score.recall:.3f}, precision {score.precision:.3f}")
        for missed in score.missed[:_UNEXPLAINED_SHOWN]:
            console.print(f"  missed {missed}", highlight=False, soft_wrap=True)
        for one in score.unexplained[:_UNEXPLAINED_SHOWN]:
            plant = made.plants.get(one.topic, "clean")
            console.print(f"  in {one.topic} ({plant}): {one.row}", highlight=False, soft_wrap=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
