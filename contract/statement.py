"""What a statement of a document is, and how two lists of the statements are compared."""

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass


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


@dataclass(frozen=True)
class Statement:
    """A statement of a document, or several that are covered alike.

    Attributes:
        document: a KIP or an issue.
        place: in the document.
        says: the statement.
        coverage: whether it is judged.
        by: the checks or rules, if it is.
        note: the scenarios with a case, or why it is not covered.
        second: its rows in the second list, by text: `000: 4, 7-9`.
        is_first: whether it was in the first list, before both were compared.
    """

    document: str
    place: str
    says: str
    coverage: Coverage
    by: tuple[str, ...] = ()
    note: str = ""
    second: str = ""
    is_first: bool = False


def numbers(second: str) -> Iterator[tuple[str, int]]:
    """Yield the rows of the second list, each as its text and its number there."""
    for text, listed in re.findall(r"(\d{3}): ([-\d, ]+)", second):
        for part in listed.split(","):
            first, _, last = part.strip().partition("-")
            for number in range(int(first), int(last or first) + 1):
                yield text, number
