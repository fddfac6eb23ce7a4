"""A comparison of two builds: what is compared, and the result (docs/own-builds.md).

`comparison.json` is written by the harness, beside `night.json`, which has the runs. The analysis
writes `report/compare.json`.
"""

import enum
from pathlib import Path
from typing import Any

import msgspec

from contract.errors import RunFolderError
from contract.files import read_described, replace_file

COMPARISON_FILE = "comparison.json"
RESULT_FILE = "compare.json"


class Side(enum.StrEnum):
    """The two builds."""

    A = "A"
    B = "B"


class Outcome(enum.StrEnum):
    """undecided: no difference could have been found in these stories."""

    SAME = "no difference found"
    DIFFERS = "differs"
    UNDECIDED = "undecided"


EXIT_CODES = {Outcome.SAME: 0, Outcome.DIFFERS: 1, Outcome.UNDECIDED: 2}


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared: `comparison.json`.

    scenario, parameters: of all runs; without parameters, all that the scenario declares.
    builds: by side, what it is, in words.
    sides: of each run of the night, by its id.
    """

    schema: int
    scenario: str
    parameters: dict[str, Any]
    builds: dict[str, str]
    sides: dict[str, Side]


class SideOfCell(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a cell on one side.

    values: the number of groups by value; a story's check is one group.
    stories: how many have a value.
    with_event: in how many of these the event of the cell occurred, in one group or more.
    low, high: 95 % interval of Wilson of that share.
    mean: of the stories' means; None where the values are no numbers.
    """

    values: dict[str, int]
    stories: int
    with_event: int
    low: float
    high: float
    mean: float | None


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One measure of the same groups on both sides; a check's verdict, or the run's, is one too.

    where: the groups by client, commit style, labels and reset policy; the check; or the run.
    event: what is counted in stories: the value, or the kind of value, that differs most.
    p: of this cell alone.
    p_adjusted: step-down max-T, over all cells: the cell differs if it is at most alpha.
    p_holm: Holm's correction of `p` over the same cells.
    """

    where: str
    measure: str
    event: str
    a: SideOfCell
    b: SideOfCell
    p: float
    p_adjusted: float
    p_holm: float
    differs: bool


class Detectable(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest differences that would have been found with probability 0.8.

    They are between the shares of stories in which an event occurs; None: not even 1.

    from_none: where the event occurs in no story of one side.
    from_any: whatever its share is there.
    """

    from_none: float | None
    from_any: float | None


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """One run, or one parameter set of it; `report` is None if it could not be judged."""

    run: str
    side: Side
    seed: int
    parameters: dict[str, Any]
    verdict: str
    report: str | None


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a comparison: `report/compare.json`.

    reason: why it is undecided; else empty.
    planned: stories of each side that are to be run.
    permutations: how many assignments of the stories to the sides were counted.
    is_exact: whether these are all.
    constant: cells with one value in every story of both sides, which can't differ.
    cells: the others, those that differ first.
    """

    schema: int
    outcome: Outcome
    reason: str
    scenario: str
    parameters: dict[str, Any]
    builds: dict[str, str]
    stories: list[Story]
    judged: dict[str, int]
    groups: dict[str, int]
    alpha: float
    permutations: int
    is_exact: bool
    constant: int
    cells: list[Cell]
    detectable: Detectable


def write_comparison(folder: Path, comparison: Comparison) -> None:
    """Write `comparison.json`."""
    text = msgspec.json.format(msgspec.json.encode(comparison), indent=2)
    replace_file(folder / COMPARISON_FILE, text + b"\n")


def read_comparison(folder: Path) -> Comparison:
    """Read `comparison.json`.

    Raises:
        RunFolderError: it is missing or invalid.
    """
    file = folder / COMPARISON_FILE
    try:
        return read_described(file, Comparison, what="comparison")
    except FileNotFoundError as error:
        raise RunFolderError(f"{file} is not a valid comparison: {error}") from error
