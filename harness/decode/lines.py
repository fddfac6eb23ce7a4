"""The lines of a worker's history, from every file that has any of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from contract.events import DECODER, Event, WorkerStarted, as_json
from contract.files import printable, read_regular, require_single_keys

_TYPES: dict[str, type[msgspec.Struct]] = {kind.__name__: kind for kind in Event.__subclasses__()}
_SUFFIX = ".jsonl"
_OUTLIERS_OF = 3
_STEADY_MICROS = 10_000
"""Both clocks of a node may be read so far apart from each other."""
_BEGINNINGS = ("asked_micros", "began_micros")
_MALFORMED_NAMED = 3
_MALFORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@dataclass
class HistoryLines:
    """The content of one worker's history.

    Attributes:
        name: of the file with most of its lines.
        events: in the order of their numbers.
        torn_lines: files whose last line is incomplete.
        malformed_lines: invalid lines, and lines that differ from another line of the same number;
            an unreadable file counts as one.
        malformed_at: the first of these, as file:line.
        duplicate_lines: repeated lines, such as those of a file's copy.
        unknown_fields: fields of events that the contract does not have; the events are used.
        clock_jump_micros: the largest change of the node's wall clock against its monotonic clock.
    """

    name: str
    events: list[Event] = field(default_factory=list)
    torn_lines: int = 0
    malformed_lines: int = 0
    malformed_at: list[str] = field(default_factory=list)
    duplicate_lines: int = 0
    unknown_fields: int = 0
    clock_jump_micros: int = 0

    @property
    def missing_seqs(self) -> int:
        """The numbers up to the last one that no event has."""
        return self.events[-1].seq + 1 - len(self.events) if self.events else 0

    @property
    def started(self) -> WorkerStarted | None:
        """The `WorkerStarted` event, if the history has one."""
        return next((event for event in self.events if isinstance(event, WorkerStarted)), None)

    def count_malformed(self, at: str) -> None:
        """Count an invalid line, and keep its place."""
        self.malformed_lines += 1
        if len(self.malformed_at) < _MALFORMED_NAMED:
            self.malformed_at.append(at)


@dataclass(frozen=True)
class _File:
    """A history's file: its name and content; None if it can't be read."""

    name: str
    content: bytes | None

    @property
    def worker(self) -> str:
        return self.name.removesuffix(_SUFFIX)


def histories(folder: Path) -> Iterator[HistoryLines]:
    """Return every worker's history; files that begin with the same line are copies of one."""
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
    """Return one history from its files, the longest first."""
    read = HistoryLines(files[0].worker)
    by_seq: dict[int, tuple[bytes, Event]] = {}
    for file in files:
        whole, _, torn = (file.content or b"").rpartition(b"\n")
        read.torn_lines += bool(torn)
        for number, line in enumerate(whole.split(b"\n") if whole else [], start=1):
            try:
                event, unknown = _decode(line)
            except _MALFORMED:
                read.count_malformed(f"{file.name}:{number}")
                continue
            known, _ = by_seq.setdefault(event.seq, (line, event))
            if known is line:
                read.unknown_fields += unknown
            elif known == line:
                read.duplicate_lines += 1
            else:
                read.count_malformed(f"{file.name}:{number}")
    events = [by_seq[seq][1] for seq in sorted(by_seq)]
    read.clock_jump_micros = _jump(events)
    read.events = _on_one_clock(events)
    return read


def _jump(events: Sequence[Event]) -> int:
    """The largest change of the wall clock against the monotonic clock.

    A worker may be interrupted between the readings of both clocks, so single outliers are ignored.
    """
    ahead = [event.wall_micros - event.mono_micros for event in events]
    if len(ahead) < _OUTLIERS_OF:
        return 0
    lasting = [median(ahead[i : i + _OUTLIERS_OF]) for i in range(len(ahead) - 2)]
    return int(max(lasting) - min(lasting))


def _on_one_clock(events: list[Event]) -> list[Event]:
    """The events with the times that a wall clock would have shown that was never set.

    That is the wall clock of the first events, which the driver compared with its own, and the time
    that has passed since by the monotonic clock. A monotonic clock that is not in the order of
    the numbers is damaged: then the wall clock is taken.
    """
    if len(events) < _OUTLIERS_OF:
        return events
    ahead = int(median(event.wall_micros - event.mono_micros for event in events[:_OUTLIERS_OF]))
    steady = [abs(event.wall_micros - event.mono_micros - ahead) for event in events]
    if max(steady) <= _STEADY_MICROS:
        return events
    monos = [event.mono_micros for event in events]
    around = zip([monos[0], *monos], monos, [*monos[1:], monos[-1]], strict=False)
    return [
        _set_to(event, event.mono_micros + ahead) if before <= mono <= after else event
        for event, (before, mono, after) in zip(events, around, strict=True)
    ]


def _set_to(event: Event, wall_micros: int) -> Event:
    """An event at another time; when it began moves along, unless that would be later."""
    moved = {"wall_micros": wall_micros}
    for name in _BEGINNINGS:
        began = getattr(event, name, None)
        if began is not None:
            times = (began, began + wall_micros - event.wall_micros)
            moved[name] = max((time for time in times if time <= wall_micros), default=wall_micros)
    return msgspec.structs.replace(event, **moved)


def _decode(line: bytes) -> tuple[Event, int]:
    """Return an event, and the number of its unknown fields.

    Raises:
        msgspec.DecodeError: the line is no event of the contract, or has a key twice.
    """
    try:
        event: Event = DECODER.decode(line)
        if as_json(event) != line:  # No writer of ours wrote it so.
            require_single_keys(line)
    except msgspec.ValidationError:
        fields: Any = msgspec.json.decode(line)
        require_single_keys(line)
        name = fields.get("event") if isinstance(fields, dict) else None
        kind = _TYPES.get(name) if isinstance(name, str) else None
        if kind is None:
            raise
        known = {"event", *kind.__struct_fields__}
        known_fields = {name: value for name, value in fields.items() if name in known}
        return msgspec.convert(known_fields, kind), len(fields.keys() - known)  # type: ignore[return-value]
    return event, 0
