"""The tamperings with all rules of the protocol, in the order of the connections."""

import msgspec
from commit_tamperings import CommitFacts, commit_tamperings
from quorum_tamperings import QuorumFacts, quorum_tamperings
from wire_tamperings import WireTampering, tamperings

from scenarios.epoch_protocol_test import Epochs


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the cluster has: the topic's id and epochs, its groups and its quorum."""

    epochs: list[int]
    topic_id: str
    commits: CommitFacts
    quorum: QuorumFacts


def every_tampering(facts: Facts) -> list[WireTampering]:
    """Return all tamperings, first those of members, whose sessions end."""
    of_epochs = tamperings(Epochs(*facts.epochs), facts.topic_id)
    return [*commit_tamperings(facts.commits), *quorum_tamperings(facts.quorum), *of_epochs]
