"""`fencepost random`, `replay` and `shrink`: plans of the scenario random."""

import shlex
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from analysis.report.words import wilson
from cluster.nodes.pool import PoolKind
from cluster.nodes.tether import tether_command
from contract.errors import InterruptError, UsageError, lacking
from contract.files import as_word, local_folder, replace_file, replacing
from contract.nights import write_atomically
from contract.packages import python
from contract.processes import run_child
from contract.program import PhaseProgress, Terminal, as_line
from contract.run_folder import STORE_FOLDER, GroupPlan, ProducerPlan, new_seed
from contract.software import Build, Choice, clients_of, without_version
from contract.terms import Check
from contract.verdicts import EXIT_CODES, RunVerdict
from extras.plans.draw import draw
from extras.plans.plan import PLAN_FILE, RandomPlan, plan_as_json, read_plan
from extras.plans.series import SCENARIO, Carried, Found, Series
from extras.plans.shrink import actions_of, smallest
from extras.plans.trials import Finding, Rule, Trial, Trials, name_of_plan, state_of
from harness.commands.options import (
    RESULTS,
    AsJson,
    ClientJars,
    Clients,
    ClientVersion,
    Cluster,
    Kafka,
    KafkaDir,
    Results,
    choice_of,
    fetch_build,
    seed_option,
)
from harness.commands.requirements import require_runs, require_seed, require_writable
from harness.invocation import session_of
from harness.nightly.run import duration
from harness.nightly.state import new_folder
from harness.session.catalog import find_scenarios
from harness.session.series import Judge, seeds
from harness.story.soundness import require_sound_load

PLANS_DEFAULT, PLANS_MAX = 10, 10_000
SUMMARY_FILE = "series.json"
SMALLEST_FILE, SLICE_FILE = "smallest.json", "slice.txt"
_console = Terminal(stderr=True)
PlanFile = Annotated[
    Path,
    typer.Argument(
        help="A plan: the `random.json` of a run, of a series or of a search.",
        parser=local_folder,
        metavar="PLAN",
    ),
]


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """A plan of a series, and its run; `plan` is its file."""

    seed: int
    plan: str
    run: Carried


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """`series.json`: the runs of a series so far."""

    seed: int
    plans: list[Planned]


