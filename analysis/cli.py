"""The analysis as a program of its own; it shares nothing with the harness but files.

What it needs of this project once Spark is open is imported while Spark's JVM starts.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from pyspark import SparkContext

from analysis.early import EARLY, ready_for_folder
from analysis.engine.hadoop import HadoopFolder
from analysis.engine.prepared import ensure
from analysis.engine.session import close_spark
from analysis.engine.settings import settings_of
from analysis.opening import open_spark
from contract.errors import AnalysisError, StorageError, UsageError
from contract.files import place
from contract.nights import read_known, read_night
from contract.processes import is_local, require_options
from contract.program import PhaseProgress, Terminal
from contract.run_folder import find_runs, has_runs, not_judged

_REST = "analysis.results"
"""What is needed once Spark is open. It takes as long to be imported as a JVM takes to start."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def analyze(  # noqa: PLR0913 - the options of a command
    runs: Annotated[
        list[str] | None,
        typer.Argument(help="Folders of runs, of whole sessions, or of nights, by paths or URIs."),
    ] = None,
    master: Annotated[str | None, typer.Option(help="Spark master; local[*] if not given.")] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark.")
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="Folder or URI of the store of all findings and verdicts.")
    ] = None,
    known: Annotated[
        Path | None, typer.Option(help="A file of known findings (fencepost docs mornings).")
    ] = None,
    *,
    is_early: Annotated[
        bool,
        typer.Option(
            EARLY,
            help="One folder, as a line of JSON on standard input, for which Spark is opened "
            "before.",
        ),
    ] = False,
    is_verbose: Annotated[bool, typer.Option("--verbose")] = False,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Judge runs, write their reports (docs/outputs.md), and print the verdicts.

    Exits 0 if all pass, 1 if one fails, else 2; a night's verdict is against what it expects. If a
    run can't be judged, the others are, and the exit code is that of its error, such as 70.
    """
    require_options(master, conf or ())
    asked = Asked(master, settings_of(conf or ()))
    given = None if known is None else read_known(known)
    ensure()
    # A copy of standard error, which goes on while Spark's JVM is started without it.
    progress = Terminal(markup=True, file=os.fdopen(os.dup(2), "w"))
    places = [place(run) for run in runs or ()]
    store_uri = store if store is not None and isinstance(place(store), str) else None
    needs_spark = any([*map(_has_runs, places), store_uri is not None])
    with ThreadPoolExecutor(1) as threads:
        threads.submit(import_module, _REST)
        spark: SparkContext | None = None
        if is_early:
            spark, places = ready_for_folder()
        with naming_runs(places), PhaseProgress(progress) as phases:
            if spark is None and needs_spark:
                phases.phase("starting Spark")
                spark = asked.open()
            if store_uri is not None:
                _require_reachable(store_uri)
            from analysis.results import judge  # noqa: PLC0415 - while Spark's JVM starts

            results = judge(places, spark, asked.at_once, progress, phases)
    problem = None
    if results.nights:
        # Their pages have what the store says of all nights, and are written without it, too.
        problem = results.keep(store)
        results.write_nights(store, given)
    results.publish()
    if as_json:
        typer.echo(results.as_json())
    else:
        results.show(Terminal(markup=True), is_verbose=is_verbose)
    if not results.nights:
        problem = results.keep(store)
    if results.spark is not None:
        close_spark(results.spark)
    if problem is not None:
        raise problem
    raise typer.Exit(results.exit_code)


@contextmanager
def naming_runs(runs: Iterable[Path | str]) -> Iterator[None]:
    """Let errors in the block say how the runs are judged.

    Raises:
        AnalysisError: with that.
        StorageError: with that.
    """
    try:
        yield
    except (AnalysisError, StorageError) as error:
        raise type(error)(f"{error}; {not_judged(runs)}") from error


@dataclass(frozen=True)
class Asked:
    """How Spark was asked for: by its master, None for this machine, and settings."""

    master: str | None
    settings: Mapping[str, str]

    def open(self) -> SparkContext:
        """Open Spark.

        Raises:
            UsageError: it does not start here with the user's settings.
            AnalysisError: it does not start for another reason.
        """
        try:
            return open_spark(self.master, settings=self.settings)
        except AnalysisError as error:
            if not self.settings or not is_local(self.master):
                raise
            given = " ".join(f"--conf {key}={value}" for key, value in self.settings.items())
            raise UsageError(f"{given}: {error}") from error

    @property
    def at_once(self) -> int | None:
        """The tasks of an executor at a time, 0 if its cores are not given; None: here."""
        if self.master is None:
            return None
        cores = int(self.settings.get("spark.executor.cores", 0))
        return cores // int(self.settings.get("spark.task.cpus", 1))


def _has_runs(at: Path | str) -> bool:
    """Whether there is anything to judge; of a URI Spark will know.

    Raises:
        RunFolderError: a folder, which is not that of a night, has no run.
    """
    return isinstance(at, str) or (
        has_runs(at) if read_night(at) is not None else bool(find_runs(at))
    )


def _require_reachable(store: str) -> None:
    """Check that Spark can reach the URI of a store, which may be missing yet.

    Raises:
        UsageError: it can't.
    """
    try:
        next(HadoopFolder(store).files(), None)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"--store {store} can't be reached: {error}") from error
