"""All that a scenario is written with: `from fencepost.scenario import Scenario, Topology`.

docs/your-scenario.md writes one; docs/verbs.md has the verbs of its story.
"""

from ducktape.mark import matrix, parametrize

from cluster.kafka.topology import Topology
from contract.run_folder import (
    Consequence,
    Expectation,
    GroupPlan,
    MemberPlan,
    ProducerPlan,
    TopicPlan,
    TransactionPlan,
)
from contract.software import Client
from contract.terms import Check, CommitEpoch, Isolation, Manner, ResetPolicy, Stage
from harness import faults
from harness.faults import *  # noqa: F403 - all that __all__ has
from harness.faults.expire import EXPIRING_TOPIC
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import Workload, commits_no_epochs, reader, writer

__all__ = [
    "EXPIRING_TOPIC",
    "Check",
    "Client",
    "CommitEpoch",
    "Consequence",
    "Expectation",
    "GroupPlan",
    "Isolation",
    "Manner",
    "MemberPlan",
    "ProducerPlan",
    "ResetPolicy",
    "Run",
    "Scenario",
    "Stage",
    "TopicPlan",
    "Topology",
    "TransactionPlan",
    "Workload",
    "commits_no_epochs",
    "durable_topic",
    "matrix",
    "parametrize",
    "reader",
    "writer",
]
__all__ += faults.__all__
