"""Responses of controllers that a proxy changes: one for each rule of the quorum."""

import msgspec
from wire_tamperings import Change, WireTampering, divergence, partition

from cluster.kafka.topology import CONTROLLER_PORT
from contract.protocol import QuorumRule
from harness.wire.requests import (
    NOBODY,
    WireRequest,
    begin_quorum_epoch,
    end_quorum_epoch,
    fetch_metadata,
    vote,
)

NONE, NOT_LEADER, FENCED = 0, 6, 74
FETCH_VERSION = 17
BEYOND = 1_000_000


class QuorumFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The quorum's leader and another voter, its epoch, and the end of what is committed."""

    leader: int
    follower: int
    epoch: int
    end: int

    def fetch(self, epoch: int, *, beyond: int = 0, replica: int | None = None) -> WireRequest:
        """A Fetch of the metadata log, of what follows the last entry."""
        return fetch_metadata(
            version=FETCH_VERSION,
            current_leader_epoch=epoch,
            last_fetched_epoch=self.epoch,
            offset=self.end + beyond,
            replica=replica,
        )


def quorum_tamperings(facts: QuorumFacts) -> list[WireTampering]:
    """Return all tamperings; the quorum's epoch is above 1, so a Vote can have an older one."""
    epoch, leader = facts.epoch, facts.leader
    own, older = facts.fetch(epoch), epoch - 1
    voted = vote(version=0, epoch=older, candidate=leader)
    begun = begin_quorum_epoch(version=0, epoch=older, leader=leader)
    ended = end_quorum_epoch(version=0, epoch=older, leader=leader)
    served, fenced = partition(errorCode=NONE), partition(errorCode=FENCED)
    granted = partition(errorCode=FENCED, voteGranted=True)
    refused = partition(errorCode=NOT_LEADER)
    made: list[tuple[QuorumRule, WireRequest, Change]] = [
        (QuorumRule.OLDER_EPOCH, facts.fetch(older), served),
        (QuorumRule.NEWER_EPOCH, facts.fetch(epoch + 1), fenced),
        (QuorumRule.NOT_LEADER, own, served),
        (QuorumRule.LEADER_EPOCH, own, fenced),
        (QuorumRule.NON_VOTER, facts.fetch(epoch, replica=NOBODY), refused),
        (QuorumRule.DIVERGENCE, facts.fetch(epoch, beyond=BEYOND), divergence(-1, -1)),
        (QuorumRule.NO_DIVERGENCE, own, divergence(epoch, facts.end - 1)),
        (QuorumRule.CURRENT_LEADER, begun, partition(leaderId=facts.follower)),
        (QuorumRule.OLD_VOTE, voted, granted),
        (QuorumRule.OLD_BEGIN, begun, served),
        (QuorumRule.OLD_END, ended, served),
    ]
    return [
        WireTampering(
            rule,
            request,
            change,
            broker=facts.follower if rule is QuorumRule.NOT_LEADER else leader,
            port=CONTROLLER_PORT,
        )
        for rule, request, change in made
    ]
