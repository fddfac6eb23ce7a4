"""The offsets of a tree across its width: places in order, long spans shortened."""

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from analysis.report.log_tree.commits import Commit
from analysis.report.log_tree.model import Segment, Tree

PLACES_MAX = 14
_STEP_MIN = 60


@dataclass(frozen=True)
class Scale:
    """Where offsets stand.

    Attributes:
        offsets: those with a label, ascending.
        places: theirs, from the left.
    """

    offsets: tuple[int, ...]
    places: tuple[float, ...]

    def x(self, offset: float) -> float:
        """The place of an offset; between two labels, in proportion."""
        if offset <= self.offsets[0]:
            return self.places[0]
        if offset >= self.offsets[-1]:
            return self.places[-1]
        after = bisect_right(self.offsets, offset)
        begin, end = self.offsets[after - 1], self.offsets[after]
        part = (offset - begin) / (end - begin)
        return self.places[after - 1] + part * (self.places[after] - self.places[after - 1])


def scale_of(offsets: set[int], left: float, right: float) -> Scale:
    """Each span between two offsets gets a least width, and more the longer it is."""
    ordered = sorted(offsets)
    if len(ordered) == 1:
        ordered = [ordered[0], ordered[0] + 1]
    weights = [math.log1p(end - begin) for begin, end in pairwise(ordered)]
    step = min(_STEP_MIN, (right - left) / len(weights))
    rest = (right - left) - step * len(weights)
    places = [left]
    for weight in weights:
        places.append(places[-1] + step + rest * weight / sum(weights))
    return Scale(tuple(ordered), tuple(places))


def offsets_of(tree: Tree, main: tuple[Segment, ...], commits: list[Commit]) -> set[int]:
    """The offsets that get a label."""
    ends = [one.end for branch in tree.branches for one in branch.segments]
    commit_ends = [one.resumed_at for one in commits]
    return {
        *(one.begin for one in main),
        *(one.begin for branch in tree.branches for one in branch.segments),
        *(one.offset for one in commits),
        *(one for one in [*ends, *commit_ends] if one is not None),
        tree.log_start,
        tree.log_end,
    }


def simplified(tree: Tree, commits: list[Commit]) -> tuple[Segment, ...]:
    """The surviving log's segments: neighbors are joined until all places fit.

    Those without a fork and without a commit at their ends are joined first.
    """
    main = list(tree.main)
    marked = offsets_of(tree, (), commits)
    while len(offsets_of(tree, tuple(main), commits)) > PLACES_MAX:
        free = [place for place in range(1, len(main)) if main[place].begin not in marked]
        if not free:
            break
        place = free[0]
        first, second = main[place - 1], main[place]
        main[place - 1 : place + 1] = [
            Segment(first.epoch, first.begin, second.end, second.last_epoch)
        ]
    return tuple(main)
