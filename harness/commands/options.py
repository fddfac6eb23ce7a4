"""Options that commands share, and the Kafka that some of them name (docs/own-builds.md)."""

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cluster.clients import versions
from cluster.kafka import distribution
from cluster.kafka.lock import read_lock
from cluster.kafka.own_jars import resolve
from cluster.nodes.pool import PoolKind
from contract.errors import UsageError
from contract.files import local_folder
from contract.software import Build, Choice, Guest, is_guest_name
from harness.commands.requirements import DEFAULT_KAFKA, require_kafka
from harness.session.catalog import ScenarioFile
from harness.story.changes import parse_change


def folder_option(help_text: str) -> Any:
    """Return an option that names a folder of this machine."""
    return typer.Option(help=help_text, parser=local_folder, metavar="FOLDER")


def seed_option(of: str) -> Any:
    """Return the option of a seed."""
    return typer.Option(help=f"Seed of {of}; drawn and printed if not given.", min=0)


RESULTS = Path("results")
Results = Annotated[Path, folder_option("Results folder.")]
PlaygroundResults = Annotated[Path, folder_option("Results folder; the playground is below it.")]
Kafka = Annotated[
    str | None,
    typer.Option(help="Kafka version of brokers and clients.", show_default=DEFAULT_KAFKA),
]
KafkaDir = Annotated[
    Path | None,
    folder_option(
        "An unpacked Kafka distribution, or a folder of a build's jars, for the brokers."
    ),
]
ClientVersion = Annotated[
    str | None,
    typer.Option(help="A locked version for the Java clients, if not that of the brokers."),
]
ClientJars = Annotated[
    list[Path] | None,
    typer.Option(
        help="A jar, or a folder of jars or classes, that comes first on the class path of the "
        "Java clients only; may be given several times.",
        parser=local_folder,
        metavar="PATH",
    ),
]
Clients = Annotated[
    str | None,
    typer.Option(
        help="Versions of Python's clients, joined by commas, for the groups whose client has "
        "none: librdkafka@2.16.0,kafka-python@3.0.8 (`fencepost versions list`).",
    ),
]
Changed = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="CHANGE",
        help="A setting that is changed: group.NAME.SETTING=VALUE, producer., topic., "
        "broker.SETTING=VALUE, heap=512m, jvm.gc=g1; may be given several times "
        "(fencepost docs your-settings).",
    ),
]
Guests = Annotated[
    list[str] | None,
    typer.Option(
        "--guest",
        metavar="NAME=COMMAND",
        help="The program of the client guest@NAME of groups, in any language, which runs in this "
        "folder; may be given several times (fencepost docs guests).",
    ),
]
KnownFindings = Annotated[
    Path | None,
    typer.Option(
        help="A file of known findings, which do not make a night fail (fencepost docs mornings).",
        parser=local_folder,
        metavar="FILE",
        show_default="known.yml beside the results folder",
    ),
]
Scenarios = Annotated[
    Path | None,
    folder_option("A folder with scenarios of your own, files *_test.py, which can be named too."),
]
Cluster = Annotated[
    PoolKind,
    typer.Option(help="Pool of nodes: namespaces, containers, or plain folders."),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Print every check, and how each group continued."),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON document instead of text (fencepost docs outputs).",
    ),
]


def choice_of(
    kafka: str | None,
    kafka_dir: Path | None,
    client_version: str | None,
    client_jars: list[Path] | None,
    clients: str | None = None,
    changes: list[str] | None = None,
    guests: list[str] | None = None,
) -> Choice:
    """Return what the options name.

    Raises:
        UsageError: two of them exclude each other, or a version has not the form of one.
    """
    if kafka is not None and kafka_dir is not None:
        raise UsageError(
            "--kafka and --kafka-dir both name the brokers: give one. The version of a build is "
            "read from its jars"
        )
    if kafka_dir is None:
        kafka = DEFAULT_KAFKA if kafka is None else kafka
        require_kafka(kafka)
    if client_version is not None:
        require_kafka(client_version, option="--client-version")
    chosen = [] if clients is None else clients.split(",")
    versions.require_choice(chosen)
    for change in changes or []:
        parse_change(change)
    return Choice(
        kafka=kafka or "",
        kafka_dir="" if kafka_dir is None else str(kafka_dir.absolute()),
        client_version=client_version or "",
        client_jars=[str(path.absolute()) for path in client_jars or []],
        clients=chosen,
        changes=changes or [],
        guests=guests_of(guests or []),
    )


def guests_of(texts: Sequence[str]) -> list[Guest]:
    """Return the guests that texts of the form NAME=COMMAND name.

    Raises:
        UsageError: a text has not that form, two name the same, or there is no such program.
    """
    found = [_guest_of(text) for text in texts]
    names = [guest.name for guest in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"--guest {twice[0]}=... is given {names.count(twice[0])} times")
    return found


def _guest_of(text: str) -> Guest:
    name, equals, words = text.partition("=")
    try:
        command = shlex.split(words)
    except ValueError as error:
        raise UsageError(f"--guest {text}: the command is no shell's ({error})") from None
    if not equals or not command or not is_guest_name(name):
        raise UsageError(
            f"--guest {text}: it has to be NAME=COMMAND, with a name of lower-case letters, "
            "digits, `.` and `-`"
        )
    require_guest(command)
    return Guest(name=name, command=command, folder=str(Path.cwd()))


def require_guest(command: Sequence[str]) -> None:
    """Check that the program of a guest can be started.

    Raises:
        UsageError: it can't.
    """
    program = command[0]
    if shutil.which(program) is not None:
        return
    if not Path(program).is_file():
        raise UsageError(
            f"there is no program {program} that could be started from {Path.cwd()}: a guest's "
            "command begins with a file that is executable, or with a program on the PATH"
        )
    if Path(program).name == program and shutil.which(f"./{program}") is not None:
        raise UsageError(
            f"there is no program {program} on the PATH; that of this folder is ./{program}"
        )
    raise UsageError(
        f"{program} is not executable: a guest's command begins with its program, for example "
        f"`python3 {program}`, or the file is made executable"
    )


def fetch_build(choice: Choice, cluster: PoolKind, scenarios: Sequence[ScenarioFile] = ()) -> Build:
    """Find the jars of a choice, and download missing ones of locked versions.

    Among these are the versions that brokers of these scenarios start on. Versions of clients that
    the choice or these scenarios name are installed, for the pool's nodes too.

    Raises:
        UsageError: as `resolve`, or the pool can't run a guest.
        DistributionError: a version is not locked, or can't be downloaded.
    """
    if choice.guests and cluster is PoolKind.DOCKER:
        raise UsageError(
            f"the pool docker can't run {choice.guests[0].named}: its nodes have no programs but "
            "those of their image. Take --cluster embedded, or loopback"
        )
    build = resolve(choice)
    earlier = [
        scenario.starts_on[build.kafka]
        for scenario in scenarios
        if build.kafka in scenario.starts_on
    ]
    releases = list(dict.fromkeys([*build.locked, *earlier]))
    clients = sorted({*choice.clients, *(client for file in scenarios for client in file.clients)})
    for release in releases:
        read_lock(release)
    for client in clients:
        versions.require_locked(client)
    for release in releases:
        distribution.ensure(release)
    for client in clients:
        for is_for_nodes in {False, cluster is PoolKind.DOCKER}:
            versions.ensure(client, is_for_nodes=is_for_nodes)
    return build
