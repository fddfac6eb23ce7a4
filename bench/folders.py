"""Where a bench keeps its histories, which may be gigabytes."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from types import FrameType

from analysis.scratch import remove_left


@contextmanager
def own_folder(name: str) -> Iterator[Path]:
    """An empty folder, removed at the end, which may come by SIGTERM.

    What a bench of this name left that was killed is removed by the next.
    """
    prefix = f"fencepost-{name}-"
    remove_left(Path(gettempdir()), prefix)
    before = signal.signal(signal.SIGTERM, _end)
    try:
        with TemporaryDirectory(prefix=f"{prefix}{os.getpid()}-") as place:
            yield Path(place)
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)
