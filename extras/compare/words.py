"""A comparison in sentences, the same on every page."""

from collections.abc import Iterator

from extras.compare.comparison import Cell, Outcome, Result, SideOfCell

HEADS = ("cell", "measure", "A", "B", "event", "A: stories", "B: stories", "p", "corrected p")
_VALUES_MAX = 6


def headline(result: Result) -> str:
    """The outcome in one sentence."""
    reported = [cell for cell in result.cells if cell.differs]
    if result.outcome is Outcome.DIFFERS:
        first = reported[0]
        more = "" if len(reported) == 1 else f", and {len(reported) - 1} more cells"
        return f"The builds differ: {first.where}, {first.measure}{more}."
    if result.outcome is Outcome.UNDECIDED:
        return "Undecided: no difference could have been found in these stories."
    return f"No difference found in {_stories(result)}."


def sentences(result: Result) -> Iterator[str]:
    """What was compared, and what its size can show."""
    for side, build in result.builds.items():
        stories, groups = result.judged[side], result.groups[side]
        yield f"{side}: {build}; judged stories: {stories}, groups in them: {groups}."
    if result.reason:
        yield f"{result.reason}."
    elif result.outcome is Outcome.SAME:
        yield _power(result)
    ways = "all" if result.is_exact else "a sample of the"
    yield (
        f"Cells that vary and were tested: {len(result.cells)}; cells with one value in every "
        f"story of both sides: {result.constant}. The test is on stories, since groups in one "
        f"story share its election. It counts {ways} assignments of the stories to A and B "
        f"({result.permutations:,}), and is corrected for the number of cells: a cell differs if "
        f"its corrected p is at most {result.alpha}."
    )


def cell_words(cell: Cell) -> tuple[str, ...]:
    """A cell's row, as `HEADS`."""
    return (
        cell.where,
        cell.measure,
        _values(cell.a),
        _values(cell.b),
        cell.event,
        _share(cell.a),
        _share(cell.b),
        f"{cell.p:.4f}",
        f"{cell.p_adjusted:.4f}",
    )


def cell_lines(cell: Cell) -> tuple[str, str]:
    """A cell in two lines, for a terminal."""
    where, measure, a, b, event, share_a, share_b, p, corrected = cell_words(cell)
    mark = "differs" if cell.differs else "varies"
    return (
        f"{mark}: {where}: {measure}: A {a}; B {b}",
        f"    {event}: A {share_a}, B {share_b} stories; p {p}, corrected {corrected}",
    )


def left_out(result: Result, shown: int) -> str:
    """How many of the cells after the first ones differ, and how many do not; empty for none."""
    left = result.cells[shown:]
    differ = sum(cell.differs for cell in left)
    counts = {"differ": differ, "vary and do not differ": len(left) - differ}
    parts = [f"{count} more {what}" for what, count in counts.items() if count]
    return ", ".join(parts)


def _stories(result: Result) -> str:
    return " and ".join(f"{count} stories of {side}" for side, count in result.judged.items())


def _power(result: Result) -> str:
    least, anywhere = result.detectable.from_none, result.detectable.from_any
    if least is None or anywhere is None:
        return "How large a difference would have been found is not known."
    never = f"; of {least:.2f} where one build never has it" if least < anywhere else ""
    return (
        f"A difference of at least {anywhere:.2f} between the shares of stories with an event "
        f"would have been found with probability 0.8{never}."
    )


def _values(side: SideOfCell) -> str:
    """The number of groups by value: `0 in 8, 50 in 2`."""
    shown = [f"{value} in {count}" for value, count in list(side.values.items())[:_VALUES_MAX]]
    left = len(side.values) - _VALUES_MAX
    more = f", {left} more values" if left > 0 else ""
    mean = "" if side.mean is None or len(side.values) <= 1 else f" (mean {side.mean:g})"
    return ", ".join(shown) + more + mean if shown else "-"


def _share(side: SideOfCell) -> str:
    """The stories with the event, and the interval of their share: `2 of 5 (0.12 to 0.77)`."""
    return f"{side.with_event} of {side.stories} ({side.low:.2f} to {side.high:.2f})"
