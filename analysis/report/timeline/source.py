"""What a timeline reads of a run: tables, times, and the partitions and groups of the findings."""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.report.stories import anchor
from analysis.report.timeline.columns import NEEDED, USED
from analysis.runs.source import table_files
from contract.findings import FINDINGS, FINDINGS_FILE
from contract.regular_files import Opener, open_regular
from contract.run_folder import RunFolder
from contract.stages import Stage
from contract.tables import MICROS_PER_SECOND, TABLES
from contract.verdicts import Finding, FindingVerdict, Verdict

_WEIGHT = {FindingVerdict.VIOLATION: 10_000, FindingVerdict.UNDECIDED: 100}
_TIMES = {
    "phases": ("began_micros", "ended_micros"),
    "faults": ("injected_micros", "proved_micros", "heal_began_micros", "healed_micros"),
    "leaderships": ("at_micros",),
    "sends": ("intended_micros", "answered_micros"),
    "polls": ("polled_micros",),
    "committed_offsets": ("committed_micros",),
    "samples": ("at_micros",),
}


class Partition(NamedTuple):
    """A partition of a topic."""

    topic: str
    number: int

    def __str__(self) -> str:
        """E.g. `orders-0`."""
        return f"{self.topic}-{self.number}"


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
    """The tables of a run. A table that is missing or unusable has no rows."""

    def __init__(self, folder: RunFolder, verdict: Verdict) -> None:
        """Read the plan and the tables' footers; tables are read when they are asked for."""
        self.verdict = verdict
        self.plan = folder.plan()
        self._started_micros = folder.run().started_micros
        self._files = table_files(folder)
        self._findings_file = folder.report / FINDINGS_FILE
        self._content: dict[str, pa.Table] = {}
        self._split: dict[str, dict[Partition, pd.DataFrame]] = {}
        self._empty: dict[str, pd.DataFrame] = {}
        self._of_groups: dict[str, dict[str, pd.DataFrame]] = {}
        self._empty_group: dict[str, pd.DataFrame] = {}

    def frame(self, table: str, *columns: str) -> pd.DataFrame:
        """Columns of a table, all of them if none is named.

        Rows that lack a value that the timeline needs are left out.
        """
        content = self._table(table)
        chosen = content.select(list(columns)) if columns else content
        for column in NEEDED[table]:
            if column in chosen.schema.names:
                chosen = chosen.filter(pa.compute.is_valid(chosen[column]))
        texts = [one.name for one in chosen.schema if pa.types.is_string(one.type)]
        frame: pd.DataFrame = chosen.to_pandas(
            integer_object_nulls=True, categories=texts if chosen.num_rows else []
        )
        return frame

    def _table(self, table: str) -> pa.Table:
        if table not in self._content:
            content = TABLES[table].empty_table()
            if self._files.rows[table] and table not in self.verdict.unusable:
                # The verdict names a table that can't be read.
                with suppress(pa.ArrowException, OSError):
                    content = _read(table, self._files.open[table])
            self._content[table] = content
        return self._content[table]

    def seconds(self, micros: float) -> float:
        """A time of the tables, from the timeline's zero."""
        return (float(micros) - self.zero_micros) / MICROS_PER_SECOND

    @cached_property
    def zero_micros(self) -> int:
        """When the first fault was injected; when the run began if there is none."""
        if self._has_no_fault:
            return self._started_micros
        return int(self.frame("faults")["injected_micros"].dropna().min())

    @property
    def origin(self) -> str:
        """The name of the timeline's zero."""
        return "the start of the run" if self._has_no_fault else "the injection of the first fault"

    @cached_property
    def _has_no_fault(self) -> bool:
        return self.frame("faults", "injected_micros").empty

    @cached_property
    def span(self) -> tuple[float, float]:
        """The seconds that are drawn: from the end of the start to the last event."""
        times = [time for table, columns in _TIMES.items() for time in self._of(table, columns)]
        if not times:
            return 0.0, 0.0
        phases = self.frame("phases", "stage", "began_micros")
        later = phases[phases["stage"] != Stage.STARTING]["began_micros"]
        begin = int(later.min()) if len(later) else min(times)
        return self.seconds(begin), self.seconds(max(times))

    def _of(self, table: str, columns: tuple[str, ...]) -> list[int]:
        content = self._table(table)
        bounds = [pa.compute.min_max(content[column]).as_py() for column in columns]
        return [bound[end] for bound in bounds for end in ("min", "max") if bound[end] is not None]

    def of_partition(self, table: str, where: Partition) -> pd.DataFrame:
        """The rows of one partition, as far as the timeline uses them, in the order of the table.

        Of `sends` those that were acknowledged, by time, with their `end`; of `samples` those of
        leaders.
        """
        if table not in self._split:
            frame = self._prepared(table)
            self._empty[table] = frame.head(0)
            self._split[table] = _by_partition(frame)
        return self._split[table].get(where, self._empty[table])

    def partitions_in(self, table: str) -> set[Partition]:
        """The partitions that a table has rows of."""
        pairs = self.frame(table, "topic", "partition").drop_duplicates()
        return {
            Partition(str(topic), int(number)) for topic, number in pairs.itertuples(index=False)
        }

    def of_group(self, table: str, group: str) -> pd.DataFrame:
        """The rows of one group, in the order of the table; deliveries by time."""
        if table not in self._of_groups:
            frame = self.polls if table == "polls" else self.frame(table)
            self._empty_group[table] = frame.head(0)
            self._of_groups[table] = {
                str(name): part for name, part in frame.groupby("group", observed=True)
            }
        return self._of_groups[table].get(group, self._empty_group[table])

    def _prepared(self, table: str) -> pd.DataFrame:
        if table == "sends":
            columns = ("topic", "partition", "acks", "last_offset", "answered_micros")
            sends = self.frame(table, *columns).dropna(subset=["last_offset", "answered_micros"])
            sends = sends.assign(end=sends["last_offset"].astype("int64") + 1)
            return sends.sort_values("answered_micros")
        if table == "samples":
            samples = self.frame(table)
            return samples[samples["log_end_offset"] >= 0].sort_values("at_micros")
        return self.frame(table)

    @cached_property
    def polls(self) -> pd.DataFrame:
        """Ranges of deliveries, in the order of their times."""
        columns = ("group", "topic", "partition", "first_offset", "last_offset", "polled_micros")
        return self.frame("polls", *columns).sort_values("polled_micros")

    @cached_property
    def findings(self) -> list[Numbered]:
        """The findings that have stories on the page."""
        found = {
            (check, number): Numbered(number, finding)
            for check, result in self.verdict.checks.items()
            for number, finding in enumerate(result.examples, start=1)
        }
        for one in self.verdict.unexpected:
            found.setdefault((one.check, one.number), Numbered(one.number, one.first))
        return list(found.values())

    def found_of(self, check: str) -> pd.DataFrame:
        """All findings of a check, of the file that has every one, if it exists.

        Without it, those that have stories on the page. The evidence is JSON.
        """
        try:
            with open_regular(self._findings_file) as content:
                found = pq.read_table(content, filters=[("check", "=", check)])
            frame: pd.DataFrame = found.cast(FINDINGS).to_pandas(integer_object_nulls=True)
        except (pa.ArrowException, OSError, ValueError):
            examples = [
                msgspec.to_builtins(one.finding)
                | {"evidence": msgspec.json.encode(one.finding.evidence).decode()}
                for one in self.findings
                if one.finding.check == check
            ]
            frame = pd.DataFrame(examples, columns=FINDINGS.names).astype(object)
        return frame

    @cached_property
    def _unexpected(self) -> set[tuple[str, str | None]]:
        return {(one.check, one.group) for one in self.verdict.unexpected}

    def weight(self, finding: Finding) -> int:
        """How much a finding draws its partition and group to the front."""
        is_unexpected = (finding.check, finding.group) in self._unexpected
        return 1_000_000 * is_unexpected + _WEIGHT.get(finding.verdict, 1)

    @cached_property
    def partitions(self) -> list[Partition]:
        """Those of the plan's topics and of findings; those of grave findings first."""
        weights: Counter[Partition] = Counter()
        for one in self.findings:
            if one.finding.topic is not None and one.finding.partition is not None:
                where = Partition(one.finding.topic, one.finding.partition)
                weights[where] += self.weight(one.finding)
        known = {
            Partition(topic.topic, number)
            for topic in self.plan.topics
            for number in range(topic.partitions)
        }
        return sorted(known | weights.keys(), key=lambda where: (-weights[where], where))

    @cached_property
    def partitions_found(self) -> int:
        """The number of partitions that findings name; they are the first."""
        names = ((one.finding.topic, one.finding.partition) for one in self.findings)
        return len({name for name in names if None not in name})

    @cached_property
    def groups(self) -> list[str]:
        """Those of the plan and of findings; those of grave findings first."""
        weights: Counter[str] = Counter()
        for one in self.findings:
            if one.finding.group is not None:
                weights[one.finding.group] += self.weight(one.finding)
        known = {group.group for group in self.plan.groups} | weights.keys()
        return sorted(known, key=lambda group: (-weights[group], group))

    @cached_property
    def groups_found(self) -> int:
        """The number of groups that findings name; they are the first."""
        return len({one.finding.group for one in self.findings} - {None})


def _read(table: str, file: Opener) -> pa.Table:
    """The columns of a table that the timeline uses; texts are kept once each."""
    texts = [one.name for one in TABLES[table] if pa.types.is_string(one.type)]
    with file() as content:
        return pq.read_table(content, columns=USED.get(table), read_dictionary=texts)


def _by_partition(frame: pd.DataFrame) -> dict[Partition, pd.DataFrame]:
    return {
        Partition(str(topic), int(str(number))): part
        for topic, of_topic in frame.groupby("topic", observed=True)
        for number, part in of_topic.groupby("partition")
    }
