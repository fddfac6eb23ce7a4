"""Which lanes a timeline has: all of the run, and those of as many partitions and groups as fit."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from analysis.report.timeline.lanes import Lane
from analysis.report.timeline.of_groups import lanes_of_group
from analysis.report.timeline.of_partitions import lanes_of_partition
from analysis.report.timeline.of_producers import lanes_of_producers
from analysis.report.timeline.of_run import lanes_of_run
from analysis.report.timeline.source import Source

POINTS_MAX = 20_000
"""Of all lanes together, shown or not."""
SUBJECTS_MAX = 60
"""Of the partitions, and of the groups, that have lanes."""
_POINTS_OF_SUBJECTS = 8_000
_POINTS_OF_SUBJECT_MAX = 800
_SHOWN_PARTITIONS, _SHOWN_GROUPS = 4, 4
_SHOWN_WITHOUT_FINDINGS = 2

_T = TypeVar("_T")


@dataclass
class Selection:
    """The lanes of a timeline.

    Attributes:
        lanes: in their order.
        choices: for each kind of subject (name, subject, whether it is shown at first).
        notes: sentences about what is left out.
    """

    lanes: list[Lane] = field(default_factory=list)
    choices: dict[str, list[tuple[str, str, bool]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def drawn(self) -> int:
        """The number of points of all lanes."""
        return sum(lane.drawn for lane in self.lanes)


def select(source: Source) -> Selection:
    """The lanes of a run; those of partitions and groups with findings are shown at first."""
    chosen = Selection([*lanes_of_run(source), *lanes_of_producers(source)])
    _add(
        chosen,
        _Kind("partition", source.partitions, source.partitions_found, _SHOWN_PARTITIONS),
        lambda where, points: lanes_of_partition(source, where, points),
    )
    _add(
        chosen,
        _Kind("group", source.groups, source.groups_found, _SHOWN_GROUPS),
        lambda group, points: lanes_of_group(source, group, points),
    )
    return chosen


@dataclass(frozen=True)
class _Kind(Generic[_T]):
    """Partitions or groups: all of them, how many of the first have findings, how many to show."""

    name: str
    subjects: Sequence[_T]
    found: int
    shown_max: int


def _add(chosen: Selection, kind: _Kind[_T], lanes_of: Callable[[_T, int], Iterator[Lane]]) -> None:
    subjects = kind.subjects[:SUBJECTS_MAX]
    each = min(_POINTS_OF_SUBJECT_MAX, _POINTS_OF_SUBJECTS // max(1, len(subjects)))
    wanted = min(kind.found or _SHOWN_WITHOUT_FINDINGS, kind.shown_max)
    choices: list[tuple[str, str, bool]] = []
    for subject in subjects:
        lanes = list(lanes_of(subject, each))
        if not lanes or chosen.drawn + sum(lane.drawn for lane in lanes) > POINTS_MAX:
            continue
        chosen.lanes += lanes
        choices.append((str(subject), lanes[0].subject, len(choices) < wanted))
    if choices:
        chosen.choices[f"{kind.name}s"] = choices
    _note(chosen, kind, len(choices))


def _note(chosen: Selection, kind: _Kind[_T], with_lanes: int) -> None:
    shown = min(kind.found, kind.shown_max)
    if kind.found > shown:
        chosen.notes.append(
            f"Findings name {kind.found} {kind.name}s; {shown} of them are shown at first."
        )
    if len(kind.subjects) > SUBJECTS_MAX:
        chosen.notes.append(
            f"The timeline has {with_lanes} of {len(kind.subjects):,} {kind.name}s, "
            "those of findings first."
        )
