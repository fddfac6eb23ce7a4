"""How often each headline scenario reaches its hazard: `python -m studies.reproduction RESULTS`.

Reads the newest finished night of suite `reproduction` below a results folder, and keeps the
figures of docs/reproduction.md. A run reached its hazard if it passed: it has every required
finding of its scenario, and no other violation.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median

import msgspec

from bench.figures import keep, kept, rendered
from contract.errors import FencepostError, UsageError
from contract.nights import SUMMARY_FILE, NightRow, NightSummary
from contract.verdicts import RunVerdict

SUITE = "reproduction"
_TEMPLATE = Path(__file__).with_name("reproduction.md.j2")


class Reached(msgspec.Struct, frozen=True):
    """How often the runs of a scenario, or of one of its recipes, reached the hazard."""

    scenario: str
    kafka: str
    runs: int
    reached: int
    failed: int
    undecided: int
    seconds: int | None


class Reproduction(msgspec.Struct, frozen=True):
    """A night of the suite. seed: of the night, from which those of the runs are drawn."""

    seed: int
    cluster: str
    rows: list[Reached]


def reached(rows: Iterable[NightRow]) -> list[Reached]:
    """One row for each scenario and version, and before it one for each of its recipes."""
    by_kind: dict[tuple[str, str, str], list[NightRow]] = defaultdict(list)
    for row in rows:
        given = ", ".join(f"{name}={value}" for name, value in sorted(row.parameters.items()))
        if given:
            by_kind[row.scenario, row.kafka, f"{row.scenario}({given})"].append(row)
        by_kind[row.scenario, row.kafka, f"{row.scenario}, all"].append(row)
    return [_reached(name, kafka, found) for (_, kafka, name), found in sorted(by_kind.items())]


def _reached(name: str, kafka: str, rows: list[NightRow]) -> Reached:
    counts = Counter(row.verdict for row in rows)
    seconds = [row.seconds for row in rows if row.seconds is not None]
    return Reached(
        scenario=name,
        kafka=kafka,
        runs=len(rows),
        reached=counts[RunVerdict.PASS],
        failed=counts[RunVerdict.FAIL],
        undecided=counts[RunVerdict.UNDECIDED],
        seconds=round(median(seconds)) if seconds else None,
    )


def part() -> str:
    """The part of docs/reproduction.md that is made."""
    return rendered(_TEMPLATE, night=kept(SUITE, Reproduction))


def newest(results: Path) -> NightSummary:
    """The summary of the newest finished night of the suite.

    Raises:
        UsageError: there is none.
    """
    file = newest_night(results, SUITE) / "report" / SUMMARY_FILE
    return msgspec.json.decode(file.read_bytes(), type=NightSummary)


def newest_night(results: Path, suite: str) -> Path:
    """The folder of the newest finished night of a suite, which has a target of its name.

    Raises:
        UsageError: there is none.
    """
    found = sorted(results.glob(f"nightly/{suite}-*/report/{SUMMARY_FILE}"))
    if not found:
        raise UsageError(f"no finished night of suite {suite} below {results}: make {suite}")
    return found[-1].parents[1]


def main() -> None:
    """Keep the figures."""
    try:
        summary = newest(Path(sys.argv[1]))
    except FencepostError as error:
        sys.exit(f"error: {error}")
    figures = Reproduction(summary.seed, str(summary.cluster), reached(summary.runs))
    print(f"wrote {keep(SUITE, figures)}")


if __name__ == "__main__":
    main()
