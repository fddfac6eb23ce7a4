"""The tables of docs/findings.md, from the headers of checks (`make findings`)."""

from collections.abc import Iterable, Iterator

from analysis.checks.cases import Case
from analysis.checks.registry import CHECKS, FAMILIES, Description, in_order
from analysis.verdict.others import OTHERS
from contract.checks import Check
from contract.made_pages import MadePage
from contract.markdown import table_row
from contract.verdicts import FindingVerdict

_MADE = MadePage("findings.md", "make findings")
PAGE = _MADE.path
_HEAD = (
    "| id | check | finds | kinds | permitted | undecided | source |\n|---|---|---|---|---|---|---|"
)


def with_tables(page: str) -> str:
    """The page with its tables made again; the text outside of the markers is unchanged.

    Raises:
        ValueError: the page has no markers.
    """
    return _MADE.filled(page, "\n\n".join(_tables()))


def _tables() -> Iterator[str]:
    """One section a family."""
    rows: list[tuple[Description, Check, str]] = []
    rows += [(one.header, check, kinds(one.cases)) for check, one in CHECKS.items()]
    rows += [(described, check, "") for check, described in OTHERS.items()]
    rows.sort(key=lambda row: in_order(row[0].id))
    for letter, title in FAMILIES.items():
        of_family = (_row(*row) for row in rows if row[0].id.startswith(letter))
        yield "\n".join([f"## {letter}. {title}\n", _HEAD, *of_family])


def kinds(cases: Iterable[Case]) -> str:
    """The kinds of a check's findings, each with the verdicts that it may have.

    Such as `lost: violation, permitted; superseded: undecided`.
    """
    verdicts: dict[str, set[FindingVerdict]] = {}
    for case in cases:
        kind = case.kind if case.is_of_one_kind else f"*{case.kind.strip('{}')}*"
        verdicts.setdefault(kind, set()).update(case.verdicts)
    return "; ".join(
        f"{kind}: {', '.join(verdict for verdict in FindingVerdict if verdict in of_kind)}"
        for kind, of_kind in verdicts.items()
    )


def _row(one: Description, check: Check, kinds: str) -> str:
    parts = (one.definition, one.explanation, f"Evaluates {one.evaluates}")
    finds = " ".join(part for part in parts if part)
    return table_row(one.id, check, finds, kinds, one.permitted, one.undecided, one.source)


def main() -> None:
    """Write the tables."""
    PAGE.write_text(with_tables(PAGE.read_text()))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
