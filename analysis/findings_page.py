"""The tables of docs/findings.md, from the docstrings of the checks (`make findings`)."""

from collections.abc import Iterator

from analysis.checks.described import FAMILIES, Description, described, in_order
from analysis.checks.registry import CHECKS
from analysis.verdict.others import OTHERS
from contract.made_pages import MadePage

_MADE = MadePage("findings.md", "make findings")
PAGE = _MADE.path
_HEAD = "| id | check | finds | permitted | undecided | source |\n|---|---|---|---|---|---|"


def with_tables(page: str) -> str:
    """The page with its tables made again; the text outside of the markers is unchanged.

    Raises:
        ValueError: the page has no markers.
    """
    return _MADE.filled(page, "\n\n".join(_tables()))


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
