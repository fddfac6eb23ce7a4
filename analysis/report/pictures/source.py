"""What pictures of a run read: facts, and the subjects of its findings."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.report.run_facts import RunFacts
from analysis.report.stories import anchor
from analysis.statements.cases import literal
from analysis.statements.trace import Row
from contract.files import open_regular
from contract.verdicts import FINDINGS_FILE, Finding, FindingVerdict, Verdict

SUBJECTS_MAX = 60
"""Of the partitions, and of the groups, that have lanes."""
_READ = """
select distinct group, topic, partition from deliveries
union
select distinct group, topic, partition from committed_offsets"""
_WEIGHT = {FindingVerdict.VIOLATION: 10_000, FindingVerdict.UNDECIDED: 100}


class Partition(NamedTuple):
    """A partition of a topic."""

    topic: str
    number: int

    def __str__(self) -> str:
        """E.g. `orders-0`."""
        return f"{self.topic}-{self.number}"

    @classmethod
    def of(cls, finding: Finding) -> "Partition | None":
        """That of a finding; None if it names none."""
        if finding.topic is None or finding.partition is None:
            return None
        return cls(finding.topic, finding.partition)


@dataclass(frozen=True)
class Numbered:
    """A finding, with its number among those of its check."""

    number: int
    finding: Finding

    @property
    def anchor(self) -> str:
        """Where its story is on the run's page."""
        return anchor(self.finding.check, self.number)


class Source:
    """The facts of a run, each asked for once, and what its findings are about."""

    def __init__(self, facts: RunFacts, verdict: Verdict) -> None:
        """Nothing is asked for before it is needed."""
        self.facts = facts
        self.verdict = verdict
        self.plan = facts.folder.plan()
        self._rows: dict[str, list[Row]] = {}
        self._split: dict[tuple[str, tuple[str, ...]], dict[tuple[Any, ...], list[Row]]] = {}

    def rows(self, text: str) -> list[Row]:
        """The rows of a statement."""
        if text not in self._rows:
            self._rows[text] = self.facts.rows(text)
        return self._rows[text]

    def of(self, text: str, **values: Any) -> list[Row]:
        """Those of its rows whose columns have these values, in order."""
        split = (text, tuple(values))
        if split not in self._split:
            parts = self._split[split] = defaultdict(list)
            for row in self.rows(text):
                parts[tuple(row[name] for name in values)].append(row)
        return self._split[split].get(tuple(values.values()), [])

    def of_partition(self, text: str, where: Partition) -> list[Row]:
        """Those of its rows that are of a partition, in order."""
        return self.of(text, topic=where.topic, partition=where.number)

    def seconds(self, micros: float) -> float:
        """A time, from the timeline's zero."""
        return self.facts.seconds(micros)

    @cached_property
    def span(self) -> tuple[float, float]:
        """The seconds that are drawn: from the end of the start to the last event."""
        for row in self.rows("select * from drawn_span where end_micros is not null"):
            return self.seconds(row["begin_micros"]), self.seconds(row["end_micros"])
        return 0.0, 0.0

    def end(self, micros: int | None) -> float:
        """A time at which something ended; the end of the timeline if it did not."""
        return self.span[1] if micros is None else self.seconds(micros)

    @cached_property
    def findings(self) -> list[Numbered]:
        """The findings that have stories on the page."""
        found = {
            (check, number): Numbered(number, finding)
            for check, result in self.verdict.checks.items()
            for number, finding in enumerate(result.examples, start=1)
        }
        for entry in self.verdict.unexpected:
            found.setdefault((entry.check, entry.number), Numbered(entry.number, entry.first))
        return list(found.values())

    def found_of(self, check: str) -> list[Row]:
        """All findings of a check, by the file of all; its examples where there is none."""
        columns = ["topic", "partition", "group", "offset_first", "offset_last"]
        try:
            with open_regular(self.facts.folder.report / FINDINGS_FILE) as content:
                found = pq.read_table(content, columns=columns, filters=[("check", "=", check)])
        except (pa.ArrowException, OSError, ValueError):
            examples = [
                numbered.finding for numbered in self.findings if numbered.finding.check == check
            ]
            return [msgspec.structs.asdict(example) for example in examples]
        rows: list[Row] = found.to_pylist()
        return rows

    @cached_property
    def _unexpected(self) -> set[tuple[str, str | None]]:
        return {(entry.check, entry.group) for entry in self.verdict.unexpected}

    def weight(self, finding: Finding) -> int:
        """How much a finding draws its partition and group to the front."""
        is_unexpected = (finding.check, finding.group) in self._unexpected
        return 1_000_000 * is_unexpected + _WEIGHT.get(finding.verdict, 1)

    @cached_property
    def partitions(self) -> list[Partition]:
        """Those of the plan's topics and of findings; those of grave findings first."""
        known = (
            Partition(topic.topic, at)
            for topic in self.plan.topics
            for at in range(topic.partitions)
        )
        return _by_weight(known, self._partitions_found)

    @cached_property
    def groups(self) -> list[str]:
        """Those of the plan and of findings; those of grave findings first."""
        return _by_weight((group.group for group in self.plan.groups), self._groups_found)

    def read_by(self, group: str) -> list[Partition]:
        """The partitions that a group read or committed."""
        return [Partition(row["topic"], row["partition"]) for row in self.of(_READ, group=group)]

    @cached_property
    def _topics(self) -> str:
        groups = set(self.groups[:SUBJECTS_MAX])
        topics = {partition.topic for partition in self.partitions[:SUBJECTS_MAX]}
        topics |= {row["topic"] for row in self.rows(_READ) if row["group"] in groups}
        return ", ".join(map(literal, ["", *sorted(topics)]))

    def marks(self, text: str) -> str:
        """A statement about marks, in their order, of what may have lanes.

        With the names of their topics in it, it reads the rows of these topics only.
        """
        shown = f"topic is null or topic in ({self._topics})"
        return f"{text} where {shown} order by place, nth, at_micros, value, text"

    @property
    def partitions_found(self) -> int:
        """The number of partitions that findings name; they are the first."""
        return len(self._partitions_found)

    @property
    def groups_found(self) -> int:
        """The number of groups that findings name; they are the first."""
        return len(self._groups_found)

    @cached_property
    def _partitions_found(self) -> Counter[Partition]:
        weights: Counter[Partition] = Counter()
        for numbered in self.findings:
            if (where := Partition.of(numbered.finding)) is not None:
                weights[where] += self.weight(numbered.finding)
        return weights

    @cached_property
    def _groups_found(self) -> Counter[str]:
        weights: Counter[str] = Counter()
        for numbered in self.findings:
            if numbered.finding.group is not None:
                weights[numbered.finding.group] += self.weight(numbered.finding)
        return weights


def _by_weight(known: Iterable[Any], weights: Counter[Any]) -> list[Any]:
    return sorted({*known, *weights}, key=lambda subject: (-weights[subject], subject))
