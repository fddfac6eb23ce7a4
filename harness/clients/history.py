"""Writes a worker's history line by line, each flushed, so that SIGKILL can damage one at most."""

import os
import threading
import time
from pathlib import Path
from typing import Any, TypeVar

from contract.events import Event, as_json

_E = TypeVar("_E", bound=Event)


class HistoryWriter:
    """Appends events to one file; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Open the file for appending; creates its folder."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
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
            os.write(self._descriptor, as_json(event) + b"\n")

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)
