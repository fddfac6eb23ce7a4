"""`fencepost run` and `analyze`."""

import re
import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer

from cluster.nodes.pool import PoolKind
from contract.errors import (
    AnalysisError,
    FencepostError,
    InterruptError,
    RunFolderError,
    UsageError,
)
from contract.files import place, storage_error
from contract.locks import HeldFolder, alone_in, remove_unheld
from contract.manifest import DECODED_AGAIN
from contract.nights import is_made_here
from contract.processes import require_options
from contract.program import PhaseProgress, Terminal, as_line, report_unexpected, say
from contract.ranges import is_of_earlier_release
from contract.run_folder import (
    DECODING,
    GENERATED,
    Expected,
    RunFolder,
    find_runs,
    new_seed,
    not_judged,
)
from contract.software import Guest, with_note
from harness.collection.collect import decode_clients, decode_server_logs
from harness.commands.judging import (
    EarlyAnalysis,
    analyse_in_own_process,
    count_stories,
    options_of,
)
from harness.commands.options import (
    RESULTS,
    AsJson,
    Changed,
    ClientJars,
    Clients,
    ClientVersion,
    Cluster,
    Guests,
    Kafka,
    KafkaDir,
    KnownFindings,
    Results,
    Scenarios,
    Verbose,
    choice_of,
    fetch_build,
    seed_option,
)
from harness.commands.requirements import (
    parameters_of,
    require_programs,
    require_runs,
    require_seed,
    require_store,
)
from harness.invocation import Session, session_of
from harness.session.catalog import ScenarioFile, find_scenarios, own_scenario
from harness.session.ducktape_session import run_ducktape
from harness.session.expected import expected_of
from harness.session.node_root import node_root

_console = Terminal(stderr=True)
_MADE_NAME = re.compile(r"Client\.GUEST|guest@\{")


