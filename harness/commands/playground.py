"""`fencepost play`: a cluster for faults by hand."""

import re
import signal
import subprocess
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table

from cluster.kafka import distribution
from cluster.nodes.pool import PoolKind
from cluster.nodes.tether import tether_command
from contract.errors import InterruptError, NodeError, NotLandedError, UsageError
from contract.files import open_to_append
from contract.locks import is_held
from contract.packages import environment, python
from contract.program import Terminal
from contract.waiting import hold as hold_for
from contract.waiting import wait_until
from harness.commands.judging import analyse_in_own_process, options_of
from harness.commands.load import consume, produce
from harness.commands.options import RESULTS, Cluster, PlaygroundResults
from harness.commands.requirements import (
    DEFAULT_KAFKA,
    require_kafka,
    require_runs,
)
from harness.commands.status import partition_table, status
from harness.faults.language import TARGETS, VERBS
from harness.playground.serve import Orders, Views
from harness.playground.shape import SHAPE, Shape, shape_of
from harness.playground.state import (
    FILE,
    FOLDER,
    KEEPER,
    LOG,
    Playground,
    find,
    forget_ended,
    keeper,
    look,
    tell,
)
from harness.session.ducktape_session import PROGRAM

app = typer.Typer(
    help="A playground: a cluster that keeps running, for faults by hand.", no_args_is_help=True
)
_console = Terminal(highlight=False, soft_wrap=True)
_READY_SECONDS = 120
_STOP_SECONDS = 360
_LOG_TAIL_BYTES = 3000
_IN_THIS_FOLDER = 'cd "$0" 2>/dev/null; exec "$@"'
"""With a folder and a command: nsenter begins in the root of the sandbox, which may lack it."""


@app.command(name="start")
def begin(
    cluster: Cluster = PoolKind.EMBEDDED,
    kafka: Annotated[str, typer.Option(help="Kafka version.")] = DEFAULT_KAFKA,
    results: PlaygroundResults = RESULTS,
    *,
    brokers: Annotated[int, typer.Option(help="How many brokers.")] = 3,
    controllers: Annotated[
        int, typer.Option(help="How many controllers of their own; 0: brokers are controllers too.")
    ] = 0,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:PARTITIONS:REPLICATION",
            help="A topic, spread over all brokers; may be given several times.",
        ),
    ] = None,
) -> None:
    """Start the playground, or show the one that runs."""
    results = results.resolve()
    shape = shape_of(brokers=brokers, controllers=controllers, topics=topic or ())
    if is_held(results / KEEPER):
        _introduce(find(results))
        return
    require_kafka(kafka)
    results = require_runs(results, cluster)
    distribution.ensure(kafka)
    forget_ended(results)
    _introduce(start(cluster, kafka, results, shape))


app.command()(status)
app.command()(produce)
app.command()(consume)


@app.command()
def fault(
    verb: Annotated[str, typer.Argument(help=f"One of: {', '.join(VERBS)}.")],
    target: Annotated[str, typer.Argument(help=f"{TARGETS}.")],
    hold: Annotated[
        str | None, typer.Option("--for", help="Heal after this time, e.g. 20s; else see `heal`.")
    ] = None,
    results: PlaygroundResults = RESULTS,
) -> None:
    """Inject a fault by hand, e.g. `fencepost play fault pause leader:orders-0 --for 20s`."""
    seconds = None if hold is None else parse_seconds(hold)
    found = find(results)
    try:
        with _console.status(f"{verb} {target}"):
            injected = tell(found, Orders.fault(verb, target))
    except KeyboardInterrupt:
        raise InterruptError(
            "the playground injects the fault; heal it: fencepost play heal"
        ) from None
    _console.print(f"{injected.fault} {injected.target}: landed={injected.landed}")
    _console.print_json(data=injected.evidence)
    if injected.beside:
        _console.print(f"beside: {', '.join(injected.beside)}")
    if seconds is None and injected.number is not None:
        _console.print(f"heal it: fencepost play heal {injected.number}; all: fencepost play heal")
    lacking = "" if injected.landed else "the fault did not land: its evidence lacks its effect"
    if lacking and seconds is None:
        raise NotLandedError(f"{lacking}; heal it: fencepost play heal")
    if seconds is not None:
        try:
            with _console.status(f"held for {hold}"):
                hold_for(seconds)
        except KeyboardInterrupt:
            raise InterruptError("the fault still holds; heal it: fencepost play heal") from None
        if injected.number is not None:
            _heal(found, str(injected.number))
    if lacking:
        raise NotLandedError(lacking)


@app.command()
def heal(
    fault: Annotated[
        list[str] | None,
        typer.Argument(help="A fault: its number, verb, target, or verb and target; all if none."),
    ] = None,
    results: PlaygroundResults = RESULTS,
) -> None:
    """Heal a fault, or all, the last one first, and show the partitions."""
    _heal(find(results), " ".join(fault) if fault else None)


