"""What the docstring of a check says of it: the source of the tables of docs/findings.md."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FAMILIES = {
    "A": "Delivery",
    "B": "Order",
    "C": "Transactions",
    "D": "Groups and commits",
    "E": "Committed leader epochs",
    "F": "Truncations and resets",
    "G": "Replicas and metadata",
    "H": "Liveness",
    "P": "Protocol",
    "M": "The run and its evidence",
}
"""Titles by the letter that the ids of a family begin with."""
_LABELS = ("Permitted", "Undecided", "Evaluates", "Source")
_LABEL = re.compile(f"({'|'.join(_LABELS)}): ")


@dataclass(frozen=True)
class Description:
    """A check in words.

    Attributes:
        definition: what it finds, in one sentence: the first line of the docstring.
        explanation: the paragraphs after it; empty if there are none.
        permitted: when a finding is permitted; empty if never.
        undecided: when a finding is undecided; empty if never.
        evaluates: what is counted as evaluated.
        source: what the promise rests on: a KIP, a JIRA, a configuration, a class.
    """

    definition: str
    explanation: str
    permitted: str
    undecided: str
    evaluates: str
    source: str


def described(function: Callable[..., Any]) -> Description:
    """Read a check's docstring: definition, explanation, then one part a label of `_LABELS`.

    Raises:
        ValueError: it has no definition, or lacks `Evaluates` or `Source`.
    """
    text = inspect.getdoc(function) or ""
    parts = {"definition": "", "explanation": ""} | {label.lower(): "" for label in _LABELS}
    name = "definition"
    for line in text.splitlines():
        if label := _LABEL.match(line):
            name = label[1].lower()
        elif not line:
            name = "explanation"
        parts[name] = (
            f"{parts[name]} {line.removeprefix(label[0] if label else '').strip()}".strip()
        )
    lacking = [name for name in ("definition", "evaluates", "source") if not parts[name]]
    if lacking:
        raise ValueError(f"{function.__name__}: its docstring has no {', '.join(lacking)}")
    return Description(**parts)


def in_order(ids: str) -> tuple[str, int, str]:
    """What ids are sorted by: family, number, and what follows the number."""
    first = ids.split(",", maxsplit=1)[0]
    number = re.sub(r"\D", "", first)
    return first[0], int(number), first[1:].removeprefix(number)
