"""The cells of a comparison: what is measured in each story, for the same groups on both sides."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow.parquet as pq

from contract.files import open_regular
from contract.run_folder import GroupPlan, RunFolder
from contract.verdicts import Resumption, Verdict
from extras.compare.statistics import Feature

NONE = "none"
NO_RUN = "no run folder"
_MEAN = "its mean"
_NOT_ZERO = "not 0"

Value = int | str
Key = tuple[str, str]
"""Where, and the measure."""
VERDICT = "verdict"
THE_RUN: Key = ("the run", VERDICT)
Values = dict[Key, list[Value]]
"""The values of a story's groups in each cell."""


@dataclass
class CellValues:
    """The values of a cell: of each story, those of its groups; empty where it has none."""

    where: str
    measure: str
    stories: list[list[Value]] = field(default_factory=list)

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        return all(isinstance(value, int) for story in self.stories for value in story)

    @property
    def is_constant(self) -> bool:
        """Whether no statistic of it can differ: every story that has a value has the same."""
        kinds = {tuple(sorted(map(str, story))) for story in self.stories if story}
        return len(kinds) <= 1

    def events(self) -> list[str]:
        """Return what is counted in stories, in the order of `features`.

        Of numbers: `not 0`, and the mean. Of words: each one that occurs.
        """
        if self.is_number:
            return [_NOT_ZERO, _MEAN]
        return sorted({str(value) for story in self.stories for value in story})

    def features(self) -> list[Feature]:
        """Return the numbers of each story by which the cell is tested.

        Of several groups it is the mean: groups in one story are one sample of it.
        """
        return [[self._number(story, event) for story in self.stories] for event in self.events()]

    def has_event(self, story: list[Value], event: str) -> bool:
        """Whether the event occurred in a group of a story; a mean's: a value that is not 0."""
        is_number = event in (_NOT_ZERO, _MEAN) and self.is_number
        return any(value != 0 if is_number else str(value) == event for value in story)

    def _number(self, story: list[Value], event: str) -> float | None:
        if not story:
            return None
        if event == _MEAN and self.is_number:
            return sum(value for value in story if isinstance(value, int)) / len(story)
        return sum(self.has_event([value], event) for value in story) / len(story)


def values_of(folders: Iterable[tuple[RunFolder, Verdict | None]]) -> Values:
    """Return the values of a story in each cell: of one run, or of one for each parameter set.

    A run that left no folder has a value that says so, since that is a result of its build. One
    that could not be judged has no value.
    """
    values: Values = defaultdict(list)
    found = list(folders)
    for folder, verdict in found:
        if verdict is not None:
            _add(values, folder, verdict)
    if not found:
        values[THE_RUN].append(NO_RUN)
    return values


def _add(values: Values, folder: RunFolder, verdict: Verdict) -> None:
    prefix = _words(verdict.parameters)
    values[THE_RUN].append(str(verdict.verdict))
    values[f"{prefix}the run", "error"].append("error" if folder.run().error else NONE)
    for name, result in verdict.checks.items():
        values[f"{prefix}check {name}", VERDICT].append(str(result.verdict))
    groups = {group.group: group for group in folder.plan().groups}
    resets = _resets(folder)
    for row in verdict.resumption:
        if (group := groups.get(row.group)) is None:
            continue
        where = f"{prefix}{_group(group)}"
        for measure, value in _measures(row).items():
            if value is not None:
                values[where, measure].append(value)
        if resets is not None:
            values[where, "reset"].append(resets.get(row.group, NONE))


def cells_of(stories: Iterable[Values]) -> list[CellValues]:
    """Return all cells of some stories; a cell that a story lacks has no value there."""
    listed = list(stories)
    keys = dict.fromkeys(key for values in listed for key in values)
    return [CellValues(*key, [values.get(key, []) for values in listed]) for key in keys]


def _measures(row: Resumption) -> Mapping[str, Value | None]:
    ahead = None
    if row.resumed_at is not None and row.committed_offset is not None:
        ahead = row.resumed_at - row.committed_offset
    return {
        "redelivered": row.redelivered,
        "never_delivered": row.never_delivered,
        "resumed_at - committed_offset": ahead,
        "exception": NONE if row.exception is None else row.exception.partition(" (")[0],
    }


def _group(group: GroupPlan) -> str:
    """Return what distinguishes a group: client, style, labels, isolation and reset policy."""
    labels = _words(group.labels)
    return f"{labels}{group.client}, {group.commit_epoch}, reset {group.reset}"


def _words(labels: Mapping[str, Any]) -> str:
    return "".join(f"{name} {value}, " for name, value in sorted(labels.items()))


def _resets(folder: RunFolder) -> dict[str, str] | None:
    """Return the causes of the resets that each group's clients logged; None without the table."""
    file = folder.tables / "resets.parquet"
    try:
        with open_regular(file) as content:
            rows = pq.read_table(content, columns=["group", "cause"]).to_pylist()
    except (OSError, ValueError):
        return None
    causes: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        causes[str(row["group"])].add(str(row["cause"]))
    return {group: ", ".join(sorted(of_group)) for group, of_group in causes.items()}