def run(  # noqa: PLR0913 - the options of a command
    names: Annotated[
        list[str],
        typer.Argument(
            help="Scenarios to run: names (see `fencepost list`), or paths of files of your own. "
            "`::test_name` chooses one test."
        ),
    ],
    cluster: Cluster = PoolKind.EMBEDDED,
    kafka: Kafka = None,
    seed: Annotated[int | None, seed_option("all random choices")] = None,
    results: Results = RESULTS,
    parameters: Annotated[
        str | None,
        typer.Option(help="Parameters of a scenario, as JSON; all that it declares if not given."),
    ] = None,
    scenarios: Scenarios = None,
    *,
    kafka_dir: KafkaDir = None,
    client_version: ClientVersion = None,
    client_jars: ClientJars = None,
    clients: Clients = None,
    changes: Changed = None,
    guests: Guests = None,
    is_verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Run scenarios on a real cluster, judge the collected logs in Spark, and report.

    Prints each phase as it begins; at the end the answer to the scenario's question, what is
    unexpected, and the path of the report's page.
    """
    chosen = find_scenarios(names, scenarios)
    chosen_parameters = parameters_of(parameters)
    for scenario in chosen:
        scenario.require(chosen_parameters)
    choice = choice_of(kafka, kafka_dir, client_version, client_jars, clients, changes, guests)
    _require_used(choice.guests, chosen)
    require_seed(seed)
    results = require_runs(results, cluster)
    build = fetch_build(choice, cluster, chosen)
    session = session_of(
        seed=new_seed() if seed is None else seed,
        kafka=build.kafka,
        cluster=cluster.value,
        build=build,
    )
    _introduce(session, chosen, parameters)
    stories = count_stories(chosen, chosen_parameters)
    options = options_of(is_verbose=is_verbose, as_json=as_json, results=results)
    collected: list[Path] = []
    try:
        with EarlyAnalysis(stories=stories, options=options) as analysis:
            with node_root(results) as root, PhaseProgress(_console, runs=stories) as progress:

                def on_phase(phase: str) -> None:
                    progress.phase(phase)
                    analysis.phase(phase)

                ended = run_ducktape(
                    chosen,
                    session,
                    results=results,
                    root=root,
                    on_phase=on_phase,
                    parameters=chosen_parameters,
                )
                collected.append(ended.folder)
            code = _exit_code_of(collected, lambda: analysis.judge(ended.folder))
            for problem in ended.dropped:
                say(problem)
    except KeyboardInterrupt:
        # After all is collected and before it is judged: the nodes are removed.
        if not collected:
            raise
        raise InterruptError(not_judged(collected)) from None
    raise typer.Exit(max(code, FencepostError.exit_code) if ended.dropped else code)


def analyze(  # noqa: PLR0913 - the options of a command
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Folders of runs, of whole sessions or of nights, by paths, or by URIs of any "
            "Hadoop file system."
        ),
    ],
    master: Annotated[str | None, typer.Option(help="Spark master; local[*] if not given.")] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A setting of Spark; may be given several times."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER|URI",
            help="Where all findings and verdicts are written as Parquet, by night and scenario; "
            "by default in the results folder that a run is in.",
        ),
    ] = None,
    expect: Annotated[
        Path | None,
        typer.Option(
            help="The file of the runs' scenario, whose question, answer and expectations count "
            "as they are now; by default those of the run.",
            metavar="FILE",
        ),
    ] = None,
    *,
    known: KnownFindings = None,
    is_verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Judge runs again from their folders, without a cluster.

    Histories and the logs of clients and servers are decoded again, so that missing files are
    noticed. At a URI the tables are judged as they are, and the report is written beside them.
    """
    places = [place(run) for run in runs]
    require_store(store)
    require_options(master, conf or ())
    options = [*options_of(is_verbose=is_verbose, as_json=as_json, known=known)]
    require_programs()
    folders = [path for path in places if isinstance(path, Path)]
    found = {path: find_runs(path) for path in folders}
    for path, there in found.items():
        _require_meant(path, there)
    _expect(expect, places, [folder for there in found.values() for folder in there])
    decoded = [decode_again(folder) for there in found.values() for folder in there]
    if store is not None:
        options += ["--store", store]
    code = _exit_code_of(
        places,
        lambda: analyse_in_own_process(places, options=options, master=master, conf=conf or ()),
    )
    raise typer.Exit(code if all(decoded) else max(code, FencepostError.exit_code))


def _expect(file: Path | None, places: list[Path | str], folders: list[RunFolder]) -> None:
    """Let runs be judged by what a scenario's file expects, or by their plans.

    Raises:
        UsageError: the file is that of another scenario.
    """
    expected: list[Expected | None] = [None] * len(folders)
    if file is not None:
        if len(folders) < len(places):
            raise UsageError("--expect is for runs on this machine, not for URIs")
        scenario = own_scenario(file)
        expected = [expected_of(scenario, folder) for folder in folders]
    for folder, newer in zip(folders, expected, strict=True):
        folder.write_expected(newer)


def _require_meant(path: Path, runs: list[RunFolder]) -> None:
    """Ask whether the runs below a folder that is none of this project's are to be judged.

    Raises:
        UsageError: they are not, or there is no terminal to ask at.
    """
    if is_made_here(path, [run.path for run in runs]):
        return
    what = (
        f"{path} is the folder of no run, session, night or results: tables and reports of "
        f"{len(runs)} at or below it would be written"
    )
    if not has_terminal():
        raise UsageError(f"{what}: name the folders of the runs or sessions that are meant")
    if not typer.confirm(as_line(f"{what}. Judge them?"), err=True):
        raise UsageError("no run was judged")


def has_terminal() -> bool:
    """Whether a user can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _require_used(guests: Iterable[Guest], chosen: Iterable[ScenarioFile]) -> None:
    """Refuse a guest that none of some scenarios names, unless one makes such names.

    Raises:
        UsageError: one is named by none.
    """
    texts = [scenario.path.read_text() for scenario in chosen]
    if any(map(_MADE_NAME.search, texts)):
        return
    for guest in guests:
        if not any(guest.named in text for text in texts):
            raise UsageError(
                f"no group of these scenarios uses {guest.named}: name it as the client of one"
            )


def decode_again(folder: RunFolder) -> bool:
    """Decode a run's histories and logs; False if that ends with an unexpected error.

    After an error all tables of an earlier decoding are removed, so that the analysis reports them
        as missing. A folder without a readable plan or description, or of an earlier release, is
        not changed: the analysis reports that.

    Raises:
        StorageError: the folder can't be written; its tables are as they were.
        WaitTimeoutError: another process writes into it for too long.
    """
    if folder.is_removed:  # It keeps the verdict that it has.
        return True
    try:
        folder.require_own()
        is_generated = folder.run().cluster == GENERATED
        folder.plan()
    except RunFolderError:
        return True
    tables = [folder.tables / f"{table}.parquet" for table in DECODED_AGAIN]
    if is_generated or any(map(is_of_earlier_release, tables)):
        return True
    with alone_in(folder.path):
        try:
            _decode(folder)
        except Exception as error:
            if (full := storage_error(error, folder.path)) is not None:
                raise full from error
            is_expected = isinstance(error, FencepostError)
            _forget_decoded(folder, str(error) if is_expected else report_unexpected(error))
            return is_expected
    return True


def _decode(folder: RunFolder) -> None:
    """Decode into a folder beside the tables, and replace these once all are there.

    Raises:
        RunFolderError: a folder has the name of a table.
    """
    remove_unheld(folder.path, DECODING)
    beside = HeldFolder(folder.path, DECODING)
    try:
        decode_clients(folder, beside.path)
        decode_server_logs(folder, beside.path)
        folder.tables.mkdir(exist_ok=True)
        made = sorted(beside.path.iterdir())
        for file in made:
            if (folder.tables / file.name).is_dir():
                raise RunFolderError(
                    f"{folder.tables / file.name} is a folder, not a table: remove it"
                )
        for file in made:
            file.replace(folder.tables / file.name)
    finally:
        beside.remove()


def _forget_decoded(folder: RunFolder, problem: str) -> None:
    for table in DECODED_AGAIN:
        file = folder.tables / f"{table}.parquet"
        if not file.is_dir():
            file.unlink(missing_ok=True)
    say(f"{folder.path}: its histories and logs can't be decoded: {problem}")


def _exit_code_of(runs: Iterable[Path | str], analyse: Callable[[], int]) -> int:
    """Return the exit code of the analysis of some runs, which `analyse` runs.

    Raises:
        AnalysisError: it was killed, or ended without a verdict.
    """
    try:
        return analyse()
    except KeyboardInterrupt:
        raise InterruptError(not_judged(runs)) from None
    except AnalysisError as error:
        raise AnalysisError(f"{error}: {not_judged(runs)}") from error


def _introduce(session: Session, chosen: list[ScenarioFile], parameters: str | None) -> None:
    names = shlex.join(scenario.named for scenario in chosen)
    packages = ", ".join(f"{name} {version}" for name, version in session.versions.items())
    named = shlex.join(session.builds.choice.words())
    options = f"--cluster {session.cluster} {named} --seed {session.seed}"
    if parameters is not None:
        options += f" --parameters {shlex.quote(parameters)}"
    on = f"Kafka {with_note(session.kafka, session.builds.note)}, {session.cluster}"
    for line in (
        f"seed {session.seed}, git {session.git_head}, {on}",
        packages,
        f"again: fencepost run {names} {options}",
    ):
        _console.print(line, style="dim", soft_wrap=True, highlight=False)
