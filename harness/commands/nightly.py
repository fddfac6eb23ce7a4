"""`fencepost nightly`: runs, judged together, that can be killed and continued."""

import math
import shlex
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from cluster.nodes.pool import PoolKind
from contract.errors import AnalysisError, InterruptError, UsageError
from contract.nights import (
    SUMMARY_FILE,
    NightSummary,
    Outcome,
    PlannedRun,
    known_beside,
    read_summary,
)
from contract.program import Terminal, say
from contract.software import Choice
from contract.verdicts import EXIT_CODES
from harness.commands.judging import (
    EarlyAnalysis,
    analyse_in_own_process,
    count_stories,
    options_of,
)
from harness.commands.options import (
    RESULTS,
    AsJson,
    ClientJars,
    ClientVersion,
    Cluster,
    KafkaDir,
    KnownFindings,
    Scenarios,
    Verbose,
    choice_of,
    fetch_build,
    folder_option,
    seed_option,
)
from harness.commands.requirements import (
    DEFAULT_KAFKA,
    require_runs,
    require_seed,
)
from harness.invocation import command_line, session_of
from harness.nightly.delivery import require_command, run_on_end
from harness.nightly.room import GIGABYTE, Budget, default_budget
from harness.nightly.run import (
    Ended,
    NightProgress,
    duration,
    execute_in_ducktape,
    run_remaining,
)
from harness.nightly.state import HeldNight, Wanted, earlier_runs, hold_night
from harness.nightly.suite import choice_of as planned_choice
from harness.nightly.suite import find_suite
from harness.session.catalog import find_scenarios

DEFAULT_SUITE = "smoke"
NIGHTS = "nightly"
HOURS_MAX = 168

_console = Terminal(stderr=True)


