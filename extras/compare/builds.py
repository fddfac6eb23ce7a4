"""A comparison of two builds as a night: the same story on both, interleaved, with equal seeds."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from cluster.clients.versions import require_choice
from contract.errors import UsageError
from contract.files import SCHEMA
from contract.nights import PlannedRun
from contract.run_folder import SEED_BITS
from contract.software import Build, Choice, with_note
from extras.compare.comparison import Comparison, Side
from harness.nightly.state import Wanted
from harness.nightly.suite import Entry, Suite, as_file_name, plan_run

_FORM = (
    "kafka=VERSION, kafka-dir=FOLDER, client=VERSION, client-jars=PATH, "
    "clients=NAME@VERSION, set=CHANGE, joined by commas"
)
PAIRS_MIN = 4
"""With fewer, no difference is significant (`extras.compare.statistics.smallest_p`)."""
_SEVERAL = ("client-jars", "clients", "set")
_KEYS = ("kafka", "kafka-dir", "client", *_SEVERAL)


def parse_build(text: str, *, default_kafka: str) -> Choice:
    """Read a build of the command line, such as `kafka=4.4.0,client-jars=build/classes`.

    Raises:
        UsageError: it has another form.
        DistributionError: a version of a client has no lock file.
    """
    named: dict[str, list[str]] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or not value or key not in _KEYS:
            raise UsageError(
                f"{text!r} names no build: {part!r} has not the form. A build is {_FORM}; a path "
                "has no comma"
            )
        named.setdefault(key, []).append(value)
    if twice := [key for key, values in named.items() if values[1:] and key not in _SEVERAL]:
        several = " and ".join(_SEVERAL)
        raise UsageError(f"{text!r} names {', '.join(twice)} more than once; {several} may be")
    if "kafka" in named and "kafka-dir" in named:
        raise UsageError(f"{text!r}: kafka and kafka-dir both name the brokers: give one")
    require_choice(named.get("clients", []))
    (kafka_dir,) = named.get("kafka-dir", [""])
    (kafka,) = named.get("kafka", ["" if kafka_dir else default_kafka])
    (client,) = named.get("client", [""])
    return Choice(
        kafka=kafka,
        kafka_dir=str(Path(kafka_dir).absolute()) if kafka_dir else "",
        client_version=client,
        client_jars=[str(Path(path).absolute()) for path in named.get("client-jars", [])],
        clients=named.get("clients", []),
        changes=named.get("set", []),
    )


@dataclass(frozen=True)
class WantedComparison(Wanted):
    """The requested comparison: a night whose runs are those of both builds."""

    builds: Mapping[Side, Build] | None = None
    scenario: str = ""
    parameters: Mapping[str, Any] | None = None
    pairs: int = 0

    def plan(self, seed: int) -> list[PlannedRun]:
        """Return the runs: A B, B A, A B, ...; both of a pair have the same seed."""
        random = Random(seed)
        seen: Counter[str] = Counter()
        entry = Entry(scenario=self.scenario, parameters=dict(self.parameters or {}))
        runs: list[PlannedRun] = []
        for pair in range(self.pairs):
            run_seed = random.getrandbits(SEED_BITS)
            for side in (Side.A, Side.B) if pair % 2 == 0 else (Side.B, Side.A):
                build = (self.builds or {})[side]
                on = with_note(build.kafka, build.note)
                name = f"{pair + 1:03}-{side}"
                runs.append(
                    plan_run(
                        name, entry, build, cluster=self.cluster, seed=run_seed, repeat=seen[on]
                    )
                )
                seen[on] += 1
        return runs

    def describe(self, runs: Sequence[PlannedRun]) -> Comparison:
        """Return what is compared, for the analysis."""
        return Comparison(
            schema=SCHEMA,
            scenario=self.scenario,
            parameters=dict(self.parameters or {}),
            builds={
                str(side): f"Kafka {with_note(build.kafka, build.note)}"
                for side, build in (self.builds or {}).items()
            },
            sides={run.id: Side(run.id.rpartition("-")[2]) for run in runs},
        )


def suite_of(
    scenario: str, parameters: Mapping[str, Any], builds: Mapping[Side, Build], pairs: int
) -> Suite:
    """Return a comparison as a suite, by whose hash it is continued; it has no entries."""
    on = {side: with_note(build.kafka, build.note) for side, build in builds.items()}
    what = [scenario, parameters, {str(side): build for side, build in on.items()}, pairs]
    return Suite(
        name=as_file_name(scenario),
        path=Path(),
        sha256=hashlib.sha256(msgspec.json.encode(what, order="sorted")).hexdigest(),
        description=f"{scenario}: {pairs} runs each of A (Kafka {on[Side.A]}) and B "
        f"(Kafka {on[Side.B]})",
        entries=(),
    )
