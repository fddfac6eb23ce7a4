"""The verdict on each rule of the protocol, by Kafka version: `python -m studies.protocol RESULTS`.

Reads the verdicts of the newest night of suite `protocol` below a results folder, prints a table of
rules and versions, and keeps its figures for docs/protocol.md. Exits with 1 if a rule is violated,
else with 2 if one is open.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from analysis.verdict.rules import NOT_APPLICABLE, NOT_ASKED
from bench.figures import keep, kept, rendered
from contract.errors import FencepostError, UsageError
from contract.protocol import API_NAMES, RULES, ProtocolRule
from contract.run_folder import RunDescription, find_runs
from contract.verdicts import RuleRow, Verdict
from studies.reproduction import newest_night

SUITE = "protocol"
_NAME = "protocol"
_TEMPLATE = Path(__file__).with_name("protocol.md.j2")
_HOLDS, _VIOLATED, _UNDECIDED = "holds", "violated", "undecided"
_SHORT = 10
"""Digits of a commit."""
_WORST_FIRST = (_VIOLATED, _UNDECIDED, NOT_ASKED, _HOLDS, NOT_APPLICABLE)


@dataclass(frozen=True)
class JudgedRun:
    """A run, and its verdict."""

    run: RunDescription
    verdict: Verdict


@dataclass(frozen=True)
class Cell:
    """What the runs on one Kafka version say of a rule: the worst verdict of their APIs."""

    verdict: str
    responses: int
    missing: str = ""

    def __str__(self) -> str:
        """Return `holds (72)`, or why there is no response."""
        if self.verdict == NOT_APPLICABLE:
            return f"{self.verdict} {self.missing}"
        return f"{self.verdict} ({self.responses})" if self.responses else self.verdict


def cells(runs: Iterable[JudgedRun]) -> dict[str, dict[str, Cell]]:
    """By Kafka version, oldest first, and rule: its cell."""
    rows: dict[str, list[RuleRow]] = {}
    for one in runs:
        rows.setdefault(one.verdict.kafka, []).extend(one.verdict.rules)
    return {
        kafka: {
            str(rule): _cell(declared, [row for row in found if row.rule == rule])
            for rule, declared in RULES.items()
        }
        for kafka, found in sorted(rows.items(), key=lambda item: _number(item[0]))
    }


def _cell(rule: ProtocolRule, rows: Sequence[RuleRow]) -> Cell:
    """An API without a response leaves a rule open only if no other API has one.

    An API is not applicable if one run shows that: servers of another role may not have it at all.
    """
    answered = [row for row in rows if row.responses]
    lacking = {row.api for row in rows if row.verdict == NOT_APPLICABLE}
    open_ones = [row for row in rows if row.verdict != NOT_ASKED or row.api not in lacking]
    verdicts = {row.verdict for row in answered or open_ones} or {NOT_ASKED}
    verdict = next(one for one in _WORST_FIRST if one in verdicts)
    return Cell(verdict, sum(row.responses for row in answered), _missing(rule))


def _missing(rule: ProtocolRule) -> str:
    """Which versions of the APIs a rule is about: before the first, or after the last."""
    return " and ".join(
        f"before {API_NAMES[api]} {versions.first}"
        if versions.last is None
        else f"after {API_NAMES[api]} {versions.last}"
        for api, versions in rule.versions.items()
    )


class Verdicts(msgspec.Struct, frozen=True):
    """The last verdicts on the rules.

    Attributes:
        days: on which the runs began.
        commits: that ran them.
        runs: each in words.
        rules: by Kafka version, oldest first, and rule: the cell in words.
    """

    days: list[str]
    commits: list[str]
    runs: list[str]
    rules: dict[str, dict[str, str]]


def figures_of(runs: Sequence[JudgedRun]) -> Verdicts:
    """Return the verdicts of runs, and the runs in words."""
    in_order = sorted(runs, key=lambda one: (one.verdict.scenario, _number(one.verdict.kafka)))
    return Verdicts(
        days=sorted({_day(one.run.started_micros) for one in runs}),
        commits=sorted({_short(one.run.git_head) for one in runs}),
        runs=[
            f"{one.verdict.scenario} on Kafka {one.verdict.kafka} (seed {one.verdict.seed},"
            f" {one.verdict.verdict})"
            for one in in_order
        ],
        rules={kafka: {rule: str(one[rule]) for rule in one} for kafka, one in cells(runs).items()},
    )


def part(figures: Verdicts | None = None) -> str:
    """The part of docs/protocol.md with the verdicts, by default those that are kept."""
    return rendered(_TEMPLATE, verdicts=figures or kept(_NAME, Verdicts), rules=list(RULES))


def read(night: Path) -> list[JudgedRun]:
    """Return the judged runs of a night.

    Raises:
        RunFolderError: there is none.
        UsageError: one could not be judged.
    """
    found = []
    for folder in find_runs(night):
        file = folder.report / "verdict.json"
        if not file.exists():
            raise UsageError(f"{folder.path} has no verdict: fencepost analyze {night}")
        found.append(JudgedRun(folder.run(), msgspec.json.decode(file.read_bytes(), type=Verdict)))
    return found


def status(found: Mapping[str, Mapping[str, Cell]]) -> int:
    """Return the exit code: 1 if a rule is violated, 2 if one is open, else 0."""
    verdicts = {cell.verdict for one in found.values() for cell in one.values()}
    if _VIOLATED in verdicts:
        return 1
    return 2 if verdicts & {_UNDECIDED, NOT_ASKED} else 0


def main() -> None:
    """Print the table, and keep its figures."""
    try:
        runs = read(newest_night(Path(sys.argv[1]), SUITE))
        figures = figures_of(runs)
        file = keep(_NAME, figures)
    except FencepostError as error:
        sys.exit(f"error: {error}")
    print(f"{part(figures)}\nwrote {file}")
    sys.exit(status(cells(runs)))


def _short(git_head: str) -> str:
    commit, plus, changes = git_head.partition("+")
    return commit[:_SHORT] + plus + changes


def _day(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1_000_000, UTC).date().isoformat()


def _number(kafka: str) -> tuple[int, ...]:
    return tuple(int(part) for part in kafka.split("."))


if __name__ == "__main__":
    main()
