"""Faults: a verb on a target that is resolved at the injection. Made by `make format`."""
# ruff: noqa: E501, I001
# fmt: off

from harness.faults.bounce import Bounce
from harness.faults.bridge import Bridge
from harness.faults.broker_fault import BrokerFault, EndServer
from harness.faults.client import ClientFault, CutClient, KillClient, PauseClient
from harness.faults.cut import Cut, Links
from harness.faults.cut_tail import CutTails
from harness.faults.delete import DeleteBefore
from harness.faults.divide import Divide
from harness.faults.elect import Elect
from harness.faults.expire import By, Expire
from harness.faults.fault import Fault, HeldFault
from harness.faults.fence import EpochRaised, ExpireTransaction, Fence, TakeOver
from harness.faults.fill import Fill
from harness.faults.hold import Hold, OnMessage, Refuse
from harness.faults.kill import Kill
from harness.faults.pause import Pause
from harness.faults.reassign import Reassign
from harness.faults.rebalance import Rebalance
from harness.faults.recreate import Recreate
from harness.faults.stop import Stop
from harness.faults.targets import ActiveController, AllBrokers, Broker, CoordinatorOf, FollowerOf, FollowersOf, LeaderOf, Minority, Of, OtherVoters, Target, TransactionCoordinatorOf, Voter
from harness.faults.upgrade import Upgrade
from harness.faults.wipe import Wipe
from harness.faults.wipe_voter import WipeVoter

__all__ = ["ActiveController", "AllBrokers", "Bounce", "Bridge", "Broker", "BrokerFault", "By", "ClientFault", "CoordinatorOf", "Cut", "CutClient", "CutTails", "DeleteBefore", "Divide", "Elect", "EndServer", "EpochRaised", "Expire", "ExpireTransaction", "Fault", "Fence", "Fill", "FollowerOf", "FollowersOf", "HeldFault", "Hold", "Kill", "KillClient", "LeaderOf", "Links", "Minority", "Of", "OnMessage", "OtherVoters", "Pause", "PauseClient", "Reassign", "Rebalance", "Recreate", "Refuse", "Stop", "TakeOver", "Target", "TransactionCoordinatorOf", "Upgrade", "Voter", "Wipe", "WipeVoter"]
