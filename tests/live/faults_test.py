"""Does each fault do what its name says, and does its heal undo that?

Cluster: 4 brokers, 3 of them controllers too; one topic of 4 partitions with 4 replicas.
Load:    an acks=1 producer all the time.
Fault:   every verb, one after the other; each effect is measured by other means than the fault's
         own evidence (effects.py). The stories are in server_stories.py and data_stories.py;
         test_faults.py tells what came of each.
Expect:  all that the asserts say, and after each fault a whole ISR again.
"""

import json
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, TypedDict

import data_stories
import server_stories
from stage import BROKERS, GROUPS, LOAD, ORDERS, SHARED, stories_to_run

from cluster.kafka.topology import Topology
from cluster.nodes.node import Capability
from contract.software import Client
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.workload import writer

STORIES: dict[str, Callable[[Run], None]] = {**server_stories.STORIES, **data_stories.STORIES}
SLOW = ("kill client", "bounce", "wipe", "stop", "kill all", "fill")
"""Half of the time: processes start again, or replicas are copied."""
SKIPPED = "this pool has no network of its own"
REPORTED_FILE = "seen.json"


class Reported(TypedDict):
    """What came of a story: None where all was as it asserts."""

    problem: str | None
    seconds: float


class FaultsScenario(Scenario):
    """Each fault has its story."""

    topology = Topology(
        brokers=4,
        combined=(1, 2, 3),
        settings={
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
            "group.consumer.heartbeat.interval.ms": "500",
            "group.consumer.min.heartbeat.interval.ms": "500",
        },
    )
    groups = (*GROUPS, SHARED)
    spares: ClassVar = {Client.JAVA: 1}
    must_judge = ()

    def test_faults(self) -> None:
        reported: dict[str, Reported] = {}
        with self.running(topics=[ORDERS], groups=self.groups) as run:
            run.create(assignment=BROKERS, is_spread=True)
            run.start_load(
                ORDERS, (), records_per_second=1000, producers=[writer(LOAD, "orders", acks="1")]
            )
            for name, story in stories_to_run(STORIES).items():
                began = time.monotonic()
                problem = self.tell(run, name, story)
                reported[name] = {"problem": problem, "seconds": time.monotonic() - began}
                Path(self.session.results, REPORTED_FILE).write_text(json.dumps(reported))

    def tell(self, run: Run, name: str, story: Callable[[Run], None]) -> str | None:
        """None if all was as the story asserts, else what was not."""
        if name.startswith("cut") and Capability.CUT not in run.kafka.host(1).capabilities:
            return SKIPPED
        try:
            story(run)
        except Exception:  # noqa: BLE001 - the other stories are told all the same
            problem = traceback.format_exc()
        else:
            problem = None
        run.settle()
        return problem
