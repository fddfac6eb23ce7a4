"""The lies about all rules of the protocol, in the order in which they are told."""

import msgspec
from commit_lies import CommitFacts, commit_lies
from quorum_lies import QuorumFacts, quorum_lies
from wire_lies import WireLie, lies

from scenarios.epoch_protocol_test import Epochs


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the cluster has: the topic's id and epochs, its groups and its quorum."""

    epochs: list[int]
    topic_id: str
    commits: CommitFacts
    quorum: QuorumFacts


def every_lie(facts: Facts) -> list[WireLie]:
    """Return all lies, first those of members, whose sessions end."""
    of_epochs = lies(Epochs(*facts.epochs), facts.topic_id)
    return [*commit_lies(facts.commits), *quorum_lies(facts.quorum), *of_epochs]
