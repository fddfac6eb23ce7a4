"""Prints what a built patch commits: `patched_facts.py KAFKA JAR FOLDER`. Needs no broker.

A program of its own, since a process has one JVM.
"""

import json
import sys
from pathlib import Path
from typing import Any

from java_facts import BOOTSTRAP, AssignedMember, optional

from cluster.kafka import distribution
from harness.clients.history import HistoryWriter
from harness.clients.member import Member
from harness.java.jvm import java_class, start_jvm

OF_METADATA = 7


class KnowingMember(AssignedMember):
    """A member whose position and whose metadata have leaders of different epochs."""

    def plain_commit(self, *, epoch: int, leader_epoch: int) -> int:
        """Return the epoch that a plain commit takes for a valid position."""
        self.take_over(6, epoch=epoch, leader_epoch=None)
        partition = java_class("org.apache.kafka.common.TopicPartition")("t", 0)
        # `updateLastSeenEpochIfNewer` updates only an epoch that was seen in a response before.
        seen = java_class("org.apache.kafka.clients.Metadata").class_.getDeclaredField(
            "lastSeenLeaderEpochs"
        )
        seen.setAccessible(True)
        seen.get(self._metadata).put(partition, java_class("java.lang.Integer")(OF_METADATA))
        leader = java_class("org.apache.kafka.clients.Metadata$LeaderAndEpoch")
        position = java_class(
            "org.apache.kafka.clients.consumer.internals.SubscriptionState$FetchPosition"
        )
        known = leader(optional(None), optional(leader_epoch))
        self._subscriptions.seekValidated(partition, position(6, optional(epoch), known))
        return int(self._subscriptions.allConsumed().get(partition).leaderEpoch().orElse(-1))


def main() -> None:
    """Print the epochs as one line of JSON."""
    kafka, jar, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    start_jvm([jar, *map(str, distribution.class_path(kafka))], log=folder / "jvm.log")
    plan = Member(group="g", member="g#1", topic="t", reset="none")
    member = KnowingMember(plan, BOOTSTRAP, HistoryWriter(folder / "member.jsonl"))
    reported: dict[str, Any] = {
        "leader above": member.plain_commit(epoch=3, leader_epoch=5),
        "leader below": member.plain_commit(epoch=3, leader_epoch=2),
    }
    member.close()
    print(json.dumps(reported))


if __name__ == "__main__":
    main()
