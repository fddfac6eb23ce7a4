"""Ctrl-C in every part of a run, and between the runs of a night."""

import signal
from collections.abc import Iterator
from pathlib import Path

from bench.torture.attempt import Area, Attempt
from bench.torture.kills import SCENARIO, judged_problem
from bench.torture.running import LASTS_SECONDS, RUN_SECONDS, Moment, Running, put_finished
from bench.torture.setting import Setting
from cluster.nodes.pool import PoolKind
from contract.nights import NIGHT_FILE, RunStatus, read_night
from contract.waiting import wait_until

AREA = Area(
    "interrupts",
    "after Ctrl-C the tool ends with 130 and one line; what was collected is kept, and judged or "
    "reported as not judged; no process stays",
    "`contract.program`, `harness.session.ducktape_session`",
)
_INTERRUPTED = 130
_IN_AN_HOUR = 6
_TOLD = ("judge", "not analyzed", "nothing was collected")
_SUITE = f"description: two short runs\nruns:\n  - scenario: {SCENARIO}\n    repeat: 2\n"


def attempts(setting: Setting) -> Iterator[Attempt]:
    """Interrupt runs in each part, then a night between its runs."""
    for number in range(setting.count(_IN_AN_HOUR)):
        if number % _IN_AN_HOUR == _IN_AN_HOUR - 1:
            yield _in_a_night(setting, number)
        else:
            yield _in_a_run(setting, number, list(Moment)[number % len(Moment)])


def _in_a_run(setting: Setting, number: int, moment: Moment) -> Attempt:
    dice = setting.dice(AREA, number)
    folder = setting.place / f"interrupt-{number}"
    finished = put_finished(folder, dice)
    seconds = dice.uniform(0, LASTS_SECONDS[moment])
    run, problem = interrupted_in(folder, moment, seconds=seconds, pool=PoolKind.EMBEDDED)
    tried = f"{seconds:.1f} s into {moment}: exit code {run.process.returncode}"
    return Attempt(AREA.name, tried, problem or finished() or judged_problem(run))


def interrupted_in(
    results: Path, moment: Moment, *, seconds: float, pool: PoolKind
) -> tuple[Running, str]:
    """Interrupt a run `seconds` after a part of it began; returns the run and its problem."""
    run = Running(results, "run", SCENARIO, "--cluster", pool.value)
    is_sent = run.reaches(moment) and run.lasts(seconds)
    if is_sent:
        run.signal_all(signal.SIGINT)
    return run, run.end() or (_problem(run) if is_sent else "")


def _in_a_night(setting: Setting, number: int) -> Attempt:
    folder = setting.place / f"interrupt-{number}"
    suite = setting.place / "two.yml"
    suite.write_text(_SUITE)
    run = Running(folder, "nightly", "--suite", str(suite))

    def done() -> int:
        nights = [read_night(file.parent) for file in folder.glob(f"nightly/*/{NIGHT_FILE}")]
        runs = [one for night in nights if night is not None for one in night.runs]
        return sum(one.status is RunStatus.DONE for one in runs)

    wait_until(
        lambda: done() or run.process.poll() is not None,
        what="the first run's end",
        timeout_seconds=RUN_SECONDS,
    )
    run.signal_all(signal.SIGINT)
    problem = run.end() or _problem(run) or ("" if done() == 1 else f"{done()} runs are done")
    return Attempt(AREA.name, "between two runs of a night", problem)


def _problem(run: Running) -> str:
    if run.process.returncode != _INTERRUPTED:
        return f"exit code {run.process.returncode}"
    if run.said.count("interrupted") != 1:
        return f"`interrupted` was printed {run.said.count('interrupted')} times"
    if not any(word in run.said for word in _TOLD):
        return "nothing was said of what was collected"
    return ""
