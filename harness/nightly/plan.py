"""The runs of a night from its suite; all random choices come from the night's seed."""

import json
import re
from collections import Counter

from contract.nights import PlannedRun
from contract.randomness import SEED_BITS, generator
from contract.verdicts import RunVerdict
from harness.invocation import rerun_command
from harness.nightly.suite import Suite

_ODD = re.compile(r"[^A-Za-z0-9._-]+")


def plan_runs(suite: Suite, *, seed: int, cluster: str, default_kafka: str) -> list[PlannedRun]:
    """Return the runs of a night, in the suite's order; the same seed gives the same runs."""
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
                        rerun=rerun_command(
                            entry.scenario,
                            entry.parameters,
                            cluster=cluster,
                            kafka=kafka,
                            seed=run_seed,
                        ),
                    )
                )
                seen[sort] += 1
    return runs


def versions_of(runs: list[PlannedRun]) -> list[str]:
    """Return the Kafka versions that runs need, in order of use."""
    return list(dict.fromkeys(run.kafka for run in runs))


def _run_id(number: int, scenario: str, kafka: str) -> str:
    return f"{number:03}-{_ODD.sub('-', scenario)}-{kafka}"
