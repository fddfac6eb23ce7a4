"""The table of docs/conformance.md: `python -m extras.conform.released`.

Runs what is due of the quick set, and keeps its cells in docs/data/conformance.json, beside those
of earlier stories. A command that was killed goes on. `--rows` and `--hazards` name others,
`--keep-only` runs nothing.
"""

import argparse
import sys
from pathlib import Path

from contract.errors import FencepostError, UsageError, lacking
from extras.conform.command import hazards_of
from extras.conform.released import page, rows
from extras.conform.released.page import Shown
from extras.conform.released.rows import Row
from extras.conform.released.suite import Wanted, carry_out
from extras.conform.stories import read_told
from extras.conform.vocabulary import QUICK
from harness.commands.requirements import DEFAULT_KAFKA
from website import figures

FRAMEWORKS = "frameworks"
"""The newest release of each, as `--rows`."""


def main() -> None:
    """Run what is due, and keep the cells."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument(
        "--rows", default="", help="by default the newest release of each client; `frameworks`"
    )
    parser.add_argument("--hazards", default=",".join(QUICK))
    parser.add_argument("--stories", type=int, default=1, help="of each client and hazard")
    parser.add_argument("--kafka", default=DEFAULT_KAFKA)
    parser.add_argument("--keep-only", action="store_true", help="run nothing")
    options = parser.parse_args()
    try:
        told = (
            read_told(options.results / "conformance")
            if options.keep_only
            else carry_out(
                Wanted(
                    choose_rows(options.rows),
                    hazards_of(options.hazards),
                    options.stories,
                    options.kafka,
                ),
                options.results,
            )
        )
        kept = figures.read_figures(page.NAME, list[Shown])
        cells = page.cells_of_stories(told, rows.every(), kept)
        print(f"wrote {figures.keep(page.NAME, cells)}")
    except FencepostError as error:
        sys.exit(f"error: {error}")


def choose_rows(names: str) -> list[Row]:
    """Return the rows of names that are joined by commas; without one the newest of each client.

    `frameworks` are those of the second table.

    Raises:
        UsageError: there is none of a name.
    """
    if not names:
        return rows.newest()
    if names == FRAMEWORKS:
        return rows.frameworks()
    known = {row.name: row for row in rows.every()}
    for name in names.split(","):
        if name not in known:
            raise UsageError(f"--rows {names}: {lacking('row', name, known)}")
    return [known[name] for name in names.split(",")]


if __name__ == "__main__":
    main()
