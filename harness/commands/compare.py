"""`fencepost compare`: the same story on two builds, and whether they differ."""

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from cluster.kafka.own_jars import resolve
from cluster.nodes.pool import PoolKind
from cluster.nodes.tether import tethered
from contract.child import run_child
from contract.comparisons import EXIT_CODES, Side, write_comparison
from contract.errors import InterruptError
from contract.python import python
from contract.terminal import Terminal
from contract.uris import local_folder
from harness.commands.builds import fetched
from harness.commands.judging import analyse_in_own_process, options_of
from harness.commands.nights import carry_out, judged
from harness.commands.outputs import AsJson, Cluster
from harness.commands.requirements import (
    DEFAULT_KAFKA,
    parameters_of,
    require_kafka,
    require_runs,
    require_seed,
)
from harness.nightly.comparison import WantedComparison, parse_build, suite_of
from harness.nightly.state import HeldNight, hold_night
from harness.session.catalog import find_scenarios

COMPARISONS = "compare"
_HELP_OF_BUILD = (
    "A build: kafka=VERSION or kafka-dir=FOLDER for the brokers, client=VERSION and "
    "client-jars=PATH for the Java clients, joined by commas."
)

_console = Terminal(stderr=True)


def compare(  # noqa: PLR0913 - the options of a command
    a: Annotated[str, typer.Argument(help=_HELP_OF_BUILD, metavar="A")],
    b: Annotated[str, typer.Argument(help="The other build.", metavar="B")],
    *,
    scenario: Annotated[str, typer.Option(help="The scenario; see `fencepost list`.")],
    runs: Annotated[
        int,
        typer.Option(
            help="Runs of each build. With fewer than 4, no difference can be found.",
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
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of all runs; drawn and printed if not given.", min=0),
    ] = None,
    results: Annotated[
        Path,
        typer.Option(
            help="Results folder; comparisons are below its `compare/`.",
            parser=local_folder,
            metavar="FOLDER",
        ),
    ] = Path("results"),
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
    results = require_runs(results, cluster)
    for choice in choices.values():
        resolve(choice)
    builds = {side: fetched(choice) for side, choice in choices.items()}
    wanted = WantedComparison(
        suite=suite_of(scenario, given, builds, runs),
        cluster=cluster.value,
        seed=seed,
        default_kafka=DEFAULT_KAFKA,
        command=shlex.join(sys.argv),
        builds=builds,
        scenario=scenario,
        parameters=given,
        pairs=runs,
    )
    with hold_night(results / COMPARISONS, wanted, is_fresh=is_fresh) as night:
        _introduce(night)
        write_comparison(night.path, wanted.described(night.state.runs))
        try:
            carry_out(night, results, _console, on_phase=lambda _: None)
            judged(night, partial(_judge, results), again="judge and compare them")
        except (KeyboardInterrupt, InterruptError):
            left = len(night.remaining)
            raise InterruptError(
                f"{len(night.state.runs) - left} runs are done and kept, {left} are left; nothing "
                "was compared. The same command continues"
            ) from None
        code = _compare(night.path, is_verbose=is_verbose, as_json=as_json)
        if code in EXIT_CODES.values():
            night.finish()
    if not as_json:
        Terminal().print(Text(f"report: {night.path / 'report' / 'compare.html'}"), soft_wrap=True)
    raise typer.Exit(code)


def _judge(results: Path, folder: Path) -> int:
    return analyse_in_own_process([folder], options=options_of(results=results), quiet=True)


def _compare(path: Path, *, is_verbose: bool, as_json: bool) -> int:
    options = options_of(is_verbose=is_verbose, as_json=as_json)
    command = python("analysis.comparison", *options, "--", str(path))
    return run_child(tethered(command), what="the comparison")


def _introduce(night: HeldNight) -> None:
    count, left = len(night.state.runs), len(night.remaining)
    way = "continues" if left < count else "begins"
    for line in (
        f"comparison {night.path.name} {way}: {left} of {count} runs to do, {night.state.cluster}",
        f"seed {night.state.seed}: {night.state.description}",
    ):
        _console.print(Text(line), style="dim", soft_wrap=True)