@app.command(context_settings={"ignore_unknown_options": True})
def shell(
    node: Annotated[str, typer.Argument(help="A node's name or its server's id.")],
    command: Annotated[list[str] | None, typer.Argument(help="The command; bash if none.")] = None,
    results: PlaygroundResults = RESULTS,
) -> None:
    """Open a shell on a node, or run a command there.

    On the embedded pool it begins in the current folder, which is read-only.
    """
    found = find(results)
    for server in found.servers:
        if node in (server.node, str(server.id)):
            argv = [*into(found, results), *server.shell, *(command or ["bash"])]
            # Only the shell handles Ctrl-C. It would inherit SIG_IGN, but not a handler.
            signal.signal(signal.SIGINT, lambda *_: None)
            raise typer.Exit(subprocess.run(argv, check=False).returncode)
    names = ", ".join(f"{server.node} ({server.id})" for server in found.servers)
    raise UsageError(f"there is no node {node}; there are: {names}")


@app.command()
def stop(
    results: PlaygroundResults = RESULTS,
    *,
    judge: Annotated[
        bool, typer.Option("--judge", help="Judge what happened, as of a run.")
    ] = False,
) -> None:
    """End the playground, and collect what it left."""
    results = results.resolve()
    tell(find(results), Orders.stop())
    with _console.status("stopping"):
        wait_until(
            lambda: not is_held(results / KEEPER),
            what="the playground's end",
            timeout_seconds=_STOP_SECONDS,
        )
    _console.print("the playground has ended")
    if judge:
        run = (results / FOLDER / "latest").resolve()
        raise typer.Exit(analyse_in_own_process([run], options=options_of(results=results)))


def parse_seconds(text: str) -> float:
    """Return a duration such as `20s`, `1.5m` or `500ms` in seconds.

    Raises:
        UsageError: the text is no duration.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m)", text)
    if match is None:
        raise UsageError(f"{text!r} is no duration: write 20s, 1.5m or 500ms")
    return float(match[1]) * {"ms": 0.001, "s": 1, "m": 60}[match[2]]


def start(
    cluster: PoolKind, kafka: str, results: Path, shape: Shape, *, is_tethered: bool = False
) -> Playground:
    """Start a playground below a results folder, and wait until it is up.

    With `is_tethered` it ends with this process.

    Raises:
        NodeError: it did not come up; has the end of its log.
    """
    log = results / LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    command = python("harness.playground.keep", cluster.value, kafka, str(results))
    command = tether_command(command) if is_tethered else command
    with (
        open_to_append(log) as output,
        _console.status(f"starting {shape.brokers} brokers ({cluster})"),
    ):
        output.truncate(0)
        started = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment({"PYTHONUNBUFFERED": "1", SHAPE: msgspec.json.encode(shape).decode()}),
        )

        def is_up() -> bool:
            # Another command may have started one at the same moment: then that one is shown.
            if started.poll() is not None and not is_held(results / KEEPER):
                raise NodeError(f"the playground did not come up:\n{_tail(log)}")
            return is_held(results / KEEPER) and (results / FILE).exists()

        try:
            wait_until(
                is_up,
                what="the playground",
                timeout_seconds=_READY_SECONDS,
                recent=lambda: _tail(log),
            )
        except KeyboardInterrupt:
            started.terminate()
            started.wait()
            raise InterruptError("the playground was ended before it was up") from None
    return find(results)


def into(found: Playground, results: Path) -> list[str]:
    """Return the prefix with which a command runs inside the playground's sandbox."""
    if found.cluster != PoolKind.EMBEDDED:
        return []
    kept_by = keeper(results)
    if kept_by is None:
        raise NodeError("the playground has ended")
    for process in kept_by.children(recursive=True):
        if process.cmdline()[1:4] != python(PROGRAM)[1:]:
            continue
        namespaces = ("--user", "--mount", "--pid", "--net")
        enter = ["nsenter", f"--target={process.pid}", *namespaces, "--preserve-credentials"]
        return [*enter, "sh", "-c", _IN_THIS_FOLDER, str(Path.cwd())]
    raise NodeError("the playground's sandbox has ended")


def _tail(log: Path) -> str:
    return log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace")


def _introduce(found: Playground) -> None:
    table = Table("server", "roles", "node", "address", "log", box=None, pad_edge=False)
    for server in found.servers:
        table.add_row(str(server.id), server.roles, server.node, server.address, server.log)
    topics = ", ".join(found.topics)
    _console.print(f"Kafka {found.kafka} on {found.cluster}, topics: {topics}", style="bold")
    _console.print(table)
    first = found.servers[0].node
    target = f"leader:{found.topics[0]}-0"
    for line in (
        f"bootstrap, from any node:  {found.bootstrap}",
        f"look inside:               fencepost play shell {first}",
        f"Kafka's classes:           {found.jars}/*",
        "load:                      fencepost play produce; fencepost play consume",
        "see it all:                fencepost play status --watch",
        f"inject a fault:            fencepost play fault pause {target} --for 20s",
        "heal:                      fencepost play heal",
        "end:                       fencepost play stop, or with --judge",
    ):
        _console.print(line)


def _heal(found: Playground, name: str | None) -> None:
    with _console.status("healing"):
        healed = tell(found, Orders.heal(name))
        seen = look(found, Views.status())
    _console.print(f"healed {', '.join(healed)}" if healed else "healed")
    for held in seen.faults:
        _console.print(f"fault {held.number} ({held.fault} {held.target}) still holds")
    _console.print(partition_table(seen.partitions))
