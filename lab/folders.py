"""Where a bench keeps its histories, which may be gigabytes."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from types import FrameType

from contract.locks import HeldFolder, remove_unheld


@contextmanager
def own_folder(name: str) -> Iterator[Path]:
    """Yield an empty folder, which is removed at the end, also after SIGTERM.

    The next bench of this name removes the folder of a killed one.
    """
    prefix = f"fencepost-{name}-"
    temporary = Path(gettempdir())
    remove_unheld(temporary, prefix)
    before = signal.signal(signal.SIGTERM, _end)
    held = HeldFolder(temporary, prefix)
    try:
        yield held.path
    finally:
        held.remove()
        signal.signal(signal.SIGTERM, before)


def _end(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)
