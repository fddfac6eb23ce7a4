"""What the documents say besides the rules (statements.yml): two lists of it, compared."""

import enum
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec


class Coverage(enum.StrEnum):
    """judged: by checks or rules. superseded: no release does it.

    confirmed, refuted, open: of a claim, by the runs that its row names.
    """

    JUDGED = "judged"
    NOT_COVERED = "not covered"
    SUPERSEDED = "superseded"
    NOT_APPLICABLE = "not applicable"
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    OPEN = "open"


class Statement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A statement of a document, or several that are covered alike.

    Attributes:
        place: in the document.
        says: the statement.
        coverage: whether it is judged.
        by: the checks or rules, if it is.
        note: the scenarios with a case, or why it is not covered.
        second: its rows in the second list, by text: `000: 4, 7-9`.
        is_first: whether it was in the first list, before both were compared.
    """

    place: str
    says: str
    coverage: Coverage
    note: str
    second: str
    by: tuple[str, ...] = ()
    is_first: bool = False


class Statements(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The statements, by document: a KIP or an issue.

    Attributes:
        second_list: by text, the number of rows of the second list.
        in_both_texts: rows of text 000 that are rows of 003 too.
        rules: by rule, the rows of the second list that it is about.
        documents: the statements without a rule.
    """

    second_list: dict[str, int]
    in_both_texts: int
    rules: dict[str, str]
    documents: dict[str, tuple[Statement, ...]]

    @property
    def all(self) -> list[Statement]:
        """Those of all documents."""
        return [one for statements in self.documents.values() for one in statements]


class Comparison(msgspec.Struct, frozen=True):
    """How the two lists compare, in rows of the second one, and in rows of the first one.

    Attributes:
        in_both: rows of the second list whose rule or statement the first list had.
        only_second: rows of the second list that the first list lacked.
        only_first: rules and statements of the first list without a row in the second one.
    """

    in_both: int
    only_second: int
    only_first: int


STATEMENTS = msgspec.yaml.decode(Path(__file__).with_suffix(".yml").read_bytes(), type=Statements)


def numbers(second: str) -> Iterator[tuple[str, int]]:
    """Yield the rows of the second list, each as its text and its number there."""
    for text, listed in re.findall(r"(\d{3}): ([-\d, ]+)", second):
        for part in listed.split(","):
            first, _, last = part.strip().partition("-")
            for number in range(int(first), int(last or first) + 1):
                yield text, number


def compared(rules: int) -> Comparison:
    """Compare the lists; the first one had `rules` rules, and the statements that say so."""
    first = [one for one in STATEMENTS.all if one.is_first]
    in_both = [one.second for one in first] + list(STATEMENTS.rules.values())
    both = sum(len(list(numbers(second))) for second in in_both)
    lacking = sum(not one.second for one in first) + rules - len(STATEMENTS.rules)
    return Comparison(both, sum(STATEMENTS.second_list.values()) - both, lacking)
