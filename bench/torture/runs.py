"""Whole runs that are disturbed: processes killed, interrupts, two at once, ineffective faults."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import psutil

from bench.torture.attempt import ROOT, Area, Attempt, Setting
from bench.torture.running import (
    LASTS_SECONDS,
    RUN_SECONDS,
    Moment,
    Running,
    put_finished,
    words,
)
from bench.traces import judged_of
from cluster.nodes.docker_client import docker_problem
from cluster.nodes.docker_pool import orphans
from cluster.nodes.pool import PoolKind
from contract.errors import WaitTimeoutError
from contract.manifest import MANIFEST_FILE
from contract.nights import NIGHT_FILE, RunStatus, read_night
from contract.run_folder import RunFolder, find_runs, has_runs
from contract.verdicts import RunVerdict
from contract.waiting import wait_until
from harness.commands.run import decode_again

KILLS = Area(
    "kills",
    "after a SIGKILL of any of its processes a run ends by itself; what it left neither passes, "
    "unless all was collected, nor accuses; no process and no node's files stay; finished runs "
    "stay as they were",
    "`cluster.nodes.tether`, `contract.locks`, `contract.manifest`, the check `history_complete`",
)
SCENARIO = "baseline"
_KILLS_IN_AN_HOUR = 20
_NO_PROCESS = "no process was left to kill"
_ACCUSED = 1
_JUDGE = ("analysis", "org.apache.spark.deploy")
_END_SECONDS = 60
_OF_DOCKER = 3
"""Every third kill is for Docker."""


def kills(setting: Setting) -> Iterator[Attempt]:
    """Run a scenario; kill one of its processes after a random time in one of its parts."""
    count, no_docker = setting.count(_KILLS_IN_AN_HOUR), docker_problem()
    if no_docker is not None:
        why = f"{no_docker.partition('(')[0].strip()}; they were made in namespaces instead"
        yield Attempt(KILLS.name, f"{count // _OF_DOCKER} of the kills on Docker", skipped=why)
    for number in range(count):
        is_for_docker = number % _OF_DOCKER == _OF_DOCKER - 1 and no_docker is None
        is_for_loopback = number % (2 * _OF_DOCKER) == 1
        pool = PoolKind.LOOPBACK if is_for_loopback else PoolKind.EMBEDDED
        moment = list(Moment)[number % len(Moment)]
        yield _kill(setting, number, moment, PoolKind.DOCKER if is_for_docker else pool)


def _kill(setting: Setting, number: int, moment: Moment, pool: PoolKind) -> Attempt:
    dice = setting.dice(KILLS, number)
    folder = setting.place / f"kill-{number}"
    finished = put_finished(folder, dice)
    run = Running(folder, "run", SCENARIO, "--cluster", pool.value)
    seconds = dice.uniform(0, LASTS_SECONDS[moment])
    killed, was_collected = _NO_PROCESS, False
    if run.reaches(moment) and run.lasts(seconds):
        was_collected = run.is_collected
        killed = _kill_one(run, dice)
    problem = run.end() or (_containers_left() if pool is PoolKind.DOCKER else "")
    code = run.process.returncode
    # An analysis that is killed before it is asked is replaced; the run is none the worse.
    was_whole = was_collected or (run.is_collected and is_of_analysis(killed))
    if (
        not problem
        and (code == _ACCUSED or (code == 0 and killed != _NO_PROCESS))
        and not was_whole
    ):
        problem = f"exit code {code}"
    tried = f"{pool}, {seconds:.1f} s into {moment}: {killed}; exit code {code}"
    return Attempt(KILLS.name, tried, problem or finished() or judged_problem(run))


def is_of_analysis(killed: str) -> bool:
    """Whether what was killed, in words, only judges: the analysis, or its Spark."""
    return killed.rpartition(" ")[2].startswith(_JUDGE)


def _containers_left() -> str:
    """Name the containers that outlive their harness, after a time for their end."""
    try:
        wait_until(lambda: not orphans(), what="no container", timeout_seconds=_END_SECONDS)
    except WaitTimeoutError:
        return f"containers are left: {', '.join(one.name for one in orphans())}"
    return ""


def _kill_one(run: Running, dice: Random) -> str:
    """Kill a process of one kind, each kind as likely; which one, in words."""
    kinds: dict[str, list[psutil.Process]] = {}
    for process in run.processes():
        kinds.setdefault(words(process), []).append(process)
    kinds.pop("", None)
    if not kinds:
        return _NO_PROCESS
    kind = dice.choice(sorted(kinds))
    chosen = dice.choice(kinds[kind])
    try:
        chosen.send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        return _NO_PROCESS
    return f"killed {kind}"


def judged_problem(run: Running) -> str:
    """Judge the files of a run again; returns a wrong verdict in words, empty if it is right."""
    if not has_runs(run.results):
        return ""
    problems = [_judged_again(folder) for folder in find_runs(run.results)]
    return "; ".join(filter(None, problems))


def _judged_again(folder: RunFolder) -> str:
    if not decode_again(folder):
        return "its histories could not be decoded"
    judged = judged_of(folder)
    if judged.verdict is None:
        return "" if "traceback" not in str(judged.error) else str(judged.error)[:200]
    if judged.verdict.verdict is RunVerdict.FAIL:
        return "what it left was accused"
    is_whole = (folder.path / MANIFEST_FILE).exists()
    if judged.verdict.verdict is RunVerdict.PASS and not is_whole:
        return "what it left passed, though not all was collected"
    return ""


INTERRUPTS = Area(
    "interrupts",
    "after Ctrl-C the tool ends with 130 and one line; what was collected is kept, and judged or "
    "reported as not judged; no process stays",
    "`contract.program`, `harness.session.ducktape_session`",
)
_INTERRUPTED = 130
_INTERRUPTS_IN_AN_HOUR = 6
_REPORTED = ("judge", "not analyzed", "nothing was collected")
_SUITE = f"description: two short runs\nruns:\n  - scenario: {SCENARIO}\n    repeat: 2\n"


def interrupts(setting: Setting) -> Iterator[Attempt]:
    """Interrupt runs in each part, then a night between its runs."""
    for number in range(setting.count(_INTERRUPTS_IN_AN_HOUR)):
        if number % _INTERRUPTS_IN_AN_HOUR == _INTERRUPTS_IN_AN_HOUR - 1:
            yield _interrupt_a_night(setting, number)
        else:
            yield _interrupt(setting, number, list(Moment)[number % len(Moment)])


def _interrupt(setting: Setting, number: int, moment: Moment) -> Attempt:
    dice = setting.dice(INTERRUPTS, number)
    folder = setting.place / f"interrupt-{number}"
    finished = put_finished(folder, dice)
    seconds = dice.uniform(0, LASTS_SECONDS[moment])
    run, problem = interrupted_in(folder, moment, seconds=seconds, pool=PoolKind.EMBEDDED)
    tried = f"{seconds:.1f} s into {moment}: exit code {run.process.returncode}"
    return Attempt(INTERRUPTS.name, tried, problem or finished() or judged_problem(run))


def interrupted_in(
    results: Path, moment: Moment, *, seconds: float, pool: PoolKind
) -> tuple[Running, str]:
    """Interrupt a run `seconds` after a part of it began; returns the run and its problem."""
    run = Running(results, "run", SCENARIO, "--cluster", pool.value)
    is_sent = run.reaches(moment) and run.lasts(seconds)
    if is_sent:
        run.signal_all(signal.SIGINT)
    return run, run.end() or (_interrupt_problem(run) if is_sent else "")


def _interrupt_a_night(setting: Setting, number: int) -> Attempt:
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
    problem = (
        run.end() or _interrupt_problem(run) or ("" if done() == 1 else f"{done()} runs are done")
    )
    return Attempt(INTERRUPTS.name, "between two runs of a night", problem)


def _interrupt_problem(run: Running) -> str:
    if run.process.returncode != _INTERRUPTED:
        return f"exit code {run.process.returncode}"
    if run.said.count("interrupted") != 1:
        return f"`interrupted` was printed {run.said.count('interrupted')} times"
    if not any(word in run.said for word in _REPORTED):
        return "nothing was said of what was collected"
    return ""


PAIRS = Area(
    "two at once",
    "two runs with one results folder both pass, on each pool",
    "session folders of their own, `contract.locks`",
)
_PAIR_SECONDS = 150


def pairs(setting: Setting) -> Iterator[Attempt]:
    """Start two runs with one results folder at the same time, on each pool."""
    for pool in PoolKind:
        tried = f"two runs of {SCENARIO} on {pool}"
        problem = docker_problem() if pool is PoolKind.DOCKER else None
        if problem is not None:
            yield Attempt(PAIRS.name, tried, skipped=problem.partition("(")[0].strip())
            continue
        results = setting.place / f"both-{pool}"
        both = [Running(results, "run", SCENARIO, "--cluster", pool.value) for _ in range(2)]
        both[0].lasts(2 * _PAIR_SECONDS)
        both[1].lasts(_PAIR_SECONDS)
        problems = [one.end() for one in both]
        codes = [one.process.returncode for one in both]
        wrong = "" if codes == [0, 0] else f"exit codes {codes}"
        yield Attempt(PAIRS.name, tried, " ".join(filter(None, problems)) or wrong)


EFFECTLESS = Area(
    "faults without effect",
    "a fault of any verb whose rule, signal or command has no effect is reported as not landed, "
    "and the run is undecided",
    "the evidence of each fault, `fault_landed`",
)
_TESTS = "tests/live/test_ineffective_faults.py"
_ALSO_LONG = "long or not long"
"""They are long, which the project's options of pytest leave out."""
_NONE_COLLECTED = 5


def effectless(setting: Setting) -> Iterator[Attempt]:
    """Run the ineffective stories of the live tests; each is an attempt."""
    base = setting.place / "effectless"
    command = [sys.executable, "-m", "pytest", _TESTS, "-q", "-p", "no:cacheprovider"]
    command += ["-m", _ALSO_LONG, f"--basetemp={base}", "-o", "tmp_path_retention_policy=all"]
    ended = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    # pytest links each folder by a second name.
    files = sorted(one for one in base.glob("*/seen.json") if not one.parent.is_symlink())
    if not files:
        last = ended.stdout.strip().rpartition("\n")[2]
        is_skipped = ended.returncode in (0, _NONE_COLLECTED)
        what = "all stories"
        yield Attempt(
            EFFECTLESS.name, what, "" if is_skipped else last, skipped=last if is_skipped else ""
        )
    for file in files:
        for story, problem in json.loads(file.read_text()).items():
            last = (problem or "").strip().rpartition("\n")[2]
            yield Attempt(EFFECTLESS.name, story, last)
    if files and ended.returncode:
        yield Attempt(
            EFFECTLESS.name, f"{_TESTS} as a whole", ended.stdout.strip().rpartition("\n")[2]
        )
