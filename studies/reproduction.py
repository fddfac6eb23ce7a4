"""How often each headline scenario reaches its hazard: `python -m studies.reproduction RESULTS`.

Reads the newest finished night of suite `reproduction` below a results folder, and writes the table
of docs/reproduction.md. A run reached its hazard if it passed: it has every required finding of its
scenario, and no other violation.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median

import msgspec

from contract.errors import FencepostError, UsageError
from contract.markdown import table_row
from contract.nights import SUMMARY_FILE, NightRow, NightSummary
from contract.verdicts import RunVerdict

SUITE = "reproduction"
_PAGE = Path(__file__).resolve().parents[1] / "docs" / "reproduction.md"
_INTRODUCTION = """\
# How often the hazard is reached

Made by `make reproduction`: suite `scenarios/suites/reproduction.yml`, each run with a seed of its
own, drawn from seed {seed}; pool {cluster}. A run reached its hazard if all was seen that its
scenario has to see (a zombie's acknowledgements, a loss with its cause, a reset), and no violation.
Failed: a violation that nothing expects. Undecided: the hazard was not reached, or the evidence
admits both. Seconds are the median of a run, start and collection of the cluster included.

| scenario | Kafka | runs | reached | failed | undecided | seconds |
|---|---|---|---|---|---|---|
"""


def table(rows: Iterable[NightRow]) -> list[str]:
    """One line for each scenario and version, and before it one for each of its recipes."""
    by_kind: dict[tuple[str, str, str], list[NightRow]] = defaultdict(list)
    for row in rows:
        given = ", ".join(f"{name}={value}" for name, value in sorted(row.parameters.items()))
        if given:
            by_kind[row.scenario, row.kafka, f"{row.scenario}({given})"].append(row)
        by_kind[row.scenario, row.kafka, f"{row.scenario}, all"].append(row)
    return [_line(name, kafka, found) for (_, kafka, name), found in sorted(by_kind.items())]


def _line(name: str, kafka: str, rows: list[NightRow]) -> str:
    count = {v: sum(row.verdict is v for row in rows) for v in RunVerdict}
    seconds = [row.seconds for row in rows if row.seconds is not None]
    took = f"{median(seconds):.0f}" if seconds else ""
    cells = (
        name,
        kafka,
        str(len(rows)),
        f"{count[RunVerdict.PASS]} of {len(rows)}",
        str(count[RunVerdict.FAIL]),
        str(count[RunVerdict.UNDECIDED]),
        took,
    )
    return table_row(*cells)


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
    """Write the page."""
    try:
        summary = newest(Path(sys.argv[1]))
    except FencepostError as error:
        sys.exit(f"error: {error}")
    page = _INTRODUCTION.format(seed=summary.seed, cluster=summary.cluster)
    _PAGE.write_text(page + "\n".join(table(summary.runs)) + "\n")
    print(f"wrote {_PAGE}")


if __name__ == "__main__":
    main()
