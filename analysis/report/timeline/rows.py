"""Rows of a table as dicts."""

from typing import Any

import numpy as np
import pandas as pd


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows, in order; null is None, and a list is one of Python's."""
    clean = frame.astype(object).where(frame.notna(), None)
    return [
        {
            str(name): value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in row.items()
        }
        for row in clean.to_dict("records")
    ]
