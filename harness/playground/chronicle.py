"""What happened to a partition or a group so far, by the histories that are being written."""

from collections.abc import Iterable, Iterator
from itertools import groupby

import msgspec

from contract.errors import UsageError
from contract.events import (
    DECODER,
    Committed,
    ConsumerFailed,
    Event,
    FaultChanged,
    GroupChanged,
    Sampled,
    Sent,
)
from contract.terms import GroupChange, Outcome
from harness.story.run import Run

_WANTED = tuple(
    f'{{"event":"{kind.__name__}"'.encode()
    for kind in (Committed, ConsumerFailed, FaultChanged, GroupChanged, Sampled, Sent)
)
_ACKNOWLEDGED = (b'{"event":"Sent"', b'"outcome":"ok"')
_MESSAGE_MAX = 160
_NUMBER = "#"
"""At the beginning of what is counted."""


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened, by the wall clock of the node that wrote it down."""

    at_micros: int
    what: str


def chronicle(run: Run, subject: str) -> list[Happening]:
    """Return what happened to a partition, such as `orders-0`, or to a group, in order.

    Raises:
        UsageError: the playground has neither.
    """
    partitions = [
        f"{topic.topic}-{partition}"
        for topic in run.plan.topics
        for partition in range(topic.partitions)
    ]
    groups = [group.group for group in run.plan.groups]
    if subject not in (*partitions, *groups):
        there = f"partitions {', '.join(partitions)}; groups {', '.join(groups) or 'none'}"
        raise UsageError(f"there is no partition or group {subject}; there are: {there}")
    workers = (run.observer.worker, *run.consumers.workers.values())
    histories = [worker.host.read(worker.history_file) for worker in workers]
    histories.append((run.folder.history / "driver.jsonl").read_bytes())
    events = [event for history in histories for event in events_of(history)]
    is_group = subject in groups
    return happenings(events, subject, is_group=is_group)


def events_of(history: bytes) -> Iterator[Event]:
    """Yield the events of a history that say more than that all goes well."""
    whole, _, _ = history.rpartition(b"\n")
    kind, outcome = _ACKNOWLEDGED
    for line in whole.splitlines():
        if line.startswith(_WANTED) and not (line.startswith(kind) and outcome in line):
            yield DECODER.decode(line)


def happenings(events: Iterable[Event], subject: str, *, is_group: bool) -> list[Happening]:
    """Return what events say of a partition or a group; the same one after the other is counted."""
    ordered = sorted(events, key=lambda event: event.wall_micros)
    of_subject = _of_group(ordered, subject) if is_group else _of_partition(ordered, subject)
    found = sorted([*_of_faults(ordered), *of_subject], key=lambda happening: happening.at_micros)
    return [
        msgspec.structs.replace(same[0], what=_with_count(what, len(same)))
        for what, same in (
            (what, list(alike)) for what, alike in groupby(found, lambda happening: happening.what)
        )
    ]


def _with_count(what: str, count: int) -> str:
    number, space, counted = what.partition(" ")
    if number != _NUMBER:
        return what
    noun, of, whose = counted.partition(" ")
    return f"{count}{space}{noun.removesuffix('s') if count == 1 else noun}{of}{whose}"


def _of_faults(events: Iterable[Event]) -> Iterator[Happening]:
    for event in events:
        if isinstance(event, FaultChanged) and event.change != "heal_began":
            proved = "landed" if event.landed else "has not landed"
            change = proved if event.change == "proved" else event.change
            yield _at(event, f"fault {event.number} ({event.fault} {event.target}) {change}")


def _of_partition(events: Iterable[Event], partition: str) -> Iterator[Happening]:
    newest = (-1, -1, [-1])
    late: dict[int, int] = {}
    for event in events:
        if not isinstance(event, Sent | Sampled) or f"{event.topic}-{event.partition}" != partition:
            continue
        if isinstance(event, Sent):
            ended = f"{_NUMBER} values of {event.producer} ended {event.outcome}: {event.error}"
            yield from (_at(event, ended) for _ in event.sequences)
            continue
        now = (event.leader_epoch, event.leader, event.isr)
        if event.leader_epoch > newest[0] or (
            event.leader_epoch == newest[0] and event.broker == event.leader and now != newest
        ):
            newest = now
            yield _at(event, _leadership(event))
        elif event.leader_epoch < newest[0] and late.get(event.broker) != event.leader_epoch:
            late[event.broker] = event.leader_epoch
            sees = "itself" if event.leader == event.broker else f"broker {event.leader}"
            yield _at(
                event,
                f"broker {event.broker} still sees {sees} lead under epoch {event.leader_epoch}",
            )
        elif event.leader_epoch == newest[0] and late.pop(event.broker, None) is not None:
            yield _at(event, f"broker {event.broker} sees epoch {event.leader_epoch}")


def _leadership(seen: Sampled) -> str:
    isr = ", ".join(map(str, seen.isr))
    leader = f"broker {seen.leader} leads" if seen.leader >= 0 else "no broker leads"
    end = f", log end {seen.log_end_offset}" if seen.log_end_offset >= 0 else ""
    return f"{leader} under epoch {seen.leader_epoch}, ISR {isr}{end}"


def _of_group(events: Iterable[Event], group: str) -> Iterator[Happening]:
    epochs: dict[tuple[str, int], int] = {}
    for event in events:
        if not isinstance(event, GroupChanged | Committed | ConsumerFailed) or event.group != group:
            continue
        place = f"{event.topic}-{event.partition}"
        if isinstance(event, ConsumerFailed):
            yield _at(
                event, f"{event.member} raised {event.exception}: {event.message[:_MESSAGE_MAX]}"
            )
        elif isinstance(event, GroupChanged):
            is_placed = event.change not in (GroupChange.OPENED, GroupChange.CLOSED)
            is_polled = event.change is GroupChange.ASSIGNED  # It is noted at the end of a poll.
            form = ", position {} after the poll" if is_polled else " at {}"
            at = "" if event.position is None else form.format(event.position)
            yield _at(event, f"{event.member} {event.change}{f' {place}{at}' if is_placed else ''}")
        elif event.outcome is Outcome.NOTHING:
            why = "had no valid position to commit"
            yield _at(event, f"{_NUMBER} commits of {event.member} on {place} {why}")
        elif event.outcome is not Outcome.OK:
            why = "" if event.error is None else f": {event.error}"
            yield _at(
                event, f"{_NUMBER} commits of {event.member} on {place} ended {event.outcome}{why}"
            )
        elif epochs.get((event.topic, event.partition)) != event.epoch:
            epochs[event.topic, event.partition] = event.epoch
            yield _at(
                event, f"{event.member} committed {event.offset}, epoch {event.epoch}, on {place}"
            )


def _at(event: Event, what: str) -> Happening:
    return Happening(at_micros=event.wall_micros, what=what)