def random(  # noqa: PLR0913 - the options of a command
    seed: Annotated[int | None, seed_option("the series")] = None,
    plans: Annotated[
        int | None,
        typer.Option(help="How many plans.", min=1, max=PLANS_MAX, show_default=str(PLANS_DEFAULT)),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(help="Instead: no plan is begun after this number of minutes.", min=0),
    ] = None,
    cluster: Cluster = PoolKind.EMBEDDED,
    kafka: Kafka = None,
    results: Results = RESULTS,
    *,
    kafka_dir: KafkaDir = None,
    client_version: ClientVersion = None,
    client_jars: ClientJars = None,
    clients: Clients = None,
    is_dry: Annotated[
        bool, typer.Option("--dry-run", help="Write the plans only; no cluster is started.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Draw plans from a seed, carry out one after the other, and judge each at once.

    The same seed and release give the same plans, byte for byte. A plan that fails, or whose run
    ends with an error, does not end the series. Exits 0 if all pass, 1 if one fails, else 2.
    """
    require_seed(seed)
    if plans is not None and minutes is not None:
        raise UsageError("--plans and --minutes both end the series: give one")
    if is_dry and minutes is not None:
        raise UsageError("--dry-run takes no time: give --plans")
    choice = choice_of(kafka, kafka_dir, client_version, client_jars, clients)
    first = new_seed() if seed is None else seed
    drawn = islice(seeds(first), None if minutes is not None else plans or PLANS_DEFAULT)
    if is_dry:
        results = require_writable(results)
        build = fetch_build(choice, cluster)
        _write_plans(
            [_drawn(random_plan, build) for random_plan in drawn], results, as_json=as_json
        )
        return
    summary = Summary(seed=first, plans=[])
    with _series(choice, cluster, results, first, "random") as (series, build):
        _console.print(
            f"seed {first}, Kafka {build.kafka}, {cluster.value}", style="dim", soft_wrap=True
        )
        ends = None if minutes is None else time.monotonic() + 60 * minutes
        for number, random_plan in enumerate(drawn, start=1):
            if ends is not None and time.monotonic() >= ends:
                break
            plan = _drawn(random_plan, build)
            name = f"{number:03}-{random_plan}"
            run = series.carry_out(plan, name)
            _console.print(
                f"{number} seed {random_plan}: {_in_words(run)}", soft_wrap=True, highlight=False
            )
            planned = Planned(seed=random_plan, plan=str(series.home / name / PLAN_FILE), run=run)
            summary = msgspec.structs.replace(summary, plans=[*summary.plans, planned])
            write_atomically(series.home / SUMMARY_FILE, summary)
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(summary), indent=2))
    else:
        _conclude(summary, series.home, _options(choice, cluster, results))
    raise typer.Exit(_exit_code([row.run for row in summary.plans]))


def replay(  # noqa: PLR0913 - the options of a command
    plan: PlanFile,
    times: Annotated[int, typer.Option(help="How many times.", min=1, max=1000)] = 1,
    cluster: Cluster = PoolKind.EMBEDDED,
    kafka: Kafka = None,
    results: Results = RESULTS,
    *,
    kafka_dir: KafkaDir = None,
    client_version: ClientVersion = None,
    client_jars: ClientJars = None,
    clients: Clients = None,
    as_json: AsJson = False,
) -> None:
    """Carry out a plan again, and count how often each finding comes back.

    The steps and states are the same; when each comes depends on the cluster. Runs that were not
    decided are left out of the shares. Exits 1 if a finding came back, 0 if none did, 2 if no run
    was decided.
    """
    wanted = read_plan(plan.absolute())
    choice = choice_of(kafka, kafka_dir, client_version, client_jars, clients)
    runs: list[Carried] = []
    with _series(choice, cluster, results, wanted, "replay") as (series, _):
        for number in range(1, times + 1):
            runs.append(series.carry_out(wanted, f"{number:03}"))
            _console.print(
                f"{number}/{times}: {_in_words(runs[-1])}", soft_wrap=True, highlight=False
            )
            write_atomically(series.home / SUMMARY_FILE, runs)
    counted = counts(runs)
    if as_json:
        rows = [
            {**msgspec.to_builtins(found), "runs": count, "of": of, "interval": wilson(count, of)}
            for found, (count, of) in counted.items()
        ]
        typer.echo(msgspec.json.format(msgspec.json.encode({"findings": rows, "runs": runs})))
    else:
        for line in lines_of(counted, runs):
            Terminal().print(line, soft_wrap=True, highlight=False, markup=False)
    decided = [run for run in runs if run.verdict is not RunVerdict.UNDECIDED]
    raise typer.Exit(1 if counted else 0 if decided else 2)


def shrink(  # noqa: PLR0913 - the options of a command
    plan: PlanFile,
    finding: Annotated[
        str,
        typer.Option(
            metavar="CHECK[:GROUP]", help="What has to come back: violations of a check, of a group"
        ),
    ],
    shown: Annotated[int, typer.Option(help="The number of runs that have to show it.", min=1)] = 1,
    runs: Annotated[int, typer.Option(help="The most runs of a plan.", min=1, max=100)] = 3,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the search; by default one of the plan and finding, in the results.",
            parser=local_folder,
            metavar="FOLDER",
        ),
    ] = None,
    cluster: Cluster = PoolKind.EMBEDDED,
    kafka: Kafka = None,
    results: Results = RESULTS,
    kafka_dir: KafkaDir = None,
    client_version: ClientVersion = None,
    client_jars: ClientJars = None,
    clients: Clients = None,
) -> None:
    """Search the smallest plan that still shows a finding, by delta debugging.

    A smaller plan is taken when at least --shown of at most --runs runs show the finding. All plans
    that were tried are kept with their counts; after a kill the same command continues. Exits 0
    with the smallest plan, 2 if the plan itself does not show the finding.
    """
    wanted = read_plan(plan.absolute())
    sought = finding_of(finding, wanted)
    if shown > runs:
        raise UsageError(f"--shown {shown} of --runs {runs}: it can be at most all of them")
    choice = choice_of(kafka, kafka_dir, client_version, client_jars, clients)
    home = (
        out or results / "shrink" / f"{name_of_plan(wanted)}-{finding.replace(':', '-')}"
    ).absolute()
    state = state_of(home, wanted, sought, Rule(shown=shown, runs=runs))
    with _series(choice, cluster, results, wanted, home) as (series, _):
        trials = Trials(home, state, series.carry_out, _say_trial)
        if not trials.shows(wanted):
            _console.print(
                f"{finding} did not come back: {_count_runs(trials, wanted)}. Replay the plan more "
                "often, with a larger --runs",
                soft_wrap=True,
                highlight=False,
            )
            raise typer.Exit(2)
        found = smallest(wanted, trials.shows)
    _show_smallest(trials, found, _options(choice, cluster, results))


def finding_of(text: str, plan: RandomPlan) -> Finding:
    """The finding that CHECK or CHECK:GROUP names.

    Raises:
        UsageError: there is no such check, or the plan has no such group.
    """
    check, _, group = text.partition(":")
    if check not in set(Check):
        raise UsageError(f"--finding {text}: {lacking('check', check, Check)}")
    groups = [planned.group for planned in plan.groups]
    if group and group not in groups:
        raise UsageError(f"--finding {text}: {lacking('group', group, groups)}")
    return Finding(check=check, group=group)


def counts(runs: list[Carried]) -> dict[Found, tuple[int, int]]:
    """How many of the runs that were decided have each finding."""
    decided = [run for run in runs if run.verdict is not RunVerdict.UNDECIDED]
    found = Counter(finding for run in decided for finding in run.found)
    return {finding: (count, len(decided)) for finding, count in sorted(found.items())}


def lines_of(counted: dict[Found, tuple[int, int]], runs: list[Carried]) -> Iterator[str]:
    """What `replay` prints of its runs."""
    for found, (count, of) in counted.items():
        low, high = wilson(count, of)
        client = f", {found.client}" if found.client else ""
        yield f"{found}{client}: {count} of {of} runs (95 %: {low:.0%} to {high:.0%})"
    decided = sum(run.verdict is not RunVerdict.UNDECIDED for run in runs)
    if not counted and decided:
        yield f"no finding in {decided} runs (95 %: 0% to {wilson(0, decided)[1]:.0%})"
    if left := len(runs) - decided:
        yield f"{left} of {len(runs)} runs were not decided"


@contextmanager
def _series(
    choice: Choice, cluster: PoolKind, results: Path, of: RandomPlan | int, home: Path | str
) -> Iterator[tuple[Series, Build]]:
    """Where a plan, or those of a seed, are carried out: in a new folder of a name, or in `home`.

    Raises:
        UsageError: the plan can't be carried out on this build.
        InterruptError: it was interrupted; says what is kept.
    """
    results = require_runs(results, cluster)
    build = fetch_build(choice, cluster, find_scenarios([SCENARIO]))
    if isinstance(of, RandomPlan):
        loads: list[ProducerPlan | GroupPlan] = [of.producer, *of.groups]
        for load in loads:
            require_sound_load(load, [of.topic.topic], build)
        named = {client for load in loads for client in _clients_of(load)}
        if unused := [client for client in choice.clients if without_version(client) not in named]:
            raise UsageError(
                f"--clients {','.join(unused)}: no group or producer of the plan has this client "
                f"without a version; its clients are {', '.join(sorted(named))}"
            )
    seed = of.seed if isinstance(of, RandomPlan) else of
    folder = new_folder(results, home) if isinstance(home, str) else home
    folder.mkdir(parents=True, exist_ok=True)
    session = session_of(seed=seed, kafka=build.kafka, cluster=cluster.value, build=build)
    try:
        with (
            Judge(folder, store=results / STORE_FOLDER) as judge,
            PhaseProgress(_console) as progress,
        ):
            shown = progress.phase if _console.is_terminal else lambda _: None
            yield Series(folder, results, session, judge, shown), build
    except KeyboardInterrupt:
        raise InterruptError(f"the runs that ended are kept and judged: {folder}") from None


def _clients_of(load: ProducerPlan | GroupPlan) -> list[str]:
    return load.clients if isinstance(load, GroupPlan) else [load.client]


def _drawn(seed: int, build: Build) -> RandomPlan:
    return draw(seed, clients_of(build.kafka, java=build.client))


def _write_plans(drawn: list[RandomPlan], results: Path, *, as_json: bool) -> None:
    home = new_folder(results, "plans")
    files = []
    for number, plan in enumerate(drawn, start=1):
        files.append(home / f"{number:03}-{plan.seed}.json")
        replace_file(files[-1], plan_as_json(plan))
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode({"plans": list(map(str, files))})))
    else:
        for file in files:
            typer.echo(as_line(str(file)))


def _in_words(run: Carried) -> str:
    found = ", ".join(map(str, run.found)) or run.problem or "no finding"
    return f"{run.verdict} in {duration(run.seconds)}, {found}"


def _exit_code(runs: list[Carried]) -> int:
    verdicts = {run.verdict for run in runs}
    order = (RunVerdict.FAIL, RunVerdict.UNDECIDED, RunVerdict.PASS)
    return EXIT_CODES[
        next((verdict for verdict in order if verdict in verdicts), RunVerdict.UNDECIDED)
    ]


def _options(choice: Choice, cluster: PoolKind, results: Path) -> str:
    """What `replay` needs, besides the plan, to carry it out on the same."""
    return shlex.join(["--cluster", cluster.value, *choice.words(), "--results", as_word(results)])


def _conclude(summary: Summary, home: Path, given: str) -> None:
    out = Terminal()
    verdicts = Counter(plan.run.verdict for plan in summary.plans)
    shown = ", ".join(
        f"{verdicts[verdict]} {verdict}" for verdict in RunVerdict if verdicts[verdict]
    )
    lines = [f"{len(summary.plans)} plans of seed {summary.seed}: {shown or 'none'}"]
    for plan in summary.plans:
        lines += [f"{found} of seed {plan.seed}" for found in plan.run.found]
        if plan.run.found:
            lines.append(f"  again: fencepost replay {as_word(Path(plan.plan))} --times 5 {given}")
    lines.append(f"report: {home / 'report' / 'index.html'}")
    for line in lines:
        out.print(line, soft_wrap=True, highlight=False, markup=False)


def _say_trial(plan: RandomPlan, trial: Trial) -> None:
    run = trial.runs[-1]
    size = f"{len(actions_of(plan))} actions, {len(plan.groups)} groups"
    _console.print(
        f"plan {trial.plan} ({size}), run {len(trial.runs)}: {_in_words(run)}",
        soft_wrap=True,
        highlight=False,
    )


def _count_runs(trials: Trials, plan: RandomPlan) -> str:
    trial = trials.of(plan)
    return f"{len(trials.runs_that_show(trial))} of {len(trial.runs)} runs show it"


def _show_smallest(trials: Trials, plan: RandomPlan, given: str) -> None:
    home, run = trials.home, trials.runs_that_show(trials.of(plan))[0]
    replace_file(home / SMALLEST_FILE, plan_as_json(plan))
    explain = ["fencepost", "explain", str(home / run.folder), trials.state.finding.check]
    with replacing(home / SLICE_FILE) as told:
        command = python("analysis.report.explain", "--", *explain[2:])
        code = run_child(tether_command(command), what="the explanation", stdout=told.fileno())
    size = f"{len(actions_of(plan))} actions, {len(plan.groups)} groups"
    lines = [
        f"the smallest of {len(trials.state.trials)} plans: {size}; {_count_runs(trials, plan)}",
        f"plan: {home / SMALLEST_FILE}",
        f"again: fencepost replay {as_word(home / SMALLEST_FILE)} --times 5 {given}",
        f"its events: {shlex.join(explain)}" + ("" if code else f" ({home / SLICE_FILE})"),
    ]
    for line in lines:
        Terminal().print(line, soft_wrap=True, highlight=False, markup=False)
