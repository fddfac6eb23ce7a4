"""From a suite to the runs of one night; every random choice comes from the night's seed."""

import json
import re
import shlex
from collections import Counter
from typing import Any

from harness.contract.nights import PlannedRun
from harness.contract.verdicts import RunVerdict
from harness.nightly.suite import Entry, Suite
from harness.randomness import SEED_BITS, generator

_ODD = re.compile(r"[^A-Za-z0-9._-]+")


def plan_runs(suite: Suite, *, seed: int, cluster: str, default_kafka: str) -> list[PlannedRun]:
    """The runs of a night, in the suite's order; the same seed gives the same runs."""
    random = generator(seed)
    seen: Counter[tuple[str, str, str]] = Counter()
    runs: list[PlannedRun] = []
    for entry in suite.entries:
        for kafka in entry.kafka or [default_kafka]:
            drawn = [random.getrandbits(SEED_BITS) for _ in range(entry.repeat)]
            for run_seed in entry.seeds or drawn:
                sort = (entry.scenario, json.dumps(entry.parameters, sort_keys=True), kafka)
                runs.append(
                    PlannedRun(
                        id=_run_id(len(runs) + 1, entry.scenario, kafka),
                        scenario=entry.scenario,
                        parameters=entry.parameters,
                        kafka=kafka,
                        seed=run_seed,
                        repeat=seen[sort],
                        expect=RunVerdict(entry.expect),
                        rerun=_rerun(entry, cluster=cluster, kafka=kafka, seed=run_seed),
                    )
                )
                seen[sort] += 1
    return runs


def versions_of(runs: list[PlannedRun]) -> list[str]:
    """The Kafka versions that runs need, in order of use."""
    return list(dict.fromkeys(run.kafka for run in runs))


def as_option(parameters: dict[str, Any]) -> list[str]:
    """The words that give a scenario its parameters on the command line; none if there are none."""
    return ["--parameters", json.dumps(parameters)] if parameters else []


def _run_id(number: int, scenario: str, kafka: str) -> str:
    return f"{number:03}-{_ODD.sub('-', scenario)}-{kafka}"


def _rerun(entry: Entry, *, cluster: str, kafka: str, seed: int) -> str:
    words = ["fencepost", "run", entry.scenario, "--cluster", cluster, "--kafka", kafka]
    return shlex.join([*words, "--seed", str(seed), *as_option(entry.parameters)])
