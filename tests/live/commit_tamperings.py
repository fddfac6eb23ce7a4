"""Requests about committed offsets, and their responses, that a proxy changes: one for each rule.

What is stored follows from the request. So the proxy changes requests, too: what the coordinator
stores then differs from what the client asked for.
"""

from typing import Any

import msgspec
from wire_tamperings import WireTampering, other_id, partition, whole

from contract.events import NO_EPOCH
from contract.protocol import CommitRule
from harness.wire.requests import (
    Offset,
    WireRequest,
    offset_commit,
    offset_fetch,
    txn_offset_commit,
)
from scenarios.offset_commits import Membership, Producer

NONE, UNSERVED, NO_PARTITION, OTHER_GENERATION, NO_MEMBER = 0, -1, 3, 22, 25
NO_GROUP, UNSTABLE, NO_TOPIC_ID, STALE = 69, 88, 100, 113
SIMPLE, FETCHED, PENDING = "simple", "fetched", "pending"
"""Groups without members: of commits, of a commit to fetch, of one in an open transaction."""
ABSENT = Membership(group="absent", member="m", generation=0)
LATEST, LATEST_IN_TRANSACTION = 10, 6
"""Versions of OffsetCommit and TxnOffsetCommit, with topic ids and the errors of groups."""
BEFORE_ERRORS = 8
"""The last version of OffsetCommit without GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH."""
WITH_RETENTION = 2
"""A version of OffsetCommit whose request says how long the commit is retained."""
STABLE = 7
"""A version of OffsetFetch that can ask for stable offsets."""
NO_SUCH_PARTITION = 99
DELETED_ID, UNKNOWN_ID = "ZGVsZXRlZC10b3BpYy1pZA", "bm8tc3VjaC10b3BpYy1pZA"
RETENTION_MS = 3_600_000


class CommitFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the requests are made of.

    Attributes:
        topic_id: of the topic.
        epoch: of its records.
        classic: the member of a group of the classic protocol.
        consumer: the member of a group of the consumer protocol.
        zombie: a producer that was succeeded.
        coordinators: the broker of each group.
    """

    topic_id: str
    epoch: int
    classic: Membership
    consumer: Membership
    zombie: Producer
    coordinators: dict[str, int]

    @property
    def simple(self) -> Membership:
        """A client that is no member."""
        return Membership(group=SIMPLE)

    def offset(self, name: str, **other: Any) -> Offset:
        """An offset of the topic."""
        known = {"topic": "orders", "topic_id": self.topic_id, "offset": 7, "epoch": self.epoch}
        return Offset(**{**known, "metadata": name, **other})

    def commit(self, by: Membership, *offsets: Offset, version: int = LATEST) -> WireRequest:
        """An OffsetCommit."""
        return offset_commit(
            group=by.group,
            member=by.member,
            generation=by.generation,
            offsets=offsets,
            version=version,
        )

    def fetch(self, group: str, *, is_stable: bool = False) -> WireRequest:
        """An OffsetFetch of the topic."""
        return offset_fetch(
            group=group, offsets=[self.offset("")], version=STABLE, is_stable=is_stable
        )


def commit_tamperings(facts: CommitFacts) -> list[WireTampering]:
    """Return all tamperings."""
    return [
        *_of_topics(facts),
        *_of_members(facts),
        *_of_stored_commits(facts),
        *_of_fetched_commits(facts),
    ]


def _tampering(
    facts: CommitFacts, rule: CommitRule, request: WireRequest, **how: Any
) -> WireTampering:
    """A tampering with a request, which its group's coordinator gets."""
    broker = facts.coordinators[request.fields["groupId"]]
    return WireTampering(rule, request, broker=broker, **how)


def _of_topics(facts: CommitFacts) -> list[WireTampering]:
    simple = facts.simple
    no_id = Offset(topic="nothing", topic_id=UNKNOWN_ID, offset=7, metadata="no id")
    no_partition = facts.offset("no partition", partition=NO_SUCH_PARTITION, epoch=NO_EPOCH)
    first = facts.offset("topics first", partition=NO_SUCH_PARTITION, epoch=NO_EPOCH)
    return [
        _tampering(
            facts,
            CommitRule.UNKNOWN_TOPIC_ID,
            facts.commit(simple, no_id),
            change=partition(errorCode=NO_PARTITION),
        ),
        _tampering(
            facts,
            CommitRule.UNKNOWN_PARTITION,
            facts.commit(simple, no_partition),
            change=partition(errorCode=NO_TOPIC_ID),
        ),
        _tampering(
            facts,
            CommitRule.TOPICS_FIRST,
            facts.commit(ABSENT, first, facts.offset("beside it")),
            change=partition(NO_SUCH_PARTITION, errorCode=NO_GROUP),
            also=(CommitRule.UNKNOWN_PARTITION,),
        ),
    ]


