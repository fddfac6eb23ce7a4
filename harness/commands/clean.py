"""`fencepost clean`: removes the leftovers of killed runs, and the raw data of old nights."""

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import psutil
import typer
from docker.errors import DockerException

from cluster.nodes.docker_client import docker_problem, explain_error, is_docker_expected
from cluster.nodes.docker_pool import remove_orphans, unseen
from contract.errors import NodeError, RunFolderError, StorageError, UsageError
from contract.files import is_below
from contract.locks import Swept, remove_temporary, remove_unheld
from contract.nights import Outcome, read_summary
from contract.program import Terminal, say
from contract.run_folder import BESIDE, find_runs
from harness.commands.nightly import NIGHTS
from harness.commands.options import RESULTS, Results
from harness.nightly.room import in_words, judged_runs, remove_raw_data, size_of
from harness.nightly.state import all_nights, hold
from harness.playground.state import forget, keeper
from harness.session.node_root import end_left, sweep

app = typer.Typer()
_END_SECONDS = 60
_console = Terminal()


@app.callback(invoke_without_command=True)
def clean(context: typer.Context, results: Results = RESULTS) -> None:
    """End a playground, and remove what dead sessions and runs left; `nights`: data of nights.

    What can't be removed is printed at the end, and the exit code is 69.
    """
    if context.invoked_subcommand is not None:
        if results != RESULTS:
            raise UsageError("--results stands behind nights: fencepost clean nights --results ...")
        return
    end_playground(results)
    end_left(results)
    sessions = sweep(results)
    typer.echo(f"removed the folders of {sessions.removed} dead sessions")
    containers = _remove_containers() if is_docker_expected() else Swept()
    folders = _remove_beside(results) + remove_temporary()
    typer.echo(f"removed {folders.removed} folders of dead commands")
    kept = (sessions + containers + folders).kept
    for line in kept:
        say(line)
    if kept:
        raise typer.Exit(StorageError.exit_code)


def _remove_containers() -> Swept:
    """Remove the containers and networks of dead runs, if the daemon responds."""
    lines: list[str] = []
    with Terminal(stderr=True).status("waiting for the Docker daemon"):
        try:
            if (problem := docker_problem()) is not None:
                swept = Swept()
                lines.append(f"containers of dead runs were not looked for: {problem}")
            else:
                swept, lines = remove_orphans(), unseen()
                lines.insert(0, f"removed {swept.removed} containers of dead runs")
        except (DockerException, OSError) as error:
            why = "containers of dead runs may remain: the Docker daemon failed in between"
            fix = "See its log, then start the command again"
            swept = Swept(kept=(f"{why} ({explain_error(error)}). {fix}",))
    for line in lines:
        typer.echo(line)
    return swept


def _remove_beside(results: Path) -> Swept:
    """Remove what killed commands left in runs, beside a report or tables."""
    swept = Swept()
    with suppress(RunFolderError):
        for run in find_runs(results):
            for prefix in BESIDE:
                swept += remove_unheld(run.path, prefix)
    return swept


def end_playground(results: Path) -> None:
    """End the playground below a results folder and wait for its end; does nothing without one.

    The state file of a killed one is removed, also if it is damaged.
    """
    with suppress(psutil.NoSuchProcess):
        if (process := keeper(results)) is not None:
            process.terminate()
            process.resume()  # One that is stopped ends only then.
            try:
                process.wait(_END_SECONDS)
            except psutil.TimeoutExpired:
                raise NodeError(
                    f"the playground has not ended within {_END_SECONDS} s: end process "
                    f"{process.pid}, with kill -KILL, and start the command again"
                ) from None
            typer.echo("ended the playground")
    forget(results)


@app.command()
def nights(
    results: Results = RESULTS,
    keep: Annotated[
        int, typer.Option(help="How many finished nights of each suite and pool stay whole.", min=0)
    ] = 14,
    *,
    is_dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")
    ] = False,
    has_all: Annotated[
        bool,
        typer.Option("--all", help="Remove those of runs of another verdict than expected, too."),
    ] = False,
) -> None:
    """Remove the raw data and tables of nights that are older than the newest of their suite.

    Plans, verdicts, findings, reports and summaries stay, and the store. Left as they are: nights
    that are running or unfinished, runs that were never judged, and runs whose verdict is not the
    one that their suite expects.
    """
    folder = results.absolute() / NIGHTS
    is_own = is_below(folder, results)
    newer: Counter[tuple[str, str]] = Counter()
    total, count = 0, 0
    for path, night in reversed(all_nights(folder)):
        if night.ended_micros is None or not (is_own and is_below(path, folder)):
            continue
        kind = (night.suite, night.cluster)
        newer[kind] += 1
        if newer[kind] <= keep:
            continue
        freed = 0
        with suppress(UsageError, RunFolderError), hold(path):
            summary = read_summary(path)
            for row, run in judged_runs(path, summary) if summary is not None else ():
                if has_all or row.outcome is Outcome.EXPECTED:
                    data = sum(size_of(file) for file in run.data() if not file.is_symlink())
                    freed += data if is_dry_run else remove_raw_data(run)
                    count += bool(data)
        total += freed
        if freed:
            _console.print(f"{path.name}: {in_words(freed)}", highlight=False)
    what = "would be removed" if is_dry_run else "were removed"
    _console.print(f"raw data of {count} runs {what}: {in_words(total)}", highlight=False)
