"""Two runs at once in one results folder, on each pool."""

from collections.abc import Iterator

from bench.torture.attempt import Area, Attempt
from bench.torture.kills import SCENARIO
from bench.torture.running import Running
from bench.torture.setting import Setting
from cluster.nodes.docker_client import docker_problem
from cluster.nodes.pool import PoolKind

AREA = Area(
    "two at once",
    "two runs with one results folder both pass, on each pool",
    "session folders of their own, `contract.held`",
)


def attempts(setting: Setting) -> Iterator[Attempt]:
    """Start two runs with one results folder at the same time, on each pool."""
    for pool in PoolKind:
        tried = f"two runs of {SCENARIO} on {pool}"
        problem = docker_problem() if pool is PoolKind.DOCKER else None
        if problem is not None:
            yield Attempt(AREA.name, tried, skipped=problem.partition("(")[0].strip())
            continue
        results = setting.place / f"both-{pool}"
        both = [Running(results, "run", SCENARIO, "--cluster", pool.value) for _ in range(2)]
        both[0].lasts(2 * _RUN_SECONDS)
        both[1].lasts(_RUN_SECONDS)
        problems = [one.end() for one in both]
        codes = [one.process.returncode for one in both]
        wrong = "" if codes == [0, 0] else f"exit codes {codes}"
        yield Attempt(AREA.name, tried, " ".join(filter(None, problems)) or wrong)


_RUN_SECONDS = 150
