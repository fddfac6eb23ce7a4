"""`fencepost play status`: what a playground's servers, partitions, groups and load are now."""

from collections.abc import Iterator
from typing import Annotated

import msgspec
import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from contract.events import NO_EPOCH
from contract.program import Terminal
from contract.waiting import hold as hold_for
from harness.commands.options import RESULTS, AsJson, PlaygroundResults
from harness.playground.serve import Views
from harness.playground.state import Playground, find, look
from harness.playground.status import PartitionStatus, Status

_EVERY_SECONDS = 1.0
_NONE = -1
console = Terminal(highlight=False, soft_wrap=True)


def status(
    results: PlaygroundResults = RESULTS,
    *,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it again every second, until Ctrl-C.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the playground's servers, faults, partitions, groups and load, also while faults hold.

    Servers that are down or paused are not asked.
    """
    found = find(results)
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(look(found, Views.status()))))
    elif watch:
        _watch(found)
    else:
        console.print(shown_status(found, look(found, Views.status())))


def _watch(found: Playground) -> None:
    with Live(console=console, auto_refresh=False, screen=console.is_terminal) as live:
        try:
            while True:
                live.update(shown_status(found, look(found, Views.status())), refresh=True)
                hold_for(_EVERY_SECONDS)
        except KeyboardInterrupt:
            return


def shown_status(found: Playground, seen: Status) -> RenderableType:
    """Return the whole of a status for a terminal."""
    return Group(*_parts(found, seen))


def _parts(found: Playground, seen: Status) -> Iterator[RenderableType]:
    led = f"active controller {seen.controller}" if seen.controller != _NONE else "no controller"
    yield Text(f"Kafka {found.kafka} on {found.cluster}, {led}", style="bold")
    unwell = [
        f"server {server.id} is {server.state}"
        for server in seen.servers
        if server.state != "running"
    ]
    if unwell:
        yield Text(", ".join(unwell), style="red")
    for fault in seen.faults:
        landed = {None: "not proved yet", True: "landed", False: "did not land"}[fault.landed]
        yield Text(
            f"fault {fault.number} holds for {fault.seconds:.0f} s: {fault.fault} {fault.target}, "
            f"{landed}",
            style="yellow",
        )
    if seen.silent:
        yield Text(f"workers that do not respond: {', '.join(seen.silent)}", style="red")
    yield Text("")
    yield partition_table(seen.partitions)
    if seen.groups:
        yield Text("")
        yield _group_table(seen)
    if seen.producers or seen.readers:
        yield Text("")
        yield _load_table(seen)


def partition_table(partitions: list[PartitionStatus]) -> Table:
    """Return a table of partitions, each with the brokers that still see it as it was."""
    table = _table("partition", "leader", "epoch", "ISR", "log start", "log end")
    for partition in partitions:
        table.add_row(
            f"{partition.topic}-{partition.partition}",
            _number_or(partition.leader, "none"),
            str(partition.leader_epoch),
            _all(partition.isr),
            _number_or(partition.log_start_offset),
            _number_or(partition.log_end_offset),
        )
        for other in partition.other_views:
            # As a deposed leader does, which goes on serving what it holds for its own.
            itself = " (itself)" if other.leader == other.broker else ""
            table.add_row(
                f"  seen by broker {other.broker}",
                _number_or(other.leader, "none") + itself,
                str(other.leader_epoch),
                _all(other.isr),
                "",
                _number_or(other.log_end_offset),
                style="yellow",
            )
    return table


def _group_table(seen: Status) -> Table:
    ends = {
        (partition.topic, partition.partition): partition.log_end_offset
        for partition in seen.partitions
    }
    table = _table(
        "group", "state", "coordinator", "partition", "committed", "epoch", "lag", "member"
    )
    for group in seen.groups:
        names = [group.group, group.state, str(group.coordinator)]
        owners = {name: member.client for member in group.members for name in member.partitions}
        commits = {f"{stored.topic}-{stored.partition}": stored for stored in group.commits}
        for name in sorted({*commits, *owners}) or [""]:
            commit = commits.get(name)
            end = _NONE if commit is None else ends.get((commit.topic, commit.partition), _NONE)
            at = None if commit is None else commit.offset
            table.add_row(
                *names,
                name,
                "" if at is None else str(at),
                "" if commit is None else _number_or(commit.epoch, "none", none=NO_EPOCH),
                "" if at is None or end == _NONE else str(end - at),
                owners.get(name, ""),
            )
            names = ["", "", ""]
    return table


def _load_table(seen: Status) -> Table:
    table = _table("load", "what", "so far")
    for producer in seen.producers:
        table.add_row(
            producer.producer,
            f"{producer.client}, {producer.records_per_second} records/s to {producer.topic}, "
            f"acks={producer.acks}",
            f"{producer.ok} ok, {producer.failed} failed, {producer.unknown} unknown",
        )
    for member in seen.readers:
        failures = f", {member.failures} exceptions" if member.failures else ""
        table.add_row(
            member.member, "reads", f"{member.records} records, {member.commits} commits{failures}"
        )
    return table


def _table(*columns: str) -> Table:
    return Table(*columns, box=None, pad_edge=False)


def _number_or(number: int, instead: str = "?", *, none: int = _NONE) -> str:
    return instead if number == none else str(number)


def _all(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
