"""The lines of a worker's history, from every file that holds any of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, get_args

import msgspec

from contract.events import DECODER, AnyEvent, WorkerStarted
from contract.regular_files import printable, read_regular

_TYPES: dict[str, type[msgspec.Struct]] = {kind.__name__: kind for kind in get_args(AnyEvent)}
_SUFFIX = ".jsonl"
_OUTLIERS_OF = 3
_MALFORMED_NAMED = 3
_MALFORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@dataclass
class HistoryLines:
    """What was read of one worker's history.

    Attributes:
        name: of the file that holds most of it.
        events: in the order of their numbers.
        torn_lines: files whose last line has no end.
        malformed_lines: lines that don't read, or that tell something else under a number that
            another line has; a file that can't be read counts as one.
        malformed_at: where the first of these are, as file:line.
        duplicate_lines: lines that repeat another one, such as those of a file's copy.
        unknown_fields: fields of events that the contract does not have; their events count.
    """

    name: str
    events: list[AnyEvent] = field(default_factory=list)
    torn_lines: int = 0
    malformed_lines: int = 0
    malformed_at: list[str] = field(default_factory=list)
    duplicate_lines: int = 0
    unknown_fields: int = 0

    @property
    def missing_seqs(self) -> int:
        """Numbers up to the last one that no event has."""
        return self.events[-1].seq + 1 - len(self.events) if self.events else 0

    @property
    def started(self) -> WorkerStarted | None:
        """Who wrote it, if that line is there."""
        return next((event for event in self.events if isinstance(event, WorkerStarted)), None)

    @property
    def clock_jump_micros(self) -> int:
        """How far the node's wall clock went astray of its monotonic one, from event to event.

        A worker may be interrupted between the readings of both, so single outliers are left out.
        """
        ahead = [event.wall_micros - event.mono_micros for event in self.events]
        if len(ahead) < _OUTLIERS_OF:
            return 0
        lasting = [median(ahead[i : i + _OUTLIERS_OF]) for i in range(len(ahead) - 2)]
        return int(max(lasting) - min(lasting))

    def malformed(self, at: str) -> None:
        """Count a line that can't be used, and keep where it is."""
        self.malformed_lines += 1
        if len(self.malformed_at) < _MALFORMED_NAMED:
            self.malformed_at.append(at)


@dataclass(frozen=True)
class _File:
    """A history's file: its name, and what it holds; None where it can't be read."""

    name: str
    content: bytes | None

    @property
    def worker(self) -> str:
        return self.name.removesuffix(_SUFFIX)


def histories(folder: Path) -> Iterator[HistoryLines]:
    """Every worker's history; files that begin with the same line are copies of one."""
    copies: dict[bytes, list[_File]] = {}
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        file = _File(printable(path.name), read_regular(path))
        if file.content is None:
            yield HistoryLines(file.worker, malformed_lines=1, malformed_at=[file.name])
            continue
        first_line = file.content.partition(b"\n")[0] or file.name.encode()
        copies.setdefault(first_line, []).append(file)
    for files in copies.values():
        yield _read(sorted(files, key=lambda file: len(file.content or b""), reverse=True))


def _read(files: Sequence[_File]) -> HistoryLines:
    """One history from its files, the longest first."""
    read = HistoryLines(files[0].worker)
    told: dict[int, tuple[bytes, AnyEvent]] = {}
    for file in files:
        whole, _, torn = (file.content or b"").rpartition(b"\n")
        read.torn_lines += bool(torn)
        for number, line in enumerate(whole.split(b"\n") if whole else [], start=1):
            try:
                event, unknown = _decode(line)
            except _MALFORMED:
                read.malformed(f"{file.name}:{number}")
                continue
            known, _ = told.setdefault(event.seq, (line, event))
            if known is line:
                read.unknown_fields += unknown
            elif known == line:
                read.duplicate_lines += 1
            else:
                read.malformed(f"{file.name}:{number}")
    read.events = [told[seq][1] for seq in sorted(told)]
    return read


def _decode(line: bytes) -> tuple[AnyEvent, int]:
    """An event, and how many of its fields are unknown.

    Raises:
        msgspec.DecodeError: it is no event of the contract.
    """
    try:
        return DECODER.decode(line), 0
    except msgspec.ValidationError:
        fields: Any = msgspec.json.decode(line)
        name = fields.get("event") if isinstance(fields, dict) else None
        kind = _TYPES.get(name) if isinstance(name, str) else None
        if kind is None:
            raise
        known = {"event", *kind.__struct_fields__}
        event = msgspec.convert({k: v for k, v in fields.items() if k in known}, kind)
        return event, len(fields.keys() - known)  # type: ignore[return-value]
