"""The runs of a night from its suite; all random choices come from the night's seed."""

import json
import re
from collections import Counter
from collections.abc import Iterator

import msgspec

from cluster.kafka.own_jars import resolve
from contract.builds import Choice
from contract.nights import PlannedRun
from contract.randomness import SEED_BITS, generator
from contract.verdicts import RunVerdict
from harness.invocation import rerun_command
from harness.nightly.suite import Entry, Suite

_ODD = re.compile(r"[^A-Za-z0-9._-]+")


def plan_runs(
    suite: Suite, *, seed: int, cluster: str, default_kafka: str, given: Choice | None = None
) -> list[PlannedRun]:
    """Return the runs of a night, in the suite's order; the same seed gives the same runs.

    Args:
        suite: its entries.
        seed: of the night.
        cluster: the pool.
        default_kafka: the version where neither an entry nor `given` names one.
        given: what the command line names: it replaces what an entry does not name itself, and its
            servers replace the versions of all entries.

    Raises:
        UsageError: an own build has not what it must have.
    """
    random = generator(seed)
    seen: Counter[tuple[str, str, str, str]] = Counter()
    runs: list[PlannedRun] = []
    for entry in suite.entries:
        for choice in _choices(entry, given or Choice(), default_kafka):
            build = resolve(choice)
            drawn = [random.getrandbits(SEED_BITS) for _ in range(entry.repeat)]
            for run_seed in entry.seeds or drawn:
                parameters = json.dumps(entry.parameters, sort_keys=True)
                sort = (entry.scenario, parameters, build.kafka, build.note)
                runs.append(
                    PlannedRun(
                        id=_run_id(len(runs) + 1, entry.scenario, build.kafka),
                        scenario=entry.scenario,
                        parameters=entry.parameters,
                        kafka=build.kafka,
                        seed=run_seed,
                        repeat=seen[sort],
                        expect=RunVerdict(entry.expect),
                        rerun=rerun_command(
                            entry.scenario,
                            entry.parameters,
                            cluster=cluster,
                            choice=choice,
                            seed=run_seed,
                        ),
                        choice=choice if choice.is_own else None,
                        build=build.note,
                    )
                )
                seen[sort] += 1
    return runs


def choice_of(run: PlannedRun) -> Choice:
    """Return what a run's servers and Java clients are."""
    return run.choice or Choice(kafka=run.kafka)


def _choices(entry: Entry, given: Choice, default_kafka: str) -> Iterator[Choice]:
    kafka_dir = entry.kafka_dir or given.kafka_dir
    for kafka in [""] if kafka_dir else entry.kafka or [default_kafka]:
        yield msgspec.structs.replace(
            given,
            kafka=kafka,
            kafka_dir=kafka_dir,
            client_version=entry.client_version or given.client_version,
            client_jars=entry.client_jars or given.client_jars,
        )


def _run_id(number: int, scenario: str, kafka: str) -> str:
    return f"{number:03}-{_ODD.sub('-', scenario)}-{_ODD.sub('-', kafka)}"
