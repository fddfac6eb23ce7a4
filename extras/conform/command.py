"""`fencepost conform`: whether one client keeps its place, by cells, for its author."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table

from cluster.nodes.pool import PoolKind
from cluster.nodes.tether import tether_command
from contract.errors import AnalysisError, InterruptError, UsageError, lacking
from contract.files import local_folder
from contract.nights import write_atomically
from contract.packages import python
from contract.processes import run_child
from contract.program import PhaseProgress, Terminal
from contract.run_folder import STORE_FOLDER, new_seed
from contract.software import Choice, Client, Level, client_of
from contract.terms import ResetPolicy
from extras.conform.expected import FAILING, JOB_FILE, Job, Standing, read_expected
from extras.conform.features import Features, read_features
from extras.conform.job import Work
from extras.conform.stories import Stories, Told
from extras.conform.vocabulary import CONTROL, QUICK, SCENARIO, Hazard, Reader, batches
from harness.commands.options import (
    RESULTS,
    AsJson,
    Cluster,
    Kafka,
    Results,
    choice_of,
    fetch_build,
    seed_option,
)
from harness.commands.requirements import require_runs, require_seed
from harness.invocation import session_of
from harness.nightly.run import duration
from harness.nightly.state import new_folder
from harness.session.catalog import find_scenarios
from harness.session.series import Judge, seeds

_console = Terminal(stderr=True)
_ALL = "all"
_NOT_IN_NAMES = re.compile(r"[^a-z0-9.-]+")


def conform(  # noqa: PLR0913 - the options of a command
    client_command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="The program around the client, by the protocol of `fencepost docs guests`; it "
            "runs in this folder.",
        ),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(
            help="Instead of a program: a client that is built in, such as kafka-python@3.0.8.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the client; by default that of its features file.")
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(
            help="What the client has and claims (fencepost docs conformance); by default explicit "
            "commits and auto.offset.reset=earliest.",
            parser=local_folder,
            metavar="FILE",
        ),
    ] = None,
    expected: Annotated[
        Path | None,
        typer.Option(
            help="Cells that are known to fail; one of them that keeps its place fails, too.",
            parser=local_folder,
            metavar="FILE",
        ),
    ] = None,
    hazards: Annotated[
        str | None,
        typer.Option(help="Hazards, joined by commas, or `all`; by default the quick set."),
    ] = None,
    *,
    stories: Annotated[int, typer.Option(help="Stories of each hazard.", min=1, max=100)] = 1,
    seed: Annotated[int | None, seed_option("all random choices")] = None,
    cluster: Cluster = PoolKind.EMBEDDED,
    kafka: Kafka = None,
    results: Results = RESULTS,
    is_quick: Annotated[
        bool,
        typer.Option("--quick", help="Four hazards, a story of about a minute each: the default."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a client through hazards, beside a Java client that has to keep its place.

    Each cell is a hazard, a way to commit and a reset policy. Exits 0 if each keeps its place or
    fails as expected, 1 if one fails otherwise or an expected failure keeps its place, 2 if a cell
    shows nothing.
    """
    if is_quick and hazards is not None:
        raise UsageError("--quick is a choice of hazards: give it or --hazards")
    chosen = QUICK if hazards is None else hazards_of(hazards)
    has = _default_features(name or client) if features is None else read_features(features)
    named, guests = _client(client_command, client, name or has.client)
    work = Work(
        name=name or has.client,
        client=named,
        features=has,
        hazards=chosen,
        expected=() if expected is None else tuple(read_expected(expected)),
    )
    work.require_testable()
    require_seed(seed)
    choice = choice_of(kafka, None, None, None, guests=guests)
    first = new_seed() if seed is None else seed
    with _stories(choice, cluster, results, first, work) as tell:
        told = [
            tell.story(hazard, batch, f"{hazard}-{number}-{part}")
            for number in range(1, stories + 1)
            for hazard in work.hazards
            for part, batch in enumerate(batches(work.readers), start=1)
        ]
        alone = [
            tell.story(hazard, [reader], f"{hazard}-alone-{number}")
            for number, (hazard, reader) in enumerate(work.due_alone(told), start=1)
        ]
        home = tell.stories.home
        job = work.job(told, alone, home=home, seed=first, kafka=tell.stories.session.kafka)
        write_atomically(home / JOB_FILE, job)
    command = tether_command(python("extras.conform.conforming", "--", str(home)))
    if status := run_child(command, what="the page of the cells"):
        raise AnalysisError(f"the page of the cells ended with status {status}")
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(job), indent=2))
    else:
        _conclude(job, home)
    raise typer.Exit(job.exit_code)


