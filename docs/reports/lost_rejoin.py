"""Does kafka-python go on with a rejoin that a poll() did not wait for?"""

import kafka
from kafka.cluster import ClusterMetadata
from kafka.consumer.subscription_state import SubscriptionState
from kafka.coordinator.consumer import ConsumerCoordinator


class Coordinator(ConsumerCoordinator):
    """The leader of a group, without a broker; its topic has got two partitions more."""

    def __init__(self):
        self.config = {"group_id": "still", "api_version": (2, 8)}
        self._cluster = ClusterMetadata()
        self._subscription = SubscriptionState()
        self._subscription.subscribe(topics=["orders"])
        self._joined_subscription = {"orders"}
        self._assignment_snapshot = {"orders": {0, 1}}
        self._metadata_snapshot = {"orders": {0, 1, 2, 3}}
        self.rejoin_needed = False
        self._assignors = {"range": type("Range", (), {"name": "range", "assign": lambda *_: {}})()}


leader = Coordinator()
before = leader.need_rejoin()  # a poll() sends JoinGroup, and ends before the response
leader._perform_assignment("leader", "range", [])  # the response; SyncGroup is under way
after = leader.need_rejoin()  # the next poll()
print(f"has to rejoin: {before}, by the next poll(): {after}")
print(f"kafka-python {kafka.__version__}: {int(before and not after)} of 1 rejoins forgotten")