def _of_members(facts: CommitFacts) -> list[WireTampering]:
    """Tamperings with an error of a group or of a producer."""
    classic, consumer = facts.classic, facts.consumer
    newer = classic.at(classic.generation + 1)
    stale = consumer.at(consumer.generation + 1)
    nobody = Membership(group=classic.group, member="nobody", generation=classic.generation)
    zombie = txn_offset_commit(
        transactional_id=facts.zombie.transactional_id,
        group=SIMPLE,
        producer=facts.zombie.identity,
        offsets=[facts.offset("zombie")],
        version=LATEST_IN_TRANSACTION,
    )
    changed: list[tuple[CommitRule, WireRequest, int]] = [
        (CommitRule.OLDER_PRODUCER_EPOCH, zombie, OTHER_GENERATION),
        *(
            (rule, facts.commit(by, facts.offset(rule), version=version), error)
            for rule, by, version, error in (
                (CommitRule.GROUP_NOT_FOUND, ABSENT, LATEST, OTHER_GENERATION),
                (CommitRule.GROUP_NOT_FOUND_BEFORE, ABSENT, BEFORE_ERRORS, NO_GROUP),
                (CommitRule.STALE_MEMBER_EPOCH, stale, LATEST, OTHER_GENERATION),
                (CommitRule.STALE_MEMBER_EPOCH_BEFORE, stale, BEFORE_ERRORS, STALE),
                (CommitRule.OTHER_GENERATION, newer, LATEST, NO_MEMBER),
                (CommitRule.UNKNOWN_MEMBER, nobody, LATEST, OTHER_GENERATION),
                (CommitRule.ACCEPTED_COMMIT, facts.simple, LATEST, UNSERVED),
            )
        ),
    ]
    return [
        _tampering(facts, rule, request, change=partition(errorCode=error))
        for rule, request, error in changed
    ]


def _of_stored_commits(facts: CommitFacts) -> list[WireTampering]:
    """Tamperings by which the coordinator stores something else than it was asked to.

    No topic has an id that is not stored with its commits. So the last tampering is also one with
    an unknown topic id.
    """
    simple, classic = facts.simple, facts.classic
    newer = classic.at(classic.generation + 1)
    with_deleted_id = facts.offset("deleted id", topic_id=DELETED_ID)
    return [
        _tampering(
            facts,
            CommitRule.STORED_COMMIT,
            facts.commit(simple, facts.offset("another epoch")),
            change_request=partition(committedLeaderEpoch=facts.epoch + 1),
        ),
        _tampering(
            facts,
            CommitRule.REFUSED_COMMIT,
            facts.commit(newer, facts.offset("refused")),
            change_request=whole(generationIdOrMemberEpoch=classic.generation),
            change=partition(errorCode=OTHER_GENERATION),
        ),
        _tampering(
            facts,
            CommitRule.STORED_VERSION,
            facts.commit(simple, facts.offset("with an end"), version=WITH_RETENTION),
            change_request=whole(retentionTimeMs=RETENTION_MS),
        ),
        _tampering(
            facts,
            CommitRule.STORED_TOPIC_ID,
            facts.commit(simple, with_deleted_id),
            change_request=other_id(facts.topic_id),
            change=other_id(DELETED_ID),
            also=(CommitRule.UNKNOWN_TOPIC_ID,),
            names={DELETED_ID: "orders"},
        ),
    ]


def _of_fetched_commits(facts: CommitFacts) -> list[WireTampering]:
    fetched = facts.fetch(FETCHED)
    return [
        _tampering(facts, rule, request, change=change)
        for rule, request, change in (
            (CommitRule.FETCHED_COMMIT, fetched, partition(metadata="another")),
            (CommitRule.EPOCH_OF_COMMIT, fetched, partition(committedLeaderEpoch=NO_EPOCH)),
            (
                CommitRule.PENDING_COMMIT,
                facts.fetch(PENDING, is_stable=True),
                partition(errorCode=NONE),
            ),
            (
                CommitRule.PENDING_COMMIT,
                facts.fetch(FETCHED, is_stable=True),
                partition(errorCode=UNSTABLE),
            ),
        )
    ]
