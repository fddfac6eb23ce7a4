"""As many points as can be seen."""

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]


def thinned(x: Numbers, y: Numbers, points_max: int) -> tuple[Numbers, Numbers]:
    """At most `points_max` points whose drawing looks like that of all of them.

    Of each bin of time, the first and the last point are kept, the lowest and the highest.

    Args:
        x: ascending.
        y: of the same length.
        points_max: at least 4.
    """
    if len(x) <= points_max:
        return x, y
    bins = max(1, points_max // 4)
    width = (x[-1] - x[0]) / bins or 1.0
    of_point = np.minimum(((x - x[0]) / width).astype(int), bins - 1)
    begins = np.flatnonzero(np.diff(of_point, prepend=-1))
    kept: set[int] = set()
    for begin, end in zip(begins, [*begins[1:], len(x)], strict=True):
        part = y[begin:end]
        kept |= {int(begin), int(end) - 1, int(begin + part.argmin()), int(begin + part.argmax())}
    chosen = sorted(kept)
    return x[chosen], y[chosen]


def changes_only(x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    """The points of a step line that are not on the line between their neighbors."""
    if len(x) < 3:  # noqa: PLR2004 - both ends are kept
        return x, y
    differs = np.diff(y) != 0
    kept = np.concatenate(([True], differs, [True]))[: len(y)]
    kept[-1] = True
    return x[kept], y[kept]


def latest(x: Numbers, y: Numbers, at: Numbers) -> Numbers:
    """The value of a step line at given times; not a number before its first point."""
    place = np.searchsorted(x, at, side="right") - 1
    return np.where(place < 0, np.nan, y[np.maximum(place, 0)] if len(y) else np.nan)
