"""Histories to tables; unreadable lines are counted."""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from contract.events import (
    ClientNamed,
    ClockRead,
    Committed,
    ConsumerFailed,
    Event,
    FaultChanged,
    GroupChanged,
    GroupSampled,
    NoteTaken,
    OffsetRead,
    PhaseEntered,
    Polled,
    PollsMade,
    QuorumSampled,
    Sampled,
    SendsIntended,
    Sent,
    StateAwaited,
    TransactionChanged,
    WireCalled,
    WorkerStopped,
    WorkerSuspended,
    is_intact,
    make_value,
)
from contract.ranges import RECORDS
from contract.terms import PHASE_LIMIT_SECONDS, Outcome
from harness.decode.epochs import unshown_epochs
from harness.decode.lines import HistoryLines, histories
from harness.decode.tables import Rows

_OF_POLL = ("worker", "group", "member", "topic", "partition", "seq", "polled_micros")
"""Columns of `polls` that all records of a poll share."""


def read_histories(folder: Path) -> Rows:
    """Return the rows of every table that comes from the histories in a folder."""
    rows = Rows()
    for history in histories(folder):
        _read_history(history, rows)
    return rows


def _read_history(history: HistoryLines, rows: Rows) -> None:
    events, started = history.events, history.started
    worker = started.worker if started else history.name
    named = next((event for event in events if isinstance(event, ClientNamed)), None)
    version = started.client_version if started else None
    rows.add(
        "histories",
        worker=worker,
        role=started.role if started else None,
        client=started.client if started else None,
        client_version=f"{named.client} {named.version}" if named else version,
        events=len(events),
        missing_seqs=max(history.missing_seqs, _missing_faults(events)),
        torn_lines=history.torn_lines,
        malformed_lines=history.malformed_lines,
        malformed_at=", ".join(history.malformed_at) or None,
        ended_by_itself=any(isinstance(event, WorkerStopped) for event in events),
        duplicate_lines=history.duplicate_lines,
        unknown_fields=history.unknown_fields,
        clock_jump_micros=history.clock_jump_micros,
    )
    _sends(worker, events, rows)
    _faults(events, rows)
    _phases(events, rows)
    polls = _polls(worker, events)
    rows.extend_by_columns("polls", polls)
    rows.extend("unshown_epochs", unshown_epochs(polls))
    for event in events:
        match event:
            case PollsMade():
                rows.add("poll_spans", worker=worker, **_row(event, without="at_micros"))
            case WorkerSuspended(began_micros=began, wall_micros=ended):
                rows.add(
                    "suspensions", worker=worker, began_micros=began, ended_micros=max(began, ended)
                )
            case TransactionChanged():
                rows.add("transactions", worker=worker, **_row(event))
            case Committed():
                row = _row(event)
                epoch, at_micros = row.pop("epoch"), row.pop("at_micros")
                row |= {"committed_epoch": epoch, "committed_micros": at_micros}
                rows.add("commits", worker=worker, **row)
            case OffsetRead():
                rows.add("offset_reads", worker=worker, **_row(event))
            case GroupChanged():
                rows.add("group_events", worker=worker, **_row(event))
            case ConsumerFailed():
                rows.add("group_events", worker=worker, change="failed", **_row(event))
            case _:
                _add_observation(worker, event, rows)


def _add_observation(worker: str, event: Event, rows: Rows) -> None:
    """Add the rows of an event of the driver or the observer."""
    match event:
        case NoteTaken():
            rows.add("notes", **_row(event, without="seq"))
        case StateAwaited():
            _wait(event, rows)
        case ClockRead():
            rows.add("clocks", **_row(event, without="seq"))
        case Sampled():
            rows.add("samples", **_row(event, without="seq"))
        case GroupSampled():
            rows.add("group_samples", **_row(event, without="seq"))
        case QuorumSampled():
            rows.add("quorum_samples", **_row(event, without="seq"))
        case WireCalled():
            _wire_calls(worker, event, rows)


def _row(event: Event, *, without: str = "") -> dict[str, Any]:
    """Return an event's fields, its wall clock as `at_micros`, and each enum as text."""
    row: dict[str, Any] = msgspec.to_builtins(event)
    row["at_micros"] = row.pop("wall_micros")
    left_out = {"event", "mono_micros", without}
    return {name: value for name, value in row.items() if name not in left_out}


