"""Groups that differ in how they commit: one for each style, manner, reset policy and protocol."""

from collections.abc import Iterator, Sequence

from contract.run_folder import GroupPlan
from contract.software import Client
from contract.terms import CommitEpoch, Isolation, Manner, ResetPolicy

Way = tuple[CommitEpoch, Manner]

WAYS: tuple[Way, ...] = (
    *((style, Manner.SYNC) for style in CommitEpoch),
    (CommitEpoch.RECORD, Manner.ASYNC),
    (CommitEpoch.NONE, Manner.ASYNC),
    (CommitEpoch.RECORD, Manner.AUTO),
    (CommitEpoch.RECORD, Manner.REVOKED),
    (CommitEpoch.NONE, Manner.REVOKED),
    (CommitEpoch.APPLICATION, Manner.EXTERNAL),
    (CommitEpoch.NONE, Manner.EXTERNAL),
    (CommitEpoch.APPLICATION, Manner.TRANSACTIONAL),
    (CommitEpoch.NONE, Manner.TRANSACTIONAL),
)
"""Every pair of a style and a manner that an application can have."""
PROTOCOLS = (Client.JAVA, Client.JAVA_CONSUMER)
"""Java's consumer by its group protocol: classic, and KIP-848's."""

_BY_NEW_PROTOCOL: tuple[Way, ...] = (
    (CommitEpoch.RECORD, Manner.SYNC),
    (CommitEpoch.RECORD, Manner.ASYNC),
    (CommitEpoch.RECORD, Manner.AUTO),
    (CommitEpoch.RECORD, Manner.REVOKED),
    (CommitEpoch.METADATA, Manner.SYNC),
    (CommitEpoch.NONE, Manner.SYNC),
)
_EVERY_RESET: tuple[Way, ...] = (
    (CommitEpoch.RECORD, Manner.SYNC),
    (CommitEpoch.NONE, Manner.SYNC),
)


def usual_groups(
    topic: str, isolation: Isolation = Isolation.READ_UNCOMMITTED
) -> Iterator[GroupPlan]:
    """Every way with the classic protocol, the most common ones with the other one.

    Reset policies differ for `commitSync` with the record's epoch and without an epoch alone.
    """
    for client, ways in ((Client.JAVA, WAYS), (Client.JAVA_CONSUMER, _BY_NEW_PROTOCOL)):
        for way in ways:
            is_each = client is Client.JAVA and way in _EVERY_RESET
            for reset in ResetPolicy if is_each else (ResetPolicy.EARLIEST,):
                yield _group(topic, client, way, reset, isolation)


def every_group(
    topics: Sequence[str], isolation: Isolation = Isolation.READ_UNCOMMITTED
) -> list[GroupPlan]:
    """Every protocol, way and reset policy on each topic, always in the same order."""
    return [
        _group(topic, client, way, reset, isolation)
        for topic in topics
        for client in PROTOCOLS
        for way in WAYS
        for reset in ResetPolicy
    ]


def group_name(topic: str, client: Client, way: Way, reset: ResetPolicy) -> str:
    """Name a group by its topic, client, way to commit and reset policy."""
    style, manner = way
    return f"{topic}.{client}.{manner}.{style}.{reset}"


def _group(
    topic: str, client: Client, way: Way, reset: ResetPolicy, isolation: Isolation
) -> GroupPlan:
    style, manner = way
    return GroupPlan(
        group=group_name(topic, client, way, reset),
        client=client,
        topic=topic,
        commit_epoch=style,
        manner=manner,
        reset=reset,
        isolation=isolation,
        labels={"topic": topic, "client": str(client), "manner": str(manner)},
    )
