"""`fencepost play produce` and `consume`: load in the background of a playground."""

from typing import Annotated

import typer

from contract.errors import UsageError
from contract.run_folder import GroupPlan, ProducerPlan
from contract.software import Client
from contract.terms import CommitEpoch, Manner, ResetPolicy
from harness.commands.options import RESULTS, PlaygroundResults
from harness.commands.status import console
from harness.playground.serve import Orders
from harness.playground.state import find, tell

_Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A setting of the client; may be given several times."
    ),
]


def produce(  # noqa: PLR0913 - the options of a command
    topic: Annotated[
        str | None, typer.Argument(help="The topic; the playground's first if not given.")
    ] = None,
    results: PlaygroundResults = RESULTS,
    *,
    client: Annotated[Client, typer.Option(help="Of the producer.")] = Client.JAVA,
    acks: Annotated[str, typer.Option(help="0, 1 or all.")] = "all",
    rate: Annotated[int, typer.Option(help="Records a second.", min=1)] = 100,
    name: Annotated[
        str | None, typer.Option(help="Of the producer; by its acks if not given, e.g. acks-all.")
    ] = None,
    settings: _Settings = None,
    stop: Annotated[
        bool, typer.Option("--stop", help="Stop the producer of this --name, or all.")
    ] = False,
) -> None:
    """Write to all partitions of a topic in the background, until `play produce --stop`."""
    found = find(results)
    if stop:
        with console.status("waiting for the outcome of each value"):
            stopped = tell(found, Orders.stop_producing(name))
        for load in stopped:
            console.print(
                f"{load.producer} (acks={load.acks}): {load.ok} ok, {load.failed} failed, "
                f"{load.unknown} unknown"
            )
        return
    plan = ProducerPlan(
        producer=name or "",
        topic=topic or found.topics[0],
        client=client,
        acks=acks,
        records_per_second=rate,
        settings=_parse_settings(settings),
    )
    started = tell(found, Orders.produce(plan))
    console.print(
        f"{started} writes {rate} records/s to {plan.topic} with acks={acks}; "
        f"see it: fencepost play status; stop it: fencepost play produce --stop --name {started}"
    )


def consume(  # noqa: PLR0913 - the options of a command
    group: Annotated[
        str | None, typer.Argument(help="The group; readers if not given, or all with --stop.")
    ] = None,
    topic: Annotated[
        str | None, typer.Argument(help="The topic; the playground's first if not given.")
    ] = None,
    results: PlaygroundResults = RESULTS,
    *,
    client: Annotated[Client, typer.Option(help="Of its members.")] = Client.JAVA,
    members: Annotated[int, typer.Option(help="How many members.", min=1, max=20)] = 1,
    commit_epoch: Annotated[
        CommitEpoch, typer.Option(help="Which leader epoch is committed with an offset.")
    ] = CommitEpoch.RECORD,
    manner: Annotated[Manner, typer.Option(help="How it commits.")] = Manner.SYNC,
    reset: Annotated[
        ResetPolicy,
        typer.Option(help="`auto.offset.reset`, from the second start of the group on."),
    ] = ResetPolicy.EARLIEST,
    settings: _Settings = None,
    stop: Annotated[
        bool, typer.Option("--stop", help="Close the members of the group, or of all.")
    ] = False,
) -> None:
    """Read with a group in the background, and commit each second, until --stop.

    Members go on after an exception of their client; `fencepost play status` counts these.
    """
    found = find(results)
    if stop:
        for member in tell(found, Orders.stop_consuming(group)):
            console.print(f"{member} has left")
        return
    plan = GroupPlan(
        group=group or "readers",
        topic=topic or found.topics[0],
        client=client,
        members=members,
        commit_epoch=commit_epoch,
        manner=manner,
        reset=reset,
        settings=_parse_settings(settings),
    )
    with console.status(f"{plan.group} joins"):
        tell(found, Orders.consume(plan))
    count = "1 member" if members == 1 else f"{members} members"
    console.print(
        f"group {plan.group} reads {plan.topic} ({client}, {count}); "
        f"see it: fencepost play status; stop it: fencepost play consume {plan.group} --stop"
    )


def _parse_settings(settings: list[str] | None) -> dict[str, str | int]:
    """Return settings by name; whole numbers as such, since Python's clients ask for them."""
    found: dict[str, str | int] = {}
    for text in settings or []:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"--set {text}: write NAME=VALUE, as linger.ms=50")
        found[name] = int(value) if value.isdecimal() else value
    return found
