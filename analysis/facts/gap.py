"""Something that a run should have left, and did not."""

from dataclasses import dataclass

from contract.tables import TABLES

ALL_TABLES = tuple(TABLES)
"""Of a gap after which nothing of the run can be relied on."""


@dataclass(frozen=True)
class Gap:
    """Something that is not there, and the tables that should have been made of it."""

    source: str
    tables: tuple[str, ...]
    reason: str
    is_in_history: bool = False
    """Of a history that is there, some lines."""
