"""SIGKILL of every process of a run, at random moments of every part of it."""

import signal
from collections.abc import Iterator
from random import Random

import psutil

from bench.torture.attempt import Area, Attempt
from bench.torture.running import LASTS_SECONDS, Moment, Running, put_finished, words
from bench.torture.setting import Setting
from bench.traces import judged_of
from cluster.nodes.docker_client import docker_problem
from cluster.nodes.docker_pool import orphans
from cluster.nodes.pool import PoolKind
from contract.errors import WaitTimeoutError
from contract.manifest import MANIFEST_FILE
from contract.run_folder import RunFolder, find_runs, has_runs
from contract.verdicts import RunVerdict
from contract.waiting import wait_until
from harness.commands.run import decode_again

AREA = Area(
    "kills",
    "after a SIGKILL of any of its processes a run ends by itself; what it left neither passes, "
    "unless all was collected, nor accuses; no process and no node's files stay; finished runs "
    "stay as they were",
    "`cluster.nodes.tether`, `contract.held`, `contract.manifest`, the check `history_complete`",
)
SCENARIO = "baseline"
_IN_AN_HOUR = 20
_NO_PROCESS = "no process was left to kill"
_ACCUSED = 1
_JUDGE = ("analysis", "org.apache.spark.deploy")
_END_SECONDS = 60
_OF_DOCKER = 3
"""Every third kill is for Docker."""


def attempts(setting: Setting) -> Iterator[Attempt]:
    """Run a scenario; kill one of its processes after a random time in one of its parts."""
    count, no_docker = setting.count(_IN_AN_HOUR), docker_problem()
    if no_docker is not None:
        why = f"{no_docker.partition('(')[0].strip()}; they were made in namespaces instead"
        yield Attempt(AREA.name, f"{count // _OF_DOCKER} of the kills on Docker", skipped=why)
    for number in range(count):
        is_for_docker = number % _OF_DOCKER == _OF_DOCKER - 1 and no_docker is None
        is_for_loopback = number % (2 * _OF_DOCKER) == 1
        pool = PoolKind.LOOPBACK if is_for_loopback else PoolKind.EMBEDDED
        moment = list(Moment)[number % len(Moment)]
        yield _attempt(setting, number, moment, PoolKind.DOCKER if is_for_docker else pool)


def _attempt(setting: Setting, number: int, moment: Moment, pool: PoolKind) -> Attempt:
    dice = setting.dice(AREA, number)
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
    return Attempt(AREA.name, tried, problem or finished() or judged_problem(run))


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
    problems = [_of_run(folder) for folder in find_runs(run.results)]
    return "; ".join(filter(None, problems))


def _of_run(folder: RunFolder) -> str:
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