def nightly(  # noqa: PLR0913 - the options of a command
    suite: Annotated[
        str, typer.Option(help="Name of a suite in scenarios/suites, or path of a .yml file.")
    ] = DEFAULT_SUITE,
    cluster: Cluster = PoolKind.EMBEDDED,
    seed: Annotated[int | None, seed_option("the whole night")] = None,
    results: Annotated[
        Path, folder_option("Results folder; nights are below its `nightly/`.")
    ] = RESULTS,
    scenarios: Scenarios = None,
    fresh: Annotated[  # noqa: FBT002 - Typer's way to a flag
        bool, typer.Option("--fresh", help="Start a new night, even if one is unfinished.")
    ] = False,
    *,
    hours: Annotated[
        float | None,
        typer.Option(
            help="How long runs may begin: first a canary and a baseline, then the suite, then "
            "random plans until the time is used. Without it the suite runs once."
        ),
    ] = None,
    disk: Annotated[
        float | None,
        typer.Option(
            metavar="GB",
            help="How much the night may take on its disk, by default half of what is free. Then "
            "the raw data of expected runs are removed, the oldest first.",
        ),
    ] = None,
    on_end: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="A command of the shell that gets the summary of the judged night as JSON on "
            "standard input.",
        ),
    ] = None,
    kafka_dir: KafkaDir = None,
    client_version: ClientVersion = None,
    client_jars: ClientJars = None,
    known: KnownFindings = None,
    is_verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Run a suite, judge all its runs in one Spark, and report changes since the last night.

    With --hours a run begins only if its estimated time is left: the mean of earlier runs of its
    kind, or two minutes. What of the suite never ran for lack of time is named, and leaves the
    night undecided.

    After a kill, the same command continues the newest unfinished night of this suite and pool.
    Finished runs are kept; the interrupted run starts again. Exits with 0 if all is as the suite
    expects, 1 if a run failed (or a canary passed), else 2.

    What --on-end does changes no verdict: if it fails, that is said.

    With --kafka-dir every entry of the suite runs on that build, instead of its Kafka versions; the
    options of Java clients apply to entries that do not name their own.
    """
    require_seed(seed)
    _require_hours(hours)
    if disk is not None and not 0 < disk < math.inf:
        raise UsageError(f"--disk takes a number of gigabytes above 0, not {disk:g}")
    if on_end is not None:
        require_command(on_end)
    given = choice_of(None, kafka_dir, client_version, client_jars)
    wanted = Wanted(
        suite=find_suite(suite, scenarios),
        cluster=cluster.value,
        seed=seed,
        default_kafka=DEFAULT_KAFKA,
        command=command_line(),
        given=given,
        hours=hours,
    )
    results = require_runs(results, cluster)
    known_beside(results)
    options = options_of(is_verbose=is_verbose, as_json=as_json, results=results, known=known)
    for run in wanted.all_builds():
        fetch_build(planned_choice(run), cluster, find_scenarios([run.scenario]))
    with hold_night(results / NIGHTS, wanted, is_fresh=fresh) as night:
        introduce(night, what="night", seed="night seed")
        try:
            # Of a night of some hours the last story is not known before it has ended.
            stories = _stories(night.remaining) if hours is None else sys.maxsize
            with EarlyAnalysis(stories=stories, options=options) as analysis:
                further = wanted.further(night.state.seed)
                carry_out(
                    night,
                    results,
                    _console,
                    on_phase=analysis.phase,
                    further=further,
                    make_room=_budget(night, disk, results).make_room,
                )
                again = "judge them, or --fresh for a new night"
                summary = judge_runs(night, analysis.judge, again=again)
        except (KeyboardInterrupt, InterruptError):
            again = _again(suite, cluster, results, given, scenarios, hours, disk)
            raise InterruptError(
                f"{progress_line(night)}; the night is not judged. Continue: {again}"
            ) from None
        night.finish()
    if not as_json:
        _conclude(summary, night.path)
    if on_end is not None and (problem := run_on_end(on_end, night.path)) is not None:
        say(problem)
    raise typer.Exit(EXIT_CODES[summary.verdict])


def _require_hours(hours: float | None) -> None:
    """Check how long a night may last.

    Raises:
        UsageError: it is no time, or a longer one than a night has.
    """
    if hours is not None and not 0 < hours <= HOURS_MAX:
        raise UsageError(f"--hours takes a number above 0, and at most {HOURS_MAX}, not {hours:g}")


def _stories(runs: list[PlannedRun]) -> int:
    return sum(count_stories(find_scenarios([run.scenario]), run.parameters) for run in runs)


def introduce(night: HeldNight, *, what: str, seed: str) -> None:
    """Print what begins or continues, and its seed."""
    state = night.state
    count, left = len(state.runs), len(night.remaining)
    way = "continues" if left < count else "begins"
    then = ""
    if state.hours is not None:
        then = f"; then random plans, {duration(night.left_seconds)} are left in all"
    for line in (
        f"{what} {night.path.name} {way}: {left} of {count} runs to do, {state.cluster}{then}",
        f"{seed} {state.seed}: {state.description}",
    ):
        _console.print(Text(line), style="dim", soft_wrap=True)


def progress_line(night: HeldNight) -> str:
    """Say how many runs are done and left."""
    left = len(night.remaining)
    return f"{len(night.state.runs) - left} runs are done and kept, {left} are left"


def _conclude(summary: NightSummary, path: Path) -> None:
    counts = {outcome: sum(run.outcome is outcome for run in summary.runs) for outcome in Outcome}
    shown = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    since = "no earlier night to compare with"
    if summary.compared_with is not None:
        since = f"changes since {summary.compared_with}: {len(summary.changes)}"
    out = Terminal()
    for line in (
        *([summary.stopped] if summary.stopped else []),
        f"{summary.verdict} {path.name}: {shown}; {since}",
        f"report: {path / 'report' / 'index.html'}",
    ):
        out.print(Text(line), soft_wrap=True)


def _again(
    suite: str,
    cluster: PoolKind,
    results: Path,
    given: Choice,
    scenarios: Path | None,
    hours: float | None,
    disk: float | None,
) -> str:
    words = ["fencepost", "nightly", "--suite", suite, "--cluster", cluster.value]
    words += [] if hours is None else ["--hours", f"{hours:g}"]
    words += [] if disk is None else ["--disk", f"{disk:g}"]
    words += [] if scenarios is None else ["--scenarios", str(scenarios)]
    named = given.words() if given.kafka_dir else given.words()[2:]
    return shlex.join([*words, *named, "--results", str(results)])


def carry_out(
    night: HeldNight,
    results: Path,
    console: Console,
    *,
    on_phase: Callable[[str], None],
    further: Iterable[PlannedRun] = (),
    make_room: Callable[[], str | None] = lambda: None,
) -> None:
    """Carry out the remaining runs and those that follow them, and show the progress."""
    if not night.remaining and night.state.hours is None:
        return
    session = session_of(seed=night.state.seed, kafka=DEFAULT_KAFKA, cluster=night.state.cluster)
    earlier = earlier_runs(night.path.parent, night.state)
    with NightProgress(console, night.state.runs, earlier) as progress:

        def phase(name: str) -> None:
            night.count_time()
            progress.phase(name)
            on_phase(name)

        def execute(run: PlannedRun, folder: Path) -> Ended:
            return execute_in_ducktape(
                run, folder, results=results, session=session, on_phase=phase
            )

        run_remaining(
            night,
            execute,
            on_start=progress.start,
            on_end=progress.end,
            further=further,
            earlier=earlier,
            make_room=make_room,
        )


def _budget(night: HeldNight, disk: float | None, results: Path) -> Budget:
    """Return what a night may take on its disk."""

    def judge() -> NightSummary | None:
        with suppress(AnalysisError):
            judge_below(results, night.path)
        return read_summary(night.path)

    most = default_budget(night.path) if disk is None else int(disk * GIGABYTE)
    return Budget(night.path, most, judge)


def judge_runs(night: HeldNight, judge: Callable[[Path], int], *, again: str) -> NightSummary:
    """Judge all runs in one process.

    Args:
        night: whose runs have ended.
        judge: writes the summary of a night's folder; returns its exit status.
        again: what the same command does if it is started again.

    Raises:
        AnalysisError: there is no summary; the runs are kept.
    """
    file = night.path / "report" / SUMMARY_FILE
    earlier = _identity_of(file)
    try:
        how = f"the analysis ended with status {judge(night.path)}"
    except AnalysisError as error:
        how = str(error)
    summary = read_summary(night.path)
    if summary is None or _identity_of(file) == earlier:
        raise AnalysisError(
            f"{how}, and there is no summary of {night.path}. All runs are done and kept: start "
            f"the same command again to {again}"
        )
    return summary


def _identity_of(file: Path) -> tuple[int, int] | None:
    """What distinguishes a file from one that is put in its place; None if there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def judge_below(results: Path, folder: Path) -> int:
    """Judge a night in a process of its own, without printing; returns its exit status."""
    return analyse_in_own_process([folder], options=options_of(results=results), quiet=True)
