"""`fencepost nightly`: a suite of runs, judged together, that can be killed and continued."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from cluster.nodes.pool import PoolKind
from contract.builds import Choice
from contract.errors import InterruptError
from contract.nights import NightSummary, Outcome, PlannedRun
from contract.terminal import Terminal
from contract.uris import local_folder
from contract.verdicts import RunVerdict
from harness.commands.builds import ClientJars, ClientVersion, KafkaDir, choice_of, fetched
from harness.commands.judging import EarlyAnalysis, count_stories, options_of
from harness.commands.nights import carry_out, judged
from harness.commands.outputs import AsJson, Cluster, Verbose
from harness.commands.requirements import DEFAULT_KAFKA, require_runs, require_seed
from harness.nightly.plan import choice_of as planned_choice
from harness.nightly.state import HeldNight, Wanted, hold_night
from harness.nightly.suite import find_suite
from harness.session.catalog import find_scenarios, scenarios

DEFAULT_SUITE = "smoke"
NIGHTS = "nightly"
EXIT_CODES = {RunVerdict.PASS: 0, RunVerdict.FAIL: 1, RunVerdict.UNDECIDED: 2}

_console = Terminal(stderr=True)


def nightly(  # noqa: PLR0913 - the options of a command
    suite: Annotated[
        str, typer.Option(help="Name of a suite in scenarios/suites, or path of a .yml file.")
    ] = DEFAULT_SUITE,
    cluster: Cluster = PoolKind.EMBEDDED,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of the whole night; drawn and printed if not given.", min=0),
    ] = None,
    results: Annotated[
        Path,
        typer.Option(
            help="Results folder; nights are below its `nightly/`.",
            parser=local_folder,
            metavar="FOLDER",
        ),
    ] = Path("results"),
    fresh: Annotated[  # noqa: FBT002 - Typer's way to a flag
        bool, typer.Option("--fresh", help="Start a new night, even if one is unfinished.")
    ] = False,
    *,
    kafka_dir: KafkaDir = None,
    client_version: ClientVersion = None,
    client_jars: ClientJars = None,
    is_verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Run a suite, judge all its runs in one Spark, and report changes since the last night.

    After a kill, the same command continues the newest unfinished night of this suite and pool.
    Finished runs are kept; the interrupted run starts again. Exits with 0 if all is as the suite
    expects, 1 if a run failed (or a canary passed), else 2.

    With --kafka-dir every entry of the suite runs on that build, instead of its Kafka versions; the
    options of Java clients apply to entries that do not name their own.
    """
    require_seed(seed)
    given = choice_of(None, kafka_dir, client_version, client_jars)
    wanted = Wanted(
        suite=find_suite(suite),
        cluster=cluster.value,
        seed=seed,
        default_kafka=DEFAULT_KAFKA,
        command=shlex.join(sys.argv),
        given=given,
    )
    results = require_runs(results, cluster)
    for run in wanted.plan(0):
        fetched(planned_choice(run), find_scenarios([run.scenario]))
    with hold_night(results / NIGHTS, wanted, is_fresh=fresh) as night:
        _introduce(night)
        try:
            stories = _stories(night.remaining)
            options = options_of(is_verbose=is_verbose, as_json=as_json, results=results)
            with EarlyAnalysis(stories=stories, options=options) as analysis:
                carry_out(night, results, _console, on_phase=analysis.phase)
                again = "judge them, or --fresh for a new night"
                summary = judged(night, analysis.judge, again=again)
        except (KeyboardInterrupt, InterruptError):
            left = len(night.remaining)
            state = f"{len(night.state.runs) - left} runs are done and kept, {left} are left"
            again = _again(suite, cluster, results, given)
            raise InterruptError(f"{state}; the night is not judged. Continue: {again}") from None
        night.finish()
    if not as_json:
        _conclude(summary, night.path)
    raise typer.Exit(EXIT_CODES[summary.verdict])


def _stories(runs: list[PlannedRun]) -> int:
    known = {scenario.name: scenario for scenario in scenarios()}
    return sum(count_stories([known[run.scenario]], run.parameters) for run in runs)


def _introduce(night: HeldNight) -> None:
    state = night.state
    count, left = len(state.runs), len(night.remaining)
    way = "continues" if left < count else "begins"
    for line in (
        f"night {night.path.name} {way}: {left} of {count} runs to do, {state.cluster}",
        f"night seed {state.seed}: {state.description}",
    ):
        _print(line, style="dim")


def _conclude(summary: NightSummary, path: Path) -> None:
    counts = {
        outcome: sum(run.outcome is outcome for run in summary.runs)
        for outcome in (Outcome.EXPECTED, Outcome.UNEXPECTED, Outcome.UNDECIDED)
    }
    shown = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    since = "no earlier night to compare with"
    if summary.compared_with is not None:
        since = f"changes since {summary.compared_with}: {len(summary.changes)}"
    out = Terminal()
    for line in (
        f"{summary.verdict} {path.name}: {shown}; {since}",
        f"report: {path / 'report' / 'index.html'}",
    ):
        out.print(Text(line), soft_wrap=True)


def _again(suite: str, cluster: PoolKind, results: Path, given: Choice) -> str:
    words = ["fencepost", "nightly", "--suite", suite, "--cluster", cluster.value]
    named = given.words() if given.kafka_dir else given.words()[2:]
    return shlex.join([*words, *named, "--results", str(results)])


def _print(line: str, *, style: str) -> None:
    _console.print(Text(line), style=style, soft_wrap=True)
