"""Is every fault that has no effect recorded as not landed?

Cluster: 4 brokers, 3 of them controllers too; one topic with 4 replicas.
Load:    an acks=1 producer all the time.
Fault:   every verb, with means that were made ineffective (ineffective.py): a signal that nobody
         gets, a request that is not sent, a rule that is not applied, one that counts and does not
         drop; and effects of its kind that have another cause. The stories are in server_stories.py
         and data_stories.py; test_ineffective_faults.py tells what came of each.
Expect:  none has landed, so the run is undecided; every check holds.
"""

from pathlib import Path

import data_stories
import server_stories
from ineffective import Story, tell
from stage import BROKERS, GROUP, LOAD, ORDERS

from cluster.kafka.topology import Topology
from contract.terms import Check
from harness.story.scenario import Scenario
from harness.story.workload import writer

STORIES: dict[str, Story] = {**server_stories.IN_VAIN, **data_stories.IN_VAIN}
REPORTED_FILE = "seen.json"


class IneffectiveScenario(Scenario):
    """Each fault has no effect."""

    topology = Topology(
        brokers=4,
        combined=(1, 2, 3),
        settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"},
    )
    must_judge = (Check.HISTORY_COMPLETE,)

    def test_ineffective(self) -> None:
        with self.running(topics=[ORDERS], groups=[GROUP]) as run:
            run.create(assignment=BROKERS, is_spread=True)
            run.start_load(
                ORDERS, (), records_per_second=500, producers=[writer(LOAD, "orders", acks="1")]
            )
            tell(run, STORIES, Path(self.session.results, REPORTED_FILE))
