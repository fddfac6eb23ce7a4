"""Compares two judgements of one history."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from bench.judging import Judged


def read(file: Path) -> dict[str, Judged]:
    """Read the output of bench.judging."""
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Judged])


def differing(one: Mapping[str, Judged], other: Mapping[str, Judged]) -> list[str]:
    """Return the checks whose findings or evaluated counts differ; rows are compared whole."""
    names = sorted({*one, *other})
    return [name for name in names if _told(one.get(name)) != _told(other.get(name))]


def _told(judged: Judged | None) -> tuple[Any, ...] | None:
    if judged is None:
        return None
    return judged.lacks, judged.evaluated, Counter(map(str, judged.findings))
