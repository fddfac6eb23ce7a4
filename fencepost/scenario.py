"""All that a scenario is written with: `from fencepost.scenario import Scenario, Topology`.

docs/your-scenario.md writes one; docs/verbs.md has the verbs of its story.
"""

from ducktape.mark import matrix, parametrize

from cluster.kafka.topology import Topology
from contract.checks import Check
from contract.clients import Client
from contract.outcomes import CommitEpoch, Isolation, Manner, ResetPolicy
from contract.run_folder import (
    Consequence,
    Expectation,
    GroupPlan,
    MemberPlan,
    ProducerPlan,
    TopicPlan,
    TransactionPlan,
)
from contract.stages import Stage
from harness.faults.bounce import Bounce
from harness.faults.bridge import Bridge
from harness.faults.client import CutClient, KillClient, PauseClient
from harness.faults.cut import Cut, Links
from harness.faults.cut_tail import CutTails
from harness.faults.delete import DeleteBefore
from harness.faults.divide import Divide
from harness.faults.elect import Elect
from harness.faults.expire import By, Expire
from harness.faults.fault import Fault, HeldFault
from harness.faults.fence import ExpireTransaction, Fence, TakeOver
from harness.faults.fill import Fill
from harness.faults.hold import Hold, Refuse
from harness.faults.kill import Kill
from harness.faults.pause import Pause
from harness.faults.reassign import Reassign
from harness.faults.rebalance import Rebalance
from harness.faults.recreate import Recreate
from harness.faults.stop import Stop
from harness.faults.targets import (
    ActiveController,
    AllBrokers,
    Broker,
    CoordinatorOf,
    FollowerOf,
    FollowersOf,
    LeaderOf,
    Minority,
    Of,
    OtherVoters,
    Target,
    TransactionCoordinatorOf,
    Voter,
)
from harness.faults.upgrade import Upgrade
from harness.faults.wipe import Wipe
from harness.faults.wipe_voter import WipeVoter
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import Workload, reader, writer

__all__ = [
    "ActiveController",
    "AllBrokers",
    "Bounce",
    "Bridge",
    "Broker",
    "By",
    "Check",
    "Client",
    "CommitEpoch",
    "Consequence",
    "CoordinatorOf",
    "Cut",
    "CutClient",
    "CutTails",
    "DeleteBefore",
    "Divide",
    "Elect",
    "Expectation",
    "Expire",
    "ExpireTransaction",
    "Fault",
    "Fence",
    "Fill",
    "FollowerOf",
    "FollowersOf",
    "GroupPlan",
    "HeldFault",
    "Hold",
    "Isolation",
    "Kill",
    "KillClient",
    "LeaderOf",
    "Links",
    "Manner",
    "MemberPlan",
    "Minority",
    "Of",
    "OtherVoters",
    "Pause",
    "PauseClient",
    "ProducerPlan",
    "Reassign",
    "Rebalance",
    "Recreate",
    "Refuse",
    "ResetPolicy",
    "Run",
    "Scenario",
    "Stage",
    "Stop",
    "TakeOver",
    "Target",
    "TopicPlan",
    "Topology",
    "TransactionCoordinatorOf",
    "TransactionPlan",
    "Upgrade",
    "Voter",
    "Wipe",
    "WipeVoter",
    "Workload",
    "durable_topic",
    "matrix",
    "parametrize",
    "reader",
    "writer",
]
