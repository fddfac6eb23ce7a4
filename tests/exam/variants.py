"""Variants of histories: a few values of a history are others, and a check says so, or does not.

A bound, a tie or a column of a key is asked about by one value of one row. So `variants.yml` names
a history, the rows that differ, and what a check then finds; the history is not written again.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tests.exam.history import History, Question
from tests.exam.world import LISTS_OF_SERVERS, NAMES, SERVERS

_FILE = Path(__file__).with_name("variants.yml")


class Change(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How one row differs.

    Attributes:
        row: the table, and the number of the row in it, from 0.
        set: columns with their values, in the terms of a history: seconds, names and numbers
            without what makes them its own; of a value the producer and the sequence number. None
            of it: the row is left out.
        beside: the row stays, and the changed one is one more.
    """

    row: str
    set: dict[str, Any] = {}
    beside: bool = False

    def make(self, history: History) -> None:
        """Change the row of a history."""
        table, number = self.row.split()
        rows = history.rows[table]
        row = rows[int(number)]
        changed = row | {name: _own(history, name, value) for name, value in self.set.items()}
        if self.beside:
            rows.append(changed | history.numbers_of_its_own(table, changed))
        elif self.set:
            rows[int(number)] = changed
        else:
            rows.remove(row)


class Variant(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What differs from a history.

    Attributes:
        of: the history.
        why: what differs, and what decides it, if the source of the history does not say so.
        finds: by check: what is expected, as of `Question`.
        changes: of its rows, one after the other.
    """

    of: str
    why: str
    finds: dict[str, str]
    changes: list[Change]

    def question(self, of: Question, number: int) -> Question:
        """The history with the changes."""

        def tell(history: History) -> None:
            of.tell(history)
            history.verdicts.clear()
            for change in self.changes:
                change.make(history)

        name = f"{of.name}-but-{number}"
        return Question(name, self.why, of.source, self.finds, alone=False, tell=tell)


def _own(history: History, name: str, value: Any) -> Any:
    """A value as it stands in the tables."""
    own: Any = value
    if value is None:
        pass
    elif name.endswith("_micros"):
        own = history.at(value)
    elif name == "value":
        own = history.value(sequence=value[1], producer=value[0])
    elif name in NAMES:
        own = history.own(value)
    elif name in SERVERS:
        own = history.broker(value)
    elif name in LISTS_OF_SERVERS:
        own = [history.broker(one) for one in value]
    return own


def variants(questions: Mapping[str, Question]) -> Iterator[Question]:
    """Yield the variants of histories, by their names."""
    numbers = Counter[str]()
    for variant in msgspec.yaml.decode(_FILE.read_bytes(), type=list[Variant]):
        numbers[variant.of] += 1
        yield variant.question(questions[variant.of], numbers[variant.of])
