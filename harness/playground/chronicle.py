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
        f"{topic.topic}-{one}" for topic in run.plan.topics for one in range(topic.partitions)
    ]
    groups = [group.group for group in run.plan.groups]
    if subject not in (*partitions, *groups):
        there = f"partitions {', '.join(partitions)}; groups {', '.join(groups) or 'none'}"
        raise UsageError(f"there is no partition or group {subject}; there are: {there}")
    workers = (run.observer.worker, *run.consumers.workers.values())
    histories = [one.host.read(one.history_file) for one in workers]
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
    ordered = sorted(events, key=lambda one: one.wall_micros)
    of_subject = _of_group(ordered, subject) if is_group else _of_partition(ordered, subject)
    found = sorted([*_of_faults(ordered), *of_subject], key=lambda one: one.at_micros)
    return [
        msgspec.structs.replace(same[0], what=_counted(what, len(same)))
        for what, same in (
            (what, list(alike)) for what, alike in groupby(found, lambda one: one.what)
        )
    ]


def _counted(what: str, count: int) -> str:
    return f"{count}{what.removeprefix(_NUMBER)}" if what.startswith(_NUMBER) else what


def _of_faults(events: Iterable[Event]) -> Iterator[Happening]:
    for one in events:
        if isinstance(one, FaultChanged) and one.change != "heal_began":
            proved = "landed" if one.landed else "has not landed"
            change = proved if one.change == "proved" else one.change
            yield _at(one, f"fault {one.number} ({one.fault} {one.target}) {change}")


def _of_partition(events: Iterable[Event], partition: str) -> Iterator[Happening]:
    newest = (-1, -1, [-1])
    late: dict[int, int] = {}
    for one in events:
        if not isinstance(one, Sent | Sampled) or f"{one.topic}-{one.partition}" != partition:
            continue
        if isinstance(one, Sent):
            ended = f"{_NUMBER} values of {one.producer} ended {one.outcome}: {one.error}"
            yield from (_at(one, ended) for _ in one.sequences)
            continue
        now = (one.leader_epoch, one.leader, one.isr)
        if one.leader_epoch > newest[0] or (
            one.leader_epoch == newest[0] and one.broker == one.leader and now != newest
        ):
            newest = now
            yield _at(one, _leadership(one))
        elif one.leader_epoch < newest[0] and late.get(one.broker) != one.leader_epoch:
            late[one.broker] = one.leader_epoch
            sees = "itself" if one.leader == one.broker else f"broker {one.leader}"
            yield _at(
                one, f"broker {one.broker} still sees {sees} lead under epoch {one.leader_epoch}"
            )
        elif one.leader_epoch == newest[0] and late.pop(one.broker, None) is not None:
            yield _at(one, f"broker {one.broker} sees epoch {one.leader_epoch}")


def _leadership(seen: Sampled) -> str:
    isr = ", ".join(map(str, seen.isr))
    leader = f"broker {seen.leader} leads" if seen.leader >= 0 else "no broker leads"
    end = f", log end {seen.log_end_offset}" if seen.log_end_offset >= 0 else ""
    return f"{leader} under epoch {seen.leader_epoch}, ISR {isr}{end}"


def _of_group(events: Iterable[Event], group: str) -> Iterator[Happening]:
    epochs: dict[tuple[str, int], int] = {}
    for one in events:
        if not isinstance(one, GroupChanged | Committed | ConsumerFailed) or one.group != group:
            continue
        place = f"{one.topic}-{one.partition}"
        if isinstance(one, ConsumerFailed):
            yield _at(one, f"{one.member} raised {one.exception}: {one.message[:_MESSAGE_MAX]}")
        elif isinstance(one, GroupChanged):
            is_placed = one.change not in (GroupChange.OPENED, GroupChange.CLOSED)
            at = "" if one.position is None else f" at {one.position}"
            yield _at(one, f"{one.member} {one.change}{f' {place}{at}' if is_placed else ''}")
        elif one.outcome is not Outcome.OK:
            why = "" if one.error is None else f": {one.error}"
            yield _at(one, f"{_NUMBER} commits of {one.member} on {place} ended {one.outcome}{why}")
        elif epochs.get((one.topic, one.partition)) != one.epoch:
            epochs[one.topic, one.partition] = one.epoch
            yield _at(one, f"{one.member} committed {one.offset}, epoch {one.epoch}, on {place}")


def _at(event: Event, what: str) -> Happening:
    return Happening(at_micros=event.wall_micros, what=what)