def hazards_of(text: str) -> tuple[Hazard, ...]:
    """Return the hazards that an option names, each once, in the order of the suite.

    Raises:
        UsageError: there is none of a name.
    """
    if text == _ALL:
        return tuple(Hazard)
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in set(Hazard):
            raise UsageError(f"--hazards {text}: {lacking('hazard', name, [*Hazard, _ALL])}")
    return tuple(hazard for hazard in Hazard if hazard in names)


def _default_features(client: str | None) -> Features:
    return Features(
        client=client or "client",
        language="",
        level=Level.POSITIONS,
        commits=["explicit"],
        resets=[ResetPolicy.EARLIEST],
    )


def _client(command: str | None, client: str | None, name: str) -> tuple[str, list[str]]:
    """Return the client as plans name it, and the guest that plays it, if it is none built in.

    Raises:
        UsageError: neither or both are given, or there is no such client.
    """
    if (command is None) == (client is None):
        raise UsageError(
            "give the program around the client, --client-command, or one that is built in, "
            f"--client {Client.KAFKA_PYTHON}"
        )
    if command is None:
        try:
            client_of(client or "")
        except ValueError as error:
            raise UsageError(f"--client {client}: {error}") from None
        if client == CONTROL:
            raise UsageError(f"--client {client}: it is the control, which has to keep its place")
        return client or "", []
    guest = _NOT_IN_NAMES.sub("-", name.lower()).strip("-.")
    return f"{Client.GUEST}@{guest}", [f"{guest}={command}"]


@dataclass(frozen=True)
class _Teller:
    """Carries out the stories of a job one by one, and prints a line when each begins and ends."""

    stories: Stories
    client: str
    seeds: Iterator[int]

    def story(self, hazard: Hazard, readers: Sequence[Reader], name: str) -> Told:
        ways = ", ".join(f"{reader.commit} {reader.reset}" for reader in readers)
        self._say(f"{name} begins: {ways}")
        told = self.stories.carry_out(hazard, readers, seed=next(self.seeds), name=name)
        cells = [cell for cell in told.cells if cell.client == self.client]
        found = "; ".join(
            f"{cell.meets} {cell.commit} {cell.reset}: {cell.words}" for cell in cells
        )
        self._say(f"{name} in {duration(told.seconds)}: {told.problem or found}")
        return told

    def _say(self, line: str) -> None:
        _console.print(line, soft_wrap=True, highlight=False, markup=False)


@contextmanager
def _stories(
    choice: Choice, cluster: PoolKind, results: Path, seed: int, work: Work
) -> Iterator[_Teller]:
    """Where stories are carried out: in a new folder of the results.

    Raises:
        InterruptError: it was interrupted; says what is kept.
    """
    results = require_runs(results, cluster)
    build = fetch_build(choice, cluster, find_scenarios([SCENARIO]))
    home = new_folder(results, f"conform-{work.client.replace('@', '-')}")
    session = session_of(seed=seed, kafka=build.kafka, cluster=cluster.value, build=build)
    _console.print(f"seed {seed}, Kafka {build.kafka}, {cluster.value}", style="dim")
    try:
        with (
            Judge(home, store=results / STORE_FOLDER) as judge,
            PhaseProgress(_console) as progress,
        ):
            shown = progress.phase if _console.is_terminal else lambda _: None
            stories = Stories(home, results, session, judge, shown)
            yield _Teller(stories, work.client, seeds(seed))
    except KeyboardInterrupt:
        raise InterruptError(f"the runs that ended are kept and judged: {home}") from None


def _conclude(job: Job, home: Path) -> None:
    out = Terminal()
    table = Table("hazard", "member", "commit", "reset", "outcome", "standing", box=None)
    for result in job.results:
        if result.standing is not Standing.NOT_APPLICABLE:
            cell = result.cell
            table.add_row(
                cell.hazard, cell.meets, cell.commit, cell.reset, cell.words, result.standing
            )
    out.print(table)
    lines = [
        line
        for result in job.results
        if result.standing in (*FAILING, Standing.UNCONFIRMED, Standing.NOT_EVALUABLE)
        for line in (
            f"{result.standing}: {result.cell.place}: {result.words}",
            *(f"  {cause}" for cause in result.cell.causes),
        )
    ]
    version = f" ({job.version})" if job.version else ""
    lines += [
        f"{job.name}{version} on Kafka {job.kafka}: {job.badge}",
        f"cells: {home / 'index.html'}",
    ]
    for line in lines:
        out.print(line, soft_wrap=True, highlight=False, markup=False)
