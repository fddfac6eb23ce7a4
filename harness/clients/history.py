"""Writes a worker's history line by line, each flushed, so that SIGKILL can damage one at most."""

import threading
import time
from pathlib import Path
from typing import Any, TypeVar

from contract.events import Event, as_json
from contract.files import open_to_append

_E = TypeVar("_E", bound=Event)


class HistoryWriter:
    """Appends events to one file; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Open the file for appending; creates its folder."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open_to_append(path)
        self._lock = threading.Lock()
        self._next_seq = 0

    def write(self, kind: type[_E], **fields: Any) -> None:
        """Append one event of a kind, stamped with sequence number and both clocks."""
        with self._lock:
            event = kind(
                seq=self._next_seq,
                wall_micros=time.time_ns() // 1000,
                mono_micros=time.monotonic_ns() // 1000,
                **fields,
            )
            self._next_seq += 1
            self._file.write(as_json(event) + b"\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