def _sends(worker: str, events: Iterable[Event], rows: Rows) -> None:
    """Return one row per value; one without an outcome in the history is `unknown`.

    An outcome counts even if its intent was in a malformed line.
    """
    sends: dict[tuple[str, str, int, int], dict[str, Any]] = {}

    def send(event: SendsIntended | Sent, sequence: int) -> dict[str, Any]:
        key = (event.producer, event.topic, event.partition, sequence)
        return sends.setdefault(
            key,
            {
                "worker": worker,
                "producer": event.producer,
                "sequence": sequence,
                "value": make_value(event.producer, sequence),
                "topic": event.topic,
                "partition": event.partition,
                "acks": event.acks,
                "outcome": str(Outcome.UNKNOWN),
                "transaction": event.transaction,
            },
        )

    for event in events:
        if isinstance(event, SendsIntended):
            for sequence in range(event.sequence_first, event.sequence_last + 1):
                send(event, sequence).update(
                    intended_micros=event.wall_micros,
                    is_idempotent=event.idempotent,
                    in_flight_max=event.in_flight_max,
                )
        elif isinstance(event, Sent):
            for sequence, offset in zip(event.sequences, event.offsets, strict=True):
                send(event, sequence).update(
                    outcome=str(event.outcome),
                    offset=offset if offset >= 0 else None,
                    error=event.error,
                    answered_micros=event.wall_micros,
                )
    rows.extend("sends", sends.values())


def _polls(worker: str, events: Iterable[Event]) -> pa.Table:
    """Return one row per record, by columns: a history may have millions."""
    polls = [event for event in events if isinstance(event, Polled)]
    of_poll = pa.Table.from_pylist(
        [
            {
                "worker": worker,
                "group": event.group,
                "member": event.member,
                "topic": event.topic,
                "partition": event.partition,
                "seq": event.seq,
                "polled_micros": event.wall_micros,
            }
            for event in polls
        ],
        schema=pa.schema(RECORDS["polls"].field(name) for name in _OF_POLL),
    )
    lengths = np.array([len(event.offsets) for event in polls], np.int64)
    poll = np.repeat(np.arange(len(polls)), lengths)
    place = np.arange(len(poll)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    values = pa.array(chain.from_iterable(event.values for event in polls), pa.string())
    known = values.dictionary_encode()
    is_known_intact = pa.array(map(is_intact, known.dictionary.to_pylist()), pa.bool_())
    of_record = {
        "offset": pa.array(chain.from_iterable(event.offsets for event in polls), pa.int64()),
        "leader_epoch": pa.array(chain.from_iterable(event.epochs for event in polls), pa.int32()),
        "value": values,
        "is_intact": is_known_intact.take(known.indices),
        "position_in_poll": place,
    }
    rows = of_poll.take(poll)
    columns = {name: rows[name] for name in _OF_POLL} | of_record
    return pa.table({name: columns[name] for name in RECORDS["polls"].names}, RECORDS["polls"])


def _wire_calls(worker: str, event: WireCalled, rows: Rows) -> None:
    """Add one row for each partition that was asked about, or one without a partition."""
    call = _row(event)
    for answer in call.pop("answers") or [{}]:
        rows.add("wire_calls", worker=worker, **call, **answer)


def _faults(events: Iterable[Event], rows: Rows) -> None:
    """Add one row for each fault, by number; an unproved one did not land.

    A second proof replaces the first: the effect of the fault ended before its heal.
    """
    faults: dict[int, dict[str, Any]] = {}
    for event in events:
        if not isinstance(event, FaultChanged):
            continue
        row = faults.setdefault(
            event.number,
            {"fault": event.fault, "landed": False, "evidence": "{}", "forced_ms": 0}
            | {"forced_by": ""},
        )
        row.setdefault(f"{event.change}_micros", event.wall_micros)
        row |= msgspec.structs.asdict(event.target)
        if event.change == "proved":
            row |= {
                "landed": event.landed,
                "evidence": msgspec.json.encode(event.evidence).decode(),
                "forced_ms": sum(event.forced_ms.values()),
                "forced_by": ", ".join(sorted(event.forced_ms)),
            }
    rows.extend("faults", faults.values())


def _missing_faults(events: Iterable[Event]) -> int:
    """Return the numbers of faults, from 0 to the last one, that have no event."""
    numbers = {event.number for event in events if isinstance(event, FaultChanged)}
    return max(numbers) + 1 - len(numbers) if numbers else 0


def _wait(event: StateAwaited, rows: Rows) -> None:
    rows.add(
        "waits", what=event.what, began_micros=event.began_micros, ended_micros=event.wall_micros
    )


def _phases(events: Sequence[Event], rows: Rows) -> None:
    """Return one row per phase; each lasts until the next one, the last until the history ends."""
    entered = [event for event in events if isinstance(event, PhaseEntered)]
    ends = [event.wall_micros for event in (*entered[1:], *events[-1:])]
    for phase, ended_micros in zip(entered, ends, strict=False):
        rows.add(
            "phases",
            stage=str(phase.stage),
            doing=phase.doing,
            began_micros=phase.wall_micros,
            ended_micros=ended_micros,
            limit_seconds=PHASE_LIMIT_SECONDS[phase.stage],
        )
