"""Rows of a table as dicts."""

from typing import Any

import numpy as np
import pandas as pd


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows, in order; null is None, and a list is one of Python's."""
    names = [str(name) for name in frame.columns]
    columns = [[_plain(value) for value in frame[name].tolist()] for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if value is pd.NA or value != value else value  # noqa: PLR0124 - not a number
