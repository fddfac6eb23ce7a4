"""The folder of what is downloaded or made once for all runs of a user."""

import os
from pathlib import Path

CACHE_VARIABLE = "FENCEPOST_CACHE"


def cache_folder() -> Path:
    """`$FENCEPOST_CACHE`, else `fencepost` in the user's cache folder."""
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fencepost"
