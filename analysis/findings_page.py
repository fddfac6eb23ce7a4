"""The tables of docs/findings.md, from the docstrings of the checks (`make findings`)."""

import re
from collections.abc import Iterator
from pathlib import Path

from analysis.checks.described import FAMILIES, Description, described, in_order
from analysis.checks.registry import CHECKS
from analysis.verdict.others import OTHERS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "findings.md"
_BEGIN, _END = "<!-- made by make findings -->", "<!-- end of what make findings made -->"
_MADE = re.compile(f"{_BEGIN}.*{_END}", re.DOTALL)
_HEAD = "| id | check | finds | permitted | undecided | source |\n|---|---|---|---|---|---|"


def with_tables(page: str) -> str:
    """The page with its tables made again; the text outside of the markers is unchanged.

    Raises:
        ValueError: the page has no markers.
    """
    if not _MADE.search(page):
        raise ValueError(f"docs/findings.md needs the lines {_BEGIN} and {_END}")
    made = "\n\n".join(_tables())
    return _MADE.sub(lambda _: f"{_BEGIN}\n\n{made}\n\n{_END}", page)


def _tables() -> Iterator[str]:
    """One section a family."""
    functions = {check: (one.id, one.judge) for check, one in CHECKS.items()} | OTHERS
    rows = sorted(
        ((ids, str(check), described(function)) for check, (ids, function) in functions.items()),
        key=lambda row: in_order(row[0]),
    )
    for letter, title in FAMILIES.items():
        of_family = (_row(*row) for row in rows if row[0].startswith(letter))
        yield "\n".join([f"## {letter}. {title}\n", _HEAD, *of_family])


def _row(ids: str, check: str, told: Description) -> str:
    parts = (told.definition, told.explanation, f"Evaluates {told.evaluates}")
    finds = " ".join(part for part in parts if part)
    return f"| {ids} | {check} | {finds} | {told.permitted} | {told.undecided} | {told.source} |"


def main() -> None:
    """Write the tables."""
    PAGE.write_text(with_tables(PAGE.read_text()))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
