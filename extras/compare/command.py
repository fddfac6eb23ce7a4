"""`fencepost compare`: a night of two builds, whose verdicts are compared."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from cluster.kafka.own_jars import resolve
from cluster.nodes.pool import PoolKind
from cluster.nodes.tether import tether_command
from contract.errors import InterruptError, UsageError
from contract.packages import python
from contract.processes import run_child
from contract.program import Terminal
from extras.compare.builds import PAIRS_MIN, WantedComparison, parse_build, suite_of
from extras.compare.comparison import EXIT_CODES, Side, write_comparison
from harness.commands.judging import options_of
from harness.commands.nightly import carry_out, introduce, judge_below, judge_runs, progress_line
from harness.commands.options import (
    RESULTS,
    AsJson,
    Cluster,
    fetch_build,
    folder_option,
    seed_option,
)
from harness.commands.requirements import (
    DEFAULT_KAFKA,
    parameters_of,
    require_kafka,
    require_runs,
    require_seed,
)
from harness.invocation import command_line
from harness.nightly.state import hold_night
from harness.session.catalog import find_scenarios

_console = Terminal(stderr=True)
COMPARISONS = "compare"
_HELP_OF_BUILD = (
    "A build: kafka=VERSION or kafka-dir=FOLDER for the brokers, client=VERSION and "
    "client-jars=PATH for the Java clients, joined by commas."
)


def compare(  # noqa: PLR0913 - the options of a command
    a: Annotated[str, typer.Argument(help=_HELP_OF_BUILD, metavar="A")],
    b: Annotated[str, typer.Argument(help="The other build.", metavar="B")],
    *,
    scenario: Annotated[
        str,
        typer.Option(
            help="The scenario, by name or by the path of its file; see `fencepost list`."
        ),
    ],
    runs: Annotated[
        int,
        typer.Option(
            help=f"Runs of each build, at least {PAIRS_MIN}: fewer can't show a difference.",
            min=1,
            max=50,
        ),
    ],
    parameters: Annotated[
        str | None,
        typer.Option(
            help="Parameters of the scenario, as JSON; all that it declares if not given."
        ),
    ] = None,
    cluster: Cluster = PoolKind.EMBEDDED,
    seed: Annotated[int | None, seed_option("all runs")] = None,
    results: Annotated[
        Path, folder_option("Results folder; comparisons are below its `compare/`.")
    ] = RESULTS,
    is_fresh: Annotated[
        bool, typer.Option("--fresh", help="Start a new one, even if one is unfinished.")
    ] = False,
    is_verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print every cell that varies.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run the same story on two builds, and report which distributions differ.

    The runs are interleaved (A B, B A, ...), and both of a pair have the same seed. After a kill or
    an interrupt the same command continues; finished runs are kept.

    Exit codes: 0 no difference found, 1 the builds differ, 2 undecided: for any difference to be
    found, too few stories were judged, or the builds vary too much by themselves. With 0 the output
    has the difference that would have been found with probability 0.8.
    """
    require_seed(seed)
    if runs < PAIRS_MIN:
        raise UsageError(
            f"--runs {runs}: a comparison needs {PAIRS_MIN} runs of each build or more. With "
            "fewer, even if all of one differ from all of the other, that may be chance"
        )
    given = parameters_of(parameters)
    (chosen,) = find_scenarios([scenario])
    chosen.require(given)
    choices = {
        side: parse_build(text, default_kafka=DEFAULT_KAFKA)
        for side, text in ((Side.A, a), (Side.B, b))
    }
    for choice in choices.values():
        for key, version in (("kafka", choice.kafka), ("client", choice.client_version)):
            if version:
                require_kafka(version, option=f"{key}=VERSION")
    scenario = chosen.named
    results = require_runs(results, cluster)
    for choice in choices.values():
        resolve(choice)
    builds = {side: fetch_build(choice, cluster, [chosen]) for side, choice in choices.items()}
    wanted = WantedComparison(
        suite=suite_of(scenario, given, builds, runs),
        cluster=cluster.value,
        seed=seed,
        default_kafka=DEFAULT_KAFKA,
        command=command_line(),
        builds=builds,
        scenario=scenario,
        parameters=given,
        pairs=runs,
    )
    with hold_night(results / COMPARISONS, wanted, is_fresh=is_fresh) as night:
        introduce(night, what="comparison", seed="seed")
        write_comparison(night.path, wanted.describe(night.state.runs))
        try:
            carry_out(night, results, _console, on_phase=lambda _: None)
            judge_runs(night, partial(judge_below, results), again="judge and compare them")
        except (KeyboardInterrupt, InterruptError):
            raise InterruptError(
                f"{progress_line(night)}; nothing was compared. The same command continues"
            ) from None
        code = _compare(night.path, is_verbose=is_verbose, as_json=as_json)
        if code in EXIT_CODES.values():
            night.finish()
    if not as_json:
        Terminal().print(Text(f"report: {night.path / 'report' / 'compare.html'}"), soft_wrap=True)
    raise typer.Exit(code)


def _compare(path: Path, *, is_verbose: bool, as_json: bool) -> int:
    options = options_of(is_verbose=is_verbose, as_json=as_json)
    command = python("extras.compare", *options, "--", str(path))
    return run_child(tether_command(command), what="the comparison")
